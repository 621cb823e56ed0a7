//! `topic_term_diagnostics` and `drift`: rows in order, shares within their bounds, parts no larger
//! than their whole. An absent table is not checked.

use std::path::Path;

use arrow_array::{Array, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array};
use arrow_array::{RecordBatch, StringArray};

use super::ranks::Ranks;
use super::{VerifyReport, parts};
use crate::tables::TableError;
use crate::tables::parts::{Batches, column};
use lda::evaluate::drift::LEAST_KNOWN_SHARE;

/// How far a sum of f32 probabilities may be off.
const TOLERANCE: f64 = 1e-3;

/// Checks `topic_term_diagnostics`: ranks without gaps, terms that are kept, probabilities that sum
/// up as said.
pub(super) fn verify_terms(
    root: &Path,
    topic_count: usize,
    kept: i32,
    report: &mut VerifyReport,
) -> Result<(), TableError> {
    const TABLE: &str = "topic_term_diagnostics";
    const COLUMNS: [&str; 6] = [
        "topic",
        "rank",
        "term_id",
        "weight",
        "cumulative",
        "exclusivity",
    ];
    let mut ranks = Ranks::new(TABLE, topic_count);
    let mut sum = 0.0;
    let mut batches = Batches::new(parts(root, TABLE)?, Some(&COLUMNS));
    while let Some(batch) = batches.next()? {
        let path = batches.path();
        let topics: &Int32Array = column(path, &batch, "topic")?;
        let rank: &Int32Array = column(path, &batch, "rank")?;
        let terms: &Int32Array = column(path, &batch, "term_id")?;
        let weights: &Float32Array = column(path, &batch, "weight")?;
        let cumulative: &Float64Array = column(path, &batch, "cumulative")?;
        let exclusivity: &Float64Array = column(path, &batch, "exclusivity")?;
        for row in 0..batch.num_rows() {
            let (topic, place) = (topics.value(row), rank.value(row));
            ranks.next(topic, place, report);
            let before = if place == 1 { 0.0 } else { sum };
            sum = before + f64::from(weights.value(row));
            let off = (sum - cumulative.value(row)).abs();
            let share = exclusivity.value(row);
            let sound = (0..kept).contains(&terms.value(row))
                && off <= TOLERANCE
                && sum <= 1.0 + TOLERANCE
                && (0.0..=1.0 + TOLERANCE).contains(&share);
            report.expect(sound, || {
                format!(
                    "{TABLE}: topic {topic}, rank {place} has term {}, cumulative {}, exclusivity {share}",
                    terms.value(row),
                    cumulative.value(row),
                )
            });
        }
    }
    Ok(())
}

/// Checks `drift`: groups ascending and the run last, parts no larger than their whole, shares that
/// are their quotients, and the advice that follows from them.
pub(super) fn verify_drift(root: &Path, report: &mut VerifyReport) -> Result<(), TableError> {
    let mut last: Option<String> = None;
    let (mut rows, mut runs) = (0, 0);
    let mut batches = Batches::new(parts(root, "drift")?, None);
    while let Some(batch) = batches.next()? {
        let path = batches.path();
        let scopes: &StringArray = column(path, &batch, "scope")?;
        let groups: &StringArray = column(path, &batch, "group_id")?;
        for row in 0..batch.num_rows() {
            rows += 1;
            let is_run = groups.is_null(row);
            let group = (!is_run).then(|| groups.value(row).to_owned());
            runs += i32::from(is_run);
            let scope = if is_run { "run" } else { "group" };
            let ascends = is_run || last.is_none() || last < group;
            report.expect(ascends && scopes.value(row) == scope, || {
                format!("drift: group {group:?} follows {last:?}")
            });
            last = group;
            verify_drift_row(path, &batch, row, report)?;
        }
    }
    let ends_with_run = rows == 0 || (runs == 1 && last.is_none());
    report.expect(ends_with_run, || {
        format!("drift: {runs} rows of the run, which is one row and the last")
    });
    Ok(())
}

fn verify_drift_row(
    path: &Path,
    batch: &RecordBatch,
    row: usize,
    report: &mut VerifyReport,
) -> Result<(), TableError> {
    let integer = |name| column::<Int64Array>(path, batch, name).map(|c| c.value(row));
    let share = |name| {
        let values: &Float64Array = column(path, batch, name)?;
        Ok::<_, TableError>(values.is_valid(row).then(|| values.value(row)))
    };
    let (tokens, kept) = (integer("tokens")?, integer("tokens_in_vocabulary")?);
    let (known, documents) = (integer("known_tokens")?, integer("documents")?);
    let (terms, known_terms) = (integer("terms")?, integer("known_terms")?);
    let nested = 0 <= known && known <= kept && kept <= tokens && 0 <= documents;
    report.expect(nested && 0 <= known_terms && known_terms <= terms, || {
        format!(
            "drift: {documents} documents of {tokens} tokens, {kept} in the vocabulary, {known} \
             known; {terms} terms, {known_terms} known"
        )
    });
    let quotient = |part: i64, whole: i64| (whole > 0).then(|| part as f64 / whole as f64);
    let of_terms = share("known_term_share")?;
    let agree = of_terms == quotient(known_terms, terms)
        && share("known_token_share")? == quotient(known, tokens);
    let advice: &BooleanArray = column(path, batch, "retrain")?;
    let advised = of_terms.is_some_and(|share| share < LEAST_KNOWN_SHARE);
    report.expect(agree && advice.value(row) == advised, || {
        format!("drift: a known_term_share of {of_terms:?} with {known_terms} of {terms} terms")
    });
    for name in ["topic_shift_js", "topic_shift_hellinger"] {
        let shift = share(name)?;
        let within = shift.is_none_or(|shift| (0.0..=1.0).contains(&shift));
        report.expect(within, || format!("drift: {name} is {shift:?}"));
    }
    Ok(())
}
