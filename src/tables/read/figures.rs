//! Rows of the tables of figures: `training_log`, `evaluation`, `drift`.

use std::path::Path;

use serde::Serialize;

use crate::failure::Failure;
use crate::tables::records::{record, records};

record! {
    /// A round of `training_log` that measured held-out documents.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub(crate) struct CurvePoint {
        /// The round, from 0.
        pub(crate) round: i32,
        /// The pass over the training sample, from 0.
        pub(crate) pass: i32,
        /// `online` or `gibbs`.
        pub(crate) phase: String,
        /// Documents trained on so far, counted at each visit.
        pub(crate) documents_seen: i64,
        /// Log-likelihood per held-out token, nats.
        pub(crate) heldout_loglik_per_token: Option<f64>,
    }
}

/// Reads the held-out likelihood during training, in order of the rounds; none without the table.
///
/// # Errors
/// The table cannot be read, or lacks a column.
pub(crate) fn training_curve(root: &Path) -> Result<Vec<CurvePoint>, Failure> {
    let is_measured = |point: &CurvePoint| point.heldout_loglik_per_token.is_some();
    records(root, "training_log")?.only(is_measured)
}

record! {
    /// A row of `evaluation`.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub(crate) struct FigureLine {
        pub(crate) metric: String,
        /// How it was measured.
        pub(crate) method: String,
        /// The documents that it was measured on.
        pub(crate) split: String,
        /// Its unit.
        pub(crate) unit: String,
        pub(crate) value: f64,
        /// Its standard error, if there is one.
        pub(crate) standard_error: Option<f64>,
    }
}

/// Reads the rows of `evaluation`, in order; none without the table.
///
/// # Errors
/// The table cannot be read, or lacks a column.
pub(crate) fn evaluation_figures(root: &Path) -> Result<Vec<FigureLine>, Failure> {
    records(root, "evaluation")?.collect()
}

record! {
    /// The displayed columns of a row of `drift`.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub(crate) struct DriftLine {
        /// The group; `None` for the run as a whole.
        pub(crate) group_id: Option<String>,
        /// New documents.
        pub(crate) documents: i64,
        /// The share of their distinct terms that the model knows, 0 to 1.
        pub(crate) known_term_share: Option<f64>,
        /// The share of their tokens that the model knows, 0 to 1.
        pub(crate) known_token_share: Option<f64>,
        /// Jensen–Shannon distance of their topics from those of the training sample, 0 to 1.
        pub(crate) topic_shift_js: Option<f64>,
        /// Their log-likelihood per token minus that of the training sample, nats.
        pub(crate) loglik_shift: Option<f64>,
        /// Whether the model should be retrained.
        pub(crate) retrain: bool,
    }
}

/// Reads the rows of `drift`, in order; none without the table.
///
/// # Errors
/// The table cannot be read, or lacks a column.
pub(crate) fn drift_lines(root: &Path) -> Result<Vec<DriftLine>, Failure> {
    records(root, "drift")?.collect()
}
