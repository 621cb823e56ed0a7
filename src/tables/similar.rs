//! The documents of a result that are nearest to some proportions: one pass over the tables, in memory that
//! depends on how many are wanted.

use std::collections::BTreeSet;
use std::path::Path;

use super::projected::{ProjectedDocument, ProjectedReader};
use crate::failure::Failure;

/// Maximum number of documents with the same `source_id` that an error lists.
const MOST_ALIKE: usize = 10;

/// A document near to what was requested.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SimilarDocument {
    /// Its number.
    pub(crate) doc_id: i64,
    /// The input's own id of it.
    pub(crate) source_id: String,
    /// Hellinger distance of the listed proportions, √(1 − Σ_k √(p_k q_k)): 0 to 1.
    pub(crate) distance: f64,
    /// Its listed topics and their proportions, the heaviest first.
    pub(crate) topics: Vec<(i32, f32)>,
}

/// The documents of a result with this number or with this id of the input's, the first ten.
///
/// # Errors
/// Nothing was projected, or a table cannot be read.
pub(crate) fn find_documents(
    root: &Path,
    is_it: impl Fn(&ProjectedDocument) -> bool,
) -> Result<Vec<ProjectedDocument>, Failure> {
    let mut reader = ProjectedReader::open(root)?;
    let mut document = ProjectedDocument::default();
    let mut found = Vec::new();
    while found.len() < MOST_ALIKE && reader.read_into(&mut document)? {
        if is_it(&document) {
            found.push(document.clone());
        }
    }
    Ok(found)
}

/// The documents nearest to some proportions, except `but`: at most `limit`, of those that share a topic with
/// them; of equal distances the earlier document first.
///
/// # Errors
/// Nothing was projected, or a table cannot be read.
pub(crate) fn similar_documents(
    root: &Path,
    topics: &[(i32, f32)],
    but: Option<i64>,
    limit: usize,
) -> Result<Vec<SimilarDocument>, Failure> {
    let mut reader = ProjectedReader::open(root)?;
    let mut document = ProjectedDocument::default();
    // Distances are not negative: their bits are in their order.
    let mut nearest: BTreeSet<(u64, i64)> = BTreeSet::new();
    let mut kept: Vec<ProjectedDocument> = Vec::new();
    while reader.read_into(&mut document)? {
        let Some(distance) = distance(topics, &document.topics) else {
            continue;
        };
        let place = (distance.to_bits(), document.doc_id);
        let is_far = nearest.len() == limit && nearest.last().is_none_or(|last| place >= *last);
        if is_far || but == Some(document.doc_id) {
            continue;
        }
        nearest.insert(place);
        kept.push(document.clone());
        if nearest.len() > limit {
            let last = nearest.pop_last().map(|last| last.1);
            kept.retain(|document| Some(document.doc_id) != last);
        }
    }
    let similar = nearest.into_iter().filter_map(|(bits, doc_id)| {
        let at = kept.iter().position(|document| document.doc_id == doc_id)?;
        let document = kept.swap_remove(at);
        Some(SimilarDocument {
            doc_id,
            source_id: document.source_id,
            distance: f64::from_bits(bits),
            topics: document.topics,
        })
    });
    Ok(similar.collect())
}

/// The Hellinger distance; `None` if there is no topic in both.
fn distance(one: &[(i32, f32)], other: &[(i32, f32)]) -> Option<f64> {
    let weight_in_one = |topic: i32| {
        one.iter()
            .find(|entry| entry.0 == topic)
            .map(|entry| entry.1)
    };
    let mut affinity = 0.0;
    for &(topic, weight) in other {
        if let Some(its_weight) = weight_in_one(topic) {
            affinity += (f64::from(weight) * f64::from(its_weight)).sqrt();
        }
    }
    (affinity > 0.0).then(|| (1.0 - affinity).max(0.0).sqrt())
}
