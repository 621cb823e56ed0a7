//! Documents sampled together: whole runs on any number of workers against the plain form, which is
//! tested in the crate `lda`.

#![allow(clippy::unwrap_used, reason = "helpers outside of #[test] functions may fail a test too")]

#[path = "../../crates/lda/tests/it/joint/alone.rs"]
mod alone;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use lda::bags::Bags;
use lda::infer::{DocumentScope, InferenceMethod, gibbs};
use lda::train::joint::{Passes, sampled_with};
use lda::train::publish::published_priors;
use topicmill::checkpoint;
use topicmill::config::Job;
use topicmill::config::state::MODEL_FILE;
use topicmill::corpus::ShardDocument;
use topicmill::corpus::collection::Collection;
use topicmill::corpus::sample::{SampleRule, Split};
use topicmill::corpus::shard::{Columns, ShardReader};
use topicmill::tables;

use crate::workdir::{Workdir, program, succeed};
use alone::{Setup, sample_together};

const JOB: &str = "[synth]\npath = \"planted\"\ntopics = 5\ndocuments = 1500\nterms = 300\n\
    mean_length = 25\n\
    [corpus]\nblock_mib = 0.1\n\
    [vocabulary]\nstop_words = \"none\"\n\
    [sample]\nfraction = 0.5\nheld_out = 0.1\n\
    [model]\ntopics = 6\nseed = 5\n\
    [train]\nminibatch = 128\nonline_passes = 1\npasses = 5\n\
    [project]\nburn_in = 2\nsweeps = 3\nthreshold = 0.0\ntopic_documents = 5\n\
    [output]\npath = \"out\"\n";

fn run(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = program(folder, "run job.toml --quiet");
    command.args(arguments);
    command
}

/// Reads the documents that a method samples together from a result.
fn documents_of(root: &Path, job: &Job, method: &InferenceMethod) -> Bags {
    let collection = Collection::read(root).unwrap();
    let rule = SampleRule::new(&job.sample, job.model.seed, 0);
    let mut bags = Bags::default();
    for (number, shard) in collection.shards.iter().enumerate() {
        let path = root.join(Collection::shard_name(number));
        let mut reader = ShardReader::open(&path, Columns::Counts).unwrap();
        let mut document = ShardDocument::default();
        let mut next = shard.first_document;
        while reader.read_into(&mut document).unwrap() {
            let is_new = rule.split(next) != Split::Sample;
            if document.status.has_terms() && (is_new || method.scope == DocumentScope::All) {
                bags.push(next, &document.terms, &document.counts);
            }
            next += 1;
        }
    }
    assert!(collection.shards.len() > 2, "work for several processes");
    bags
}

/// Checks that the plain form, with a result's model and documents, agrees with the result's tables.
fn check_against_plain(folder: &Path, out: &str, method: &InferenceMethod) {
    let root = folder.join(out);
    let job = Job::parse(JOB, &folder.join("job.toml"), &[]).unwrap();
    let bags = documents_of(&root, &job, method);
    let saved = checkpoint::read(&root.join(MODEL_FILE)).unwrap();
    let (trained, learnt) = (saved.parameters(0, 1), &saved.header.priors);
    let eta = saved.header.published_eta.unwrap();
    let infer = job.project.infer.as_ref().unwrap();
    let setup = Setup {
        trained: &trained,
        published: &published_priors(learnt, eta),
        fixed: (method.scope == DocumentScope::Untrained).then_some(&trained),
        priors: &sampled_with(method.scope, learnt, eta),
        passes: Passes::new(infer, job.model.seed),
    };
    let sampled = sample_together(&bags, &setup).unwrap();
    let rows = tables::read::head(&root.join("document_topics"), usize::MAX).unwrap();
    assert_eq!(rows.columns[..3], ["doc_id", "topic", "weight"]);
    let mut written = BTreeMap::new();
    for row in &rows.rows {
        let key: (u64, usize) = (row[0].parse().unwrap(), row[1].parse().unwrap());
        written.insert(key, row[2].parse::<f32>().unwrap());
    }
    let mut theta = Vec::new();
    for (index, sums) in sampled.sums.iter().enumerate() {
        let tokens = bags.bag(index).token_count() as usize;
        sums.proportions(tokens, &learnt.alpha, &mut theta);
        for (topic, weight) in theta.iter().enumerate() {
            let found = written.get(&(bags.document(index), topic));
            assert_eq!(found, Some(weight), "document {index}, topic {topic}");
        }
    }
}

const PLACEMENTS: [&[&str]; 5] =
    [&["-w", "1"], &["-w", "2"], &["-w", "3"], &["-w", "4"], &["--processes", "2", "-w", "2"]];

fn check_runs(method: &InferenceMethod) {
    let folder = Workdir::new().with_job(JOB);
    let method_set = format!("project.method={}", method.name);
    let mut digests = Vec::new();
    for (number, placement) in PLACEMENTS.iter().enumerate() {
        let path = format!("output.path=out-{number}");
        let sets = ["--set", &method_set, "--set", &path];
        succeed(run(folder.root(), &[&sets, *placement].concat()));
        digests.push(folder.digest(&format!("out-{number}")));
    }
    assert!(digests.iter().all(|d| *d == digests[0]), "{digests:?}");
    check_against_plain(folder.root(), "out-0", method);
    check_against_plain(folder.root(), "out-4", method);
}

#[test]
fn new_documents_together_are_the_same_on_any_number_of_workers() {
    check_runs(&gibbs::JOINT);
}

#[test]
fn all_documents_together_are_the_same_on_any_number_of_workers() {
    check_runs(&gibbs::RETRAIN);
}

/// A run killed after writing its first parts samples again and ends with the same bytes.
#[test]
fn a_run_that_was_killed_ends_in_the_same_bytes() {
    let folder = Workdir::new().with_job(JOB);
    let arguments = |out: &'static str, workers: &'static str| {
        let sets = ["--set", "project.method=gibbs-joint", "--set", out];
        [&sets[..], &["-w", workers]].concat()
    };
    let finish = |arguments: &[&str]| {
        succeed(run(folder.root(), arguments));
    };
    finish(&arguments("output.path=undisturbed", "2"));
    let mut child = run(folder.root(), &arguments("output.path=killed", "1"));
    let mut child = child.stderr(Stdio::null()).spawn().unwrap();
    let parts = folder.path("killed/document_topics");
    let since = Instant::now();
    while std::fs::read_dir(&parts).map_or(0, Iterator::count) == 0 {
        assert!(since.elapsed() < Duration::from_secs(120), "no part");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    finish(&arguments("output.path=killed", "3"));
    assert_eq!(folder.digest("killed"), folder.digest("undisturbed"));
}
