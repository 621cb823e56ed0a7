//! Online EM (Cappé & Moulines 2009, "On-line expectation-maximization algorithm for latent data models", JRSS B 71).
//!
//! Their E step replaces the expected statistics of all data by a running mean, s ← s + ρ_t (s̄_t − s), where s̄_t are
//! those of the data at time t under the current parameters; their M step maximises the likelihood given s. Here s̄_t
//! are the expected counts n_dw r_wk of a minibatch, and θ_d is maximised document by document before they are taken:
//!
//! ```text
//! r_wk ∝ θ_dk φ_kw        θ_dk = (α_k + Σ_w n_dw r_wk) / (Σ_j α_j + N_d)        φ_kw = (s_kw + η) / (s_k + V η)
//! ```
//!
//! These are the modes under Dirichlet priors of parameters α + 1 and η + 1, so that no prior makes a mode that does not
//! exist. r and θ alternate until θ is settled. φ is a factor of the mean geometry. All in f64, O(W K) an iteration:
//! nothing is random, nothing is sparse.

use super::expected::{Approximate, Expected};
use super::{Requirements, TrainingMethod, online_vb};
use crate::math::lanes::{add_scaled, dot};
use crate::model::settings::Geometry;
use crate::train::step::Memory;

/// Approximates topics at the mode of θ.
pub const METHOD: TrainingMethod = TrainingMethod {
    name: "online-em",
    doc: "approximates them at the most probable θ",
    requires: Requirements {
        memory: Some(Memory::Off),
        geometry: Some(Geometry::Mean),
        ..Requirements::NONE
    },
    step: |_| Box::new(Expected::<Mode>::default()),
    ..online_vb::METHOD
};

/// The iterations end when the tokens of a topic change by less than this, on average over topics.
const TOLERANCE: f64 = 1e-3;
/// The maximum number of iterations.
const MOST_ITERATIONS: usize = 100;

/// The E step for one document after another, with the same buffers.
#[derive(Clone, Debug, Default)]
struct Mode {
    /// α_k + Σ_w n_w r_wk, which is θ but for its norm. K long.
    weights: Vec<f64>,
    /// n_w / Σ_k θ_k φ_kw for these weights, W long.
    ratios: Vec<f64>,
    /// Σ_w of the ratios times φ_kw, K long.
    sums: Vec<f64>,
}

impl Mode {
    /// Computes the ratios and sums for the current weights.
    fn respond(&mut self, counts: &[u32], factors: &[&[f64]]) -> Result<(), usize> {
        self.ratios.clear();
        self.sums.clear();
        self.sums.resize(self.weights.len(), 0.0);
        for (index, (&count, row)) in counts.iter().zip(factors).enumerate() {
            let ratio = f64::from(count) / dot(&self.weights, row);
            if !ratio.is_finite() {
                return Err(index);
            }
            self.ratios.push(ratio);
            add_scaled(&mut self.sums, ratio, row);
        }
        Ok(())
    }
}

impl Approximate for Mode {
    /// θ begins uniform, apart from α.
    fn approximate(
        &mut self,
        counts: &[u32],
        factors: &[&[f64]],
        alpha: &[f64],
    ) -> Result<(), usize> {
        let share = counts.iter().map(|&n| f64::from(n)).sum::<f64>() / alpha.len() as f64;
        self.weights.clear();
        self.weights.extend(alpha.iter().map(|a| a + share));
        for _ in 0..MOST_ITERATIONS {
            self.respond(counts, factors)?;
            let mut change = 0.0;
            for ((weight, a), sum) in self.weights.iter_mut().zip(alpha).zip(&self.sums) {
                let new = a + *weight * sum;
                change += (new - *weight).abs();
                *weight = new;
            }
            if change < TOLERANCE * alpha.len() as f64 {
                break;
            }
        }
        self.respond(counts, factors)
    }

    fn add_expected(&self, index: usize, factors: &[f64], expected: &mut [f64]) {
        let ratio = self.ratios[index];
        for ((sum, weight), factor) in expected.iter_mut().zip(&self.weights).zip(factors) {
            *sum += ratio * weight * factor;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::special::ln;

    const FACTORS: [&[f64]; 3] = [&[0.3, 0.1, 0.01], &[0.02, 0.2, 0.1], &[0.1, 0.1, 0.3]];
    const ALPHA: [f64; 3] = [0.1, 0.2, 0.05];

    fn expected(counts: &[u32]) -> Vec<[f64; 3]> {
        let mut mode = Mode::default();
        // Buffers of an earlier document leave no trace.
        mode.approximate(&[9], &FACTORS[..1], &ALPHA).unwrap();
        mode.approximate(counts, &FACTORS, &ALPHA).unwrap();
        let row = |index: usize| {
            let mut row = [0.0; 3];
            mode.add_expected(index, FACTORS[index], &mut row);
            row
        };
        (0..counts.len()).map(row).collect()
    }

    /// ln p(document | θ) + Σ_k α_k ln θ_k, which EM maximises.
    fn objective(counts: &[u32], theta: &[f64]) -> f64 {
        let token = |row: &[f64]| ln(row.iter().zip(theta).map(|(f, t)| f * t).sum());
        let prior: f64 = ALPHA.iter().zip(theta).map(|(a, &t)| a * ln(t)).sum();
        counts.iter().zip(FACTORS).map(|(&n, row)| f64::from(n) * token(row)).sum::<f64>() + prior
    }

    #[test]
    fn theta_is_the_most_probable_and_every_token_counts_once() {
        let counts = [40, 25, 60];
        let rows = expected(&counts);
        for (row, count) in rows.iter().zip(counts) {
            assert!((row.iter().sum::<f64>() - f64::from(count)).abs() < 1e-9, "{row:?}");
        }
        let all: f64 = 125.0 + ALPHA.iter().sum::<f64>();
        let theta: Vec<f64> =
            (0..3).map(|k| (ALPHA[k] + rows.iter().map(|row| row[k]).sum::<f64>()) / all).collect();
        let best = objective(&counts, &theta);
        for (from, to) in [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)] {
            let mut other = theta.clone();
            let moved = 0.05 * other[from];
            other[from] -= moved;
            other[to] += moved;
            assert!(objective(&counts, &other) < best, "{from} to {to}");
        }
    }

    #[test]
    fn one_iteration_is_that_of_the_equations() {
        let counts = [1, 4, 2];
        let mut mode = Mode::default();
        mode.weights.extend(ALPHA.map(|a| a + 7.0 / 3.0));
        let before = mode.weights.clone();
        mode.respond(&counts, &FACTORS).unwrap();
        for (index, row) in FACTORS.iter().enumerate() {
            let masses: Vec<f64> = row.iter().zip(&before).map(|(f, w)| f * w).collect();
            let total: f64 = masses.iter().sum();
            let mut found = [0.0; 3];
            mode.add_expected(index, row, &mut found);
            for (found, mass) in found.iter().zip(masses) {
                assert!((found - f64::from(counts[index]) * mass / total).abs() < 1e-12);
            }
        }
    }
}
