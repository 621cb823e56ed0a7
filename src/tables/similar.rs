//! The documents of a result that are nearest to some proportions: one pass over the tables, in memory that depends
//! on how many are wanted.

use std::collections::BTreeMap;
use std::path::Path;

use super::parts::visit_pieces;
use super::projected::{Piece, ProjectedDocument, ProjectedReader};
use crate::failure::Failure;

/// Returns the first `limit` documents of a result for which `is_it` holds.
///
/// # Errors
/// Nothing was projected, or a table cannot be read.
pub(crate) fn find_documents(
    root: &Path,
    limit: usize,
    is_it: impl Fn(&ProjectedDocument) -> bool,
) -> Result<Vec<ProjectedDocument>, Failure> {
    let mut reader = ProjectedReader::open(root)?;
    let mut document = ProjectedDocument::default();
    let mut found = Vec::new();
    while found.len() < limit && reader.read_into(&mut document)? {
        if is_it(&document) {
            found.push(document.clone());
        }
    }
    Ok(found)
}

/// Returns at most `limit` documents nearest to some proportions, except `but`, among those that share a topic with
/// them, each with its Hellinger distance by the listed proportions, √(1 − Σ_k √(p_k q_k)), from 0 to 1. At equal
/// distances, the earlier document comes first. Documents are read on several threads.
///
/// # Errors
/// Nothing was projected, or a table cannot be read.
pub(crate) fn similar_documents(
    root: &Path,
    topics: &[(i32, f32)],
    but: Option<i64>,
    limit: usize,
    threads: usize,
) -> Result<Vec<(f64, ProjectedDocument)>, Failure> {
    // Distances are not negative, so their bits have the same order.
    type Nearest = BTreeMap<(u64, i64), ProjectedDocument>;
    let insert = |nearest: &mut Nearest, place, document: &ProjectedDocument| {
        let last = nearest.last_key_value();
        let is_far = nearest.len() == limit && last.is_none_or(|(last, _)| place >= *last);
        if !is_far {
            nearest.insert(place, document.clone());
        }
        if nearest.len() > limit {
            nearest.pop_last();
        }
    };
    let read = |nearest: &mut Nearest, piece: &Piece| {
        let mut reader = ProjectedReader::of_piece(piece, &[]);
        let mut document = ProjectedDocument::default();
        let mut documents = 0;
        while reader.read_into(&mut document)? {
            documents += 1;
            let distance = distance(topics, &document.topics);
            if let Some(distance) = distance.filter(|_| but != Some(document.doc_id)) {
                insert(nearest, (distance.to_bits(), document.doc_id), &document);
            }
        }
        Ok(documents)
    };
    let mut nearest = Nearest::new();
    for found in visit_pieces(threads, &Piece::all(root)?, Nearest::new, read, |_| ())? {
        found.iter().for_each(|(&place, document)| insert(&mut nearest, place, document));
    }
    let similar = nearest.into_iter();
    Ok(similar.map(|((bits, _), document)| (f64::from_bits(bits), document)).collect())
}

/// Returns the Hellinger distance; `None` if no topic is in both.
fn distance(one: &[(i32, f32)], other: &[(i32, f32)]) -> Option<f64> {
    let mut affinity = 0.0;
    for &(topic, weight) in other {
        if let Some(its) = one.iter().find(|entry| entry.0 == topic) {
            affinity += (f64::from(weight) * f64::from(its.1)).sqrt();
        }
    }
    (affinity > 0.0).then(|| (1.0 - affinity).max(0.0).sqrt())
}
