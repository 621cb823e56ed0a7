//! Inference: fast and reference forms agree, on random models of every density.

#![allow(
    clippy::unwrap_used,
    reason = "helpers outside of #[test] functions may fail a test too"
)]

use topicmill::estimate::Proportions;
use topicmill::infer::project::{Projector, log_likelihood};
use topicmill::infer::sampler::Sampler;
use topicmill::infer::settings::{Estimator, InferSettings};
use topicmill::infer::{Bag, reference};
use topicmill::math::random::{Stage, Stream};
use topicmill::model::Priors;
use topicmill::model::factors::{FactorTable, Factors};
use topicmill::model::parameters::{GlobalStep, Parameters};
use topicmill::model::statistics::Assigned;

fn model(
    topics: usize,
    terms: usize,
    density: f64,
    part_count: usize,
) -> (Vec<Parameters>, Priors) {
    let mut stream = Stream::keyed(21, Stage::Synth, topics as u64, (density * 100.0) as u64);
    let mut entries = vec![Vec::new(); part_count];
    let mut by_topic = vec![0; topics];
    for term in 0..terms as u32 {
        for (topic, total) in by_topic.iter_mut().enumerate() {
            if stream.uniform() < density {
                let count = 1 + stream.below(30) as i32;
                let word = Assigned {
                    term,
                    topic: topic as u16,
                    count,
                }
                .word();
                entries[term as usize % part_count].push(word);
                *total += i64::from(count);
            }
        }
    }
    let step = GlobalStep {
        step_size: 0.25,
        weight: 3.0,
    };
    let parts = (0..part_count)
        .map(|p| {
            let mut part = Parameters::new(topics, terms, p, part_count);
            part.decay(step, &by_topic);
            part.add(step, &entries[p]);
            part
        })
        .collect();
    let priors = Priors {
        alpha: vec![0.3; topics],
        eta: 0.05,
        exp_psi: false,
    };
    (parts, priors)
}

#[test]
fn factors_are_term_distributions_whatever_the_parts() {
    for density in [0.05, 0.5, 1.0] {
        let mut sums = Vec::new();
        for part_count in [1, 3] {
            let (parts, priors) = model(40, 30, density, part_count);
            let factors: Vec<_> = parts
                .iter()
                .map(|p| Factors::prepare(p, &priors, |_| true, None))
                .collect();
            let references: Vec<_> = factors.iter().collect();
            let table = FactorTable::new(&references);
            let all: Vec<_> = (0..30).map(|w| table.all(table.find(w).unwrap())).collect();
            for k in 0..40 {
                let sum: f64 = all.iter().map(|row| row[k]).sum();
                assert!((sum - 1.0).abs() < 1e-5, "φ of topic {k} adds up to {sum}");
            }
            sums.push(all);
        }
        assert_eq!(sums[0], sums[1]);
    }
}

/// Every mass of the soft estimator against the reference's, on the same sample.
#[test]
fn soft_counts_equal_the_reference() {
    for density in [0.05, 0.3, 1.0] {
        let (parts, priors) = model(50, 40, density, 1);
        let factors = Factors::prepare(&parts[0], &priors, |_| true, None);
        let references = [&factors];
        let table = FactorTable::new(&references);
        let (terms, counts) = ([1u32, 5, 6, 20, 39], [3u32, 1, 7, 2, 2]);
        let mut sampler = Sampler::default();
        let mut stream = Stream::keyed(2, Stage::Project, 0, 0);
        sampler.start(
            Bag {
                terms: &terms,
                counts: &counts,
            },
            table,
        );
        for _ in 0..5 {
            sampler.sweep(table, &mut stream).unwrap();
        }
        let (mut dense, mut assignments) = (Vec::new(), Vec::new());
        sampler.for_each_run(|w, topics| {
            for &k in topics {
                dense.push(table.all(table.find(w).unwrap()));
                assignments.push(Some(usize::from(k)));
            }
        });
        let soft = reference::soft_counts(&dense, &priors.alpha, &assignments);
        let mut estimate = Proportions::default();
        estimate.start(50);
        estimate.begin_sample();
        let sample = sampler.sample();
        sampler.for_each_term(|i, row, own| estimate.add_term(i, row, own, sample, table));
        estimate.end_sample(sample, table);
        let mut proportions = Vec::new();
        estimate.finish(15, table, &mut proportions);
        for k in 0..50 {
            let expected = (soft[k] + 0.3) / (15.0 + 15.0);
            let got = f64::from(proportions[k]);
            assert!(
                (got - expected).abs() < 1e-5,
                "density {density}, topic {k}: {got} {expected}"
            );
        }
    }
}

#[test]
fn proportions_add_up_to_one_for_both_estimators() {
    let (parts, priors) = model(30, 40, 0.3, 1);
    let factors = Factors::prepare(&parts[0], &priors, |w| w != 7, None);
    let references = [&factors];
    let table = FactorTable::new(&references);
    let mut projector = Projector::default();
    for estimator in [Estimator::Soft, Estimator::Counts] {
        let settings = InferSettings::gibbs(2, 3, estimator);
        for (terms, counts) in [
            (vec![], vec![]),
            (vec![7], vec![2]),
            (vec![3, 7, 9], vec![500, 1, 2]),
        ] {
            let bag = Bag {
                terms: &terms,
                counts: &counts,
            };
            let mut stream = Stream::keyed(2, Stage::Project, 0, 1);
            let proportions = projector.infer(bag, table, &settings, &mut stream).unwrap();
            let sum: f32 = proportions.iter().sum();
            assert!((sum - 1.0).abs() < 1e-5);
            let (value, tokens) = log_likelihood(bag, proportions, table);
            assert_eq!(
                tokens,
                bag.token_count()
                    - u64::from(terms.contains(&7)) * if terms.len() == 1 { 2 } else { 1 }
            );
            assert!(value <= 0.0 && value.is_finite());
        }
    }
}

/// Both estimators estimate the same thing.
#[test]
fn soft_and_plain_estimates_agree_in_the_long_run() {
    let (parts, priors) = model(10, 40, 0.3, 1);
    let factors = Factors::prepare(&parts[0], &priors, |_| true, None);
    let references = [&factors];
    let table = FactorTable::new(&references);
    let bag = Bag {
        terms: &[2, 3, 11, 30],
        counts: &[2, 1, 4, 1],
    };
    let estimate = |estimator| {
        let settings = InferSettings::gibbs(10, 20_000, estimator);
        let mut stream = Stream::keyed(3, Stage::Project, 0, 1);
        Projector::default()
            .infer(bag, table, &settings, &mut stream)
            .unwrap()
            .to_vec()
    };
    let (soft, plain) = (estimate(Estimator::Soft), estimate(Estimator::Counts));
    for k in 0..10 {
        assert!(
            (soft[k] - plain[k]).abs() < 0.01,
            "topic {k}: {} {}",
            soft[k],
            plain[k]
        );
    }
}
