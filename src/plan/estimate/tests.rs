//! Estimates of jobs of known size.

use std::path::Path;

use super::*;
use crate::plan::survey::survey_of_synth;

fn job(sets: &[&str]) -> (Job, Survey) {
    let text = "[synth]\npath = \"x\"\ndocuments = 1000000\nmean_length = 100\n\
                [vocabulary]\nstop_words = \"none\"\n[model]\ntopics = 100\n[output]\npath = \"o\"\n";
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let job = Job::parse(text, Path::new("job"), &sets).unwrap();
    let survey = survey_of_synth(job.synth.as_ref().unwrap(), &job.corpus);
    (job, survey)
}

fn of(sets: &[&str], processes: usize, threads: usize) -> Estimate {
    let (job, survey) = job(sets);
    estimate(&job, &survey, processes, threads)
}

#[test]
fn rounds_are_those_of_the_schedule() {
    let estimate = of(&["sample.documents=100000", "sample.held_out=0.1"], 1, 1);
    assert_eq!((estimate.sample_documents, estimate.held_out_documents), (90_000, 10_000));
    // Nine million tokens: √(9,000,000 / 1500) = 77 rounds, and the rest of the documents.
    assert_eq!(estimate.minibatches, 78);
    // 400 million tokens are drawn in 44 passes, the Gibbs passes in 16 rounds each.
    assert_eq!(estimate.rounds, 3 * 78 + 41 * 16 + 1);
    assert_eq!(of(&["sample.fraction=0.5"], 1, 1).sample_documents, 490_000);
    let all = of(&["sample.documents=9000000"], 1, 1);
    assert_eq!(all.sample_documents, 980_000);
}

#[test]
fn long_documents_are_trained_on_in_part() {
    // Of 100 tokens each.
    let of =
        |most: u32| of(&[&format!("train.max_document_tokens={most}"), "train.passes=10"], 1, 1);
    let [all, some, less] = [0, 500, 20].map(of);
    assert_eq!(all, some);
    assert!(less.memory.bytes("sample") < all.memory.bytes("sample") / 2);
    assert!(less.seconds.train < all.seconds.train / 2.0);
}

#[test]
fn memory_grows_with_the_sample_and_not_with_the_collection() {
    let sample = |n: &str| of(&[&format!("sample.documents={n}")], 1, 2).memory;
    let (small, large) = (sample("100000"), sample("800000"));
    // 8 bytes per distinct term of a document of 100 tokens, twice while it is sorted.
    assert!(
        large.bytes("sample") >= 800_000 * 80 * 16 && large.bytes("sample") < 800_000 * 100 * 20
    );
    assert!(large.peak() > small.peak());
    let collection = |n: &str| of(&[&format!("synth.documents={n}")], 1, 2).memory;
    let (one, ten) = (collection("1000000"), collection("10000000"));
    assert_eq!(
        (one.bytes("sample"), one.bytes("model")),
        (ten.bytes("sample"), ten.bytes("model"))
    );
    assert!(ten.bytes("counting terms") < 4 * one.bytes("counting terms"));
}

#[test]
fn a_block_takes_no_more_memory_than_the_input() {
    let blocks = |mib: &str, documents: &str| {
        let sets = [format!("corpus.block_mib={mib}"), format!("synth.documents={documents}")];
        of(&[&sets[0], &sets[1]], 1, 2).memory.bytes("blocks")
    };
    assert_eq!(blocks("65536", "1000"), blocks("16", "1000"));
    assert!(blocks("65536", "1000000000") > 100 * blocks("16", "1000000000"));
}

#[test]
fn sums_over_documents_take_memory_by_what_is_asked_for() {
    let sums = |sets: &[&str]| of(sets, 1, 2).memory.bytes("sums over documents");
    // The pairs of 100 topics, and their rows.
    let pairs = 40 * 100 * 100;
    assert_eq!(sums(&[]), pairs);
    assert_eq!(sums(&["project.method=none"]), 0);
    assert_eq!(sums(&["model.topics=5000"]), 0);
    let year = ["corpus.metadata=year", "project.trends=year"];
    assert_eq!(sums(&year), pairs + 1002 * 100 * 1600);
    // In each thread a bucket of 2¹⁸ documents, with a topic per token; one of 2¹⁶ for drift, and its rows; 256 sums of
    // 100 topics and 500,000 terms.
    let drift = 2 * 16 * 100 * (1 << 16) + 800 * (1 << 18) + 2 * 256 * (800 + 62_500);
    let alone = sums(&["corpus.group=volume", "project.rollups=false"]);
    assert!(alone.abs_diff(drift) < drift / 10, "{alone}");
    for documents in ["synth.documents=1000000", "synth.documents=9000000"] {
        let volumes = sums(&["corpus.group=volume", documents]) - pairs - alone;
        let expected = 2 * 32 * 100 * (1 << 18);
        assert!(volumes.abs_diff(expected) < expected / 10, "{volumes}");
    }
    let with = |volumes, trend_values| {
        let (job, survey) = job(&[&["corpus.group=volume"], &year[..]].concat());
        let survey = Survey { volumes, trend_values, ..survey };
        estimate(&job, &survey, 1, 2).memory.bytes("sums over documents")
    };
    // 15 volumes of 65,536 terms, in a million documents; 30 values.
    let drift = 2 * 16 * (15.0 * 65_536.0 * 0.065_536) as u64 + 15 * (800 + 800 + 62_500);
    let few = 15 * 2 * 32 * 100 + drift + (30 + 2) * 100 * 1600 + pairs;
    assert_eq!(with(15, Some(30)), few);
    assert_eq!(with(15, None) - few, (1000 - 30) * 100 * 1600);
}

#[test]
fn documents_sampled_together_take_memory_as_they_are_many() {
    let peak = |method: &str, documents: &str| {
        let documents = format!("synth.documents={documents}");
        let method = format!("project.method={method}");
        of(&[&documents, &method], 1, 2).memory
    };
    let [one, four] = ["1000000", "4000000"].map(|n| peak("gibbs-joint", n));
    assert!(
        four.bytes("documents sampled together") > 4 * one.bytes("documents sampled together")
            && four.peak() > one.peak()
    );
    assert!(
        peak("retrain", "1000000").bytes("documents sampled together")
            > one.bytes("documents sampled together")
    );
    assert_eq!(peak("gibbs", "1000000").bytes("documents sampled together"), 0);
}

#[test]
fn a_classifier_takes_memory_for_terms_times_topics() {
    let of = |method, topics| of(&[method, topics], 1, 2).memory.bytes("classifier");
    let few = of("project.method=maxent", "model.topics=10");
    let more = of("project.method=hybrid", "model.topics=100");
    assert!(few > 0 && more > 2 * few);
    // The terms of the examples are in memory once.
    let most = of("project.method=maxent", "model.topics=190");
    assert_eq!(most - more, more - few);
    assert_eq!(of("project.method=cvb0", "model.topics=100"), 0);
}

#[test]
fn what_is_in_all_topics_takes_memory_for_all() {
    let estimated = |by: &str| {
        let by = format!("train.estimator={by}");
        of(&["model.topics=10000", &by], 1, 2)
    };
    let (counts, soft) = (estimated("counts"), estimated("soft"));
    assert!(
        soft.memory.bytes("model") > counts.memory.bytes("model") && soft.rounds > counts.rounds
    );
    let (counts, cvb0) = (of(&[], 1, 2), of(&["train.method=cvb0"], 1, 2));
    // A term of a document has γ for each of 100 topics.
    assert!(cvb0.remembered > counts.remembered.map(|bytes| 80 * bytes));
}

#[test]
fn processes_share_the_sample_and_each_has_the_model() {
    let (alone, four) = (of(&[], 1, 2).memory, of(&[], 4, 2).memory);
    assert_eq!(alone.bytes("model"), four.bytes("model"));
    assert_eq!(alone.bytes("sample").div_ceil(4), four.bytes("sample"));
}

#[test]
fn a_model_is_never_larger_than_dense() {
    for prune in ["train.prune=0", "train.prune=0.4"] {
        let (job, _) = job(&[prune]);
        let weights = weight_counts(&job, 100, 65_536, 1 << 40);
        assert_eq!(weights.stored, 100 * 65_536);
        assert_eq!(weights.dense, 100 * 65_536);
    }
    let (job, _) = job(&["model.topics=10000"]);
    // 27.6 M tokens: far from dense, and not below what was measured (14 to 24 per term).
    let weights = weight_counts(&job, 10_000, 65_536, 27_600_000);
    let per_term = weights.stored / 65_536;
    assert!((24..2_000).contains(&per_term), "{per_term}");
}

#[test]
fn terms_of_a_tree_take_rows_of_all_topics() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.txt");
    std::fs::write(&path, "must: one, two, three\n").unwrap();
    let file = format!("tree.file={}", path.display());
    let with = |words: usize, is_hierarchy, sets: &[&str]| {
        let (mut job, survey) = job(&[&[&*file], sets].concat());
        let tree = job.tree.as_mut().unwrap();
        assert_eq!((tree.word_count, tree.is_hierarchy), (3, false));
        tree.word_count = words;
        tree.is_hierarchy = is_hierarchy;
        estimate(&job, &survey, 1, 1)
    };
    let (without, few) = (of(&[], 1, 1), with(1000, false, &[]));
    // 1000 terms and 100 topics, three times: 14 bytes, two leaves of 4, a node of 16.
    let bytes = |terms: u64| terms * 100 * 3 * (14 + 2 * 4 + 16);
    assert_eq!((without.memory.bytes("tree"), few.memory.bytes("tree")), (0, bytes(1000)));
    let levels = with(1000, true, &[]).memory.bytes("tree");
    assert_eq!(levels, bytes(1000) + 1000 * 100 * 3 * 16);
    assert_eq!(few.disk.tables - without.disk.tables, 1000 * 100 * 14);
    // Of 500,000 distinct terms, 150,000 are in five documents, and 65,536 are kept.
    let all = with(400_000, false, &[]);
    assert_eq!(all.memory.bytes("tree"), bytes(65_536));
    assert!(all.memory.peak() > without.memory.peak());
    let rare = with(400_000, false, &["vocabulary.min_documents=20"]);
    assert_eq!(rare.memory.bytes("tree"), bytes(37_500));
}

#[test]
fn a_smaller_sample_is_found_where_it_is_the_sample_that_is_too_large() {
    let (job, survey) = job(&["sample.fraction=1"]);
    let whole = estimate(&job, &survey, 1, 1).memory.peak();
    let fitting = fitting_sample(&job, &survey, 1, 1, whole / 2).unwrap();
    assert!((1_000..1_000_000).contains(&fitting), "{fitting}");
    assert_eq!(fitting_sample(&job, &survey, 1, 1, 1 << 20), None);
}

#[test]
fn statistics_are_of_pairs_of_terms_and_topics_however_many_draws_there_are() {
    let long = [
        "synth.documents=40",
        "synth.mean_length=60000",
        "vocabulary.max_terms=600",
        "model.topics=50",
    ];
    let with = |sweeps| of(&[&long[..], &[sweeps]].concat(), 1, 1).memory;
    let [many, more] = ["train.sweeps=500", "train.sweeps=9000"].map(with);
    assert_eq!(many.bytes("statistics"), more.bytes("statistics"));
    assert!(more.peak() < 200 << 20, "{}", more.peak());
}

#[test]
fn drafts_on_disk_are_gone_before_there_are_tables() {
    let all = of(&[], 1, 1).disk;
    let none = of(&["project.method=none"], 1, 1).disk;
    assert!(none.tables < all.tables);
    // A document of 100 tokens has 91 pairs.
    assert!(all.drafts.abs_diff(1_000_000 * 91 * 7) < 5_000_000, "{all:?}");
    let later = all.tables + all.model;
    assert_eq!(all.total(), all.shards + later.max(all.drafts));
    let phrases = of(&["phrases.detect=true", "project.method=none"], 1, 1).disk;
    assert_eq!(phrases.total(), phrases.shards + 100_000_000 * 8);
    let [top, next] = ["project.top=3", "project.top=4"].map(|top| of(&[top], 1, 1).disk);
    assert_eq!(next.tables - top.tables, 1_000_000 * 5);
}

#[test]
fn two_checkpoints_have_what_is_remembered() {
    let by_rounds = "train.checkpoint_minutes=0";
    let with = |every: &str| of(&["train.method=cvb0", by_rounds, every], 1, 1);
    let [none, some] = ["train.checkpoint_every=1000", "train.checkpoint_every=1"].map(with);
    let remembered = 2 * some.remembered.expect("γ");
    let both = some.disk.model - none.disk.model;
    assert!(both.abs_diff(remembered + 2 * none.disk.model) < 10, "{both}");
    let by_clock = "train.checkpoint_minutes=0.01";
    let timed = of(&["train.method=cvb0", by_clock], 1, 1);
    assert_eq!(timed.disk.model, some.disk.model);
}

#[test]
fn metadata_takes_disk_in_the_drafts_and_in_the_table() {
    let (job, survey) = job(&[]);
    let without = estimate(&job, &survey, 1, 1).disk;
    let metadata_bytes = 1_000_000_000;
    let survey = Survey { metadata_bytes, ..survey };
    let with = estimate(&job, &survey, 1, 1).disk;
    assert_eq!(with.drafts - without.drafts, 900_000_000);
    assert_eq!(with.tables - without.tables, 900_000_000);
}

#[test]
fn many_distinct_terms_take_memory_up_to_a_bound() {
    let (job, survey) = job(&[]);
    let usual = estimate(&job, &survey, 1, 2).memory.bytes("counting terms");
    let of = |terms| {
        let survey = Survey { terms, ..survey.clone() };
        estimate(&job, &survey, 1, 2).memory.bytes("counting terms")
    };
    assert_eq!(of(4_000_000), TermCounter::bytes(3 * 4_000_000));
    // The terms of both workers' folders, those in five documents, and the filter.
    let bound = TermCounter::bytes(2 * TERMS_A_FOLDER + 2 * 3 * survey.tokens / 10) + (1 << 28);
    assert!((TermCounter::bytes(2 * TERMS_A_FOLDER)..=bound).contains(&of(survey.tokens)));
    let fewer = Survey { terms: 1000, ..survey };
    assert_eq!(estimate(&job, &fewer, 1, 2).memory.bytes("counting terms"), usual);
}
