//! Rows of the tables of figures: `training_log`, `evaluation`, `drift`.

use std::path::Path;

use arrow_array::{BooleanArray, Float64Array, Int32Array, Int64Array, StringArray};

use super::present;
use crate::tables::TableError;
use crate::tables::parts::{Batches, column, part_files};

/// A round of `training_log` that measured held-out documents.
#[derive(Clone, Debug, PartialEq)]
pub struct CurvePoint {
    /// The round, from 1.
    pub round: i32,
    /// The pass over the training sample, from 1.
    pub pass: i32,
    /// `online` or `gibbs`.
    pub phase: String,
    /// Documents trained on so far, counted at each visit.
    pub documents_seen: i64,
    /// Log-likelihood per held-out token, nats.
    pub heldout_loglik_per_token: f64,
}

/// The held-out likelihood during training, in order of the rounds; none without the table.
///
/// # Errors
/// The table cannot be read, or lacks a column.
pub fn training_curve(root: &Path) -> Result<Vec<CurvePoint>, TableError> {
    const COLUMNS: [&str; 5] = [
        "round",
        "pass",
        "phase",
        "documents_seen",
        "heldout_loglik_per_token",
    ];
    let mut points = Vec::new();
    let mut batches = Batches::new(part_files(&root.join("training_log"))?, Some(&COLUMNS));
    while let Some(batch) = batches.next()? {
        let path = batches.path();
        let rounds: &Int32Array = column(path, &batch, "round")?;
        let passes: &Int32Array = column(path, &batch, "pass")?;
        let phases: &StringArray = column(path, &batch, "phase")?;
        let documents: &Int64Array = column(path, &batch, "documents_seen")?;
        let scores: &Float64Array = column(path, &batch, "heldout_loglik_per_token")?;
        points.extend((0..batch.num_rows()).filter_map(|row| {
            Some(CurvePoint {
                round: rounds.value(row),
                pass: passes.value(row),
                phase: phases.value(row).to_owned(),
                documents_seen: documents.value(row),
                heldout_loglik_per_token: present(scores, row)?,
            })
        }));
    }
    Ok(points)
}

/// A row of `evaluation`.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureLine {
    /// What is measured.
    pub metric: String,
    /// How.
    pub method: String,
    /// On which documents.
    pub split: String,
    /// In which unit.
    pub unit: String,
    /// The figure.
    pub value: f64,
    /// Its standard error, where one can be given.
    pub standard_error: Option<f64>,
}

/// The rows of `evaluation`, in order; none without the table.
///
/// # Errors
/// The table cannot be read, or lacks a column.
pub fn evaluation_figures(root: &Path) -> Result<Vec<FigureLine>, TableError> {
    let mut lines = Vec::new();
    let mut batches = Batches::new(part_files(&root.join("evaluation"))?, None);
    while let Some(batch) = batches.next()? {
        let path = batches.path();
        let [metrics, methods, splits, units] = ["metric", "method", "split", "unit"]
            .map(|name| column::<StringArray>(path, &batch, name));
        let (metrics, methods, splits, units) = (metrics?, methods?, splits?, units?);
        let values: &Float64Array = column(path, &batch, "value")?;
        let errors: &Float64Array = column(path, &batch, "standard_error")?;
        lines.extend((0..batch.num_rows()).map(|row| FigureLine {
            metric: metrics.value(row).to_owned(),
            method: methods.value(row).to_owned(),
            split: splits.value(row).to_owned(),
            unit: units.value(row).to_owned(),
            value: values.value(row),
            standard_error: present(errors, row),
        }));
    }
    Ok(lines)
}

/// A row of `drift`, as far as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct DriftLine {
    /// The group; `None` for the run as a whole.
    pub group: Option<String>,
    /// New documents.
    pub documents: i64,
    /// The share of their distinct terms that the model knows, 0 to 1.
    pub known_term_share: Option<f64>,
    /// The share of their tokens that the model knows, 0 to 1.
    pub known_token_share: Option<f64>,
    /// Jensen–Shannon distance of their topics from those of the training sample, 0 to 1.
    pub topic_shift_js: Option<f64>,
    /// Their log-likelihood per token minus that of the training sample, nats.
    pub loglik_shift: Option<f64>,
    /// Whether to train again.
    pub retrain: bool,
}

/// The rows of `drift`, in order; none without the table.
///
/// # Errors
/// The table cannot be read, or lacks a column.
pub fn drift_lines(root: &Path) -> Result<Vec<DriftLine>, TableError> {
    let mut lines = Vec::new();
    let mut batches = Batches::new(part_files(&root.join("drift"))?, None);
    while let Some(batch) = batches.next()? {
        let path = batches.path();
        let scopes: &StringArray = column(path, &batch, "scope")?;
        let groups: &StringArray = column(path, &batch, "group_id")?;
        let documents: &Int64Array = column(path, &batch, "documents")?;
        let [terms, tokens, topics, logliks] = [
            "known_term_share",
            "known_token_share",
            "topic_shift_js",
            "loglik_shift",
        ]
        .map(|name| column::<Float64Array>(path, &batch, name));
        let (terms, tokens, topics, logliks) = (terms?, tokens?, topics?, logliks?);
        let retrain: &BooleanArray = column(path, &batch, "retrain")?;
        lines.extend((0..batch.num_rows()).map(|row| DriftLine {
            group: (scopes.value(row) != "run").then(|| groups.value(row).to_owned()),
            documents: documents.value(row),
            known_term_share: present(terms, row),
            known_token_share: present(tokens, row),
            topic_shift_js: present(topics, row),
            loglik_shift: present(logliks, row),
            retrain: retrain.value(row),
        }));
    }
    Ok(lines)
}
