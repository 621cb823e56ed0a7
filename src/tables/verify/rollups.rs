//! `group_topics`, `topic_trends` and `topic_correlations`: rows in order, shares that sum to 1 at most, figures
//! within their bounds. An absent table is not checked.

use std::path::Path;

use arrow_array::{Array, Float32Array, Float64Array, Int32Array, Int64Array, StringArray};

use super::documents::Totals;
use super::{VerifyReport, parts};
use crate::tables::TableError;
use crate::tables::parts::{Batches, column};

/// How far a sum of shares may be beyond 1.
const TOLERANCE: f64 = 1e-4;

/// Checks all three.
pub(super) fn verify(
    root: &Path,
    topic_count: usize,
    totals: &Totals,
    report: &mut VerifyReport,
) -> Result<(), TableError> {
    let topic_count = i32::try_from(topic_count).unwrap_or(i32::MAX);
    verify_groups(root, topic_count, totals, report)?;
    verify_trends(root, topic_count, totals, report)?;
    verify_correlations(root, topic_count, totals, report)
}

fn verify_groups(
    root: &Path,
    topic_count: i32,
    totals: &Totals,
    report: &mut VerifyReport,
) -> Result<(), TableError> {
    const TABLE: &str = "group_topics";
    let (mut group, mut last, mut sum) = (None::<String>, (0, f32::INFINITY), 0.0);
    let mut batches = Batches::new(parts(root, TABLE)?, None);
    while let Some(batch) = batches.next()? {
        let path = batches.path();
        let groups: &StringArray = column(path, &batch, "group_id")?;
        let topics: &Int32Array = column(path, &batch, "topic")?;
        let weights: &Float32Array = column(path, &batch, "weight")?;
        let ranks: &Int32Array = column(path, &batch, "rank")?;
        let documents: &Int64Array = column(path, &batch, "documents")?;
        for row in 0..batch.num_rows() {
            if group.as_deref() != Some(groups.value(row)) {
                group = Some(groups.value(row).to_owned());
                (last, sum) = ((0, f32::INFINITY), 0.0);
            }
            let (rank, weight) = (ranks.value(row), weights.value(row));
            sum += f64::from(weight);
            let sound = rank == last.0 + 1
                && (0.0..=last.1).contains(&weight)
                && sum <= 1.0 + TOLERANCE
                && (0..topic_count).contains(&topics.value(row))
                && (1..=totals.documents).contains(&documents.value(row));
            report.expect(sound, || {
                let topic = topics.value(row);
                format!("{TABLE}: {group:?}, topic {topic}: rank {rank}, weight {weight} follows {last:?}; {sum} in all")
            });
            last = (rank, weight);
        }
    }
    Ok(())
}

fn verify_trends(
    root: &Path,
    topic_count: i32,
    totals: &Totals,
    report: &mut VerifyReport,
) -> Result<(), TableError> {
    const TABLE: &str = "topic_trends";
    let (mut cell, mut last, mut sum) = (None, -1, 0.0);
    let mut batches = Batches::new(parts(root, TABLE)?, None);
    while let Some(batch) = batches.next()? {
        let path = batches.path();
        let names: &StringArray = column(path, &batch, "name")?;
        let values: &StringArray = column(path, &batch, "value")?;
        let counts: &Int64Array = column(path, &batch, "value_count")?;
        let topics: &Int32Array = column(path, &batch, "topic")?;
        let shares: &Float64Array = column(path, &batch, "share")?;
        let low: &Float64Array = column(path, &batch, "low")?;
        let high: &Float64Array = column(path, &batch, "high")?;
        let documents: &Int64Array = column(path, &batch, "documents")?;
        for row in 0..batch.num_rows() {
            let value = values.is_valid(row).then(|| values.value(row).to_owned());
            let next = Some((names.value(row).to_owned(), value, counts.value(row)));
            if next != cell {
                (cell, last, sum) = (next, -1, 0.0);
            }
            let (topic, share) = (topics.value(row), shares.value(row));
            sum += share;
            let bounds = [low, high].map(|bound| bound.is_valid(row).then(|| bound.value(row)));
            let in_order = match bounds {
                [None, None] => true,
                [Some(low), Some(high)] => 0.0 <= low && low <= high && high <= 1.0 + TOLERANCE,
                _ => false,
            };
            let sound = (last + 1..topic_count).contains(&topic)
                && share >= 0.0
                && sum <= 1.0 + TOLERANCE
                && (1..=totals.documents).contains(&documents.value(row));
            report.expect(sound && in_order, || {
                format!("{TABLE}: {cell:?}, topic {topic} after {last}: share {share} in {bounds:?}; {sum} in all")
            });
            last = topic;
        }
    }
    Ok(())
}

fn verify_correlations(
    root: &Path,
    topic_count: i32,
    totals: &Totals,
    report: &mut VerifyReport,
) -> Result<(), TableError> {
    const TABLE: &str = "topic_correlations";
    let mut last = (-1, -1);
    let mut batches = Batches::new(parts(root, TABLE)?, None);
    while let Some(batch) = batches.next()? {
        let path = batches.path();
        let topics: &Int32Array = column(path, &batch, "topic")?;
        let others: &Int32Array = column(path, &batch, "other")?;
        let figures = ["correlation", "npmi"].map(|name| column(path, &batch, name));
        let [correlation, npmi] = figures;
        let figures: [&Float64Array; 2] = [correlation?, npmi?];
        let documents: &Int64Array = column(path, &batch, "documents")?;
        for row in 0..batch.num_rows() {
            let pair = (topics.value(row), others.value(row));
            let within = |figure: &&Float64Array| {
                figure.is_null(row) || figure.value(row).abs() <= 1.0 + TOLERANCE
            };
            let sound = pair > last
                && (0..pair.1).contains(&pair.0)
                && pair.1 < topic_count
                && figures.iter().all(within)
                && (1..=totals.documents).contains(&documents.value(row));
            report.expect(sound, || {
                format!(
                    "{TABLE}: topics {pair:?} follow {last:?}, or have figures out of their bounds"
                )
            });
            last = pair;
        }
    }
    Ok(())
}
