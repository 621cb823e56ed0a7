//! Which documents a round samples, how large its step is, and when training ends.
//!
//! A pass deals every document of the sample to one of M minibatches by a hash of (seed, pass,
//! document): minibatches are random over the whole sample, and any worker can tell which of its
//! documents belong to a round.

use super::settings::TrainSettings;
use crate::math::random::{Stage, hash};
use crate::math::special::pow;
use crate::model::parameters::GlobalStep;

/// The rounds of a training run.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// D: documents trained on.
    pub document_count: u64,
    /// M: minibatches of a pass.
    pub minibatch_count: u64,
    settings: TrainSettings,
    seed: u64,
}

impl Schedule {
    /// For a sample of `document_count` documents.
    pub fn new(settings: &TrainSettings, seed: u64, document_count: u64) -> Self {
        let minibatch_count = document_count.div_ceil(settings.minibatch as u64).max(1);
        Self {
            document_count,
            minibatch_count,
            settings: settings.clone(),
            seed,
        }
    }

    /// Rounds at most; they are numbered from 0.
    pub fn round_count(&self) -> u64 {
        self.minibatch_count * u64::from(self.settings.passes)
    }

    /// The pass that a round belongs to, from 0.
    pub fn pass(&self, round: u64) -> u64 {
        round / self.minibatch_count
    }

    /// The minibatch of a pass that a document belongs to.
    pub fn minibatch(&self, pass: u64, document: u64) -> u64 {
        hash(self.seed, Stage::Minibatch, pass, document) % self.minibatch_count
    }

    /// Deals documents, given by their numbers, to the minibatches of a pass; as indices.
    pub fn deal(&self, pass: u64, documents: impl Iterator<Item = u64>) -> Vec<Vec<u32>> {
        let mut minibatches = vec![Vec::new(); self.minibatch_count as usize];
        for (index, document) in documents.enumerate() {
            minibatches[self.minibatch(pass, document) as usize].push(index as u32);
        }
        minibatches
    }

    /// The step of a round over a minibatch of `minibatch_length` documents (Mimno 2012, Eq. 11),
    /// with ρ_t = (t_0 + t)^−κ, t from 1.
    pub fn step(&self, round: u64, minibatch_length: u64) -> GlobalStep {
        let t = (round + 1) as f64;
        let step_size = pow(self.settings.step_offset + t, -self.settings.step_decay);
        let scaled = minibatch_length as f64 * f64::from(self.settings.kept_sweeps);
        GlobalStep {
            step_size,
            weight: self.document_count as f64 / scaled,
        }
    }

    /// True after the rounds whose model is scored on the held-out documents.
    pub fn evaluates_after(&self, round: u64) -> bool {
        let every = u64::from(self.settings.evaluate_every.max(1));
        (round + 1).is_multiple_of(every) || round + 1 == self.round_count()
    }

    /// True after the rounds that end with a checkpoint.
    pub fn checkpoints_after(&self, round: u64) -> bool {
        let every = u64::from(self.settings.checkpoint_every);
        every > 0 && (round + 1).is_multiple_of(every)
    }
}

/// Ends training when held-out quality has stopped improving: when `patience` evaluations in a row
/// were not better than the best before them by `tolerance` nats a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct StopRule {
    best: Option<f64>,
    evaluations_since: u32,
}

impl StopRule {
    /// Takes note of an evaluation; true if training should end.
    pub fn observe(&mut self, value: f64, settings: &TrainSettings) -> bool {
        let improved = self
            .best
            .is_none_or(|best| value > best + settings.tolerance);
        if improved {
            self.best = Some(value);
            self.evaluations_since = 0;
        } else {
            self.evaluations_since += 1;
        }
        self.has_stopped(settings)
    }

    /// True if training should end, by the evaluations seen so far.
    pub fn has_stopped(&self, settings: &TrainSettings) -> bool {
        settings.patience > 0 && self.evaluations_since >= settings.patience
    }
}
