//! What a job says about evaluation, already checked.

use crate::corpus::sample::Split;
use crate::model::settings::Alpha;

/// A figure of quality, or a family of them, that `topicmill evaluate` computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Metric {
    /// Held-out likelihood by document completion: `evaluate::completion`.
    Completion,
    /// Held-out likelihood from left to right: `evaluate::left_to_right`.
    LeftToRight,
}

/// Section `[evaluate]` of a job.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluateSettings {
    /// What is computed, in this order; each once.
    pub metrics: Vec<Metric>,
    /// On which documents; `None` is all that have terms.
    pub split: Option<Split>,
    /// On so many of them at most; 0 takes all.
    pub documents: u64,
    /// Particles of left-to-right, at least 1.
    pub particles: u32,
    /// Whether left-to-right draws earlier tokens anew at each position.
    pub resample: bool,
    /// Sweeps of completion, at least 1.
    pub completion_sweeps: u32,
    /// The prior that documents are scored with, instead of the model's own.
    pub alpha: Option<Alpha>,
}

impl EvaluateSettings {
    /// The name of the split in tables.
    pub fn split_name(&self) -> &'static str {
        self.split.map_or("all", Split::name)
    }
}
