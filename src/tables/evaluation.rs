//! Figures of quality.

use super::drift::DriftRow;
use super::labels::{LabelSums, SCORES};
use super::records::table;
use super::tally::Tally;
use crate::evaluate::measure::mean;
use corpus::sample::Split;
use lda::evaluate::completion::{self, Completion};
use lda::evaluate::labels::{macro_f1, micro_f1};
use lda::math::special::exp;

table! {
    /// Every figure of quality with its method, its unit and its documents, so that only comparable figures
    /// are compared.
    "evaluation";
    pub(crate) struct EvaluationRow {
        metric: String,              /// The metric (`heldout_loglik_per_token`, `coherence_npmi`, …).
        method: String,              /// How (`document_completion`, …), with what the figure depends on.
        split: String,               /// On which documents (`held_out`, `sample`, `all`).
        unit: String,                /// In which unit (`nats/token`, …).
        value: f64,                  /// The figure.
        standard_error: Option<f64>, /// Its standard error, where one can be given.
    }
}

/// The documents that were not trained on.
const NEW: &str = "held_out+projected";

fn row(
    metric: &str,
    method: &str,
    split: &str,
    unit: &str,
    value: Option<f64>,
) -> Option<EvaluationRow> {
    let [metric, method, split, unit] = [metric, method, split, unit].map(str::to_owned);
    Some(EvaluationRow { metric, method, split, unit, value: value?, standard_error: None })
}

/// Returns the figures that training has recorded: the score of the held-out documents, and each topic's UMass and NPMI
/// coherence.
pub(crate) fn of_training(
    heldout: &Completion,
    coherence: &[(Option<f64>, Option<f64>)],
) -> impl Iterator<Item = EvaluationRow> {
    let (umass, npmi): (Vec<_>, Vec<_>) = coherence.iter().copied().unzip();
    let (heldout, method) = (heldout.per_token(), completion::METHOD_AND_SWEEPS);
    let [of_20, of_10] = ["mean over topics, 20 terms", "mean over topics, 10 terms"];
    let rows = [
        row("log_likelihood_per_token", method, "held_out", "nats/token", heldout),
        row("perplexity", method, "held_out", "1", heldout.map(|value| exp(-value))),
        row("coherence_umass", of_20, "sample", "nats", mean(&umass)),
        row("coherence_npmi", of_10, "sample", "1", mean(&npmi)),
    ];
    rows.into_iter().flatten()
}

/// Returns the figures of projection, and the drift of the new documents.
pub(crate) fn of_projection(
    tally: &Tally,
    drift: &DriftRow,
) -> impl Iterator<Item = EvaluationRow> {
    let likelihood = |split: Split| {
        let (metric, method) = ("log_likelihood_per_token", "own_proportions");
        row(metric, method, split.name(), "nats/token", tally.log_likelihood(split))
    };
    let rows = [Split::Sample, Split::HeldOut, Split::Projected].map(likelihood);
    let terms = "distinct terms but stop and frequent ones";
    let [tokens, kept] = ["all tokens but stop words", "tokens of kept terms"];
    let topics = "against sample, listed topics";
    let of_likelihood = "own_proportions, against sample";
    let (known, all) = (drift.known_tokens, drift.tokens_in_vocabulary);
    let of_kept = (all > 0).then(|| known as f64 / all as f64);
    let of_drift = [
        row("known_term_share", terms, NEW, "share", drift.known_term_share),
        row("known_token_share", tokens, NEW, "share", drift.known_token_share),
        row("known_token_share", kept, NEW, "share", of_kept),
        row("topic_shift_js", topics, NEW, "1", drift.topic_shift_js),
        row("topic_shift_hellinger", topics, NEW, "1", drift.topic_shift_hellinger),
        row("loglik_shift", of_likelihood, NEW, "nats/token", drift.loglik_shift),
    ];
    rows.into_iter().chain(of_drift).flatten()
}

/// Returns how well labels are predicted for documents that were not trained on.
pub(crate) fn of_labels(sums: &LabelSums<'_>) -> impl Iterator<Item = EvaluationRow> {
    let (labels, means) = (sums.labels(), sums.means());
    let f1 = |method, value| row("label_f1", method, NEW, "share", value);
    let f1 = [f1("micro-averaged", micro_f1(&labels)), f1("macro-averaged", macro_f1(&labels))];
    let means = means.into_iter().flat_map(|means| SCORES.into_iter().zip(means));
    let means = means.map(|((metric, unit), mean)| {
        row(metric, "mean over documents", NEW, unit, Some(mean))
    });
    let is_evaluated = sums.documents() > 0;
    f1.into_iter().filter(move |_| is_evaluated).chain(means).flatten()
}

/// Returns the share of the planted topics that were found.
pub(crate) fn of_planted(found: usize, planted: usize) -> Option<EvaluationRow> {
    let share = found as f64 / planted.max(1) as f64;
    row("planted_topics_found", "hellinger<=0.3", "sample", "share", Some(share))
}
