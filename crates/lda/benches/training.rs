//! Training on one thread, in separate online and Gibbs passes, on a corpus whose rows exceed a level-2 cache: the
//! cost of documents with cold terms, including statistics and updates.
//!
//!     cargo bench -p topicmill-lda --bench training

use std::collections::BTreeMap;

use divan::Bencher;
use divan::counter::ItemsCount;
use lda::bags::Bags;
use lda::math::random::{Stage, Stream};
use lda::math::special::pow;
use lda::model::Priors;
use lda::train::settings::{MinibatchSize, TrainSettings};
use lda::train::{Setup, train};

const TERMS: u32 = 60_000;
const DOCUMENTS: u64 = 1_000;
const TOKENS: u64 = 500;
/// Each document has the terms of one theme in half of its tokens.
const THEMES: u64 = 50;

fn main() {
    divan::main();
}

/// Documents whose terms follow Zipf's law.
fn corpus() -> Bags {
    let mut bags = Bags::default();
    for document in 0..DOCUMENTS {
        let mut stream = Stream::keyed(3, Stage::Synth, 0, document);
        let theme = stream.below(THEMES) as u32;
        let mut counts = BTreeMap::new();
        for _ in 0..TOKENS {
            let frequent = pow(f64::from(TERMS), stream.uniform()) as u32 - 1;
            let shift = stream.below(2) as u32 * theme * 1_000;
            *counts.entry((frequent + shift) % TERMS).or_insert(0) += 1;
        }
        let (terms, counts): (Vec<u32>, Vec<u32>) = counts.into_iter().unzip();
        bags.push(document, &terms, &counts);
    }
    bags
}

/// Times passes; the items are tokens visited.
fn passes(bencher: Bencher<'_, '_>, topics: usize, [online, gibbs]: [u32; 2]) {
    let corpus = corpus();
    let priors =
        Priors { alpha: vec![5.0 / topics as f64; topics], eta: 0.05, exp_psi: false, tree: None };
    let settings = TrainSettings {
        minibatch: Some(MinibatchSize::Documents(DOCUMENTS as usize / 2)),
        passes: Some(online + gibbs),
        online_passes: online,
        evaluate_every: Some(u32::MAX),
        ..TrainSettings::default()
    };
    let setup = Setup {
        priors: &priors,
        spare_topics: 0,
        settings: &settings,
        seed: 1,
        vocabulary_size: TERMS as usize,
        warm_start: None,
    };
    let tokens = corpus.token_count() * u64::from(online + gibbs);
    bencher.counter(ItemsCount::new(tokens)).bench_local(|| {
        train(&corpus, &Bags::default(), &setup, |_, _| {}).expect("a sound model");
    });
}

#[divan::bench(args = [100, 1000], sample_count = 3, sample_size = 1)]
fn online(bencher: Bencher<'_, '_>, topics: usize) {
    passes(bencher, topics, [3, 0]);
}

/// From random topics.
#[divan::bench(args = [100, 1000], sample_count = 3, sample_size = 1)]
fn gibbs(bencher: Bencher<'_, '_>, topics: usize) {
    passes(bencher, topics, [0, 10]);
}
