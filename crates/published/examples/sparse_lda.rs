//! Repeats Figure 2 of Yao, Mimno & McCallum 2009: seconds per sweep, and bytes of counts, against the number of
//! topics T, for plain collapsed Gibbs sampling, SparseLDA and the trainer's Gibbs passes on one thread.
//!
//!     cargo run --release -p topicmill-published --example sparse_lda [DOCWORD [ITERATIONS]] > figure.csv
//!
//! DOCWORD is a bag of words in UCI's format (the paper has NIPS, `docword.nips.txt`); without it, or with "-",
//! 1500 documents of 400 tokens on average are generated from 10,000 terms. Seconds are the mean over the sweeps in
//! the second half of ITERATIONS (20), when topics have formed. Bytes are those of n_wt and n_t; for the trainer,
//! those of λ̃ and of the factors that a round prepares from it.

#![allow(clippy::print_stdout, reason = "a program, not the library")]

use std::error::Error;
use std::io::BufRead;
use std::num::NonZeroUsize;
use std::time::Instant;

use lda::bags::Bags;
use lda::math::draw::{categorical, dirichlet, poisson, prefix_sums};
use lda::math::random::{Stage, Stream};
use lda::model::Priors;
use lda::model::factors::Factors;
use lda::train::settings::{Memory, TrainSettings};
use lda::train::{Setup, train};
use published::sparse_lda::{Chain, DenseLda, SparseLda};

const TOPICS: [usize; 6] = [25, 50, 100, 200, 400, 800];
const ITERATIONS: usize = 20;

/// Prints the figure of a file, or of generated documents.
pub fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().filter(|name| name != "-");
    let iterations = match arguments.next() {
        Some(text) => text.parse::<NonZeroUsize>()?.get(),
        None => ITERATIONS,
    };
    let (bags, terms) = match file {
        Some(name) => read(std::io::BufReader::new(std::fs::File::open(name)?))?,
        None => (generate(1500, 10_000, 400.0), 10_000),
    };
    print(&bags, terms, &TOPICS, iterations)
}

/// Prints a line for each sampler and number of topics.
pub fn print(
    bags: &Bags,
    terms: usize,
    topics: &[usize],
    iterations: usize,
) -> Result<(), Box<dyn Error>> {
    println!("topics,sampler,tokens,seconds_per_sweep,bytes");
    for &topics in topics {
        // MALLET's defaults for α_t and β.
        let priors = Priors {
            alpha: vec![5.0 / topics as f64; topics],
            eta: 0.01,
            exp_psi: false,
            tree: None,
        };
        let line = |sampler: &str, [seconds, bytes]: [f64; 2]| {
            let tokens = bags.token_count();
            println!("{topics},{sampler},{tokens},{seconds:.4},{bytes}");
        };
        line("dense", sweeps(DenseLda::new(bags, terms, &priors, 1), iterations));
        line("sparse", sweeps(SparseLda::new(bags, terms, &priors, 1), iterations));
        line("trainer", passes(bags, terms, &priors, iterations)?);
    }
    Ok(())
}

/// Returns the seconds per sweep, and the bytes of counts.
fn sweeps(mut chain: impl Chain, iterations: usize) -> [f64; 2] {
    (0..iterations / 2).for_each(|_| chain.sweep());
    let start = Instant::now();
    (iterations / 2..iterations).for_each(|_| chain.sweep());
    let seconds = start.elapsed().as_secs_f64() / (iterations - iterations / 2) as f64;
    [seconds, chain.count_bytes() as f64]
}

/// Returns the same for the trainer: batch Gibbs sampling from random topics.
fn passes(
    bags: &Bags,
    terms: usize,
    priors: &Priors,
    iterations: usize,
) -> Result<[f64; 2], Box<dyn Error>> {
    let settings = TrainSettings {
        memory: Memory::On,
        online_passes: 0,
        passes: Some(iterations as u32),
        alpha_every: Some(0),
        average_every: Some(0),
        ..TrainSettings::default()
    };
    let setup = Setup {
        priors,
        spare_topics: 0,
        settings: &settings,
        seed: 1,
        vocabulary_size: terms,
        warm_start: None,
    };
    let mut ends = vec![Instant::now()];
    let trained = train(bags, &Bags::default(), &setup, |_, _| {
        ends.push(Instant::now());
    })?;
    let (middle, last) = (ends[ends.len() / 2], ends[ends.len() - 1]);
    let share = (ends.len() - 1 - ends.len() / 2) as f64 / (ends.len() - 2) as f64;
    let seconds = (last - middle).as_secs_f64() / (iterations as f64 * share);
    let factors = Factors::prepare(&trained.parameters, priors, |_| true, None);
    let entries = trained.parameters.nonzero_count() as usize * 8;
    Ok([seconds, (entries + terms * 24 + factors.held_bytes()) as f64])
}

/// Generates documents by LDA: as many topics as UCI's NIPS papers would bear, terms by Zipf's law.
pub fn generate(documents: u64, terms: usize, mean_length: f64) -> Bags {
    const PLANTED: u64 = 60;
    let topics: Vec<Vec<f64>> = (0..PLANTED)
        .map(|topic| {
            let mut stream = Stream::keyed(1, Stage::Synth, 0, topic);
            let mut weights = vec![0.05; terms];
            dirichlet(&mut stream, &mut weights);
            let zipf = (1..).map(|rank| 1.0 / f64::from(rank) / terms as f64);
            let weights: Vec<f64> = weights.iter().zip(zipf).map(|(w, z)| w + z).collect();
            prefix_sums(&weights)
        })
        .collect();
    let mut bags = Bags::default();
    for document in 0..documents {
        let mut stream = Stream::keyed(1, Stage::Synth, 1, document);
        let mut proportions = vec![0.08; PLANTED as usize];
        dirichlet(&mut stream, &mut proportions);
        let proportions = prefix_sums(&proportions);
        let draw = |stream: &mut Stream| {
            let topic = categorical(stream, &proportions);
            categorical(stream, &topics[topic]) as u32
        };
        let length = poisson(&mut stream, mean_length);
        let mut tokens: Vec<u32> = (0..length).map(|_| draw(&mut stream)).collect();
        tokens.sort_unstable();
        let runs = tokens.chunk_by(|a, b| a == b);
        let (own, counts): (Vec<u32>, Vec<u32>) =
            runs.map(|run| (run[0], run.len() as u32)).unzip();
        bags.push(document, &own, &counts);
    }
    bags
}

/// Reads a bag of words in UCI's format: D, W and the number of lines, then "document term count", from 1.
fn read(input: impl BufRead) -> Result<(Bags, usize), Box<dyn Error>> {
    let (mut bags, mut header) = (Bags::default(), Vec::new());
    for line in input.lines() {
        let numbers: Vec<u64> =
            (line?.split_whitespace()).map(str::parse).collect::<Result<_, _>>()?;
        match numbers[..] {
            [number] => header.push(number),
            [document, term, count] if term > 0 => {
                bags.push(document, &[term as u32 - 1], &[count as u32])
            }
            _ => return Err("not a bag of words in UCI's format".into()),
        }
    }
    let terms = *header.get(1).ok_or("not a bag of words in UCI's format")?;
    Ok((bags.sorted(), terms as usize))
}
