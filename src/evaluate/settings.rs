//! The settings of an evaluation, already checked.

use serde::Deserialize;

use corpus::sample::Split;
use lda::evaluate::coherence::window::C_V_TERMS;
use lda::evaluate::coherence::{NPMI_TERMS, UMASS_TERMS};
use lda::model::settings::Alpha;

/// A figure of quality, or a family of them, that `topicmill evaluate` computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Metric {
    /// Held-out likelihood by document completion: `lda::evaluate::completion`.
    Completion,
    /// Held-out likelihood from left to right: `lda::evaluate::left_to_right`.
    LeftToRight,
    /// UMass coherence of the topics: `lda::evaluate::coherence`.
    Umass,
    /// NPMI coherence of the topics: `lda::evaluate::coherence`.
    Npmi,
    /// C_V coherence of the topics: `lda::evaluate::coherence::window`.
    #[serde(rename = "c_v")]
    CV,
}

impl Metric {
    /// Whether it measures topics, by how their terms co-occur.
    pub(crate) fn is_coherence(self) -> bool {
        matches!(self, Self::Umass | Self::Npmi | Self::CV)
    }
}

/// Section `[evaluate]` of a job.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct EvaluateSettings {
    /// The metrics, in this order; each once.
    pub(crate) metrics: Vec<Metric>,
    /// The documents measured; `None` means all that have terms.
    pub(crate) split: Option<Split>,
    /// The most documents measured; 0 means all.
    pub(crate) documents: u64,
    /// Particles of left-to-right, at least 1.
    pub(crate) particles: u32,
    /// Whether left-to-right redraws earlier tokens at each position.
    pub(crate) resample: bool,
    /// Sweeps of completion, at least 1.
    pub(crate) completion_sweeps: u32,
    /// The prior that documents are scored with, instead of the model's own.
    pub(crate) alpha: Option<Alpha>,
    /// Terms of a topic that UMass and NPMI use; 0 means the usual number for each.
    pub(crate) coherence_terms: usize,
    /// Files to count coherence on, relative to `corpus.base`; if empty, the job's own documents.
    pub(crate) reference: Vec<String>,
}

impl EvaluateSettings {
    /// Returns the name of the split in tables.
    pub(crate) fn split_name(&self) -> &'static str {
        self.split.map_or("all", Split::name)
    }

    /// Returns the metrics of coherence, in the job's order.
    pub(crate) fn coherences(&self) -> impl Iterator<Item = Metric> + '_ {
        let metrics = self.metrics.iter().copied();
        metrics.filter(|metric| metric.is_coherence())
    }

    /// Whether windows of texts are counted.
    pub(crate) fn needs_windows(&self) -> bool {
        self.metrics.contains(&Metric::CV)
    }

    /// Returns how many terms of each topic a metric of coherence uses; 0 for any other metric.
    pub(crate) fn top_terms(&self, metric: Metric) -> usize {
        match (metric, self.coherence_terms) {
            (Metric::CV, _) => C_V_TERMS,
            (Metric::Umass, 0) => UMASS_TERMS,
            (Metric::Npmi, 0) => NPMI_TERMS,
            (Metric::Umass | Metric::Npmi, terms) => terms,
            (Metric::Completion | Metric::LeftToRight, _) => 0,
        }
    }
}
