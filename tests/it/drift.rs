//! Drift of whole runs, compared with independent counts, for any number of workers; runs whose
//! sample lacks many terms, and few; and two results compared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use lda::evaluate::drift::{hellinger_distance, jensen_shannon_distance};
use topicmill::corpus::ShardDocument;
use topicmill::corpus::sample::{SampleRule, SmallestKeys, Split};
use topicmill::corpus::settings::{SampleSettings, SampleSize};
use topicmill::corpus::shard::{Columns, ShardReader};
use topicmill::tables;
use topicmill::tables::compare::compare;
use topicmill::tables::projected::{ProjectedDocument, ProjectedReader};
use topicmill::tables::read::{Rows, head};

use crate::workdir::{program, succeed};

const JOB: &str = r#"
[synth]
path = "planted"
topics = 5
documents = 600
terms = 3000
mean_length = 40
[corpus]
block_mib = 0.05
group = "topic"
[vocabulary]
stop_words = "none"
min_documents = 2
[sample]
fraction = 0.1
held_out = 0.1
[model]
topics = 6
[train]
minibatch = 64
online_passes = 1
passes = 7
[output]
path = "out"
"#;

fn run(folder: &Path, out: &str, arguments: &[&str]) -> (PathBuf, String) {
    std::fs::write(folder.join("job.toml"), JOB).unwrap();
    topicmill("run", folder, out, arguments)
}

/// Runs stages of `job.toml`; returns the output folder and the final output.
fn topicmill(command: &str, folder: &Path, out: &str, arguments: &[&str]) -> (PathBuf, String) {
    let path = format!("output.path={out}");
    let first = [command, "job.toml", "--set", &path];
    let output = succeed(program(folder, &[&first, arguments].concat()));
    let out = folder.join(out);
    let report = tables::verify(&out).unwrap();
    assert!(report.is_sound(), "{:?}", report.problems);
    (out, String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the cells of a table's column, as text.
fn cells(rows: &Rows, column: &str) -> Vec<String> {
    let index = rows.columns.iter().position(|c| c == column).unwrap();
    rows.rows.iter().map(|row| row[index].clone()).collect()
}

/// The counts of a group, or of the run.
#[derive(Debug, Default)]
struct Counted {
    documents: i64,
    tokens: i64,
    kept: i64,
    known: i64,
    terms: BTreeSet<u32>,
    likelihood: f64,
    topics: [f64; 6],
}

/// Counts independently: training documents under `Err`, new ones under `Ok(group)`.
fn count(out: &Path, known: &BTreeSet<u32>) -> BTreeMap<Result<Option<String>, ()>, Counted> {
    let mut counted: BTreeMap<Result<Option<String>, ()>, Counted> = BTreeMap::new();
    let groups = cells(&head(&out.join("documents"), usize::MAX).unwrap(), "group_id");
    let mut projected = ProjectedReader::open(out, &[]).unwrap();
    let (mut bag, mut document) = (ShardDocument::default(), ProjectedDocument::default());
    for number in 0.. {
        let shard = out.join(format!("corpus/shards/shard-{number:05}.parquet"));
        if !shard.exists() {
            assert!(number > 2, "several shards");
            break;
        }
        let mut reader = ShardReader::open(&shard, Columns::All).unwrap();
        while reader.read_into(&mut bag).unwrap() {
            assert!(projected.read_into(&mut document).unwrap());
            let group = &groups[document.document.doc_id as usize];
            assert_eq!(bag.group.as_deref().unwrap_or(""), group);
            let Some(likelihood) = document.document.loglik_per_token else {
                continue;
            };
            let keys = match document.document.split.as_str() {
                "sample" => vec![Err(())],
                _ => vec![Ok(None), Ok(bag.group.clone())],
            };
            let length = bag.tokens_in_vocabulary() as f64;
            for key in keys {
                let sums = counted.entry(key.clone()).or_default();
                sums.documents += 1;
                sums.tokens += i64::from(bag.tokens_total - bag.tokens_stopped);
                sums.kept += length as i64;
                let of_known = bag.terms.iter().zip(&bag.counts);
                let of_known = of_known.filter(|(term, _)| known.contains(term));
                sums.known += of_known.map(|(_, &n)| i64::from(n)).sum::<i64>();
                sums.terms.extend(&bag.terms);
                if !matches!(key, Ok(Some(_))) {
                    sums.terms.extend(&bag.pruned);
                }
                sums.likelihood += likelihood * length;
                for &(topic, weight) in &document.topics {
                    let mass = f64::from(weight) * length;
                    sums.topics[topic as usize] += mass;
                }
            }
        }
    }
    counted
}

#[test]
fn drift_is_what_counting_by_hand_finds_for_any_number_of_workers() {
    let folder = tempfile::tempdir().unwrap();
    let (out, page) = run(folder.path(), "out", &["-w", "1"]);
    assert!(page.contains("\ndrift      "), "{page}");
    let (other, _) = run(folder.path(), "other", &["-w", "3"]);
    let digest = |out: &Path| tables::digest(out).unwrap();
    assert_eq!(digest(&out), digest(&other));

    let terms = head(&out.join("topic_terms"), usize::MAX).unwrap();
    let known: BTreeSet<u32> =
        cells(&terms, "term_id").iter().map(|id| id.parse().unwrap()).collect();
    let counted = count(&out, &known);
    let trained = &counted[&Err(())];
    let drift = head(&out.join("drift"), 1000).unwrap();
    assert_eq!(drift.rows.len(), 6, "five groups and the run");
    let number = |row: usize, column: &str| cells(&drift, column)[row].parse::<f64>().unwrap();
    for row in 0..6 {
        let group = Some(cells(&drift, "group_id")[row].clone()).filter(|group| !group.is_empty());
        assert_eq!(group.is_none(), row == 5);
        let expected = &counted[&Ok(group.clone())];
        let found = ["documents", "tokens", "tokens_in_vocabulary", "known_tokens"]
            .map(|column| number(row, column) as i64);
        assert_eq!(found, [expected.documents, expected.tokens, expected.kept, expected.known]);
        let common = expected.terms.intersection(&trained.terms).count();
        let share = common as f64 / expected.terms.len() as f64;
        let found = ["terms", "known_terms"].map(|column| number(row, column) as usize);
        assert_eq!(found, [expected.terms.len(), common]);
        assert_eq!(number(row, "known_term_share"), share);
        let advised = group.is_some() && share < 0.7;
        assert_eq!(cells(&drift, "retrain")[row], advised.to_string());
        let per_token = |sums: &Counted| sums.likelihood / sums.kept as f64;
        let shift = per_token(expected) - per_token(trained);
        assert!((number(row, "loglik_shift") - shift).abs() < 1e-4);
        let fixed = |sums: &Counted| sums.topics.map(|mass| (mass * 1e6) as i64);
        let (p, q) = (fixed(expected), fixed(trained));
        let (js, hellinger) = (jensen_shannon_distance(&p, &q), hellinger_distance(&p, &q));
        assert!((number(row, "topic_shift_js") - js.unwrap()).abs() < 1e-3);
        assert!((number(row, "topic_shift_hellinger") - hellinger.unwrap()).abs() < 1e-3);
        if group.is_some() {
            let run = number(5, "topic_shift_js");
            assert!(js.unwrap() > run, "a planted topic is no sample");
        }
    }
}

/// The terms of the new documents, and how many of them are in the sample.
struct Terms {
    new: BTreeSet<String>,
    known: usize,
}

/// Writes 300 documents and their job. Each document has words that all share, a stop word and a too
/// frequent one, and rare words, which the vocabulary prunes. The first 20 new documents each share a
/// rare word with a document of the sample; one new document in `apart` has one of its own.
fn write_documents(folder: &Path, size: SampleSize, apart: usize) -> Terms {
    let (key, sampled) = match size {
        SampleSize::Fraction(share) => ("fraction", share.to_string()),
        SampleSize::Documents(count) => ("documents", count.to_string()),
    };
    let job = format!(
        "[corpus]\ninput = \"documents.jsonl\"\nblock_mib = 0.01\n\
         [vocabulary]\nstop_words = \"en\"\nmin_documents = 3\nmax_share = 0.5\n\
         [sample]\n{key} = {sampled}\nheld_out = 0.1\n\
         [model]\ntopics = 3\nseed = 1\n[train]\nonline_passes = 1\npasses = 5\n[output]\npath = \"out\"\n"
    );
    std::fs::write(folder.join("job.toml"), job).unwrap();
    let mut keys = SmallestKeys::new(150);
    (0..300).for_each(|document| keys.add(SampleRule::key(1, document)));
    let settings = SampleSettings { size, held_out: 0.1, seed: None };
    let rule = SampleRule::new(&settings, 1, keys.bound());
    let (mut lines, mut seen) = (String::new(), [0, 0]);
    let mut terms = [BTreeSet::new(), BTreeSet::new()];
    for document in 0..300 {
        let is_new = rule.split(document) != Split::Sample;
        let number = seen[usize::from(is_new)];
        seen[usize::from(is_new)] += 1;
        let common = (0..12).map(|place| format!("common{}", (document * 7 + place * 11) % 60));
        let mut words: Vec<String> = common.collect();
        if number < 20 {
            words.push(format!("shared{number}"));
        }
        match is_new {
            true if number % apart == 0 => words.push(format!("new{number}")),
            true => {}
            false => words.push(format!("old{number}")),
        }
        terms[usize::from(is_new)].extend(words.iter().cloned());
        let text = words.join(" ");
        lines.push_str(&format!("{{\"text\": \"the ubiquitous {text}\"}}\n"));
    }
    std::fs::write(folder.join("documents.jsonl"), lines).unwrap();
    let [trained, new] = terms;
    Terms { known: new.intersection(&trained).count(), new }
}

/// Runs the job on one to three threads, and checks the counts. A random sample never advises retraining.
fn check_counts(folder: &Path, terms: &Terms) {
    let (out, _) = topicmill("run", folder, "out", &["-w", "1"]);
    for threads in ["2", "3"] {
        let (other, again) = topicmill("run", folder, threads, &["-w", threads]);
        let digest = |out: &Path| tables::digest(out).unwrap();
        assert_eq!(digest(&out), digest(&other), "{threads} threads");
        assert!(!again.contains("retrain"), "{again}");
    }
    let drift = head(&out.join("drift"), 10).unwrap();
    let cell = |column| cells(&drift, column)[0].clone();
    assert_eq!(cells(&drift, "scope"), ["run"]);
    assert_eq!(cell("terms"), terms.new.len().to_string());
    assert_eq!(cell("known_terms"), terms.known.to_string());
    let vocabulary = head(&out.join("vocabulary"), 1000).unwrap();
    let status = cells(&vocabulary, "term").into_iter();
    let status: BTreeMap<_, _> = status.zip(cells(&vocabulary, "status")).collect();
    let pruned = ["new0", "old0", "shared0", "the", "ubiquitous"].map(|term| &status[term][..]);
    assert_eq!(pruned, ["rare", "rare", "rare", "stop", "frequent"]);
    assert_eq!(cell("retrain"), "false");
}

#[test]
fn a_sample_may_lack_a_third_of_the_new_terms() {
    let folder = tempfile::tempdir().unwrap();
    let terms = write_documents(folder.path(), SampleSize::Fraction(0.5), 4);
    assert!(10 * terms.known < 7 * terms.new.len());
    check_counts(folder.path(), &terms);
}

#[test]
fn a_sample_may_lack_a_tenth_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let terms = write_documents(folder.path(), SampleSize::Documents(150), 16);
    assert!(terms.known < terms.new.len() && 10 * terms.known > 7 * terms.new.len());
    check_counts(folder.path(), &terms);
}

#[test]
fn tables_of_a_projection_go_when_it_is_overwritten_by_none() {
    let folder = tempfile::tempdir().unwrap();
    let (out, _) = run(folder.path(), "out", &["-w", "2"]);
    let first = tables::digest(&out).unwrap();
    let none = ["--overwrite", "--set", "project.method=none"];
    topicmill("project", folder.path(), "out", &none);
    for table in ["drift", "documents", "topic_documents"] {
        assert!(!out.join(table).exists(), "{table}");
    }
    topicmill("project", folder.path(), "out", &["--overwrite"]);
    assert_eq!(tables::digest(&out).unwrap(), first);
}

#[test]
fn two_runs_of_a_collection_are_alike_and_a_run_is_itself() {
    let folder = tempfile::tempdir().unwrap();
    let (out, _) = run(folder.path(), "out", &["-w", "2"]);
    let itself = compare(&out, &out).unwrap();
    assert!(itself.documents == 600 && itself.topics.is_none());
    assert!((itself.cosine.mean - 1.0).abs() < 1e-9 && itself.f1.mean == 1.0);
    assert!(itself.kl_divergence.mean.abs() < 1e-9);
    let seed = ["-w", "2", "--set", "model.seed=2"];
    let (other, _) = run(folder.path(), "other", &seed);
    let found = compare(&out, &other).unwrap();
    assert_eq!((found.documents, found.unmatched), (600, 0));
    let topics = found.topics.as_ref().unwrap();
    assert_eq!(topics.partners.iter().flatten().count(), 6);
    assert!(found.cosine.mean > 0.5 && found.cosine.mean < 1.0, "{found:?}");
    assert!(found.kl_divergence.mean > 0.0 && found.f1.mean > 0.3, "{found:?}");
}
