//! Updated counts against a recount, and the estimators of the samples.

use super::alone::{Setup, Together, sample_together};
use super::{counted, passes, priors, small_corpus, together};
use crate::chi_square::normalized;
use lda::bags::Bags;
use lda::estimate::Proportions;
use lda::infer::Bag;
use lda::infer::sampler::Sampler;
use lda::infer::settings::Estimator;
use lda::model::factors::{FactorTable, Factors};
use lda::train::joint::Passes;

/// After two hundred passes of adding and subtracting, counts equal a recount, with and without fixed counts.
#[test]
fn counts_do_not_drift() {
    let (bags, trained) = small_corpus(40);
    let priors = priors(3, 0.1);
    for fixed in [Some(&trained), None] {
        let setup = Setup {
            trained: &trained,
            published: &priors,
            fixed,
            priors: &priors,
            passes: passes(150, 50, 3, 8),
        };
        let sampled = sample_together(&bags, &setup).unwrap();
        let mut recount = vec![vec![0; 3]; 30];
        for (index, own) in sampled.assignments.iter().enumerate() {
            let Bag { terms, counts } = bags.bag(index);
            let mut rest = own.iter();
            for (&term, &count) in terms.iter().zip(counts).rev() {
                for &topic in rest.by_ref().take(count as usize) {
                    recount[term as usize][usize::from(topic)] += 1;
                }
            }
            assert_eq!(rest.len(), 0);
            assert_eq!(own.len(), 12, "every token has one topic");
        }
        assert_eq!(sampled.counts, counted(3, &recount));
    }
}

/// Θ of all documents.
fn proportions(bags: &Bags, sampled: &Together, alpha: &[f64]) -> Vec<f32> {
    let mut all = Vec::new();
    for (index, sums) in sampled.sums.iter().enumerate() {
        let tokens = bags.bag(index).token_count() as usize;
        let mut own = Vec::new();
        sums.proportions(tokens, alpha, &mut own);
        assert!((own.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{own:?}");
        all.extend(own);
    }
    all
}

/// Both estimators have the same mean, and after few passes the soft one is nearer to it.
#[test]
fn soft_and_plain_counts_agree_in_the_long_run() {
    let (bags, trained) = small_corpus(40);
    let priors = priors(3, 0.1);
    let theta = |estimator, kept| {
        let passes = Passes { estimator, ..passes(20, kept, 2, 6) };
        let sampled = together(&bags, &trained, &priors, passes);
        proportions(&bags, &sampled, &priors.alpha)
    };
    let (soft, plain) = (theta(Estimator::Soft, 3000), theta(Estimator::Counts, 3000));
    for (a, b) in soft.iter().zip(&plain) {
        assert!((a - b).abs() < 0.015, "{a} {b}");
    }
    let error = |estimator| {
        let few = theta(estimator, 2);
        let squares = few.iter().zip(&soft).map(|(a, b)| (a - b) * (a - b));
        squares.sum::<f32>()
    };
    let (soft, plain) = (error(Estimator::Soft), error(Estimator::Counts));
    assert!(soft < 0.8 * plain, "{soft} {plain}");
}

/// Terms that only one document has, and almost no smoothing: a token's own count is most of what the model knows
/// about its term, so leaving it out matters.
#[test]
fn soft_and_plain_counts_agree_where_a_tokens_own_count_is_most_of_its_terms() {
    let (topics, documents) = (4, 30);
    let mut bags = Bags::default();
    for document in 0..documents {
        let own: Vec<u32> = (0..12).map(|place| 8 + 12 * document + place).collect();
        let terms: Vec<u32> = (0..8).chain(own).collect();
        bags.push(u64::from(document), &terms, &[1; 20]);
    }
    let common = |w: usize| (0..topics).map(move |k| 5 * i32::from(w % topics == k));
    let terms = 8 + 12 * documents as usize;
    let row = |w: usize| match w {
        0..8 => common(w).collect(),
        _ => vec![0; topics],
    };
    let counts: Vec<Vec<i32>> = (0..terms).map(row).collect();
    let (trained, priors) = (counted(topics, &counts), priors(topics, 0.003));
    let theta = |estimator| {
        let passes = Passes { estimator, ..passes(100, 2000, 2, 6) };
        let sampled = together(&bags, &trained, &priors, passes);
        proportions(&bags, &sampled, &priors.alpha)
    };
    let (soft, plain) = (theta(Estimator::Soft), theta(Estimator::Counts));
    let off = soft.iter().zip(&plain).map(|(a, b)| (a - b).abs());
    let mean = off.sum::<f32>() / soft.len() as f32;
    assert!(mean < 0.01, "{mean}");
}

/// The soft estimate of a document that counts in the model, token by token: the mass of topic k is
/// (α_k + n_dk) e_kw without the token's own counts, in n_dk and in e_kw.
fn check_soft_counts(topics: usize, is_dense: bool) {
    let row =
        |w: usize| (0..topics).map(move |k| ((k * 5 + w * 3) % 7) as i32 / 2 + i32::from(is_dense));
    let mut counts: Vec<Vec<i32>> = (0..3).map(|w| row(w).collect()).collect();
    let priors = priors(topics, 0.05);
    let (terms, tokens) = ([0u32, 2], [4u32, 3]);
    let bag = Bag { terms: &terms, counts: &tokens };
    // In the order of assignments: three of term 2, then four of term 0.
    let remembered = [1u16, 1, 2, 2, 0, 1, 2];
    let words = [2, 2, 2, 0, 0, 0, 0];
    for (&w, &k) in words.iter().zip(&remembered) {
        counts[w][usize::from(k)] += 1;
    }
    let whole = counted(topics, &counts);
    let factors = Factors::prepare(&whole, &priors, |_| true, None);
    let parts = [&factors];
    let table = FactorTable::new(&parts);
    let mut expected = vec![0.0; topics];
    for (&w, &z) in words.iter().zip(&remembered) {
        let row = table.find(w as u32).unwrap();
        assert_eq!(table.dense(row).is_some(), is_dense);
        let e = table.all(row);
        let mass = |k: usize| {
            let own = f64::from(u8::from(usize::from(z) == k));
            let n = remembered.iter().filter(|&&z| usize::from(z) == k).count() as f64;
            let unit = f64::from(table.smoothing().unit[k]);
            (priors.alpha[k] + n - own) * (e[k] - own * unit)
        };
        let masses: Vec<f64> = (0..topics).map(mass).collect();
        for (sum, p) in expected.iter_mut().zip(normalized(masses)) {
            *sum += p;
        }
    }
    let (mut sampler, mut estimate) = (Sampler::default(), Proportions::default());
    sampler.resume(bag, table, &remembered);
    estimate.start_counted(topics);
    sampler.add_soft(&mut estimate, table);
    let mut proportions = Vec::new();
    estimate.finish(sampler.token_count(), table, &mut proportions);
    let whole = 7.0 + priors.alpha_sum();
    for (k, &share) in proportions.iter().enumerate() {
        let soft = f64::from(share) * whole - priors.alpha[k];
        assert!((soft - expected[k]).abs() < 1e-5, "{k}: {soft}, {expected:?}");
    }
}

#[test]
fn soft_counts_leave_out_a_tokens_own_count() {
    check_soft_counts(5, false);
    check_soft_counts(20, true);
}
