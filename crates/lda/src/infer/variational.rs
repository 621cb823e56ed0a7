//! The dense local step of online LDA (Hoffman, Blei & Bach 2010, Algorithm 2, E step; Blei, Ng & Jordan 2003,
//! §5.2). Mimno 2012 replaces it by sampling; it is kept for comparison.
//!
//! A document's topics are approximated by a Dirichlet γ and, per distinct term, responsibilities φ, each optimal
//! given the other:
//!
//! ```text
//! φ_wk = exp Ψ(γ_k) e_kw / Σ_j exp Ψ(γ_j) e_jw        γ_k = α_k + Σ_w n_w φ_wk
//! ```
//!
//! φ is never stored (Hoffman 2010, §3.1): with r_w = n_w / Σ_j exp Ψ(γ_j) e_jw it follows from γ and the factors.
//! Every step goes through all K topics; nothing is random, nothing is sparse. All in f64: W distinct terms, K
//! topics. `train.method = "online-vb"` and `"batch-vb"` use it.

use crate::math::lanes::{add_scaled, dot};
use crate::math::special::{digamma, exp};

/// The rule that ends iterations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// The maximum number of iterations; at least 1.
    pub iterations: u32,
    /// Stop when the mean over topics of |Δγ_k| is below this; 0 takes all iterations.
    pub tolerance: f64,
}

/// The dense local step, for one document after another, with the same buffers.
#[derive(Clone, Debug, Default)]
pub struct Variational {
    /// γ, K long.
    document_dirichlet: Vec<f64>,
    /// exp Ψ(γ) of the γ that the last responsibilities were taken with, over the largest: exp Ψ of a small γ is
    /// far below what fits in f64, and the factor cancels in φ. K long.
    weights: Vec<f64>,
    /// r, W long.
    ratios: Vec<f64>,
    /// Σ_w r_w e_kw, K long.
    sums: Vec<f64>,
}

impl Variational {
    /// Approximates a document: `counts[w]` tokens of its w-th distinct term, whose factors are `factors[w]` (W × K,
    /// positive). γ begins at α + N_d / K. Returns the number of iterations taken.
    ///
    /// # Errors
    /// Returns the first term w whose responsibilities are 0 / 0, because α or its factors are so small that
    /// exp Ψ(γ_k) e_kw vanishes for all topics.
    pub fn infer(
        &mut self,
        counts: &[u32],
        factors: &[&[f64]],
        alpha: &[f64],
        effort: Effort,
    ) -> Result<u32, usize> {
        debug_assert_eq!(counts.len(), factors.len());
        let tokens: f64 = counts.iter().map(|&n| f64::from(n)).sum();
        let share = tokens / alpha.len() as f64;
        self.document_dirichlet.clear();
        self.document_dirichlet.extend(alpha.iter().map(|a| a + share));
        let mut taken = 0;
        loop {
            let change = self.iterate(counts, factors, alpha)?;
            taken += 1;
            if taken >= effort.iterations || change < effort.tolerance {
                return Ok(taken);
            }
        }
    }

    /// Sets γ_k = α_k + exp Ψ(γ_k) Σ_w r_w e_kw. Returns the mean of |Δγ_k|.
    fn iterate(&mut self, counts: &[u32], factors: &[&[f64]], alpha: &[f64]) -> Result<f64, usize> {
        self.weights.clear();
        let digammas = self.document_dirichlet.iter().map(|&d| digamma(d));
        self.weights.extend(digammas);
        let largest = self.weights.iter().copied().fold(f64::MIN, f64::max);
        let weights = self.weights.iter_mut();
        weights.for_each(|weight| *weight = exp(*weight - largest));
        self.ratios.clear();
        self.sums.clear();
        self.sums.resize(alpha.len(), 0.0);
        for (&count, row) in counts.iter().zip(factors) {
            let ratio = f64::from(count) / dot(&self.weights, row);
            if !ratio.is_finite() {
                return Err(self.ratios.len());
            }
            self.ratios.push(ratio);
            add_scaled(&mut self.sums, ratio, row);
        }
        let mut change = 0.0;
        for (k, old) in self.document_dirichlet.iter_mut().enumerate() {
            let new = alpha[k] + self.weights[k] * self.sums[k];
            change += (new - *old).abs();
            *old = new;
        }
        Ok(change / alpha.len() as f64)
    }

    /// Returns γ_d of the last document, K long: its topics are Dirichlet(γ_d). Adds up to A + N_d.
    pub fn document_dirichlet(&self) -> &[f64] {
        &self.document_dirichlet
    }

    /// Adds the expected tokens of the last document's `index`-th distinct term in each topic, n_w φ_wk, to
    /// `expected`: the N̂_kw of the global step (Mimno 2012, Eq. 11). Over all terms they add up to γ − α.
    pub(crate) fn add_expected_counts(&self, index: usize, row: &[f64], expected: &mut [f64]) {
        let ratio = self.ratios[index];
        for ((sum, weight), factor) in expected.iter_mut().zip(&self.weights).zip(row) {
            *sum += ratio * weight * factor;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::{Stage, Stream};
    use crate::math::special::{digamma, exp, ln, ln_gamma};

    const TO_THE_END: Effort = Effort { iterations: 100_000, tolerance: 1e-14 };

    /// A random document of W terms, and its factors.
    fn document(terms: usize, topics: usize, seed: u64) -> (Vec<u32>, Vec<Vec<f64>>) {
        let mut stream = Stream::keyed(seed, Stage::Synth, 0, 0);
        let counts = (0..terms).map(|_| 1 + stream.below(4) as u32).collect();
        let mut row = || (0..topics).map(|_| stream.uniform_positive()).collect();
        let factors = (0..terms).map(|_| row()).collect();
        (counts, factors)
    }

    fn rows(factors: &[Vec<f64>]) -> Vec<&[f64]> {
        factors.iter().map(Vec::as_slice).collect()
    }

    fn alpha(topics: usize) -> Vec<f64> {
        (0..topics).map(|k| 0.05 + 0.01 * k as f64).collect()
    }

    /// γ after one iteration from `gamma`, with φ written out.
    fn step(counts: &[u32], factors: &[Vec<f64>], alpha: &[f64], gamma: &[f64]) -> Vec<f64> {
        let mut next = alpha.to_vec();
        for (&count, row) in counts.iter().zip(factors) {
            let masses: Vec<f64> =
                (0..alpha.len()).map(|k| exp(digamma(gamma[k])) * row[k]).collect();
            let total: f64 = masses.iter().sum();
            for (new, mass) in next.iter_mut().zip(masses) {
                *new += f64::from(count) * mass / total;
            }
        }
        next
    }

    /// The part of the evidence lower bound that depends on the document, with the best φ for γ (Hoffman 2010,
    /// Eq. 4, the sum over w taken inwards).
    fn bound(counts: &[u32], factors: &[Vec<f64>], alpha: &[f64], gamma: &[f64]) -> f64 {
        let sum: f64 = gamma.iter().sum();
        let mean_log = |k: usize| digamma(gamma[k]) - digamma(sum);
        let mut bound = -ln_gamma(sum);
        for (k, g) in gamma.iter().enumerate() {
            bound += (alpha[k] - g) * mean_log(k) + ln_gamma(*g);
        }
        for (&count, row) in counts.iter().zip(factors) {
            let topics = row.iter().enumerate();
            let likelihood: f64 = topics.map(|(k, e)| exp(mean_log(k)) * e).sum();
            bound += f64::from(count) * ln(likelihood);
        }
        bound
    }

    #[test]
    fn a_document_of_one_token_agrees_with_the_hand() {
        // γ begins at (1, 1): φ = e / Σ e = (3/4, 1/4), whatever exp Ψ(1) is.
        let mut local = Variational::default();
        let once = Effort { iterations: 1, tolerance: 0.0 };
        assert_eq!(local.infer(&[1], &[&[0.6, 0.2]], &[0.5, 0.5], once), Ok(1));
        assert!((local.document_dirichlet()[0] - 1.25).abs() < 1e-15);
        assert!((local.document_dirichlet()[1] - 0.75).abs() < 1e-15);
        // Ψ(5/4) − Ψ(3/4) = 4 − π, because Ψ(1 − x) − Ψ(x) = π cot πx and Ψ(x + 1) = Ψ(x) + 1/x.
        let odds = 3.0 * exp(4.0 - std::f64::consts::PI);
        let twice = Effort { iterations: 2, ..once };
        assert_eq!(local.infer(&[1], &[&[0.6, 0.2]], &[0.5, 0.5], twice), Ok(2));
        assert!((local.document_dirichlet()[0] - (0.5 + odds / (1.0 + odds))).abs() < 1e-14);
    }

    #[test]
    fn gamma_adds_up_to_the_prior_and_the_tokens() {
        let (counts, factors) = document(40, 13, 1);
        let mut local = Variational::default();
        for iterations in [1, 2, 7] {
            let effort = Effort { iterations, tolerance: 0.0 };
            let alpha = alpha(13);
            assert_eq!(local.infer(&counts, &rows(&factors), &alpha, effort), Ok(iterations));
            let tokens: u32 = counts.iter().sum();
            let expected = alpha.iter().sum::<f64>() + f64::from(tokens);
            assert!((local.document_dirichlet().iter().sum::<f64>() - expected).abs() < 1e-11);
        }
    }

    #[test]
    fn what_it_ends_at_is_a_fixed_point_of_its_equations() {
        let (counts, factors) = document(30, 9, 2);
        let (alpha, mut local) = (alpha(9), Variational::default());
        local.infer(&counts, &rows(&factors), &alpha, TO_THE_END).unwrap();
        let next = step(&counts, &factors, &alpha, local.document_dirichlet());
        for (gamma, next) in local.document_dirichlet().iter().zip(next) {
            assert!((gamma - next).abs() < 1e-11, "{gamma} moves to {next}");
        }
    }

    #[test]
    fn iterations_agree_with_the_equations_and_never_lower_the_bound() {
        let (counts, factors) = document(25, 11, 3);
        let (alpha, mut local) = (alpha(11), Variational::default());
        let tokens: f64 = counts.iter().map(|&n| f64::from(n)).sum();
        let mut gamma: Vec<f64> = alpha.iter().map(|a| a + tokens / 11.0).collect();
        let mut before = bound(&counts, &factors, &alpha, &gamma);
        for iterations in 1..30 {
            gamma = step(&counts, &factors, &alpha, &gamma);
            let effort = Effort { iterations, tolerance: 0.0 };
            local.infer(&counts, &rows(&factors), &alpha, effort).unwrap();
            for (own, direct) in local.document_dirichlet().iter().zip(&gamma) {
                assert!((own - direct).abs() < 1e-10);
            }
            let after = bound(&counts, &factors, &alpha, local.document_dirichlet());
            assert!(after >= before - 1e-10, "{before} fell to {after}");
            before = after;
        }
    }

    #[test]
    fn expected_counts_add_up_to_gamma_without_the_prior() {
        let (counts, factors) = document(20, 10, 4);
        let (alpha, mut local) = (alpha(10), Variational::default());
        local.infer(&counts, &rows(&factors), &alpha, TO_THE_END).unwrap();
        let mut all = vec![0.0; 10];
        for (index, row) in factors.iter().enumerate() {
            let mut own = vec![0.0; 10];
            local.add_expected_counts(index, row, &mut own);
            assert!((own.iter().sum::<f64>() - f64::from(counts[index])).abs() < 1e-12);
            local.add_expected_counts(index, row, &mut all);
        }
        for ((sum, gamma), alpha) in all.iter().zip(local.document_dirichlet()).zip(&alpha) {
            assert!((sum - (gamma - alpha)).abs() < 1e-12);
        }
    }

    /// γ begins at 0.0003 per topic, where exp Ψ(γ) is below the smallest number.
    #[test]
    fn a_short_document_has_room_in_many_topics() {
        let (_, factors) = document(2, 6000, 5);
        let (alpha, mut local) = (vec![1e-5; 6000], Variational::default());
        let taken = local.infer(&[1, 1], &rows(&factors), &alpha, TO_THE_END);
        assert!(taken.is_ok());
        let sum: f64 = local.document_dirichlet().iter().sum();
        assert!((sum - 2.06).abs() < 1e-9, "{sum}");
    }

    #[test]
    fn a_term_whose_responsibilities_vanish_is_an_error() {
        let mut local = Variational::default();
        let factors: [&[f64]; 2] = [&[0.5, 0.5], &[0.0, 0.0]];
        assert_eq!(local.infer(&[1, 1], &factors, &[0.1, 0.3], TO_THE_END), Err(1));
    }

    #[test]
    fn a_document_without_terms_has_the_prior() {
        let mut local = Variational::default();
        assert_eq!(local.infer(&[], &[], &[0.1, 0.3], TO_THE_END), Ok(1));
        assert_eq!(local.document_dirichlet(), [0.1, 0.3]);
    }
}
