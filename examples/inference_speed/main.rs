//! Documents a second of every method that takes documents one by one, and how near it comes to
//! long sampling: the table in docs/INFERENCE.md.
//!
//!     cargo run --release --example inference_speed -- RESULT [DOCUMENTS] [THREADS]
//!
//! RESULT is the folder of a finished run, or a job file whose output is trained. Of its documents
//! the first DOCUMENTS (2,000) with terms that were not trained on are inferred (where
//! `sample.documents` says how many were, only the held-out ones are known), on one thread and on THREADS (2). The
//! reference is the mean of two chains of 100 + 400 Gibbs sweeps, soft counts. `held out` is the
//! log-likelihood of one random half of each document's tokens, given the other.

#![allow(clippy::print_stdout, reason = "a program, not the library")]

#[path = "../common/halves.rs"]
mod halves;

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use topicmill::corpus::ShardDocument;
use topicmill::corpus::collection::Collection;
use topicmill::corpus::sample::{SampleRule, Split};
use topicmill::corpus::shard::{Columns, ShardReader};
use topicmill::evaluate::comparison::Measures;
use topicmill::infer::Bag;
use topicmill::infer::inferrer::{Inferrer, Target};
use topicmill::infer::project::log_likelihood;
use topicmill::infer::settings::{Budget, Estimator, InferSettings, Method};
use topicmill::infer::term_topics::TermTopics;
use topicmill::job::defaults;
use topicmill::math::random::{Stage, Stream};
use topicmill::model::factors::{FactorTable, Factors};
use topicmill::stream::{Source, StreamModel};

/// Each rate is the best of so many.
const REPEATS: usize = 3;

/// Terms and counts.
type Document = (Vec<u32>, Vec<u32>);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments.first().ok_or("RESULT [DOCUMENTS] [THREADS]")?;
    let number = |place: usize, default| arguments.get(place).map_or(Ok(default), |n| n.parse());
    let (wanted, threads) = (number(1, 2000)?, number(2, 2)?);
    let source = Source::find(Path::new(path), &["project.method=cvb0".to_owned()])?;
    let model = StreamModel::load(&source)?;
    let documents = new_documents(&source, wanted)?;
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
    println!("method,documents/s,on {threads} threads,cosine,KL,F1,held out");
    for (name, settings) in methods() {
        lab.report(name, &settings, &reference);
    }
    Ok(())
}

/// What is timed: methods by name.
fn methods() -> Vec<(&'static str, InferSettings)> {
    let plain = |burn_in, kept| InferSettings::gibbs(burn_in, kept, Estimator::Counts);
    let soft = |burn_in, kept| InferSettings::gibbs(burn_in, kept, Estimator::Soft);
    let iterated = |method, iterations| InferSettings {
        iterations,
        ..defaults::inference(Budget::Balanced, method)
    };
    vec![
        ("gibbs 100 plain", plain(10, 90)),
        ("gibbs 100 soft", soft(10, 90)),
        ("gibbs 20 soft", soft(5, 15)),
        ("gibbs 6 soft", soft(2, 4)),
        ("gibbs 3 soft", soft(1, 2)),
        ("gibbs 2 plain", plain(0, 1)),
        ("cvb0 2", iterated(Method::Cvb0, 2)),
        ("cvb0 3", iterated(Method::Cvb0, 3)),
        ("cvb0 4", iterated(Method::Cvb0, 4)),
        ("cvb0 8", iterated(Method::Cvb0, 8)),
        ("variational 5", iterated(Method::Variational, 5)),
        ("variational 20", iterated(Method::Variational, 20)),
        ("naive-bayes", iterated(Method::NaiveBayes, 1)),
    ]
}

/// Documents, and what they are inferred against.
struct Lab<'a> {
    factors: &'a [&'a Factors],
    topics: &'a TermTopics,
    documents: Vec<Document>,
    halves: Vec<[Document; 2]>,
    threads: usize,
}

impl Lab<'_> {
    /// Proportions of `documents`, spread over threads.
    fn infer(
        &self,
        documents: &[Document],
        settings: &InferSettings,
        threads: usize,
        round: u64,
    ) -> Vec<Vec<f32>> {
        let share = documents.len().div_ceil(threads).max(1);
        std::thread::scope(|scope| {
            let chunks = documents.chunks(share).enumerate();
            let handles: Vec<_> = chunks
                .map(|(chunk, documents)| {
                    let first = (chunk * share) as u64;
                    scope.spawn(move || self.infer_some(documents, settings, round, first))
                })
                .collect();
            let joined = handles
                .into_iter()
                .flat_map(|h| h.join().expect("inferred"));
            joined.collect()
        })
    }

    fn infer_some(
        &self,
        documents: &[Document],
        settings: &InferSettings,
        round: u64,
        first: u64,
    ) -> Vec<Vec<f32>> {
        let target = Target {
            table: FactorTable::new(self.factors),
            topics: self.topics,
            classifier: None,
        };
        let mut inferrer = Inferrer::default();
        let inferred = documents.iter().zip(first..).map(|(document, number)| {
            let mut stream = Stream::keyed(1, Stage::Project, round, number);
            let proportions = inferrer.infer(bag(document), target, settings, &mut stream);
            proportions.expect("a sound model").to_vec()
        });
        inferred.collect()
    }

    fn report(&self, name: &str, settings: &InferSettings, reference: &[Vec<f32>]) {
        let mut rates = [0.0_f64; 2];
        for (rate, threads) in rates.iter_mut().zip([1, self.threads]) {
            for _ in 0..REPEATS {
                let started = Instant::now();
                let inferred = self.infer(&self.documents, settings, threads, 2);
                *rate = rate.max(inferred.len() as f64 / started.elapsed().as_secs_f64());
            }
        }
        let wide = |row: &[f32]| row.iter().map(|&p| f64::from(p)).collect::<Vec<_>>();
        let mut measures = Measures::default();
        let inferred = self.infer(&self.documents, settings, self.threads, 2);
        for (right, found) in reference.iter().zip(&inferred) {
            measures.add(&wide(right), &wide(found));
        }
        println!(
            "{name},{:.0},{:.0},{:.4},{:.4},{:.4},{:.4}",
            rates[0],
            rates[1],
            measures.cosine().mean,
            measures.kl_divergence().mean,
            measures.f1().mean,
            self.held_out(settings)
        );
    }

    /// Log-likelihood per token of the second halves, given the first.
    fn held_out(&self, settings: &InferSettings) -> f64 {
        let first: Vec<Document> = self.halves.iter().map(|h| h[0].clone()).collect();
        let inferred = self.infer(&first, settings, self.threads, 3);
        let table = FactorTable::new(self.factors);
        let (mut sum, mut tokens) = (0.0, 0);
        for (halves, proportions) in self.halves.iter().zip(&inferred) {
            let (own, own_tokens) = log_likelihood(bag(&halves[1]), proportions, table);
            sum += own;
            tokens += own_tokens;
        }
        sum / tokens as f64
    }
}

fn bag((terms, counts): &Document) -> Bag<'_> {
    Bag { terms, counts }
}

/// The first documents that have terms and were not trained on.
fn new_documents(source: &Source, wanted: usize) -> Result<Vec<Document>, Box<dyn Error>> {
    let collection = Collection::read(&source.root)?;
    let rule = SampleRule::new(&source.job.sample, source.job.model.seed, u64::MAX);
    let mut documents = Vec::new();
    for (place, shard) in collection.shards.iter().enumerate() {
        let path = source.root.join(Collection::shard_name(place));
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

/// The tokens of a document in two random halves.
fn halves(((terms, counts), number): (&Document, u64)) -> [Document; 2] {
    let mut stream = Stream::keyed(1, Stage::Completion, 0, number);
    halves::halves((terms, counts), &mut stream)
}
