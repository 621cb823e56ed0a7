//! Measures that many workers compute over documents: each adds up integers of its own, these are
//! added up over workers, and the sums become figures.
//!
//! Figures of documents are [`Likelihood`]s, by one [`Method`] or another; [`measures`] is the one place that knows
//! which there are. Figures of topics are [`TopicScores`].

mod coherence;
mod likelihood;

use super::settings::{EvaluateSettings, Metric};
pub(crate) use coherence::{Counted, TopicScores};
pub(crate) use likelihood::{FIXED_POINT, Likelihood, Method};

/// The score of one document, by a measure that scores single ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DocumentScore {
    /// How it was measured.
    pub(crate) method: &'static str,
    /// Σ log p of the scored tokens, in units of 2⁻²⁰ nats.
    pub(crate) log_likelihood: i64,
    /// Tokens scored.
    pub(crate) tokens: i64,
}

/// A figure, ready for the table `evaluation`.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub(crate) struct Figure {
    /// The metric.
    pub(crate) metric: &'static str,
    /// How, with what the figure depends on.
    pub(crate) method: String,
    /// On which documents.
    pub(crate) split: &'static str,
    /// In which unit.
    pub(crate) unit: &'static str,
    /// The figure.
    pub(crate) value: f64,
    /// Its standard error over documents, where one can be given.
    pub(crate) standard_error: Option<f64>,
    /// Documents that it is from.
    pub(crate) documents: u64,
    /// Tokens that it is from.
    pub(crate) tokens: u64,
}

/// The measures of documents that a job asks for, in its order, for one worker.
pub(crate) fn measures(settings: &EvaluateSettings, seed: u64) -> Vec<(Metric, Likelihood)> {
    let one = |&metric: &Metric| {
        let method = match metric {
            Metric::Completion => Method::completion(settings.completion_sweeps),
            Metric::LeftToRight => Method::left_to_right(settings.particles, settings.resample),
            Metric::Umass | Metric::Npmi | Metric::CV => return None,
        };
        let likelihood = Likelihood::new(method, seed, settings.split_name());
        Some((metric, likelihood))
    };
    settings.metrics.iter().filter_map(one).collect()
}

/// The mean of those that are known, if one is.
pub(crate) fn mean(values: &[Option<f64>]) -> Option<f64> {
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}
