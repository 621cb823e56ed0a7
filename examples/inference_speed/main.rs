//! Documents per second of every method that takes documents one by one, and how close it comes to
//! long sampling: the table in docs/measurements/DEFAULTS.md.
//!
//!     cargo run --release --example inference_speed -- RESULT [DOCUMENTS] [THREADS]
//!
//! RESULT is the folder of a finished run, or a job file whose output is trained. The first DOCUMENTS
//! (2,000) of its documents with terms that were not trained on are inferred (if `sample.documents`
//! limits the sample, only the held-out ones are known), on one thread and on THREADS (2). The
//! reference is the mean of two chains of 100 + 400 Gibbs sweeps, soft counts. `held out` is the
//! log-likelihood of one random half of each document's tokens, given the other.

#![allow(clippy::print_stdout, reason = "a program, not the library")]

#[path = "../common/halves.rs"]
mod halves;
#[path = "../common/lab.rs"]
mod lab;

use std::error::Error;
use std::path::Path;

use lab::{Document, Lab, bag};
use lda::infer::Bag;
use lda::infer::mean_field::{CVB0, VARIATIONAL};
use lda::infer::naive_bayes;
use lda::infer::settings::{Estimator, InferSettings};
use lda::math::random::{Stage, Stream};
use lda::model::factors::FactorTable;
use topicmill::config::Job;
use topicmill::corpus::ShardDocument;
use topicmill::corpus::collection::Collection;
use topicmill::corpus::sample::{SampleRule, Split};
use topicmill::corpus::shard::{Columns, ShardReader};
use topicmill::result::OpenedResult;
use topicmill::serve::StreamModel;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments.first().ok_or("RESULT [DOCUMENTS] [THREADS]")?;
    let number = |place: usize, default| arguments.get(place).map_or(Ok(default), |n| n.parse());
    let (wanted, threads) = (number(1, 2000)?, number(2, 2)?);
    let overrides = ["project.method=cvb0".to_owned()];
    let (job, result) = OpenedResult::with_job(Path::new(path), &overrides)?;
    let model = StreamModel::load(&job, &result)?;
    let documents = new_documents(&job, &result, wanted)?;
    let parts = [&model.factors];
    let lab = Lab {
        factors: &parts,
        topics: &model.topics,
        halves: documents.iter().zip(0..).map(halves).collect(),
        documents,
        threads,
    };
    let tokens: u64 = lab.documents.iter().map(|d| bag(d).token_count()).sum();
    println!(
        "{} topics, {} documents, {tokens} tokens",
        FactorTable::new(&parts).topic_count(),
        lab.documents.len()
    );
    let mut long = InferSettings::gibbs(100, 400, Estimator::Soft);
    long.chains = 2;
    let reference = lab.infer(&lab.documents, &long, threads, 1);
    println!("{}", lab.header());
    for (name, settings) in methods() {
        lab.report(name, &settings, &reference);
    }
    Ok(())
}

/// Returns the methods to time, by name.
fn methods() -> Vec<(&'static str, InferSettings)> {
    let plain = |burn_in, kept| InferSettings::gibbs(burn_in, kept, Estimator::Counts);
    let soft = |burn_in, kept| InferSettings::gibbs(burn_in, kept, Estimator::Soft);
    let iterated = |method, iterations| InferSettings { method, iterations, ..soft(2, 4) };
    vec![
        ("gibbs 100 plain", plain(10, 90)),
        ("gibbs 100 soft", soft(10, 90)),
        ("gibbs 20 soft", soft(5, 15)),
        ("gibbs 6 soft", soft(2, 4)),
        ("gibbs 3 soft", soft(1, 2)),
        ("gibbs 2 plain", plain(0, 1)),
        ("cvb0 2", iterated(&CVB0, 2)),
        ("cvb0 3", iterated(&CVB0, 3)),
        ("cvb0 4", iterated(&CVB0, 4)),
        ("cvb0 8", iterated(&CVB0, 8)),
        ("variational 5", iterated(&VARIATIONAL, 5)),
        ("variational 20", iterated(&VARIATIONAL, 20)),
        ("naive-bayes", iterated(&naive_bayes::METHOD, 1)),
    ]
}

/// Reads the first documents that have terms and were not trained on.
fn new_documents(
    job: &Job,
    result: &OpenedResult,
    wanted: usize,
) -> Result<Vec<Document>, Box<dyn Error>> {
    let collection = result.collection()?;
    let rule = SampleRule::new(&job.sample, job.model.seed, u64::MAX);
    let mut documents = Vec::new();
    for (place, shard) in collection.shards.iter().enumerate() {
        let path = result.root().join(Collection::shard_name(place));
        let mut reader = ShardReader::open(&path, Columns::Counts)?;
        let mut document = ShardDocument::default();
        let mut number = shard.first_document;
        while reader.read_into(&mut document)? {
            if !document.terms.is_empty() && rule.split(number) != Split::Sample {
                documents.push((document.terms.clone(), document.counts.clone()));
            }
            number += 1;
        }
    }
    documents.truncate(wanted);
    Ok(documents)
}

/// Splits a document's tokens into two random halves.
fn halves(((terms, counts), number): (&Document, u64)) -> [Document; 2] {
    let mut stream = Stream::keyed(1, Stage::Completion, 0, number);
    halves::halves(Bag { terms, counts }, &mut stream)
}
