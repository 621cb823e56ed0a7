//! Figures of quality.

use super::records::table;

table! {
    /// Every figure of quality with its method, its unit and its documents, so that only comparable figures
    /// are compared.
    "evaluation";
    pub(crate) struct EvaluationRow<'a> {
        metric: &'a str,             /// The metric (`heldout_loglik_per_token`, `coherence_npmi`, …).
        method: &'a str,             /// How (`document_completion`, …), with what the figure depends on.
        split: &'a str,              /// On which documents (`held_out`, `sample`, `all`).
        unit: &'a str,               /// In which unit (`nats/token`, …).
        value: f64,                  /// The figure.
        standard_error: Option<f64>, /// Its standard error, where one can be given.
    }
}
