//! The settings of training. They are not checked here: topicmill's `docs/JOB.md` lists the valid values and
//! combinations.

use serde::Deserialize;

use super::document_schedule::{DocumentSchedule, SCHEDULES};
use super::spare;
pub use super::step::Memory;
use super::step::{METHODS, Sweeps, TrainingMethod};
use super::warm_start::Unassigned;
use crate::infer::settings::Estimator;
use crate::model::MAX_TOPICS;
use crate::model::settings::{Alpha, ModelSettings};

/// How many documents a minibatch has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MinibatchSize {
    /// By the documents' norms ([`Norms::minibatch`](super::norms::Norms::minibatch)).
    Norms,
    /// This many, on average; at least 1.
    #[serde(untagged)]
    Documents(usize),
}

/// How to train: section `[train]` of a topicmill job. Numbers that are `None` follow from the sample
/// ([`Schedule::new`](super::schedule::Schedule::new)). [`train`](super::train()) ignores `max_document_tokens`,
/// `sample_bytes` and the settings of checkpoints.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct TrainSettings {
    /// What an online round does with a document. Its [`requires`](TrainingMethod::requires) must hold.
    pub method: &'static TrainingMethod,
    /// The most tokens of a document that are trained on ([`thinned`](crate::bags::thinned)); 0 sets no limit.
    pub max_document_tokens: u32,
    /// Which documents a round visits.
    pub schedule: &'static DocumentSchedule,
    /// Whether drawn documents are weighted by the inverse of their probability, in online rounds.
    pub importance: bool,
    /// c: the smallest influence of a document that is drawn by the changes of its visits.
    pub residual_floor: Option<f64>,
    /// ε: draws are uniform if |log D − H(p)| is at most this.
    pub residual_switch: f64,
    /// Documents in a minibatch, ≥ 1.
    pub minibatch: Option<MinibatchSize>,
    /// The maximum number of passes over the training sample.
    pub passes: Option<u32>,
    /// Whether assignments are remembered.
    pub memory: Memory,
    /// Bytes of remembered assignments, over all processes, up to which [`Memory::Auto`] keeps them.
    #[serde(rename = "memory_mib")]
    pub memory_bytes: u64,
    /// The passes that are online, before Gibbs passes with remembered counts; 0 starts from random topics. Without
    /// memory all passes are online.
    pub online_passes: u32,
    /// The topics that are trained in addition, and dissolved halfway through the Gibbs passes
    /// ([`spare`]), if these visit all documents.
    pub spare_topics: Option<u32>,
    /// Whether training starts from another model, and which assignments are forgotten if their priors differ.
    #[serde(skip)]
    pub warm_start: Option<Unassigned>,
    /// Gibbs passes before the document–topic prior α is learnt for the first time.
    pub alpha_after: Option<u32>,
    /// Gibbs passes between two steps of learning α; 0 holds it fixed.
    pub alpha_every: Option<u32>,
    /// Gibbs passes between two samples of the counts that are averaged; 0 publishes the last sample.
    pub average_every: Option<u32>,
    /// The estimator that is averaged: counts, or φ^p ([`soft`](super::soft)), which needs Gibbs passes.
    pub estimator: Estimator,
    /// Bytes of remembered assignments that a process keeps in memory; the rest goes to disk.
    #[serde(rename = "sample_mib")]
    pub sample_bytes: u64,
    /// Sweeps discarded after the sequential first one, in each online visit (B of Mimno 2012).
    #[serde(rename = "burn_in")]
    pub burn_in_sweeps: u32,
    /// Sweeps that count, in each online visit, ≥ 1 (S of Mimno 2012).
    #[serde(rename = "sweeps")]
    pub kept_sweeps: u32,
    /// t_0 of the step size (t_0 + t)^−κ, ≥ 0.
    pub step_offset: f64,
    /// κ of the step size.
    pub step_decay: f64,
    /// λ̃_kw below this are dropped when the scale is folded back; 0 keeps everything.
    pub prune: f64,
    /// Rounds between two evaluations on the held-out documents; in Gibbs sampling, passes.
    pub evaluate_every: Option<u32>,
    /// Training stops when this many evaluations in a row have not improved; 0 never stops early.
    pub patience: u32,
    /// The improvement in log-likelihood per token, in nats, that counts as one.
    pub tolerance: f64,
    /// Rounds between two checkpoints; 0 ignores rounds.
    pub checkpoint_every: u32,
    /// Minutes after which a checkpoint is due in any case; 0 ignores time.
    pub checkpoint_minutes: f64,
}

impl Default for TrainSettings {
    /// Returns the settings of a topicmill job that sets none; its `config::keys` refers to them, and has the reasons.
    fn default() -> Self {
        Self {
            method: &METHODS[0],
            max_document_tokens: 0,
            schedule: &SCHEDULES[0],
            importance: false,
            residual_floor: None,
            residual_switch: 0.0,
            minibatch: None,
            passes: None,
            memory: Memory::Auto,
            memory_bytes: 4096 << 20,
            online_passes: 3,
            spare_topics: None,
            warm_start: None,
            alpha_after: None,
            alpha_every: None,
            average_every: None,
            estimator: Estimator::Counts,
            sample_bytes: 4096 << 20,
            burn_in_sweeps: 1,
            kept_sweeps: 3,
            step_offset: 10.0,
            step_decay: 0.6,
            prune: 0.4,
            evaluate_every: None,
            patience: 5,
            tolerance: 0.002,
            checkpoint_every: 0,
            checkpoint_minutes: 2.0,
        }
    }
}

impl TrainSettings {
    /// Returns the sweeps of an online visit.
    pub fn sweeps(&self) -> Sweeps {
        Sweeps { burn_in: self.burn_in_sweeps, kept: self.kept_sweeps }
    }

    /// Returns how many topics are trained in addition to those of `model`, if Gibbs passes visit all documents. There
    /// are none if each topic has its own α.
    pub fn spare(&self, model: &ModelSettings) -> usize {
        let spare = match (&model.alpha, self.spare_topics) {
            (Some(Alpha::Vector(_)), _) => 0,
            (_, Some(topics)) => topics as usize,
            (_, None) => spare::default_count(model.topics),
        };
        spare.min(MAX_TOPICS.saturating_sub(model.topics))
    }

    /// Returns whether the assignments of a sample of `token_count` tokens are remembered, at 2 bytes each.
    pub fn remember(&self, token_count: u64) -> bool {
        match self.memory {
            Memory::On => true,
            Memory::Off => false,
            Memory::Auto => {
                self.schedule.needs_memory() || token_count.saturating_mul(2) <= self.memory_bytes
            }
        }
    }
}
