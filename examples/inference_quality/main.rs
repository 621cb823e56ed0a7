//! How close a system's inference comes to long sampling under its own model, and how close ours
//! comes: the rows of the table of `scripts/inference_bench` (docs/measurements/BENCHMARKS.md).
//!
//!     cargo run --release --example inference_quality -- SYSTEM DOCUMENTS [THREADS]
//!
//! SYSTEM is a folder of float32 arrays in NumPy's format: `phi.npy` (topics × terms), `alpha.npy`
//! (topics), `theta.npy` and `theta-observed.npy` (documents × topics), the last two inferred by the
//! system from whole documents and from their first halves. DOCUMENTS contains these as UCI bags of words:
//! `docword.test.txt`, `docword.observed.txt`, `docword.held_out.txt`. The reference is the mean of two
//! chains of 100 + 900 Gibbs sweeps, soft counts. Writes CSV: the system first, then one chain against
//! the other, which shows the precision of the reference itself, then our methods, timed on one
//! thread and on THREADS (2). `held out` is the log-likelihood of a token of the second
//! halves, given the first.

#![allow(clippy::print_stdout, reason = "a program, not the library")]

#[path = "../common/lab.rs"]
mod lab;
mod model;
#[path = "../common/uci.rs"]
mod uci;

use std::error::Error;
use std::path::Path;

use lab::{Document, Lab, Proportions, alike};
use lda::infer::mean_field::{CVB0, TermTopics};
use lda::infer::settings::{Estimator, InferSettings};
use lda::model::factors::FactorTable;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [system, documents, rest @ ..] = &arguments[..] else {
        return Err("SYSTEM DOCUMENTS [THREADS]".into());
    };
    let threads = rest.first().map_or(Ok(2), |n| n.parse())?;
    let (system, folder) = (Path::new(system), Path::new(documents));
    let (vocabulary_size, documents) = read(folder, "test")?;
    let (_, observed) = read(folder, "observed")?;
    let (_, held_out) = read(folder, "held_out")?;
    if observed.len() != documents.len() || held_out.len() != documents.len() {
        return Err("the halves and the whole documents differ in number".into());
    }
    let factors = model::load(system, vocabulary_size)?;
    let parts = [&factors];
    let table = FactorTable::new(&parts);
    let topics = TermTopics::new(table, vocabulary_size);
    let shape = (documents.len(), table.topic_count());
    let theirs = model::proportions(&system.join("theta.npy"), shape)?;
    let theirs_observed = model::proportions(&system.join("theta-observed.npy"), shape)?;
    let halves = observed.into_iter().zip(held_out);
    let lab = Lab {
        factors: &parts,
        topics: &topics,
        halves: halves.map(|(first, second)| [first, second]).collect(),
        documents,
        threads,
    };
    let long = InferSettings::gibbs(100, 900, Estimator::Soft);
    let chains = [1, 4].map(|round| lab.infer(&lab.documents, &long, threads, round));
    let reference = mean(&chains);
    println!("{}", lab.header());
    let held_out = lab.held_out(&theirs_observed);
    println!("its own,,,{},{held_out:.4}", alike(&reference, &theirs));
    println!("chain against chain,,,{},", alike(&chains[0], &chains[1]));
    for (name, settings) in methods() {
        lab.report(name, &settings, &reference);
    }
    Ok(())
}

/// Returns the mean of two chains' proportions.
fn mean([first, second]: &[Proportions; 2]) -> Proportions {
    let pairs = first.iter().zip(second);
    let means = pairs.map(|(a, b)| a.iter().zip(b).map(|(a, b)| f32::midpoint(*a, *b)).collect());
    means.collect()
}

/// Returns our methods, by name.
fn methods() -> [(&'static str, InferSettings); 4] {
    let cvb0 = |iterations| InferSettings {
        method: &CVB0,
        iterations,
        ..InferSettings::gibbs(2, 4, Estimator::Soft)
    };
    [
        ("cvb0 2", cvb0(2)),
        ("cvb0 3", cvb0(3)),
        ("gibbs 10+90 plain", InferSettings::gibbs(10, 90, Estimator::Counts)),
        ("gibbs 10+90 soft", InferSettings::gibbs(10, 90, Estimator::Soft)),
    ]
}

/// Reads V, and the documents in their order.
fn read(folder: &Path, name: &str) -> Result<(usize, Vec<Document>), Box<dyn Error>> {
    let (vocabulary_size, documents) = uci::read(&folder.join(format!("docword.{name}.txt")))?;
    let unzipped = documents.into_iter().map(|bag| bag.into_iter().unzip());
    Ok((vocabulary_size, unzipped.collect()))
}
