//! `topics`, `topic_terms`, `topic_documents` and `vocabulary` against each other and against the
//! documents' totals.

use std::path::Path;

use arrow_array::{Array, Float32Array, Float64Array, Int32Array, Int64Array};

use super::diagnostics;
use super::documents::Totals;
use super::ranks::Ranks;
use super::rollups;
use super::{VerifyReport, parts};
use crate::tables::TableError;
use crate::tables::parts::{Batches, column};

/// How far a topic's word probabilities may be from 1: f32 weights, summed.
const MASS_TOLERANCE: f64 = 1e-3;

/// Checks all four tables; a table that is not there is not checked.
pub(super) fn verify(
    root: &Path,
    totals: &Totals,
    report: &mut VerifyReport,
) -> Result<(), TableError> {
    let kept = match report.rows.contains_key("vocabulary") {
        true => Some(verify_vocabulary(root, totals, report)?),
        false => None,
    };
    if !report.rows.contains_key("topics") {
        return Ok(());
    }
    let topics = verify_topics(root, totals, report)?;
    if let Some(kept) = kept
        && report.rows.contains_key("topic_terms")
    {
        verify_topic_terms(root, &topics, kept, report)?;
        diagnostics::verify_terms(root, topics.len(), kept, report)?;
    }
    diagnostics::verify_drift(root, report)?;
    rollups::verify(root, topics.len(), totals, report)?;
    verify_topic_documents(root, topics.len(), totals, report)
}

/// Kept terms first and numbered without gaps; returns how many there are.
fn verify_vocabulary(
    root: &Path,
    totals: &Totals,
    report: &mut VerifyReport,
) -> Result<i32, TableError> {
    const COLUMNS: [&str; 3] = ["term_id", "count", "document_count"];
    let (mut kept, mut tokens, mut others) = (0, 0, false);
    let mut batches = Batches::new(parts(root, "vocabulary")?, Some(&COLUMNS));
    while let Some(batch) = batches.next()? {
        let path = batches.path();
        let ids: &Int32Array = column(path, &batch, "term_id")?;
        let counts: &Int64Array = column(path, &batch, "count")?;
        let document_counts: &Int64Array = column(path, &batch, "document_count")?;
        for row in 0..batch.num_rows() {
            let (count, documents) = (counts.value(row), document_counts.value(row));
            let possible = 0 <= documents && documents <= count && documents <= totals.documents;
            report.expect(possible, || {
                format!("vocabulary: a term {count} times in {documents} documents")
            });
            if ids.is_null(row) {
                others = true;
                continue;
            }
            let id = ids.value(row);
            report.expect(id == kept && !others, || {
                format!("vocabulary: term_id {id} where {kept} is expected")
            });
            kept += 1;
            tokens += count;
        }
    }
    let in_documents = totals.tokens_in_vocabulary;
    let projected = report.rows.contains_key("documents");
    report.expect(tokens == in_documents || !projected, || {
        format!("vocabulary: {tokens} tokens of kept terms, documents have {in_documents}")
    });
    Ok(kept)
}

/// Returns each topic's `absent_weight`.
fn verify_topics(
    root: &Path,
    totals: &Totals,
    report: &mut VerifyReport,
) -> Result<Vec<f64>, TableError> {
    const COLUMNS: [&str; 5] = [
        "topic",
        "absent_weight",
        "share",
        "rank1_documents",
        "duplicate_of",
    ];
    let (mut absent, mut shares) = (Vec::new(), 0.0);
    let mut batches = Batches::new(parts(root, "topics")?, Some(&COLUMNS));
    while let Some(batch) = batches.next()? {
        let path = batches.path();
        let topics: &Int32Array = column(path, &batch, "topic")?;
        let weights: &Float64Array = column(path, &batch, "absent_weight")?;
        let share: &Float64Array = column(path, &batch, "share")?;
        let rank1: &Int64Array = column(path, &batch, "rank1_documents")?;
        let repeated: &Int32Array = column(path, &batch, "duplicate_of")?;
        for row in 0..batch.num_rows() {
            let (topic, expected) = (topics.value(row), absent.len());
            report.expect(i32::try_from(expected) == Ok(topic), || {
                format!("topics: topic {topic} where {expected} is expected")
            });
            let earlier = repeated.is_null(row) || (0..topic).contains(&repeated.value(row));
            report.expect(earlier, || {
                let other = repeated.value(row);
                format!("topic {topic}: it cannot be a duplicate of topic {other}")
            });
            absent.push(weights.value(row));
            shares += share.value(row);
            let documents = totals.by_top_topic.get(&topic).copied().unwrap_or(0);
            let agrees = rank1.is_null(row) || rank1.value(row) == documents;
            report.expect(agrees, || {
                let said = rank1.value(row);
                format!("topic {topic}: rank1_documents is {said}, but documents has {documents}")
            });
        }
    }
    let sound = (shares - 1.0).abs() <= MASS_TOLERANCE || shares == 0.0;
    report.expect(sound, || {
        format!("topics: the shares sum to {shares}, not 1")
    });
    let topic_count = absent.len() as i32;
    let unknown = totals
        .by_top_topic
        .keys()
        .find(|&&t| t < 0 || t >= topic_count);
    report.expect(unknown.is_none(), || {
        format!("documents: topic {unknown:?} does not exist")
    });
    Ok(absent)
}

fn verify_topic_terms(
    root: &Path,
    absent: &[f64],
    kept: i32,
    report: &mut VerifyReport,
) -> Result<(), TableError> {
    const COLUMNS: [&str; 4] = ["topic", "term_id", "weight", "rank"];
    let mut sums = vec![(0.0, 0_i32); absent.len()];
    let mut ranks = Ranks::new("topic_terms", absent.len());
    let mut batches = Batches::new(parts(root, "topic_terms")?, Some(&COLUMNS));
    while let Some(batch) = batches.next()? {
        let path = batches.path();
        let topics: &Int32Array = column(path, &batch, "topic")?;
        let terms: &Int32Array = column(path, &batch, "term_id")?;
        let weights: &Float32Array = column(path, &batch, "weight")?;
        let rank: &Int32Array = column(path, &batch, "rank")?;
        for row in 0..batch.num_rows() {
            let (topic, term, weight) = (topics.value(row), terms.value(row), weights.value(row));
            ranks.next(topic, rank.value(row), report);
            report.expect((0..kept).contains(&term) && weight >= 0.0, || {
                format!("topic_terms: topic {topic} has term {term} with weight {weight}")
            });
            if let Some((sum, rows)) = usize::try_from(topic).ok().and_then(|t| sums.get_mut(t)) {
                *sum += f64::from(weight);
                *rows += 1;
            }
        }
    }
    for (topic, ((sum, rows), absent)) in sums.into_iter().zip(absent).enumerate() {
        let mass = sum + absent * f64::from(kept - rows);
        report.expect((mass - 1.0).abs() <= MASS_TOLERANCE, || {
            format!("topic {topic}: its terms' probabilities sum to {mass}, not 1")
        });
    }
    Ok(())
}

fn verify_topic_documents(
    root: &Path,
    topic_count: usize,
    totals: &Totals,
    report: &mut VerifyReport,
) -> Result<(), TableError> {
    const COLUMNS: [&str; 3] = ["topic", "rank", "doc_id"];
    let mut ranks = Ranks::new("topic_documents", topic_count);
    let mut batches = Batches::new(parts(root, "topic_documents")?, Some(&COLUMNS));
    while let Some(batch) = batches.next()? {
        let path = batches.path();
        let topics: &Int32Array = column(path, &batch, "topic")?;
        let rank: &Int32Array = column(path, &batch, "rank")?;
        let documents: &Int64Array = column(path, &batch, "doc_id")?;
        for row in 0..batch.num_rows() {
            let doc_id = documents.value(row);
            ranks.next(topics.value(row), rank.value(row), report);
            report.expect((0..totals.documents).contains(&doc_id), || {
                format!("topic_documents: document {doc_id} does not exist")
            });
        }
    }
    Ok(())
}
