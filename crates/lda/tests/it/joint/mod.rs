//! Documents sampled together: the sampler against exact posteriors, and updated counts against a recount.

mod alone;
mod counts;
mod posterior;

use std::collections::BTreeMap;

use alone::{Setup, Together, sample_together};
use lda::bags::Bags;
use lda::infer::settings::Estimator;
use lda::math::random::{Stage, Stream};
use lda::model::Priors;
use lda::model::parameters::Parameters;
use lda::model::statistics::Assigned;
use lda::train::joint::Passes;

/// A model with these counts, by term and then topic.
fn counted(topics: usize, counts: &[Vec<i32>]) -> Parameters {
    let mut parameters = Parameters::new(topics, counts.len(), 0, 1);
    let mut totals = vec![0; topics];
    let mut entries = Vec::new();
    for (term, row) in counts.iter().enumerate() {
        for (topic, &count) in row.iter().enumerate().filter(|&(_, &n)| n > 0) {
            let (term, topic) = (term as u32, topic as u16);
            entries.push(Assigned { term, topic, count }.word());
            totals[usize::from(topic)] += i64::from(count);
        }
    }
    parameters.replace(&entries);
    parameters.replace_totals(&totals);
    parameters
}

fn priors(topics: usize, eta: f64) -> Priors {
    Priors {
        alpha: (0..topics).map(|k| 0.4 + 0.1 * (k % 3) as f64).collect(),
        eta,
        exp_psi: false,
        tree: None,
    }
}

/// `bags` sampled together with `fixed` counts, from the model of these counts.
fn together(bags: &Bags, fixed: &Parameters, priors: &Priors, passes: Passes) -> Together {
    let setup = Setup { trained: fixed, published: priors, fixed: Some(fixed), priors, passes };
    sample_together(bags, &setup).unwrap()
}

fn passes(burn_in: u64, kept: u64, rounds: u64, seed: u64) -> Passes {
    Passes { burn_in, kept, rounds, estimator: Estimator::Counts, seed }
}

/// Documents of two kinds of words, and a model that knows little about them.
fn small_corpus(documents: u64) -> (Bags, Parameters) {
    let terms = 30;
    let mut bags = Bags::default();
    for document in 0..documents {
        let mut stream = Stream::keyed(4, Stage::Synth, 3, document);
        let mut counts = BTreeMap::new();
        for _ in 0..12 {
            let kind = u64::from(stream.uniform() < 0.3) ^ (document % 2);
            *counts.entry(kind as u32 * 15 + stream.below(15) as u32).or_insert(0) += 1;
        }
        let (own, counts): (Vec<u32>, Vec<u32>) = counts.into_iter().unzip();
        bags.push(document, &own, &counts);
    }
    let row = |w: usize| vec![i32::from(w < 15) * 3, i32::from(w >= 15) * 3, 1];
    let counts: Vec<Vec<i32>> = (0..terms).map(row).collect();
    (bags, counted(3, &counts))
}
