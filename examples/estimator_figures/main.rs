//! Figures 1 and 2 of Papanikolaou, Foulds, Rubin & Tsoumakas 2017, repeated on any UCI bag of words;
//! docs/measurements/PAPERS.md explains them.
//!
//!     cargo run --release --example estimator_figures -- FOLDER [KEY=VALUE,…]…
//!
//! FOLDER contains docword*.txt and vocab*.txt, unpacked. Perplexity of the second halves of held-out
//! documents, against the number of samples of their first halves that are averaged, with plain
//! counts (θ) and soft counts (θ^p) in both φ and φ^p, for one chain and several. Keys: topics,
//! samples, chains (lists), passes (of training), burn_in, lag, seed (a list: runs). Writes CSV to
//! standard output. With `table=4` it repeats Table 4 instead: the log-likelihood of all documents, all of which
//! are trained on, with θ and θ^p, φ and φ^p of one sample of their assignments. FOLDER can then be a gzipped
//! state in MALLET's format, which has such a sample.

#![allow(clippy::print_stdout, reason = "a program, not the library")]

mod corpus;
#[path = "../common/halves.rs"]
mod halves;
mod soft_topics;
mod state;

use std::error::Error;
use std::path::Path;

use corpus::Corpus;
use lda::bags::Bags;
use lda::estimate::Proportions;
use lda::infer::Bag;
use lda::infer::sampler::Sampler;
use lda::infer::summary::log_likelihood;
use lda::math::random::{Stage, Stream};
use lda::math::special::exp;
use lda::model::Priors;
use lda::model::factors::{FactorTable, Factors};
use lda::model::parameters::Parameters;
use lda::train::settings::{Memory, MinibatchSize, TrainSettings};
use lda::train::{Setup, Trained, train};

/// The paper's α for every topic, and its β.
const ALPHA: f64 = 0.1;
const ETA: f64 = 0.01;
/// Documents held out, where perplexity is measured: a tenth, but at most a thousand.
const HELD_OUT: f64 = 0.1;

/// The arguments, with the paper's settings as defaults.
struct Wanted {
    topics: Vec<u64>,
    samples: Vec<u64>,
    chains: Vec<u64>,
    seeds: Vec<u64>,
    passes: u32,
    burn_in: u64,
    lag: u64,
    table: u64,
}

impl Wanted {
    fn parse(arguments: &[String]) -> Result<Self, Box<dyn Error>> {
        let mut wanted = Self {
            topics: vec![100],
            samples: vec![1, 2, 3, 5, 10, 20, 50, 100],
            chains: vec![1, 5],
            seeds: vec![1, 2, 3, 4, 5],
            passes: 200,
            burn_in: 50,
            lag: 5,
            table: 0,
        };
        for argument in arguments {
            let (key, value) = argument.split_once('=').ok_or("KEY=VALUE")?;
            let list: Vec<u64> = value.split(',').map(str::parse).collect::<Result<_, _>>()?;
            let first = *list.first().ok_or("a value")?;
            match key {
                "topics" => wanted.topics = list,
                "samples" => wanted.samples = list,
                "chains" => wanted.chains = list,
                "seed" => wanted.seeds = list,
                "passes" => wanted.passes = u32::try_from(first)?,
                "burn_in" => wanted.burn_in = first,
                "lag" => wanted.lag = first,
                "table" if first == 4 => wanted.table = first,
                _ => return Err(format!("no such key: {key}").into()),
            }
        }
        Ok(wanted)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (folder, keys) = arguments.split_first().ok_or("FOLDER [KEY=VALUE,…]…")?;
    let wanted = Wanted::parse(keys)?;
    println!(
        "{}",
        match wanted.table {
            4 => "topics,phi,theta,seed,log_likelihood,tokens",
            _ => "topics,chains,samples,phi,theta,seed,perplexity,scored_tokens",
        }
    );
    let folder = Path::new(folder);
    for &seed in &wanted.seeds {
        if wanted.table == 4 && folder.is_file() {
            let (documents, trained) = state::read(folder)?;
            table(&documents, &trained, seed);
            continue;
        }
        let held_out = if wanted.table == 4 { 0.0 } else { HELD_OUT };
        let corpus = corpus::read(folder, seed, held_out)?;
        for &topics in &wanted.topics {
            run(&corpus, topics as usize, seed, &wanted)?;
        }
    }
    Ok(())
}

/// Trains one model, and prints its lines of the figure.
fn run(corpus: &Corpus, topics: usize, seed: u64, wanted: &Wanted) -> Result<(), Box<dyn Error>> {
    let priors = Priors { alpha: vec![ALPHA; topics], eta: ETA, exp_psi: false, tree: None };
    let settings = settings(wanted.passes);
    let setup = Setup {
        priors: &priors,
        spare_topics: 0,
        settings: &settings,
        seed,
        vocabulary_size: corpus.vocabulary_size,
        warm_start: None,
    };
    let trained = train(&corpus.train, &Bags::default(), &setup, |_, _| {})?;
    if wanted.table == 4 {
        table(&corpus.train, &trained, seed);
        return Ok(());
    }
    for (phi, parameters) in models(&corpus.train, &trained, seed) {
        let factors = Factors::prepare(&parameters, &priors, |_| true, None);
        let parts = [&factors];
        let table = FactorTable::new(&parts);
        for &chains in &wanted.chains {
            let (lines, tokens) = perplexities(corpus, (table, seed, chains), wanted)?;
            for (samples, values) in wanted.samples.iter().zip(lines) {
                for (theta, value) in ["counts", "soft"].iter().zip(values) {
                    println!(
                        "{topics},{chains},{samples},{phi},{theta},{seed},{value:.2},{tokens}"
                    );
                }
            }
        }
    }
    Ok(())
}

/// Returns φ and φ^p of the assignments of the documents trained on.
fn models(documents: &Bags, trained: &Trained, seed: u64) -> [(&'static str, Parameters); 2] {
    let counted = Factors::prepare(&trained.parameters, &trained.priors, |_| true, None);
    let counted = [&counted];
    let soft = soft_topics::soft_topics(documents, trained, FactorTable::new(&counted), seed);
    [("counts", trained.parameters.clone()), ("soft", soft)]
}

/// Prints the lines of Table 4.
fn table(documents: &Bags, trained: &Trained, seed: u64) {
    let models = models(documents, trained, seed);
    let factors = models.each_ref().map(|(name, model)| {
        let factors = Factors::prepare(model, &trained.priors, |_| true, None);
        (*name, factors)
    });
    let counted = [&factors[0].1];
    let counted = FactorTable::new(&counted);
    let (topics, tokens) = (counted.topic_count(), documents.token_count());
    for (phi, factors) in &factors {
        let parts = [factors];
        let sums = fit(documents, trained, [counted, FactorTable::new(&parts)]);
        for (theta, sum) in ["counts", "soft"].iter().zip(sums) {
            println!("{topics},{phi},{theta},{seed},{sum:.0},{tokens}");
        }
    }
}

/// Returns the log-likelihood of the documents trained on, with θ and θ^p of their assignments, which the
/// first model counts, and φ of the second.
fn fit(documents: &Bags, trained: &Trained, [counted, phi]: [FactorTable<'_>; 2]) -> [f64; 2] {
    let (mut sampler, mut theta) = (Sampler::default(), Vec::new());
    let mut estimates: [Proportions; 2] = Default::default();
    let mut sums = [0.0; 2];
    for (index, assigned) in trained.assignments.iter().enumerate() {
        let bag = documents.bag(index);
        sampler.resume(bag, counted, assigned);
        for estimate in &mut estimates {
            estimate.start_counted(counted.topic_count());
        }
        add(&mut sampler, counted, &mut estimates);
        for (estimate, sum) in estimates.iter_mut().zip(&mut sums) {
            estimate.finish(sampler.token_count(), counted, &mut theta);
            *sum += log_likelihood(bag, &theta, phi).0;
        }
    }
    sums
}

/// The perplexity of all test documents, for each number of samples and estimator of θ; and the
/// tokens scored.
type Perplexities = (Vec<[f64; 2]>, u64);

fn perplexities(
    corpus: &Corpus,
    setting: (FactorTable<'_>, u64, u64),
    wanted: &Wanted,
) -> Result<Perplexities, Box<dyn Error>> {
    let mut lines = vec![[0.0; 2]; wanted.samples.len()];
    let mut tokens = 0;
    for index in 0..corpus.test.len() {
        tokens += score(corpus, index, setting, wanted, &mut lines)?;
    }
    for value in lines.iter_mut().flatten() {
        *value = exp(-*value / tokens as f64);
    }
    Ok((lines, tokens))
}

/// Returns settings for one sample of one chain of collapsed Gibbs sampling, after a pass that assigns every token.
fn settings(passes: u32) -> TrainSettings {
    TrainSettings {
        minibatch: Some(MinibatchSize::Documents(2048)),
        passes: Some(1 + passes),
        memory: Memory::On,
        online_passes: 1,
        alpha_every: Some(0),
        average_every: Some(0),
        kept_sweeps: 1,
        prune: 0.0,
        evaluate_every: Some(u32::MAX),
        patience: 0,
        ..TrainSettings::default()
    }
}

/// Adds the log-likelihood of a document's second half, for each number of samples and estimator; returns
/// the tokens scored. Both estimators see the same samples of the same chains.
fn score(
    corpus: &Corpus,
    index: usize,
    (table, seed, chains): (FactorTable<'_>, u64, u64),
    wanted: &Wanted,
    lines: &mut [[f64; 2]],
) -> Result<u64, Box<dyn Error>> {
    let number = corpus.test.document(index);
    let mut stream = Stream::keyed(seed, Stage::Completion, 0, number);
    let halves = halves::halves(corpus.test.bag(index), &mut stream);
    let [(terms, counts), (scored_terms, scored_counts)] = &halves;
    let observed = Bag { terms, counts };
    let scored = Bag { terms: scored_terms, counts: scored_counts };
    let most = wanted.samples.iter().max().copied().unwrap_or(1);
    // For each number of samples, both estimates over the chains so far.
    let mut estimates: Vec<[Proportions; 2]> = vec![Default::default(); lines.len()];
    for estimate in estimates.iter_mut().flatten() {
        estimate.start(table.topic_count());
    }
    let mut sampler = Sampler::default();
    for chain in 0..chains {
        let mut stream = Stream::keyed(seed, Stage::Project, chain, number);
        sampler.start(observed, table);
        for _ in 0..=wanted.burn_in {
            sampler.sweep(table, &mut stream)?;
        }
        for sample in 1..=most {
            for _ in 0..wanted.lag {
                sampler.sweep(table, &mut stream)?;
            }
            let due = wanted.samples.iter().map(|&samples| samples >= sample);
            for (estimates, _) in estimates.iter_mut().zip(due).filter(|(_, due)| *due) {
                add(&mut sampler, table, estimates);
            }
        }
    }
    let (mut proportions, mut tokens) = (Vec::new(), 0);
    for (estimates, sums) in estimates.iter_mut().zip(lines) {
        for (estimate, sum) in estimates.iter_mut().zip(sums) {
            estimate.finish(sampler.token_count(), table, &mut proportions);
            let (log_likelihood, scored_tokens) = log_likelihood(scored, &proportions, table);
            *sum += log_likelihood;
            tokens = scored_tokens;
        }
    }
    Ok(tokens)
}

/// Adds the current sample to both estimates: plain counts, and soft ones.
fn add(sampler: &mut Sampler, table: FactorTable<'_>, [counts, soft]: &mut [Proportions; 2]) {
    counts.add_counts(sampler.sample());
    sampler.add_soft(soft, table);
}
