//! `group_topics`, `topic_trends` and `topic_correlations`: rows in order, shares that sum to at most 1, figures
//! within their bounds. An absent table is not checked.

use std::path::Path;

use super::VerifyReport;
use super::documents::Totals;
use crate::failure::Failure;
use crate::tables::records::{record, records};

/// How far a sum of shares may exceed 1.
const TOLERANCE: f64 = 1e-4;

/// Checks all three tables.
pub(super) fn verify(
    root: &Path,
    topic_count: usize,
    totals: &Totals,
    report: &mut VerifyReport,
) -> Result<(), Failure> {
    let topic_count = i32::try_from(topic_count).unwrap_or(i32::MAX);
    verify_groups(root, topic_count, totals, report)?;
    verify_trends(root, topic_count, totals, report)?;
    verify_correlations(root, topic_count, totals, report)
}

record! {
    struct GroupTopic {
        group_id: String,
        topic: i32,
        weight: f32,
        rank: i32,
        documents: i64,
    }
}

fn verify_groups(
    root: &Path,
    topic_count: i32,
    totals: &Totals,
    report: &mut VerifyReport,
) -> Result<(), Failure> {
    const TABLE: &str = "group_topics";
    let (mut group, mut last, mut sum) = (None::<String>, (0, f32::INFINITY), 0.0);
    for row in records::<GroupTopic>(root, TABLE)? {
        let row = row?;
        let (rank, weight, topic) = (row.rank, row.weight, row.topic);
        if group.as_ref() != Some(&row.group_id) {
            group = Some(row.group_id);
            (last, sum) = ((0, f32::INFINITY), 0.0);
        }
        sum += f64::from(weight);
        let sound = rank == last.0 + 1
            && (0.0..=last.1).contains(&weight)
            && sum <= 1.0 + TOLERANCE
            && (0..topic_count).contains(&topic)
            && (1..=totals.documents).contains(&row.documents);
        report.expect(sound, || {
            format!("{TABLE}: {group:?}, topic {topic}: rank {rank}, weight {weight} follows {last:?}; {sum} in all")
        });
        last = (rank, weight);
    }
    Ok(())
}

record! {
    struct TopicTrend {
        name: String,
        value: Option<String>,
        value_count: i64,
        topic: i32,
        share: f64,
        low: Option<f64>,
        high: Option<f64>,
        documents: i64,
    }
}

fn verify_trends(
    root: &Path,
    topic_count: i32,
    totals: &Totals,
    report: &mut VerifyReport,
) -> Result<(), Failure> {
    const TABLE: &str = "topic_trends";
    let (mut cell, mut last, mut sum) = (None, -1, 0.0);
    for row in records::<TopicTrend>(root, TABLE)? {
        let row = row?;
        let (topic, share, bounds) = (row.topic, row.share, [row.low, row.high]);
        let next = Some((row.name, row.value, row.value_count));
        if next != cell {
            (cell, last, sum) = (next, -1, 0.0);
        }
        sum += share;
        let in_order = match bounds {
            [None, None] => true,
            [Some(low), Some(high)] => 0.0 <= low && low <= high && high <= 1.0 + TOLERANCE,
            _ => false,
        };
        let sound = (last + 1..topic_count).contains(&topic)
            && share >= 0.0
            && sum <= 1.0 + TOLERANCE
            && (1..=totals.documents).contains(&row.documents);
        report.expect(sound && in_order, || {
            format!("{TABLE}: {cell:?}, topic {topic} after {last}: share {share} in {bounds:?}; {sum} in all")
        });
        last = topic;
    }
    Ok(())
}

record! {
    struct TopicPair {
        topic: i32,
        other: i32,
        correlation: Option<f64>,
        npmi: Option<f64>,
        documents: i64,
    }
}

fn verify_correlations(
    root: &Path,
    topic_count: i32,
    totals: &Totals,
    report: &mut VerifyReport,
) -> Result<(), Failure> {
    const TABLE: &str = "topic_correlations";
    let mut last = (-1, -1);
    for row in records::<TopicPair>(root, TABLE)? {
        let row = row?;
        let pair = (row.topic, row.other);
        let within = |figure: Option<f64>| figure.is_none_or(|it| it.abs() <= 1.0 + TOLERANCE);
        let sound = pair > last
            && (0..pair.1).contains(&pair.0)
            && pair.1 < topic_count
            && [row.correlation, row.npmi].into_iter().all(within)
            && (1..=totals.documents).contains(&row.documents);
        report.expect(sound, || {
            format!("{TABLE}: topics {pair:?} follow {last:?}, or have figures out of their bounds")
        });
        last = pair;
    }
    Ok(())
}
