//! Online variational Bayes (Hoffman, Blei & Bach 2010, Algorithm 2): expected counts by coordinate ascent
//! ([`variational`](crate::infer::variational)), in the exp Ψ geometry.

use super::expected::{Approximate, Expected};
use super::{Counts, Remembered, Requirements, TrainingMethod, Unused, Update};
use crate::infer::variational::{Effort, Variational};
use crate::model::settings::Geometry;
use crate::train::step::Memory;

/// Approximates topics by coordinate ascent.
pub const METHOD: TrainingMethod = TrainingMethod {
    name: "online-vb",
    doc: "approximates them by coordinate ascent",
    requires: Requirements {
        memory: Some(Memory::Off),
        geometry: Some(Geometry::ExpPsi),
        ..Requirements::NONE
    },
    ignores: &[Unused::Sweeps],
    prune: Some(0.0),
    counts: Counts::Expected,
    update: Update::Step,
    passes: [1, 20],
    has_gibbs_passes: false,
    remembers: Remembered::Topics,
    takes_labels: false,
    takes_tree: false,
    step: |_| Box::new(Expected::<Variational>::default()),
};

/// As in Hoffman's program: until the mean of |Δγ_k| is below 0.001, at most a hundred times.
const EFFORT: Effort = Effort { iterations: 100, tolerance: 1e-3 };

impl Approximate for Variational {
    fn approximate(
        &mut self,
        counts: &[u32],
        factors: &[&[f64]],
        alpha: &[f64],
    ) -> Result<(), usize> {
        self.infer(counts, factors, alpha, EFFORT).map(drop)
    }

    fn add_expected(&self, index: usize, factors: &[f64], expected: &mut [f64]) {
        self.add_expected_counts(index, factors, expected);
    }
}
