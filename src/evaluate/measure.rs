//! Measures that many workers compute over documents: each worker sums integers, these are summed
//! over workers, and the sums become figures.
//!
//! Figures of documents are [`Likelihood`]s, by one [`Method`] or another; [`measures`] is the only place that lists
//! them. Figures of topics are [`TopicScores`].

mod coherence;
mod likelihood;

use super::settings::{EvaluateSettings, Metric};
pub(crate) use coherence::{Counted, TopicScores};
pub(crate) use likelihood::{Likelihood, Method};

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
    /// The method, with its parameters.
    pub(crate) method: String,
    /// The documents measured.
    pub(crate) split: &'static str,
    /// The unit.
    pub(crate) unit: &'static str,
    /// The figure.
    pub(crate) value: f64,
    /// Its standard error over documents, if there is one.
    pub(crate) standard_error: Option<f64>,
    /// The number of documents measured.
    pub(crate) documents: u64,
    /// The number of tokens measured.
    pub(crate) tokens: u64,
}

/// Returns the measures of documents that a job requests, in its order, for one worker.
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

/// Returns the mean of the known values, if there are any.
pub(crate) fn mean(values: &[Option<f64>]) -> Option<f64> {
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}
