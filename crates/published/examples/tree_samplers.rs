//! Times the samplers for tree-structured priors on generated documents, as Hu & Boyd-Graber
//! (2012) do in Table 1 and Figure 1, and prints a CSV table.
//!
//!     cargo run --release -p topicmill-published --example tree_samplers -- topics=50,100,200,500
//!     cargo run --release -p topicmill-published --example tree_samplers -- vocabulary=5000,10000,20000,30000
//!     cargo run --release -p topicmill-published --example tree_samplers -- correlations=50,100,200,500
//!     cargo run --release -p topicmill-published --example tree_samplers -- senses=1,2,4
//!
//! If several values are given, every combination is timed. The defaults are the paper's values; its documents had
//! 204 tokens on average. `seconds` are those of one pass, averaged over the passes after the first and over the
//! seeds: CPU time if the system reports it, otherwise wall-clock time.

#![allow(clippy::print_stdout, reason = "a program, not the library")]

use std::collections::BTreeMap;
use std::time::Instant;

use lda::bags::Bags;
use lda::math::random::{Stage, Stream};
use lda::math::special::pow;
use lda::model::tree::{Node, Tree};
use lda::train::TrainError;
use published::tree::gibbs::Gibbs;
use published::tree::sampler::Variant;

/// The arguments, and their defaults.
const DEFAULTS: [(&str, &str); 9] = [
    ("topics", "100"),
    ("vocabulary", "10000"),
    ("correlations", "100"),
    ("senses", "1"),
    ("documents", "13284"),
    ("length", "204"),
    ("iterations", "100"),
    ("seeds", "5"),
    ("samplers", "NAIVE,FAST,FAST-RB,FAST-RB-SD,FAST-RB-SW,FAST-RB-SDW"),
];

/// Terms of a generated synset.
const SYNSET: u64 = 3;

/// η and β_1.
const PRIORS: [f64; 2] = [0.01, 100.0];

/// Σ_k α_k.
const ALPHA_SUM: f64 = 5.0;

/// One size of corpus, tree and model.
#[derive(Clone, Copy)]
struct Size {
    topics: u64,
    vocabulary: u64,
    correlations: u64,
    /// Synsets that a correlated term is in, on average.
    senses: u64,
    documents: u64,
    length: u64,
}

/// Reads `name=value,value` arguments, and times every combination.
fn main() -> Result<(), String> {
    run(std::env::args().skip(1))
}

/// Times the samplers as `arguments` request, and prints a line for each of them and each size.
pub fn run(arguments: impl Iterator<Item = String>) -> Result<(), String> {
    let mut given: BTreeMap<&str, String> = DEFAULTS.map(|(n, v)| (n, v.to_owned())).into();
    for argument in arguments {
        let known = argument.split_once('=').and_then(|(name, values)| {
            let value = given.get_mut(name)?;
            *value = values.to_owned();
            Some(())
        });
        known.ok_or_else(|| format!("{argument}: expected one of {DEFAULTS:?} as name=values"))?;
    }
    let numbers = |name: &str| -> Result<Vec<u64>, String> {
        let least = match name {
            "vocabulary" => SYNSET,
            "correlations" => 0,
            _ => 1,
        };
        let values = given[name].split(',').map(|value| match value.parse() {
            Ok(number) if number < least => Err(format!("{name}: {value} is less than {least}")),
            parsed => parsed.map_err(|error| format!("{name}: {error}")),
        });
        values.collect()
    };
    let (iterations, seeds) = (numbers("iterations")?[0], numbers("seeds")?[0]);
    println!("sampler,topics,vocabulary,correlations,senses,tokens,iterations,seeds,seconds");
    for size in sizes(numbers)? {
        let tokens = size.documents * size.length;
        for variant in Variant::ALL {
            if !given["samplers"].split(',').any(|name| name == variant.name()) {
                continue;
            }
            let mut seconds = 0.0;
            for seed in 0..seeds {
                seconds += time(size, variant, seed, iterations).map_err(|e| e.to_string())?;
            }
            let Size { topics, vocabulary, correlations, senses, .. } = size;
            println!(
                "{},{topics},{vocabulary},{correlations},{senses},{tokens},{iterations},{seeds},{:.4}",
                variant.name(),
                seconds / seeds as f64
            );
        }
    }
    Ok(())
}

/// Returns every combination of the given values.
fn sizes(numbers: impl Fn(&str) -> Result<Vec<u64>, String>) -> Result<Vec<Size>, String> {
    let mut sizes = vec![[0; 6]];
    for (place, (name, _)) in DEFAULTS[..6].iter().enumerate() {
        let values = numbers(name)?;
        let with = |size: [u64; 6]| {
            values.iter().map(move |&value| {
                let mut size = size;
                size[place] = value;
                size
            })
        };
        sizes = sizes.into_iter().flat_map(with).collect();
    }
    let named = |[topics, vocabulary, correlations, senses, documents, length]: [u64; 6]| Size {
        topics,
        vocabulary,
        correlations,
        senses,
        documents,
        length,
    };
    Ok(sizes.into_iter().map(named).collect())
}

/// Returns the seconds per pass, averaged over the passes after the first.
fn time(size: Size, variant: Variant, seed: u64, iterations: u64) -> Result<f64, TrainError> {
    let documents = corpus(size, seed);
    let tree = Tree::new(size.vocabulary as usize, PRIORS[0], &synsets(size, seed))
        .expect("synsets have different terms");
    let alpha = vec![ALPHA_SUM / size.topics as f64; size.topics as usize];
    let mut gibbs = Gibbs::new(&documents, &tree, alpha, variant, seed);
    gibbs.pass()?;
    let (clock, start) = (Instant::now(), cpu_seconds());
    for _ in 0..iterations {
        gibbs.pass()?;
    }
    let spent = cpu_seconds().zip(start).map(|(end, start)| end - start);
    Ok(spent.unwrap_or_else(|| clock.elapsed().as_secs_f64()) / iterations as f64)
}

/// Returns the CPU time of this thread so far, if the system reports it (Linux); other programs hardly change it.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split(' ').next()?.parse::<f64>().ok()? / 1e9)
}

/// Draws a rank in 0 .. `count` with a probability falling as 1/rank: Zipf's law, by its integral.
fn zipf(stream: &mut Stream, count: u64) -> u64 {
    (pow((count + 1) as f64, stream.uniform()) as u64).clamp(1, count) - 1
}

/// Generates documents of four topics each. A topic ranks the terms in its own order, but every fourth token
/// follows the one order that all topics share.
fn corpus(size: Size, seed: u64) -> Bags {
    let mut bags = Bags::default();
    for document in 0..size.documents {
        let mut stream = Stream::keyed(seed, Stage::Synth, 0, document);
        let topics: Vec<u64> = (0..4).map(|_| stream.below(size.topics)).collect();
        let mut counts = BTreeMap::new();
        for token in 0..size.length {
            let rank = zipf(&mut stream, size.vocabulary);
            let shift = match token % 4 {
                0 => 0,
                _ => (1 + topics[stream.below(4) as usize]) * size.vocabulary / (size.topics + 1),
            };
            *counts.entry(((rank + shift) % size.vocabulary) as u32).or_insert(0) += 1;
        }
        let (terms, counts): (Vec<u32>, Vec<u32>) = counts.into_iter().unzip();
        bags.push(document, &terms, &counts);
    }
    bags
}

/// Generates subtrees of a few terms each, below the root (the paper's come from WordNet's synsets).
fn synsets(size: Size, seed: u64) -> Vec<Node> {
    let mut stream = Stream::keyed(seed, Stage::Synth, 1, 0);
    let terms = (size.correlations * SYNSET / size.senses).clamp(SYNSET, size.vocabulary);
    let chosen: Vec<u32> = (0..terms).map(|i| (i * size.vocabulary / terms) as u32).collect();
    (0..size.correlations)
        .map(|number| {
            let mut own: Vec<u32> = Vec::new();
            while (own.len() as u64) < SYNSET {
                let term = chosen[stream.below(terms) as usize];
                if !own.contains(&term) {
                    own.push(term);
                }
            }
            Node {
                name: format!("synset {number}"),
                prior: PRIORS[0] * SYNSET as f64,
                leaf_prior: PRIORS[1],
                children: Vec::new(),
                terms: own,
            }
        })
        .collect()
}
