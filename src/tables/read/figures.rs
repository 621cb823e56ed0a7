//! Rows of the tables of figures: `training_log`, `evaluation`, `drift`.

use std::path::Path;

use serde::Serialize;

use crate::failure::Failure;
pub(crate) use crate::tables::drift::DriftLine;
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

/// Reads the rows of `drift`, in order; none without the table.
///
/// # Errors
/// The table cannot be read, or lacks a column.
pub(crate) fn drift_lines(root: &Path) -> Result<Vec<DriftLine>, Failure> {
    records(root, "drift")?.collect()
}
