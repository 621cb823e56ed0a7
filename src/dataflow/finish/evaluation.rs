//! `evaluation`: every figure of quality with its method.

use super::{Finisher, Written};
use crate::evaluate::measure::mean;
use crate::failure::Failure;
use crate::tables::evaluation::EvaluationRow;
use corpus::sample::Split;
use lda::evaluate::completion;
use lda::evaluate::drift::DriftFigures;

impl Finisher<'_> {
    /// Writes every figure with its method. `planted`: topics found, and planted.
    pub(super) fn write_evaluation(
        &self,
        planted: Option<(usize, usize)>,
        written: &mut Written,
    ) -> Result<(), Failure> {
        let mut figures = self.training_figures();
        figures.extend(self.projection_figures());
        figures.extend(self.label_figures());
        if let Some((found, planted)) = planted {
            let share = Some(found as f64 / planted.max(1) as f64);
            let (metric, method) = ("planted_topics_found", "hellinger<=0.3");
            figures.push(figure(metric, method, "sample", "share", share));
        }
        self.write(figures.into_iter().flatten(), written)
    }

    /// Returns the figures that training has recorded.
    fn training_figures(&self) -> Vec<Figure> {
        let heldout = self.record.heldout.per_token();
        let perplexity = heldout.map(|value| lda::math::special::exp(-value));
        let (umass, npmi): (Vec<_>, Vec<_>) = self.record.coherence.iter().copied().unzip();
        let method = completion::METHOD_AND_SWEEPS;
        let of_heldout = |metric, unit, value| figure(metric, method, "held_out", unit, value);
        let of_topics = |metric, method, unit, value| figure(metric, method, "sample", unit, value);
        let [of_20, of_10] = ["mean over topics, 20 terms", "mean over topics, 10 terms"];
        vec![
            of_heldout("log_likelihood_per_token", "nats/token", heldout),
            of_heldout("perplexity", "1", perplexity),
            of_topics("coherence_umass", of_20, "nats", mean(&umass)),
            of_topics("coherence_npmi", of_10, "1", mean(&npmi)),
        ]
    }

    /// Returns the figures of projection, and the drift of new documents.
    fn projection_figures(&self) -> Vec<Figure> {
        let splits = [Split::Sample, Split::HeldOut, Split::Projected];
        let likelihood = |split: Split| {
            let value = self.tally.and_then(|tally| tally.log_likelihood(split));
            let value = value.map(|(mean, _)| mean);
            let (metric, method) = ("log_likelihood_per_token", "own_proportions");
            figure(metric, method, split.name(), "nats/token", value)
        };
        let mut figures: Vec<Figure> = splits.into_iter().map(likelihood).collect();
        if let Some(drift) = self.drift() {
            figures.extend(drift_figures(&drift.figures));
        }
        figures
    }
}

/// A row of `evaluation`, if it has a value.
pub(super) type Figure = Option<EvaluationRow<'static>>;

pub(super) fn figure(
    metric: &'static str,
    method: &'static str,
    split: &'static str,
    unit: &'static str,
    value: Option<f64>,
) -> Figure {
    Some(EvaluationRow { metric, method, split, unit, value: value?, standard_error: None })
}

/// Returns the figures of drift of all new documents.
fn drift_figures(of: &DriftFigures) -> [Figure; 6] {
    let new = "held_out+projected";
    let figure = |metric, method, unit, value| figure(metric, method, new, unit, value);
    let terms = "distinct terms but stop and frequent ones";
    let [tokens, kept] = ["all tokens but stop words", "tokens of kept terms"];
    let topics = "against sample, listed topics";
    let likelihood = "own_proportions, against sample";
    let (kept_share, hellinger) = (of.known_kept_token_share, of.topic_shift_hellinger);
    [
        figure("known_term_share", terms, "share", of.known_term_share),
        figure("known_token_share", tokens, "share", of.known_token_share),
        figure("known_token_share", kept, "share", kept_share),
        figure("topic_shift_js", topics, "1", of.topic_shift_js),
        figure("topic_shift_hellinger", topics, "1", hellinger),
        figure("loglik_shift", likelihood, "nats/token", of.loglik_shift),
    ]
}
