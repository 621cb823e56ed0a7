//! The shipped job files, and the meaning of valid ones; `errors` has invalid ones.

mod documentation;
mod errors;
mod hashes;
mod small;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;

use lda::infer::gibbs;
use lda::model::settings::Alpha;
use topicmill::config::state::MODEL_FILE;
use topicmill::config::{Job, keys};
use topicmill::corpus::settings::{SampleSize, StopWords};

use small::{SMALL, parse, told, with};

fn shipped() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("jobs");
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("jobs/ is there")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    files
}

#[test]
fn every_shipped_job_is_valid() {
    let names: Vec<String> = shipped()
        .iter()
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    let expected = ["labels", "library", "newsgroups", "planted", "quickstart"];
    assert_eq!(names, expected);
    for path in shipped() {
        let job = Job::load(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
        assert!(job.output.path.starts_with("out"), "{}", path.display());
    }
}

#[test]
fn defaults_fill_what_is_not_written() {
    let job = parse(SMALL).expect("valid");
    assert_eq!(job.corpus.input, ["texts"]);
    assert_eq!(job.corpus.text, ["text"]);
    assert_eq!(job.corpus.format, None);
    assert!(job.corpus.base.is_absolute() && job.corpus.base.ends_with("jobs"));
    assert_eq!(job.sample.size, SampleSize::Documents(200_000));
    assert_eq!(job.model.alpha, None);
    assert_eq!(job.vocabulary.stop_words, [StopWords::Language("en".into())]);
    assert_eq!(job.output.path, Path::new("out/small"));
    assert_eq!(job.synth, None);
}

#[test]
fn overrides_win_and_may_be_bare() {
    let job = with(&[
        "model.topics=7",
        "model.topics = 8",
        "corpus.input=../a b/*.txt",
        "corpus.id=007",
        "corpus.group=12",
        "corpus.text=[\"title\", \"body\"]",
        "corpus.format=jsonl",
        "output.path=out/a=b",
        "train.prune=0",
    ])
    .expect("valid");
    assert_eq!(job.model.topics, 8);
    assert_eq!(job.corpus.input, ["../a b/*.txt"]);
    assert_eq!((job.corpus.id.as_str(), job.corpus.group.as_deref()), ("007", Some("12")));
    assert_eq!(job.corpus.text, ["title", "body"]);
    assert_eq!(job.corpus.format, Some("jsonl".to_owned()));
    assert_eq!(job.output.path, Path::new("out/a=b"));
    assert_eq!(job.train.prune, 0.0);
}

#[test]
fn an_override_replaces_the_other_way_of_saying_it() {
    let text = format!("{SMALL}[sample]\nfraction = 0.1\n");
    let job = Job::parse(&text, Path::new("job.toml"), &["sample.documents=9".to_owned()]);
    assert_eq!(job.expect("valid").sample.size, SampleSize::Documents(9));
    let job = with(&["model.alpha_sum=3", "model.alpha=0.5"]).expect("valid");
    assert_eq!(job.model.alpha, Some(Alpha::Each(0.5)));
}

/// Returns jobs that use every form that a key can have.
fn various() -> Vec<Job> {
    let known = format!("tree.file={}/jobs/known.txt", env!("CARGO_MANIFEST_DIR"));
    // Written only once, because concurrent tests hash it.
    static WRITTEN: Once = Once::new();
    let before = Path::new(env!("CARGO_TARGET_TMPDIR")).join("before");
    WRITTEN.call_once(|| {
        fs::create_dir_all(before.join("model")).expect("a folder for tests");
        fs::write(before.join(MODEL_FILE), "its bytes").expect("a file for tests");
        // A warm start keeps the terms.
        fs::create_dir_all(before.join("corpus")).expect("a folder for tests");
        fs::write(before.join("corpus/vocabulary.tsv"), "its terms").expect("a file for tests");
    });
    let warm = format!("train.warm_start={}", before.display());
    let sets: [&[&str]; 11] = [
        &[],
        &[&warm, "train.unassign=documents"],
        &[&known, "tree.must_link=1000"],
        &["sample.fraction=0.1", "model.eta=0.05", "corpus.block_mib=0.3", "corpus.format=\"csv\""],
        &["model.topics=2", "model.alpha=[0.1, 2]", "project.method=none", "corpus.group=volume"],
        &[
            "vocabulary.stop_words=none",
            "model.alpha=0.1",
            "corpus.max_document_mib=1.7",
            "train.memory=off",
            "model.geometry=exp-psi",
        ],
        &["train.online_passes=0", "train.passes=7", "htrc.section_words=3000"],
        &["train.schedule=residual", "train.importance=true"],
        &[
            "train.minibatch=norms",
            "corpus.section_words=1000",
            "corpus.duplicates=drop",
            "corpus.snippets=start",
        ],
        &["train.method=batch-vb", "phrases.detect=true", "corpus.section_paragraphs=9"],
        &[
            "project.trends=[\"it's\"]",
            "corpus.metadata=[\"it's\", 'a \"b\"', \"tab\\t\"]",
            "synth.path=made",
        ],
    ];
    let mut jobs: Vec<Job> = sets.iter().map(|set| with(set).expect("valid")).collect();
    jobs.extend(shipped().iter().map(|path| Job::load(path, &[]).expect("valid")));
    jobs
}

#[test]
fn a_resolved_job_is_the_same_job() {
    for job in various() {
        let text = job.resolved_toml();
        let mut again = Job::parse(&text, Path::new("/elsewhere/job.toml"), &[])
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        again.path = job.path.clone();
        assert_eq!(again, job, "{text}");
        // It is the same job in another folder.
        assert!(!text.contains("path = \"made\""), "{text}");
        assert_eq!(again.resolved_toml(), text);
        assert_eq!(again.project_hash(), job.project_hash());
    }
}

#[test]
fn a_resolved_job_names_every_key_and_no_other() {
    let mut written = BTreeSet::new();
    for job in various() {
        let table: toml::Table = job.resolved_toml().parse().expect("TOML");
        for (section, keys) in &table {
            let keys = keys.as_table().expect("a section");
            written.extend(keys.keys().map(|key| format!("{section}.{key}")));
        }
    }
    assert_eq!(written, known_keys());
}

fn known_keys() -> BTreeSet<String> {
    let keys = keys::SECTIONS.iter().flat_map(|section| section.keys);
    keys.map(|key| key.path.to_owned()).collect()
}

#[test]
fn hashes_name_what_changes_a_result_and_nothing_else() {
    let base = with(&[]).expect("valid");
    let hashes = |job: &Job| [job.corpus_hash(), job.train_hash(), job.project_hash()];
    assert!(hashes(&base).iter().all(|hash| hash.len() == 64));
    for set in ["output.path=elsewhere", "train.checkpoint_every=7", "train.checkpoint_minutes=1"] {
        assert_eq!(hashes(&with(&[set]).expect("valid")), hashes(&base), "{set}");
    }
    let moved = Job::parse(SMALL, Path::new("/other/folder/job.toml"), &[]).expect("valid");
    assert_eq!(hashes(&moved), hashes(&base));
    for (set, changed) in [
        ("corpus.id=name", [true, true, true]),
        ("tokens.numbers=true", [true, true, true]),
        ("vocabulary.stop_words=[\"en\", \"rust\"]", [true, true, true]),
        ("sample.held_out=0.1", [false, true, true]),
        ("sample.seed=3", [false, true, true]),
        ("model.seed=2", [false, true, true]),
        ("train.evaluate_every=7", [false, true, true]),
        ("project.threshold=0.02", [false, false, true]),
    ] {
        let other = hashes(&with(&[set]).expect("valid"));
        let differs = [0, 1, 2].map(|i| other[i] != hashes(&base)[i]);
        assert_eq!(differs, changed, "{set}");
    }
}

#[test]
fn a_word_list_counts_by_its_contents() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("job.toml");
    fs::write(&path, SMALL).expect("written");
    let load = || Job::load(&path, &["vocabulary.stop_words=[\"en\", \"words.txt\"]".to_owned()]);
    let told = told(load());
    assert!(told.contains("words.txt: cannot be read"), "{told}");
    assert!(told.contains("--set vocabulary.stop_words"), "{told}");
    let hash_with = |words: &str| {
        fs::write(folder.path().join("words.txt"), words).expect("written");
        load().expect("valid").corpus_hash()
    };
    let first = hash_with("foo\n");
    assert_eq!(hash_with("foo\n"), first);
    assert_ne!(hash_with("bar\n"), first);
}

#[test]
fn a_job_may_make_its_own_corpus() {
    let text = "[synth]\npath = \"out/made [1]\"\ntopics = 3\n[model]\ntopics = 3\n[output]\npath = \"out/x\"\n";
    let job = parse(text).expect("valid");
    let synth = job.synth.as_ref().expect("there is [synth]");
    assert_eq!((synth.settings.topics, synth.settings.documents), (3, 10_000));
    assert_eq!(job.corpus.input, [synth.input()]);
    assert!(Path::new(&job.corpus.input[0]).is_absolute());
    assert!(job.corpus.input[0].ends_with("out/made [[]1[]]/documents-*.jsonl"));
    let elsewhere = parse(&text.replace("made", "else")).expect("valid");
    assert_eq!(elsewhere.corpus_hash(), job.corpus_hash());
    let other = parse(&text.replace("topics = 3\n[model]", "seed = 2\n[model]")).expect("valid");
    assert_ne!(other.corpus_hash(), job.corpus_hash());
}

/// A saved job names every key, but its method can still be changed.
#[test]
fn another_method_takes_the_place_of_what_only_says_the_old_one() {
    let resolved = with(&[]).expect("valid").resolved_toml();
    let path = Path::new("jobs/small.toml");
    for overrides in [
        &["project.method=gibbs-joint"][..],
        &["project.method=variational"],
        &["project.method=gibbs-joint", "project.sweeps=7"],
        &["project.top_terms=5"],
    ] {
        let fresh = with(overrides).expect("valid");
        let texts: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
        let again = Job::parse(&resolved, path, &texts).expect("valid");
        assert_eq!(again.project, fresh.project, "{overrides:?}");
        assert_eq!(again.project_hash(), fresh.project_hash());
    }
    // Keys that the job set itself stay, whatever the method.
    let own = with(&["project.iterations=9", "project.method=gibbs"]).expect("valid");
    let joint = ["project.method=gibbs-joint".to_owned()];
    let again = Job::parse(&own.resolved_toml(), path, &joint).expect("valid");
    let infer = again.project.infer.expect("it projects");
    assert_eq!(*infer.method, gibbs::JOINT);
    assert_eq!((infer.iterations, infer.kept_sweeps), (9, 50));
    // A job that names no method keeps the values that it sets.
    let text = format!("{SMALL}\n[project]\niterations = 3\n");
    let job = Job::parse(&text, path, &["project.method=variational".to_owned()]).expect("valid");
    assert_eq!(job.project.infer.expect("it projects").iterations, 3);
}
