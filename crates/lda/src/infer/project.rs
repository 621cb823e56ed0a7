//! Topic proportions of a single document against a fixed model (Gibbs3 of Yao 2009, §3.3), which is mapped over
//! the whole collection.
//!
//! Departure: the paper adds the new document's own counts to φ while it samples; here φ stays that of the training
//! documents. So the first tokens of a term that is rare in training do not draw the document's further tokens of
//! it to their topic.

use super::sampler::Sampler;
use super::settings::{Estimator, InferSettings};
use super::{Bag, ImpossibleDraw};
use crate::estimate::Proportions;
use crate::math::lanes::dot;
use crate::math::random::Stream;
use crate::math::special::ln;
use crate::model::factors::FactorTable;

/// Inference of proportions, document after document, with the same buffers.
#[derive(Clone, Debug, Default)]
pub struct Projector {
    sampler: Sampler,
    estimate: Proportions,
    proportions: Vec<f32>,
}

impl Projector {
    /// Returns θ_d for each topic, given the terms of `bag` that have factors; adds up to 1.
    ///
    /// Without such a term the proportions are the prior's, α_k / A.
    ///
    /// # Errors
    /// Returns [`ImpossibleDraw`] if the model has no positive, finite factor for a term.
    pub fn infer(
        &mut self,
        bag: Bag<'_>,
        table: FactorTable<'_>,
        settings: &InferSettings,
        stream: &mut Stream,
    ) -> Result<&[f32], ImpossibleDraw> {
        self.estimate.start(table.topic_count());
        for _ in 0..settings.chains {
            self.sampler.start(bag, table);
            self.sampler.sweep(table, stream)?;
            for _ in 0..settings.burn_in_sweeps {
                self.sampler.sweep(table, stream)?;
            }
            for _ in 0..settings.kept_sweeps {
                self.sampler.sweep(table, stream)?;
                self.add_sample(table, settings.estimator);
            }
        }
        self.estimate.finish(self.sampler.token_count(), table, &mut self.proportions);
        Ok(&self.proportions)
    }

    fn add_sample(&mut self, table: FactorTable<'_>, estimator: Estimator) {
        match estimator {
            Estimator::Counts => self.estimate.add_counts(self.sampler.sample()),
            Estimator::Soft => self.sampler.add_soft(&mut self.estimate, table),
        }
    }
}

/// How many terms have their rows looked up before any is read, and read before any logarithm is taken: rows are
/// far apart, so several are fetched from memory at a time.
const TERMS: usize = 16;

/// Returns log p(w | θ, φ) = Σ_w n_w ln Σ_k θ_k φ_kw of the tokens of `bag` that have factors, and how many there
/// are. The table must hold the mean geometry, so that factors are φ.
pub fn log_likelihood(bag: Bag<'_>, proportions: &[f32], table: FactorTable<'_>) -> (f64, u64) {
    let smoothing = &table.smoothing().factors;
    let everywhere: f64 =
        proportions.iter().zip(smoothing).map(|(t, h)| f64::from(*t) * f64::from(*h)).sum();
    let probability = |row| match table.dense(row) {
        Some(dense) => f64::from(dot(proportions, &dense[..proportions.len()])),
        None => {
            let sparse = table.sparse(row);
            let pairs = sparse.topics.iter().zip(sparse.weights);
            let own = pairs.map(|(k, g)| f64::from(proportions[usize::from(*k)] * g));
            everywhere + own.sum::<f64>()
        }
    };
    let (mut sum, mut tokens) = (0.0, 0);
    for (terms, counts) in bag.terms.chunks(TERMS).zip(bag.counts.chunks(TERMS)) {
        let mut rows = [None; TERMS];
        for (row, &term) in rows.iter_mut().zip(terms) {
            *row = table.find(term);
        }
        let probabilities = rows.map(|row| row.map(probability));
        for (&count, probability) in counts.iter().zip(probabilities) {
            if let Some(probability) = probability {
                sum += f64::from(count) * ln(probability);
                tokens += u64::from(count);
            }
        }
    }
    (sum, tokens)
}
