//! `topics`, `topic_terms`, `topic_documents` and `vocabulary` against each other and against the totals of the
//! documents.

use std::path::Path;

use super::VerifyReport;
use super::diagnostics;
use super::documents::Totals;
use super::ranks::Ranks;
use super::rollups;
use crate::failure::Failure;
use crate::tables::records::{record, records};

/// How far a topic's term probabilities may be from 1, as sums of f32.
const MASS_TOLERANCE: f64 = 1e-3;

/// Checks all four tables, and those that depend on them; a missing table is not checked.
pub(super) fn verify(
    root: &Path,
    totals: &Totals,
    report: &mut VerifyReport,
) -> Result<(), Failure> {
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

record! {
    struct Term {
        term_id: Option<i32>,
        count: i64,
        document_count: i64,
    }
}

/// Checks that kept terms come first and are numbered without gaps; returns their number.
fn verify_vocabulary(
    root: &Path,
    totals: &Totals,
    report: &mut VerifyReport,
) -> Result<i32, Failure> {
    let (mut kept, mut tokens, mut others) = (0, 0, false);
    for term in records::<Term>(root, "vocabulary")? {
        let Term { term_id, count, document_count: documents } = term?;
        let possible = 0 <= documents && documents <= count && documents <= totals.documents;
        report.expect(possible, || {
            format!("vocabulary: a term {count} times in {documents} documents")
        });
        let Some(id) = term_id else {
            others = true;
            continue;
        };
        report.expect(id == kept && !others, || {
            format!("vocabulary: term_id {id} where {kept} is expected")
        });
        kept += 1;
        tokens += count;
    }
    let in_documents = totals.tokens_in_vocabulary;
    let projected = report.rows.contains_key("documents");
    report.expect(tokens == in_documents || !projected, || {
        format!("vocabulary: {tokens} tokens of kept terms, documents have {in_documents}")
    });
    Ok(kept)
}

record! {
    struct Topic {
        topic: i32,
        absent_weight: f64,
        share: f64,
        rank1_documents: Option<i64>,
        duplicate_of: Option<i32>,
    }
}

/// Checks `topics`; returns each topic's `absent_weight`.
fn verify_topics(
    root: &Path,
    totals: &Totals,
    report: &mut VerifyReport,
) -> Result<Vec<f64>, Failure> {
    let (mut absent, mut shares) = (Vec::new(), 0.0);
    for row in records::<Topic>(root, "topics")? {
        let row = row?;
        let (topic, expected) = (row.topic, absent.len());
        report.expect(i32::try_from(expected) == Ok(topic), || {
            format!("topics: topic {topic} where {expected} is expected")
        });
        if let Some(other) = row.duplicate_of {
            report.expect((0..topic).contains(&other), || {
                format!("topic {topic}: it cannot be a duplicate of topic {other}")
            });
        }
        absent.push(row.absent_weight);
        shares += row.share;
        let documents = totals.by_top_topic.get(&topic).copied().unwrap_or(0);
        if let Some(said) = row.rank1_documents {
            report.expect(said == documents, || {
                format!("topic {topic}: rank1_documents is {said}, but documents has {documents}")
            });
        }
    }
    let sound = (shares - 1.0).abs() <= MASS_TOLERANCE || shares == 0.0;
    report.expect(sound, || format!("topics: the shares sum to {shares}, not 1"));
    let topic_count = absent.len() as i32;
    let unknown = totals.by_top_topic.keys().find(|&&t| t < 0 || t >= topic_count);
    report.expect(unknown.is_none(), || format!("documents: topic {unknown:?} does not exist"));
    Ok(absent)
}

record! {
    struct TopicTerm {
        topic: i32,
        term_id: i32,
        weight: f32,
        rank: i32,
    }
}

fn verify_topic_terms(
    root: &Path,
    absent: &[f64],
    kept: i32,
    report: &mut VerifyReport,
) -> Result<(), Failure> {
    let mut sums = vec![(0.0, 0_i32); absent.len()];
    let mut ranks = Ranks::new("topic_terms", absent.len());
    for row in records::<TopicTerm>(root, "topic_terms")? {
        let row = row?;
        let (topic, term, weight) = (row.topic, row.term_id, row.weight);
        ranks.next(topic, row.rank, report);
        report.expect((0..kept).contains(&term) && weight >= 0.0, || {
            format!("topic_terms: topic {topic} has term {term} with weight {weight}")
        });
        if let Some((sum, rows)) = usize::try_from(topic).ok().and_then(|t| sums.get_mut(t)) {
            *sum += f64::from(weight);
            *rows += 1;
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

record! {
    struct TopicDocument {
        topic: i32,
        rank: i32,
        doc_id: i64,
    }
}

fn verify_topic_documents(
    root: &Path,
    topic_count: usize,
    totals: &Totals,
    report: &mut VerifyReport,
) -> Result<(), Failure> {
    let mut ranks = Ranks::new("topic_documents", topic_count);
    for row in records::<TopicDocument>(root, "topic_documents")? {
        let row = row?;
        let doc_id = row.doc_id;
        ranks.next(row.topic, row.rank, report);
        report.expect((0..totals.documents).contains(&doc_id), || {
            format!("topic_documents: document {doc_id} does not exist")
        });
    }
    Ok(())
}
