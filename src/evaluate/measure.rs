//! Measures that many workers compute over documents: each adds up integers of its own, these are
//! added up over workers, and the sums become figures.
//!
//! [`Measure`] is that in three steps for figures of documents; [`measures`] is the one place that
//! knows which there are. A new one is a file that implements it, a word in [`Metric`], and an arm in
//! [`measures`]. Figures of topics are [`TopicScores`].

mod coherence;
mod likelihood;

use super::settings::{EvaluateSettings, Metric};
pub(crate) use coherence::{Counted, TopicScores};
use lda::infer::{Bag, ImpossibleDraw};
use lda::model::factors::FactorTable;
pub(crate) use likelihood::{FIXED_POINT, Likelihood};

/// A document as measures see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    /// Its number in the collection.
    pub(crate) number: u64,
    /// Its terms, among them some that the model lacks, perhaps.
    pub(crate) bag: Bag<'a>,
    /// The model, in the mean geometry.
    pub(crate) table: FactorTable<'a>,
}

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
    /// In which unit; of perplexity, by what it is normalised.
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

/// A figure of quality in the making, on one worker.
pub(crate) trait Measure {
    /// Takes a document in.
    ///
    /// # Errors
    /// The model has no positive, finite factor for a term that it has.
    fn add(&mut self, seen: Seen<'_>) -> Result<Option<DocumentScore>, ImpossibleDraw>;

    /// This worker's sums; of the same length on every worker.
    fn sums(&self) -> Vec<i64>;

    /// The figures, from the sums of all workers, added up place by place.
    fn figures(&self, sums: &[i64]) -> Vec<Figure>;
}

/// The measures of documents that a job asks for, in its order, for one worker.
pub(crate) fn measures(settings: &EvaluateSettings, seed: u64) -> Vec<(Metric, Box<dyn Measure>)> {
    let one = |&metric: &Metric| -> Option<(Metric, Box<dyn Measure>)> {
        let likelihood = match metric {
            Metric::Completion => Likelihood::completion(seed, settings.completion_sweeps),
            Metric::LeftToRight => {
                Likelihood::left_to_right(seed, settings.particles, settings.resample)
            }
            Metric::Umass | Metric::Npmi | Metric::CV => return None,
        };
        Some((metric, Box::new(likelihood.on(settings.split_name()))))
    };
    settings.metrics.iter().filter_map(one).collect()
}
