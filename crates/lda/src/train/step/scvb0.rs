//! The dense local step of SCVB0, stochastic collapsed variational inference (Foulds, Boyles, DuBois,
//! Smyth & Welling 2013, Algorithm 1, the loop over a document's tokens).
//!
//! A token of term w has the responsibilities
//!
//! ```text
//! γ_k ∝ e_kw (N^Θ_k + α_k),        e_kw = (N^Φ_kw + η) / (N^Z_k + V η)        (Foulds 2013, Eq. 5)
//! N^Θ ← (1 − ρ^Θ_t) N^Θ + ρ^Θ_t N_d γ,       ρ^Θ_t = (τ + t)^−κ               (Eq. 8)
//! ```
//!
//! and the n tokens of one term are taken together, as n steps with the same γ (Eq. 10). A first pass over the
//! document is burn-in; the second is counted. e_kw is a factor of the mean geometry. All in f64, O(W K): nothing
//! is random, nothing is sparse.

use super::expected::{Approximate, Expected};
use super::{Requirements, TrainingMethod, online_vb};
use crate::math::special::pow;
use crate::model::settings::Geometry;
use crate::train::step::Memory;

/// Approximates topics with θ integrated out.
pub const METHOD: TrainingMethod = TrainingMethod {
    name: "scvb0",
    doc: "approximates them with θ integrated out, in two passes over the document",
    requires: Requirements {
        memory: Some(Memory::Off),
        geometry: Some(Geometry::Mean),
        ..Requirements::NONE
    },
    step: |_| Box::new(Expected::<Scvb0>::default()),
    ..online_vb::METHOD
};

/// τ and κ of ρ^Θ, as published.
const STEP_OFFSET: f64 = 10.0;
const STEP_DECAY: f64 = 0.9;
/// Passes over a document: one of burn-in, and the one that counts.
const PASSES: usize = 2;

/// The local step of SCVB0, for one document after another, with the same buffers.
#[derive(Clone, Debug, Default)]
struct Scvb0 {
    /// N^Θ, K long.
    tokens: Vec<f64>,
    /// γ of the current term, K long.
    shares: Vec<f64>,
    /// n_w γ_w, W × K.
    expected: Vec<f64>,
}

impl Approximate for Scvb0 {
    /// N^Θ begins at N_d / K. The expected tokens of a term add up to its tokens.
    fn approximate(
        &mut self,
        counts: &[u32],
        factors: &[&[f64]],
        alpha: &[f64],
    ) -> Result<(), usize> {
        let all: f64 = counts.iter().map(|&n| f64::from(n)).sum();
        self.tokens.clear();
        self.tokens.resize(alpha.len(), all / alpha.len() as f64);
        let mut step = 0.0;
        for _ in 0..PASSES {
            self.expected.clear();
            for (index, (&count, row)) in counts.iter().zip(factors).enumerate() {
                step += 1.0;
                let kept = pow(1.0 - pow(STEP_OFFSET + step, -STEP_DECAY), f64::from(count));
                let sum = self.visit(row, alpha);
                if !(sum > 0.0 && sum.is_finite()) {
                    return Err(index);
                }
                for (tokens, share) in self.tokens.iter_mut().zip(&self.shares) {
                    *tokens = kept * *tokens + (1.0 - kept) * all * share;
                }
                let expected = self.shares.iter().map(|share| f64::from(count) * share);
                self.expected.extend(expected);
            }
        }
        Ok(())
    }

    fn add_expected(&self, index: usize, _: &[f64], expected: &mut [f64]) {
        let own = self.expected.chunks_exact(expected.len()).nth(index);
        for (sum, expected) in expected.iter_mut().zip(own.into_iter().flatten()) {
            *sum += expected;
        }
    }
}

impl Scvb0 {
    /// Computes γ of a term with these factors; returns the sum of its masses.
    fn visit(&mut self, row: &[f64], alpha: &[f64]) -> f64 {
        self.shares.clear();
        let masses = row.iter().zip(&self.tokens).zip(alpha);
        self.shares.extend(masses.map(|((e, n), a)| e * (n + a)));
        let sum: f64 = self.shares.iter().sum();
        self.shares.iter_mut().for_each(|share| *share /= sum);
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Algorithm 1 as printed, token by token; the tokens of a term are consecutive, and take the γ of the first.
    fn reference(counts: &[u32], factors: &[&[f64]], alpha: &[f64]) -> Vec<f64> {
        let topics = alpha.len();
        let all: u32 = counts.iter().sum();
        let mut n_theta = vec![f64::from(all) / topics as f64; topics];
        let mut expected = Vec::new();
        let mut t = 0;
        for _ in 0..2 {
            expected.clear();
            for (&count, row) in counts.iter().zip(factors) {
                t += 1;
                let rho = 1.0 / pow(10.0 + f64::from(t), 0.9);
                let mass = |k: usize| row[k] * (n_theta[k] + alpha[k]);
                let total: f64 = (0..topics).map(mass).sum();
                let gamma: Vec<f64> = (0..topics).map(|k| mass(k) / total).collect();
                for k in (0..count).flat_map(|_| 0..topics) {
                    n_theta[k] = (1.0 - rho) * n_theta[k] + rho * f64::from(all) * gamma[k];
                }
                expected.extend(gamma.iter().map(|share| f64::from(count) * share));
            }
        }
        expected
    }

    #[test]
    fn expected_counts_are_those_of_the_algorithm_as_printed() {
        let factors = [[0.3, 0.1, 0.01].as_slice(), &[0.02, 0.2, 0.1], &[0.1, 0.1, 0.3]];
        let (counts, alpha) = ([1, 4, 2], [0.1, 0.2, 0.05]);
        let mut scvb0 = Scvb0::default();
        // Buffers of an earlier document leave no trace.
        scvb0.approximate(&[9], &factors[..1], &alpha).unwrap();
        scvb0.approximate(&counts, &factors, &alpha).unwrap();
        let mut found = [0.0; 9];
        for (index, row) in found.chunks_mut(3).enumerate() {
            scvb0.add_expected(index, factors[index], row);
        }
        let wanted = reference(&counts, &factors, &alpha);
        assert_eq!(found.len(), wanted.len());
        for (found, wanted) in found.iter().zip(&wanted) {
            assert!((found - wanted).abs() < 1e-12, "{found} {wanted}");
        }
        for (row, count) in found.chunks(3).zip(counts) {
            assert!((row.iter().sum::<f64>() - f64::from(count)).abs() < 1e-12);
        }
    }
}
