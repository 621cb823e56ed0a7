//! A sweep over documents: the sampler against its reference, at several numbers of topics.
//!
//! Every repetition has another seed, because a branch predictor learns a stream that is repeated.
//!
//!     cargo bench --bench sampler

use std::cell::Cell;

use divan::Bencher;
use divan::counter::ItemsCount;
use lda::infer::Bag;
use lda::infer::sampler::Sampler;
use lda::math::random::{Stage, Stream};
use lda::model::Priors;
use lda::model::factors::{FactorTable, Factors};
use lda::model::parameters::{GlobalStep, Parameters};
use lda::model::statistics::Assigned;
use published::reference;

const TERMS: u32 = 20_000;
const DOCUMENTS: usize = 200;
const DISTINCT_TERMS: u64 = 60;

fn main() {
    divan::main();
}

/// A model like a trained one: frequent terms (small ids) have many topics, rare ones a few.
fn model(topics: usize) -> (Parameters, Priors) {
    let mut stream = Stream::keyed(1, Stage::Synth, topics as u64, 0);
    let (mut entries, mut by_topic) = (Vec::new(), vec![0; topics]);
    for term in 0..TERMS {
        let wanted = (topics as u64 / 2).min(2 + 20_000 / (u64::from(term) + 20));
        let mut own: Vec<u16> = (0..wanted).map(|_| stream.below(topics as u64) as u16).collect();
        own.sort_unstable();
        own.dedup();
        for topic in own {
            let count = 1 + stream.below(30) as i32;
            entries.push(Assigned { term, topic, count }.word());
            by_topic[usize::from(topic)] += i64::from(count);
        }
    }
    let mut parameters = Parameters::new(topics, TERMS as usize, 0, 1);
    let step = GlobalStep { step_size: 0.5, weight: 2.0 };
    parameters.decay(step, &by_topic);
    parameters.add(step, &entries);
    let alpha = vec![5.0 / topics as f64; topics];
    (parameters, Priors { alpha, eta: 0.05, exp_psi: false, tree: None })
}

/// Documents of distinct terms, frequent ones more often.
fn documents() -> Vec<(Vec<u32>, Vec<u32>)> {
    let document = |number| {
        let mut stream = Stream::keyed(2, Stage::Synth, 0, number);
        let mut terms: Vec<u32> = (0..DISTINCT_TERMS)
            .map(|_| (f64::from(TERMS) * stream.uniform() * stream.uniform()) as u32)
            .collect();
        terms.sort_unstable();
        terms.dedup();
        let counts = terms.iter().map(|_| 1 + stream.below(3) as u32).collect();
        (terms, counts)
    };
    (0..DOCUMENTS as u64).map(document).collect()
}

fn token_count(documents: &[(Vec<u32>, Vec<u32>)]) -> u64 {
    documents.iter().flat_map(|d| &d.1).map(|&n| u64::from(n)).sum()
}

const SWEEPS: u64 = 5;

#[divan::bench(args = [100, 1000, 10_000])]
fn sampler(bencher: Bencher<'_, '_>, topics: usize) {
    let (parameters, priors) = model(topics);
    let factors = Factors::prepare(&parameters, &priors, |_| true, None);
    let parts = [&factors];
    let table = FactorTable::new(&parts);
    let documents = documents();
    let seed = Cell::new(0);
    let mut sampler = Sampler::default();
    let assignments = ItemsCount::new(token_count(&documents) * SWEEPS);
    bencher.counter(assignments).bench_local(|| {
        seed.set(seed.get() + 1);
        for (number, (terms, counts)) in documents.iter().enumerate() {
            let mut stream = Stream::keyed(seed.get(), Stage::Train, 0, number as u64);
            sampler.start(Bag { terms, counts }, table);
            for _ in 0..SWEEPS {
                sampler.sweep(table, &mut stream).expect("a sound model");
            }
        }
    });
}

/// One sweep a visit over documents that count in the model.
#[divan::bench(args = [100, 1000, 10_000])]
fn remembered(bencher: Bencher<'_, '_>, topics: usize) {
    let (parameters, priors) = model(topics);
    let factors = Factors::prepare(&parameters, &priors, |_| true, None);
    let parts = [&factors];
    let table = FactorTable::new(&parts);
    let documents = documents();
    let mut sampler = Sampler::default();
    let mut drawn = Vec::new();
    for (number, (terms, counts)) in documents.iter().enumerate() {
        let mut stream = Stream::keyed(0, Stage::Train, 0, number as u64);
        sampler.start(Bag { terms, counts }, table);
        for _ in 0..SWEEPS {
            sampler.sweep(table, &mut stream).expect("a sound model");
        }
        drawn.push(sampler.assignments().to_vec());
    }
    let seed = Cell::new(0);
    let assignments = ItemsCount::new(token_count(&documents));
    bencher.counter(assignments).bench_local(|| {
        seed.set(seed.get() + 1);
        for (number, (terms, counts)) in documents.iter().enumerate() {
            let mut stream = Stream::keyed(seed.get(), Stage::Train, 0, number as u64);
            sampler.resume(Bag { terms, counts }, table, &drawn[number]);
            sampler.sweep_own(table, &mut stream).expect("a sound model");
        }
    });
}

#[divan::bench(args = [100, 1000], sample_count = 3, sample_size = 1)]
fn dense_reference(bencher: Bencher<'_, '_>, topics: usize) {
    let (parameters, priors) = model(topics);
    let factors = Factors::prepare(&parameters, &priors, |_| true, None);
    let parts = [&factors];
    let table = FactorTable::new(&parts);
    let documents = &documents()[..20];
    let factors_of = |(terms, counts): &(Vec<u32>, Vec<u32>)| -> Vec<Vec<f64>> {
        let row = |&term: &u32| table.all(table.find(term).expect("all are prepared"));
        let repeat = |(term, &count): (&u32, &u32)| vec![row(term); count as usize];
        terms.iter().zip(counts).flat_map(repeat).collect()
    };
    let dense: Vec<Vec<Vec<f64>>> = documents.iter().map(factors_of).collect();
    let seed = Cell::new(0);
    let assignments = ItemsCount::new(token_count(documents) * SWEEPS);
    bencher.counter(assignments).bench_local(|| {
        seed.set(seed.get() + 1);
        for (number, tokens) in dense.iter().enumerate() {
            let mut stream = Stream::keyed(seed.get(), Stage::Train, 0, number as u64);
            let mut assignments = vec![None; tokens.len()];
            for _ in 0..SWEEPS {
                reference::sweep(tokens, &priors.alpha, &mut assignments, &mut stream);
            }
        }
    });
}
