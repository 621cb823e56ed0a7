//! The samplers against the exact posterior: every topic configuration of tiny documents is
//! enumerated, and the configurations drawn are compared with it by χ².

use crate::chi_square::{chi_square_z, normalized};
use lda::infer::Bag;
use lda::infer::sampler::Sampler;
use lda::math::random::{Stage, Stream};
use lda::math::special::{exp, ln_gamma};
use lda::model::Priors;
use lda::model::factors::{FactorTable, Factors};
use lda::model::parameters::{GlobalStep, Parameters};
use lda::model::statistics::Assigned;
use published::reference;

/// Topics that no term has, with almost no prior. With this many of them, a document is sampled by the topics
/// present; without them, by all topics, several at a time.
const UNUSED: usize = 128;
const UNUSED_ALPHA: f64 = 1e-12;

/// A random model in which term w has about `density` of the topics; then come `unused` more.
fn random_model(
    topics: usize,
    unused: usize,
    terms: usize,
    density: f64,
    exp_psi: bool,
) -> (Parameters, Priors) {
    let mut stream = Stream::keyed(11, Stage::Synth, topics as u64, terms as u64);
    let mut parameters = Parameters::new(topics + unused, terms, 0, 1);
    let mut entries = Vec::new();
    let mut by_topic = vec![0; topics + unused];
    for term in 0..terms as u32 {
        for (topic, total) in by_topic[..topics].iter_mut().enumerate() {
            if stream.uniform() < density {
                let count = 1 + stream.below(40) as i32;
                entries.push(Assigned { term, topic: topic as u16, count }.word());
                *total += i64::from(count);
            }
        }
    }
    let step = GlobalStep { step_size: 0.5, weight: 1.0 };
    parameters.decay(step, &by_topic);
    parameters.add(step, &entries);
    let alpha = alpha(topics, unused);
    (parameters, Priors { alpha, eta: 0.3, exp_psi, tree: None })
}

fn alpha(topics: usize, unused: usize) -> Vec<f64> {
    let alpha = (0..topics).map(|k| 0.2 + 0.1 * (k % 3) as f64);
    alpha.chain(vec![UNUSED_ALPHA; unused]).collect()
}

/// p(z) ∝ Π_k Γ(α_k + n_k)/Γ(α_k) Π_i e_{i z_i}, for every z (the last token's topic fastest).
fn posterior(factors: &[Vec<f64>], alpha: &[f64]) -> Vec<f64> {
    let (topics, tokens) = (alpha.len(), factors.len());
    let mut masses = Vec::new();
    for configuration in 0..topics.pow(tokens as u32) {
        let mut counts = vec![0.0; topics];
        let mut mass = 1.0;
        let mut rest = configuration;
        for i in (0..tokens).rev() {
            counts[rest % topics] += 1.0;
            mass *= factors[i][rest % topics];
            rest /= topics;
        }
        for k in 0..topics {
            mass *= exp(ln_gamma(alpha[k] + counts[k]) - ln_gamma(alpha[k]));
        }
        masses.push(mass);
    }
    normalized(masses)
}

const BURN_IN: usize = 8;

/// Draws configurations with the fast sampler and compares them.
fn check_sampler(topics: usize, density: f64, exp_psi: bool, draws: u64, is_dense: bool) {
    for unused in [0, UNUSED] {
        let model = random_model(topics, unused, 4, density, exp_psi);
        check_model(topics, &model, draws, is_dense);
    }
}

fn check_model(topics: usize, model: &(Parameters, Priors), draws: u64, is_dense: bool) {
    let (parameters, priors) = model;
    let factors = Factors::prepare(parameters, priors, |_| true, None);
    let parts = [&factors];
    let table = FactorTable::new(&parts);
    let (terms, counts) = ([0u32, 1, 3], [1u32, 1, 1]);
    let rows: Vec<_> = terms.iter().rev().map(|&w| table.find(w).unwrap()).collect();
    assert_eq!(rows.iter().all(|&row| table.dense(row).is_some()), is_dense);
    let used = |&row: &_| table.all(row)[..topics].to_vec();
    let dense: Vec<_> = rows.iter().map(used).collect();
    let expected = posterior(&dense, &priors.alpha[..topics]);
    let mut seen = vec![0u64; expected.len()];
    let mut sampler = Sampler::default();
    for draw in 0..draws {
        let mut stream = Stream::keyed(5, Stage::Train, 0, draw);
        sampler.start(Bag { terms: &terms, counts: &counts }, table);
        for _ in 0..BURN_IN {
            sampler.sweep(table, &mut stream).unwrap();
        }
        let mut configuration = 0;
        sampler
            .assignments()
            .iter()
            .for_each(|&k| configuration = configuration * topics + k as usize);
        seen[configuration] += 1;
    }
    let z = chi_square_z(&expected, &seen);
    assert!(z.abs() < 4.0, "K = {topics} of {}: χ² is {z} deviations off", priors.alpha.len());
}

#[test]
fn sparse_rows_draw_from_the_posterior() {
    check_sampler(3, 0.7, false, 200_000, false);
    check_sampler(12, 0.4, false, 400_000, false);
}

#[test]
fn dense_rows_draw_from_the_posterior() {
    check_sampler(33, 1.0, false, 700_000, true);
}

#[test]
fn the_papers_geometry_draws_from_its_posterior() {
    check_sampler(4, 0.6, true, 200_000, false);
}

/// Gibbs rounds: the first token of a sweep, whose old topic is known, against its conditional with
/// its own count left out of the model and of the document.
fn check_own_count(topics: usize, unused: usize, is_dense: bool) {
    let mut parameters = Parameters::new(topics + unused, 2, 0, 1);
    let (mut entries, mut totals) = (Vec::new(), vec![0i64; topics + unused]);
    for (term, step) in [(0u32, 1usize), (1, if is_dense { 1 } else { 3 })] {
        for topic in (0..topics).step_by(step) {
            let count = 1 + (topic * 7 + term as usize) as i32 % 5;
            let topic = topic as u16;
            entries.push(Assigned { term, topic, count }.word());
            totals[usize::from(topic)] += i64::from(count);
        }
    }
    parameters.replace(&entries);
    parameters.replace_totals(&totals);
    let priors = Priors { alpha: alpha(topics, unused), eta: 0.1, exp_psi: false, tree: None };
    let factors = Factors::prepare(&parameters, &priors, |_| true, None);
    let parts = [&factors];
    let table = FactorTable::new(&parts);
    let row = table.find(1).unwrap();
    assert_eq!(table.dense(row).is_some(), is_dense);
    // Term 1 comes first: its token had topic 0, as did one of term 0's; the others had 3 and 6.
    let remembered = [0u16, 0, 3, 6];
    let factors = table.all(row);
    let mass = |k: usize| {
        let others = remembered[1..].iter().filter(|&&z| usize::from(z) == k);
        let own = f64::from(table.smoothing().unit[k]) * f64::from(u8::from(k == 0));
        (priors.alpha[k] + others.count() as f64) * (factors[k] - own)
    };
    let expected = normalized((0..topics).map(mass).collect());
    let (terms, counts) = ([0u32, 1], [3u32, 1]);
    let (terms, counts) = (&terms[..], &counts[..]);
    let mut seen = vec![0u64; topics];
    let mut sampler = Sampler::default();
    for draw in 0..300_000 {
        let mut stream = Stream::keyed(7, Stage::Train, 0, draw);
        sampler.resume(Bag { terms, counts }, table, &remembered);
        sampler.sweep_own(table, &mut stream).unwrap();
        seen[usize::from(sampler.assignments()[0])] += 1;
    }
    let z = chi_square_z(&expected, &seen);
    assert!(z.abs() < 4.0, "K = {topics} and {unused}: χ² is {z} deviations off");
}

#[test]
fn a_token_that_counts_in_the_model_is_drawn_without_its_own_count() {
    for unused in [0, UNUSED] {
        check_own_count(9, unused, false);
        check_own_count(33, unused, true);
    }
}

/// A document restricted to some topics: its configurations over them, as if there were no others.
fn check_restricted(unused: usize, density: f64) {
    let (parameters, priors) = random_model(9, unused, 4, density, false);
    let factors = Factors::prepare(&parameters, &priors, |_| true, None);
    let parts = [&factors];
    let table = FactorTable::new(&parts);
    let labels = [1u16, 4, 8];
    let of_labels = |all: &[f64]| labels.map(|k| all[usize::from(k)]).to_vec();
    let (terms, counts) = ([0u32, 1, 3], [1u32, 1, 1]);
    let dense: Vec<_> =
        (terms.iter().rev()).map(|&w| of_labels(&table.all(table.find(w).unwrap()))).collect();
    let expected = posterior(&dense, &of_labels(&priors.alpha));
    let (terms, counts) = (&terms[..], &counts[..]);
    let bag = Bag { terms, counts };
    let mut seen = vec![0u64; expected.len()];
    let mut sampler = Sampler::default();
    for draw in 0..100_000 {
        let mut stream = Stream::keyed(8, Stage::Train, 0, draw);
        sampler.start(bag, table);
        sampler.restrict(&labels);
        for _ in 0..BURN_IN {
            sampler.sweep(table, &mut stream).unwrap();
        }
        let place = |k: &u16| labels.iter().position(|label| label == k).unwrap();
        let places = sampler.assignments().iter().map(place);
        seen[places.fold(0, |c, place| c * labels.len() + place)] += 1;
        let sample = sampler.sample();
        let present = sample.active.iter();
        let tokens: f32 = present.map(|&k| sample.counts[usize::from(k)]).sum();
        assert_eq!(tokens, 3.0, "what estimators read");
    }
    let z = chi_square_z(&expected, &seen);
    assert!(z.abs() < 4.0, "{unused} unused: χ² is {z} deviations off");
    // The restriction leaves no trace in a document that may have all topics.
    let after = |sampler: &mut Sampler| {
        let mut stream = Stream::keyed(8, Stage::Train, 1, 0);
        sampler.start(bag, table);
        for _ in 0..BURN_IN {
            sampler.sweep(table, &mut stream).unwrap();
        }
        (sampler.assignments().to_vec(), sampler.sample().active.to_vec())
    };
    assert_eq!(after(&mut sampler), after(&mut Sampler::default()));
}

#[test]
fn a_restricted_document_draws_from_the_posterior_over_its_topics() {
    for unused in [0, UNUSED] {
        check_restricted(unused, 0.5);
        check_restricted(unused, 1.0);
    }
}

#[test]
fn a_restricted_token_is_drawn_without_its_own_count() {
    let (parameters, priors) = random_model(33, 0, 2, 0.8, false);
    let factors = Factors::prepare(&parameters, &priors, |_| true, None);
    let parts = [&factors];
    let table = FactorTable::new(&parts);
    let labels = [2u16, 3, 6, 9, 13, 20, 21, 27, 31];
    // Term 1 comes first.
    let remembered = [3u16, 2, 3, 3];
    let factors = table.all(table.find(1).unwrap());
    let mass = |&label: &u16| {
        let k = usize::from(label);
        let others = remembered[1..].iter().filter(|&&z| z == label).count();
        let own = f64::from(table.smoothing().unit[k]) * f64::from(u8::from(label == 3));
        (priors.alpha[k] + others as f64) * (factors[k] - own).max(0.0)
    };
    let expected = normalized(labels.iter().map(mass).collect());
    let (terms, counts) = (&[0u32, 1][..], &[3u32, 1][..]);
    let mut seen = vec![0u64; labels.len()];
    let mut sampler = Sampler::default();
    for draw in 0..200_000 {
        let mut stream = Stream::keyed(9, Stage::Train, 0, draw);
        sampler.resume(Bag { terms, counts }, table, &remembered);
        sampler.restrict(&labels);
        sampler.sweep_own(table, &mut stream).unwrap();
        let drawn = sampler.assignments()[0];
        seen[labels.iter().position(|&label| label == drawn).unwrap()] += 1;
    }
    let z = chi_square_z(&expected, &seen);
    assert!(z.abs() < 4.0, "χ² is {z} deviations off");
}

#[test]
fn an_empty_model_draws_from_the_prior() {
    check_sampler(4, 0.0, false, 200_000, false);
}

#[test]
fn the_reference_draws_from_the_posterior() {
    let (parameters, priors) = random_model(4, 0, 4, 0.6, false);
    let factors = Factors::prepare(&parameters, &priors, |_| true, None);
    let parts = [&factors];
    let table = FactorTable::new(&parts);
    let dense: Vec<_> = [3, 1, 0].iter().map(|&w| table.all(table.find(w).unwrap())).collect();
    let expected = posterior(&dense, &priors.alpha);
    let mut seen = vec![0u64; expected.len()];
    for draw in 0..200_000 {
        let mut stream = Stream::keyed(6, Stage::Train, 0, draw);
        let mut assignments = vec![None; 3];
        for _ in 0..BURN_IN {
            reference::sweep(&dense, &priors.alpha, &mut assignments, &mut stream);
        }
        seen[assignments.iter().fold(0, |c, k| c * 4 + k.unwrap())] += 1;
    }
    let z = chi_square_z(&expected, &seen);
    assert!(z.abs() < 4.0, "χ² is {z} deviations off");
}

#[test]
fn a_sampler_may_be_lent_from_one_model_to_another() {
    let bag = Bag { terms: &[0, 1, 3], counts: &[3, 1, 2] };
    let sample = |sampler: &mut Sampler, unused| {
        let (parameters, priors) = random_model(9, unused, 4, 0.6, false);
        let factors = Factors::prepare(&parameters, &priors, |_| true, None);
        let parts = [&factors];
        let table = FactorTable::new(&parts);
        let mut stream = Stream::keyed(8, Stage::Train, 0, 0);
        sampler.start(bag, table);
        for _ in 0..BURN_IN {
            sampler.sweep(table, &mut stream).unwrap();
        }
        let counted: f32 = sampler.sample().counts.iter().sum();
        assert_eq!(counted, 6.0);
        sampler.assignments().to_vec()
    };
    let mut lent = Sampler::default();
    for unused in [UNUSED, 0, UNUSED, 2 * UNUSED, 20, 0] {
        let fresh = sample(&mut Sampler::default(), unused);
        assert_eq!(sample(&mut lent, unused), fresh, "{unused} topics unused");
    }
}
