//! The documents of each topic.

use super::records::{records, table};
use super::check::{Known, Ranks, VerifyReport};
use crate::failure::Failure;

table! {
    /// The documents in which each topic's proportion is largest.
    "topic_documents", sorted_by [topic, rank], looked_up_by [source_id], checked_by check;
    pub(crate) struct TopicDocumentRow {
        topic: i32,         /// The topic, from 0.
        rank: i32,          /// 1 for the document with the largest proportion, then without gaps.
        doc_id: i64,        /// The document.
        source_id: String, /// The input's own id.
        weight: f32,        /// The topic's proportion in it, 0 to 1.
    }
}

impl TopicDocumentRow {
    /// Returns all rows, given each topic's documents: weight, number, the input's own id.
    pub(crate) fn all(topics: &[Vec<(f32, u64, String)>]) -> impl Iterator<Item = Self> {
        (0..).zip(topics).flat_map(|(topic, best)| {
            (1..).zip(best).map(move |(rank, (weight, number, source_id))| Self {
                topic,
                rank,
                doc_id: *number as i64,
                source_id: source_id.clone(),
                weight: *weight,
            })
        })
    }
}

fn check(known: &Known<'_>, report: &mut VerifyReport) -> Result<(), Failure> {
    let mut ranks = Ranks::new("topic_documents", known.topic_count());
    for row in records::<TopicDocumentRow>(known.root)? {
        let row = row?;
        let doc_id = row.doc_id;
        ranks.next(row.topic, row.rank, report);
        report.expect((0..known.totals.documents).contains(&doc_id), || {
            format!("topic_documents: document {doc_id} does not exist")
        });
    }
    Ok(())
}
