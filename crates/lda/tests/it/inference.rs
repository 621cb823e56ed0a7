//! Inference: fast and reference forms agree, on random models of every density.

use std::sync::Arc;

use lda::estimate::Proportions;
use lda::infer::gibbs::Gibbs;
use lda::infer::labels::{LabelCount, LabelRanker};
use lda::infer::maxent::Classifier;
use lda::infer::mean_field::TermTopics;
use lda::infer::sampler::Sampler;
use lda::infer::settings::{Estimator, InferSettings};
use lda::infer::summary::log_likelihood;
use lda::infer::variational::{Effort, Variational};
use lda::infer::{Bag, InferenceMethod, METHODS, Target, mean_field, naive_bayes};
use lda::math::random::{Stage, Stream};
use lda::math::special::ln;
use lda::model::Priors;
use lda::model::factors::{FactorTable, Factors};
use lda::model::parameters::{Entry, GlobalStep, Parameters};
use lda::model::statistics::Assigned;
use lda::model::tree::{Node, Tree};
use published::reference;

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
                let word = Assigned { term, topic: topic as u16, count }.word();
                entries[term as usize % part_count].push(word);
                *total += i64::from(count);
            }
        }
    }
    let step = GlobalStep { step_size: 0.25, weight: 3.0 };
    let parts = (0..part_count)
        .map(|p| {
            let mut part = Parameters::new(topics, terms, p, part_count);
            part.decay(step, &by_topic);
            part.add(step, &entries[p]);
            part
        })
        .collect();
    let priors = Priors { alpha: vec![0.3; topics], eta: 0.05, exp_psi: false, tree: None };
    (parts, priors)
}

#[test]
fn factors_are_term_distributions_whatever_the_parts() {
    for density in [0.05, 0.5, 1.0] {
        let mut sums = Vec::new();
        for part_count in [1, 3] {
            let (parts, priors) = model(40, 30, density, part_count);
            let factors: Vec<_> =
                parts.iter().map(|p| Factors::prepare(p, &priors, |_| true, None)).collect();
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
        sampler.start(Bag { terms: &terms, counts: &counts }, table);
        for _ in 0..5 {
            sampler.sweep(table, &mut stream).unwrap();
        }
        let (mut dense, mut assignments) = (Vec::new(), Vec::new());
        for (_, row, topics) in sampler.runs() {
            for &k in topics {
                dense.push(table.all(row));
                assignments.push(Some(usize::from(k)));
            }
        }
        let soft = reference::soft_counts(&dense, &priors.alpha, &assignments);
        let mut estimate = Proportions::default();
        estimate.start(50);
        sampler.add_soft(&mut estimate, table);
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
    let mut gibbs = Gibbs::default();
    for estimator in [Estimator::Soft, Estimator::Counts] {
        let settings = InferSettings::gibbs(2, 3, estimator);
        for (terms, counts) in
            [(vec![], vec![]), (vec![7], vec![2]), (vec![3, 7, 9], vec![500, 1, 2])]
        {
            let bag = Bag { terms: &terms, counts: &counts };
            let mut stream = Stream::keyed(2, Stage::Project, 0, 1);
            let proportions = gibbs.infer(bag, table, &settings, &mut stream).unwrap();
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

/// Each label has a term of its own, and the prior outweighs the document; labels are still ranked by the
/// document's tokens.
#[test]
fn label_shares_do_not_contain_the_prior_whatever_the_method() {
    let priors = Priors { alpha: vec![60.0, 15.0, 5.0], eta: 0.01, exp_psi: false, tree: None };
    let row = |term| vec![Entry { topic: term, value: 1000.0 }];
    let parameters = Parameters::new(3, 3, 0, 1).restore(1.0, vec![1000.0; 3], row);
    let factors = Factors::prepare(&parameters, &priors, |_| true, None);
    let references = [&factors];
    let table = FactorTable::new(&references);
    let (terms, counts) = (&[0, 1, 2][..], &[2, 6, 2][..]);
    // The classifier has learnt its prediction from proportions: (α_k + n_dk) / (A + N_d).
    let learnt = [62.0, 21.0, 7.0].map(|tokens| ln(tokens / 90.0) as f32);
    let classifier = Classifier::new(3, learnt.to_vec(), vec![], vec![]);
    let topics = &TermTopics::new(table, 3);
    let target = Target { table, topics, classifier: classifier.as_ref(), labels: None };
    for method in METHODS {
        let mut settings = InferSettings::gibbs(5, 20, Estimator::Soft);
        settings.method = method;
        let (mut inferrer, bag) = (method.inferrer(), Bag { terms, counts });
        let mut stream = Stream::keyed(6, Stage::Project, 0, 1);
        let inferred = inferrer.infer(bag, target, &settings, &mut stream).unwrap();
        let mut ranker = LabelRanker::new(LabelCount::Fixed(1), method.has_prior);
        let ranked = ranker.rank(bag, inferred.proportions, inferred.alpha);
        for (share, expected) in ranked.shares.iter().zip([0.2, 0.6, 0.2]) {
            assert!((share - expected).abs() < 0.02, "{method:?}: {:?}", ranked.shares);
        }
    }
}

/// Both estimators, with one chain or many, estimate the same thing.
#[test]
fn soft_and_plain_estimates_agree_in_the_long_run() {
    let (parts, priors) = model(10, 40, 0.3, 1);
    let factors = Factors::prepare(&parts[0], &priors, |_| true, None);
    let references = [&factors];
    let table = FactorTable::new(&references);
    let bag = Bag { terms: &[2, 3, 11, 30], counts: &[2, 1, 4, 1] };
    let estimate = |chains, kept, estimator| {
        let mut settings = InferSettings::gibbs(20, kept, estimator);
        settings.chains = chains;
        let mut stream = Stream::keyed(3, Stage::Project, 0, 1);
        let mut gibbs = Gibbs::default();
        let proportions = gibbs.infer(bag, table, &settings, &mut stream);
        proportions.unwrap().to_vec()
    };
    let soft = estimate(1, 20_000, Estimator::Soft);
    for (chains, kept, estimator) in
        [(1, 20_000, Estimator::Counts), (400, 50, Estimator::Soft), (400, 50, Estimator::Counts)]
    {
        let other = estimate(chains, kept, estimator);
        for (k, (soft, other)) in soft.iter().zip(&other).enumerate() {
            assert!((soft - other).abs() < 0.01, "topic {k}: {soft} {other}");
        }
    }
}

/// The methods that draw nothing and need no classifier.
fn methods() -> impl Iterator<Item = &'static InferenceMethod> {
    METHODS.iter().filter(|method| !method.samples() && !method.needs_classifier)
}

fn inferred(
    bag: Bag<'_>,
    (table, terms): (FactorTable<'_>, usize),
    method: &'static InferenceMethod,
    iterations: u32,
    tolerance: f64,
) -> Vec<f32> {
    let settings = InferSettings {
        method,
        iterations,
        tolerance,
        ..InferSettings::gibbs(1, 1, Estimator::Soft)
    };
    let mut stream = Stream::keyed(1, Stage::Project, 0, 0);
    let topics = &TermTopics::new(table, terms);
    let target = Target { table, topics, classifier: None, labels: None };
    let mut inferrer = method.inferrer();
    inferrer.infer(bag, target, &settings, &mut stream).unwrap().proportions.to_vec()
}

#[test]
fn deterministic_methods_give_proportions_whatever_the_document() {
    for (topics, density) in [(30, 0.3), (30, 0.9), (300, 0.02)] {
        let (parts, mut priors) = model(topics, 40, density, 1);
        for alpha in [0.3, 1e-4] {
            priors.alpha = vec![alpha; topics];
            let factors = Factors::prepare(&parts[0], &priors, |w| w != 7, None);
            let references = [&factors];
            let table = FactorTable::new(&references);
            for (terms, counts) in [
                (vec![], vec![]),
                (vec![7], vec![2]),
                (vec![9], vec![1]),
                (vec![3, 7, 9], vec![10_000_000, 1, 2]),
                ((0..40).collect(), vec![1; 40]),
            ] {
                let bag = Bag { terms: &terms, counts: &counts };
                for method in methods() {
                    let proportions = inferred(bag, (table, 40), method, 50, 0.001);
                    let sum: f64 = proportions.iter().map(|&p| f64::from(p)).sum();
                    assert!((sum - 1.0).abs() < 1e-4, "{method:?} {terms:?} {sum}");
                    assert!(proportions.iter().all(|p| *p >= 0.0), "{method:?} {terms:?}");
                    let is_unknown = terms.iter().all(|&term| term == 7);
                    let prior = 1.0 / topics as f32;
                    let is_prior = |p: &f32| (p - prior).abs() < 1e-5;
                    assert!(!is_unknown || proportions.iter().all(is_prior), "{method:?}");
                }
            }
        }
    }
}

/// The sparse form takes the same iterations as the dense one.
#[test]
fn variational_inference_is_the_dense_one() {
    for density in [0.05, 0.3, 0.9] {
        let (parts, priors) = model(40, 60, density, 2);
        let factors: Vec<_> =
            parts.iter().map(|part| Factors::prepare(part, &priors, |_| true, None)).collect();
        let references: Vec<_> = factors.iter().collect();
        let table = FactorTable::new(&references);
        let (terms, counts) = ([1, 4, 17, 30, 44, 59], [3, 1, 1, 8, 2, 1]);
        let bag = Bag { terms: &terms, counts: &counts };
        let rows: Vec<_> = terms.iter().map(|&term| table.all(table.find(term).unwrap())).collect();
        let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        for iterations in [1, 2, 5, 40] {
            let effort = Effort { iterations, tolerance: 0.0 };
            let mut dense = Variational::default();
            dense.infer(&counts, &rows, &priors.alpha, effort).unwrap();
            let sum: f64 = dense.document_dirichlet().iter().sum();
            let sparse = inferred(bag, (table, 60), &mean_field::VARIATIONAL, iterations, 0.0);
            for (sparse, dense) in sparse.iter().zip(dense.document_dirichlet()) {
                assert!((f64::from(*sparse) - dense / sum).abs() < 1e-4);
            }
        }
    }
}

/// CVB0 as published (Papanikolaou 2017, §2.5), densely and in f64, with the sequential start: a_k, given the
/// factors of each distinct term and its tokens.
fn cvb0(factors: &[Vec<f64>], counts: &[u32], alpha: &[f64], iterations: u32) -> Vec<f64> {
    let mut a = alpha.to_vec();
    let mut shares = vec![vec![0.0; alpha.len()]; factors.len()];
    for _ in 0..iterations {
        // Rare terms, which have the larger numbers, come first.
        for (term, e) in factors.iter().enumerate().rev() {
            let old = &shares[term];
            let masses: Vec<f64> =
                (0..alpha.len()).map(|k| e[k] * (a[k] - old[k]).max(0.0)).collect();
            let whole: f64 = masses.iter().sum();
            for k in 0..alpha.len() {
                let share = masses[k] / whole;
                a[k] += f64::from(counts[term]) * (share - shares[term][k]);
                shares[term][k] = share;
            }
        }
    }
    a
}

/// With few topics nothing is neglected, and the last step is half as long again.
#[test]
fn cvb0_of_few_topics_is_the_dense_one_with_a_longer_last_step() {
    let lengthened = |factors: &[Vec<f64>], counts: &[u32], alpha: &[f64], iterations| {
        let before = cvb0(factors, counts, alpha, iterations - 1);
        let after = cvb0(factors, counts, alpha, iterations);
        let steps = after.iter().zip(before).zip(alpha);
        steps.map(|((after, before), alpha)| (1.5 * after - 0.5 * before).max(*alpha)).collect()
    };
    for topics in [15, 16, 40, 127] {
        assert_cvb0_is_close(topics, 1e-3, lengthened);
    }
}

/// The sparse form neglects and forgets little, although smoothing is heavy in this model.
#[test]
fn cvb0_is_the_dense_one_but_for_small_shares() {
    assert_cvb0_is_close(140, 0.05, cvb0);
}

/// Compares with `dense`, from factors, counts, α and iterations; the largest distance possible is 2.
fn assert_cvb0_is_close(
    topics: usize,
    most: f64,
    dense: impl Fn(&[Vec<f64>], &[u32], &[f64], u32) -> Vec<f64>,
) {
    for density in [0.1, 0.3, 0.9] {
        let (parts, priors) = model(topics, 60, density, 1);
        let factors = Factors::prepare(&parts[0], &priors, |_| true, None);
        let references = [&factors];
        let table = FactorTable::new(&references);
        let terms: Vec<u32> = (0..60).step_by(2).collect();
        let counts: Vec<u32> = terms.iter().map(|term| 1 + term % 7).collect();
        let bag = Bag { terms: &terms, counts: &counts };
        let rows: Vec<_> = terms.iter().map(|&term| table.all(table.find(term).unwrap())).collect();
        for iterations in [2, 4, 20] {
            let dense = dense(&rows, &counts, &priors.alpha, iterations);
            let sum: f64 = dense.iter().sum();
            let fast = inferred(bag, (table, 60), &mean_field::CVB0, iterations, 0.0);
            let distance: f64 = fast
                .iter()
                .zip(&dense)
                .map(|(fast, dense)| (f64::from(*fast) - dense / sum).abs())
                .sum();
            assert!(distance < most, "{topics} topics, {density}, {iterations}: {distance}");
        }
    }
}

#[test]
fn naive_bayes_adds_up_probabilities() {
    let (parts, priors) = model(20, 30, 0.3, 1);
    let factors = Factors::prepare(&parts[0], &priors, |_| true, None);
    let references = [&factors];
    let table = FactorTable::new(&references);
    let bag = Bag { terms: &[2, 9], counts: &[3, 1] };
    let all = [2, 9].map(|term| table.all(table.find(term).unwrap()));
    let scores: Vec<f64> = (0..20).map(|k| 3.0 * all[0][k] + all[1][k]).collect();
    let sum: f64 = scores.iter().sum();
    let proportions = inferred(bag, (table, 30), &naive_bayes::METHOD, 1, 0.0);
    for (proportion, score) in proportions.iter().zip(scores) {
        assert!((f64::from(*proportion) - score / sum).abs() < 1e-6);
    }
}

/// Under a tree every topic has a share of a term in its structures, however many topics there are.
#[test]
fn cvb0_infers_terms_of_a_tree_that_no_topic_has_met() {
    let topics = 1200;
    let node = Node {
        name: "rare".to_owned(),
        prior: 0.02,
        leaf_prior: 100.0,
        children: Vec::new(),
        terms: vec![0, 1],
    };
    let priors = Priors {
        alpha: vec![0.05; topics],
        eta: 0.01,
        exp_psi: false,
        tree: Some(Arc::new(Tree::new(12, 0.01, &[node]).unwrap())),
    };
    let row = |term: u32| -> Vec<Entry> {
        let topics = (0..topics as u32).filter(|topic| term > 1 && topic % 10 == term - 2);
        topics.map(|topic| Entry { topic, value: 20.0 }).collect()
    };
    let parameters = Parameters::new(topics, 12, 0, 1).restore(1.0, vec![20.0; topics], row);
    let factors = Factors::prepare(&parameters, &priors, |_| true, None);
    let references = [&factors];
    let table = FactorTable::new(&references);
    for (terms, counts) in [(&[0][..], &[1][..]), (&[0, 1, 5], &[1, 2, 3])] {
        let bag = Bag { terms, counts };
        let proportions = inferred(bag, (table, 12), &mean_field::CVB0, 4, 0.0);
        let sum: f32 = proportions.iter().sum();
        assert!((sum - 1.0).abs() < 1e-4, "{sum}");
    }
}

/// A topic on one side of a cannot-link gives a term of the other side less than a term without any token.
#[test]
fn soft_proportions_under_a_cannot_link_add_up_to_one() {
    let node = |prior, children: Vec<Node>, terms: &[u32]| Node {
        name: "apart".to_owned(),
        prior,
        leaf_prior: 1.0,
        children,
        terms: terms.to_vec(),
    };
    let sides = [0, 1].map(|term| node(1e-12, Vec::new(), &[term]));
    let apart = node(0.02, sides.to_vec(), &[]);
    let priors = Priors {
        alpha: vec![0.5; 3],
        eta: 0.01,
        exp_psi: false,
        tree: Some(Arc::new(Tree::new(12, 0.01, &[apart]).unwrap())),
    };
    let row = |topic: u32| vec![Entry { topic, value: 20.0 }];
    let parameters = Parameters::new(3, 12, 0, 1).restore(1.0, vec![80.0; 3], |term| row(term % 3));
    let factors = Factors::prepare(&parameters, &priors, |_| true, None);
    let references = [&factors];
    let table = FactorTable::new(&references);
    for (terms, counts) in [(&[0][..], &[1][..]), (&[0, 1, 5], &[1, 2, 3])] {
        let settings = InferSettings::gibbs(2, 5, Estimator::Soft);
        let mut stream = Stream::keyed(2, Stage::Project, 0, 1);
        let bag = Bag { terms, counts };
        let mut gibbs = Gibbs::default();
        let proportions = gibbs.infer(bag, table, &settings, &mut stream).unwrap();
        let sum: f32 = proportions.iter().sum();
        assert!((sum - 1.0).abs() < 1e-5, "{proportions:?}");
    }
}
