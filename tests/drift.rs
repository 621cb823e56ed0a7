//! Drift of a whole run against counting by hand, the same for any number of workers; and two results
//! compared.

#![allow(
    clippy::unwrap_used,
    reason = "helpers outside of #[test] functions may fail a test too"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use topicmill::corpus::ShardDocument;
use topicmill::corpus::sample::Split;
use topicmill::corpus::shard::{Columns, ShardReader};
use topicmill::evaluate::drift::{hellinger_distance, jensen_shannon_distance};
use topicmill::tables;
use topicmill::tables::compare::compare;
use topicmill::tables::projected::{ProjectedDocument, ProjectedReader};
use topicmill::tables::read::{Rows, head};

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
    let path = format!("output.path={out}");
    let output = Command::new(env!("CARGO_BIN_EXE_topicmill"))
        .args(["run", "job.toml", "--set", &path])
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let out = folder.join(out);
    let report = tables::verify(&out).unwrap();
    assert!(report.is_sound(), "{:?}", report.problems);
    (out, String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A table's cells by column, as text.
fn cells(rows: &Rows, column: &str) -> Vec<String> {
    let index = rows.columns.iter().position(|c| c == column).unwrap();
    rows.rows.iter().map(|row| row[index].clone()).collect()
}

/// What is counted of a group, or of the run under no name.
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

/// Counts by hand: trained on under `Err`, new ones under `Ok(group)`.
fn count(out: &Path, known: &BTreeSet<u32>) -> BTreeMap<Result<Option<String>, ()>, Counted> {
    let mut counted: BTreeMap<Result<Option<String>, ()>, Counted> = BTreeMap::new();
    let mut projected = ProjectedReader::open(out).unwrap();
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
            assert_eq!(bag.group, document.group_id);
            let Some(likelihood) = document.loglik_per_token else {
                continue;
            };
            let keys = match document.split {
                Some(Split::Sample) => vec![Err(())],
                _ => vec![Ok(None), Ok(document.group_id.clone())],
            };
            for key in keys {
                let sums = counted.entry(key).or_default();
                sums.documents += 1;
                sums.tokens += document.tokens_total - document.tokens_stopped;
                sums.kept += document.tokens_in_vocabulary;
                let of_known = bag.terms.iter().zip(&bag.counts);
                let of_known = of_known.filter(|(term, _)| known.contains(term));
                sums.known += of_known.map(|(_, &n)| i64::from(n)).sum::<i64>();
                sums.terms.extend(&bag.terms);
                sums.likelihood += likelihood * document.tokens_in_vocabulary as f64;
                for &(topic, weight) in &document.topics {
                    let mass = f64::from(weight) * document.tokens_in_vocabulary as f64;
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
    let known: BTreeSet<u32> = cells(&terms, "term_id")
        .iter()
        .map(|id| id.parse().unwrap())
        .collect();
    let counted = count(&out, &known);
    let trained = &counted[&Err(())];
    let drift = head(&out.join("drift"), 1000).unwrap();
    assert_eq!(drift.rows.len(), 6, "five groups and the run");
    let number = |row: usize, column: &str| cells(&drift, column)[row].parse::<f64>().unwrap();
    for row in 0..6 {
        let group = Some(cells(&drift, "group_id")[row].clone()).filter(|group| !group.is_empty());
        assert_eq!(group.is_none(), row == 5);
        let expected = &counted[&Ok(group.clone())];
        let found = [
            "documents",
            "tokens",
            "tokens_in_vocabulary",
            "known_tokens",
        ]
        .map(|column| number(row, column) as i64);
        assert_eq!(
            found,
            [
                expected.documents,
                expected.tokens,
                expected.kept,
                expected.known
            ]
        );
        let common = expected.terms.intersection(&known).count();
        let share = common as f64 / expected.terms.len() as f64;
        assert_eq!(number(row, "known_term_share"), share);
        assert_eq!(cells(&drift, "retrain")[row], (share < 0.7).to_string());
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

#[test]
fn two_runs_of_a_collection_are_alike_and_a_run_is_itself() {
    let folder = tempfile::tempdir().unwrap();
    let (out, _) = run(folder.path(), "out", &["-w", "2"]);
    let itself = compare(&out, &out, Some(Split::Projected)).unwrap();
    assert!(itself.documents > 400 && itself.topics.is_none());
    assert!((itself.cosine.mean - 1.0).abs() < 1e-9 && itself.f1.mean == 1.0);
    assert!(itself.kl_divergence.mean.abs() < 1e-9);
    let seed = ["-w", "2", "--set", "model.seed=2"];
    let (other, _) = run(folder.path(), "other", &seed);
    let found = compare(&out, &other, None).unwrap();
    assert_eq!((found.documents, found.unmatched), (600, 0));
    let topics = found.topics.as_ref().unwrap();
    assert_eq!(topics.partners.iter().flatten().count(), 6);
    assert!(
        found.cosine.mean > 0.5 && found.cosine.mean < 1.0,
        "{found:?}"
    );
    assert!(
        found.kl_divergence.mean > 0.0 && found.f1.mean > 0.3,
        "{found:?}"
    );
}
