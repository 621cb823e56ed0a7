//! Gibbs sampling of a document against a fixed model (Gibbs3 of Yao 2009, §3.3). Gibbs2 and Gibbs1, which sample a
//! collection's documents together (`train::joint`), sample a single document in the same way.
//!
//! Departure: the paper adds the new document's own counts to φ while it samples; here φ stays that of the training
//! documents. So the first tokens of a term that is rare in training do not draw the document's further tokens of
//! it to their topic.

use super::sampler::Sampler;
use super::settings::{Estimator, InferSettings};
use super::{
    Bag, DocumentScope, ImpossibleDraw, InferenceMethod, Inferred, Inferrer, Target, TokenWork,
};
use crate::estimate::Proportions;
use crate::math::random::Stream;
use crate::model::factors::FactorTable;

/// Gibbs3: each document alone.
pub const ALONE: InferenceMethod = InferenceMethod {
    name: "gibbs",
    doc: "samples each document alone against the trained model",
    scope: DocumentScope::Alone,
    work: TokenWork::Sweeps,
    sweeps: [2, 4],
    iterations: 3,
    needs_classifier: false,
    has_prior: true,
    takes_term_topics: false,
    takes_label_topics: false,
    inferrer: || Box::new(Gibbs::default()),
};

/// Gibbs2: all documents that were not trained on, together; the counts of the others are fixed.
pub const JOINT: InferenceMethod = InferenceMethod {
    name: "gibbs-joint",
    doc: "samples the documents that were not trained on together",
    scope: DocumentScope::Untrained,
    sweeps: [50, 50],
    ..ALONE
};

/// Gibbs1: training continues with all documents.
pub const RETRAIN: InferenceMethod = InferenceMethod {
    name: "retrain",
    doc: "samples all documents together",
    scope: DocumentScope::All,
    ..JOINT
};

/// Inference of proportions, document after document, with the same buffers.
#[derive(Clone, Debug, Default)]
pub struct Gibbs {
    sampler: Sampler,
    estimate: Proportions,
    proportions: Vec<f32>,
}

impl Gibbs {
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

impl Inferrer for Gibbs {
    fn infer<'s>(
        &'s mut self,
        bag: Bag<'_>,
        target: Target<'s>,
        settings: &InferSettings,
        stream: &mut Stream,
    ) -> Result<Inferred<'s>, ImpossibleDraw> {
        let proportions = self.infer(bag, target.table, settings, stream)?;
        Ok(target.inferred(proportions))
    }
}
