//! The documents of each topic.

use super::records::{records, table};
use super::check::{Known, Ranks, VerifyReport};
use super::rollup::{ListedDocument, RollUp, Sums};
use crate::failure::Failure;
use crate::wire::MOST_NAME_BYTES;

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

/// The documents in which each topic is largest, while they are projected.
pub(crate) struct TopicDocuments {
    /// Those of each topic that this worker has counted.
    counted: Vec<BestDocuments>,
    empty: BestDocuments,
}

impl TopicDocuments {
    /// Starts with no document; at most `limit` are kept for a topic.
    pub(crate) fn new(topic_count: usize, limit: usize) -> Self {
        let empty = BestDocuments { limit, documents: Vec::new() };
        Self { counted: vec![empty.clone(); topic_count], empty }
    }
}

/// The documents with the largest weights of a topic, largest first; equal weights in the order of the collection.
#[derive(Clone, Debug)]
pub(crate) struct BestDocuments {
    limit: usize,
    /// Weight, number and the input's own id of each.
    documents: Vec<(f32, u64, String)>,
}

impl BestDocuments {
    /// Considers a document; returns whether it is kept.
    fn consider(&mut self, weight: f32, number: u64, source_id: &str) -> bool {
        let is_before = |&(w, n, _): &(f32, u64, _)| w > weight || (w == weight && n < number);
        // Most documents come after all that are kept.
        if self.documents.len() == self.limit && self.documents.last().is_none_or(is_before) {
            return false;
        }
        let place = self.documents.partition_point(is_before);
        self.documents.insert(place, (weight, number, source_id.to_owned()));
        self.documents.truncate(self.limit);
        true
    }
}

impl Sums for BestDocuments {
    type Part = (f32, u64, String);

    fn take(&mut self, send: &mut dyn FnMut((f32, u64, String))) {
        self.documents.drain(..).for_each(send);
    }

    fn add(&mut self, (weight, number, source_id): (f32, u64, String)) {
        self.consider(weight, number, &source_id);
    }
}

impl RollUp for TopicDocuments {
    type Key = u64;
    type Sums = BestDocuments;
    type Whole = ();
    type Line = TopicDocumentRow;
    type Row = TopicDocumentRow;

    fn empty(&self) -> BestDocuments {
        self.empty.clone()
    }

    fn whole(&self) {}

    fn add(
        &mut self,
        document: &ListedDocument<'_>,
        _: &mut (),
        each: &mut dyn FnMut(&u64, &mut dyn FnMut(&mut BestDocuments)),
    ) {
        let (number, source_id) = (document.number, &*document.read.source_id);
        if source_id.len() > MOST_NAME_BYTES {
            return;
        }
        for &(weight, topic) in document.topics {
            if self.counted[usize::from(topic)].consider(weight, number, source_id) {
                each(&topic.into(), &mut |best| {
                    best.consider(weight, number, source_id);
                });
            }
        }
    }

    fn lines(&self, topic: u64, best: BestDocuments, _: &(), lines: &mut Vec<TopicDocumentRow>) {
        let topic = topic as i32;
        let ranked = (1..).zip(best.documents);
        lines.extend(ranked.map(|(rank, (weight, number, source_id))| TopicDocumentRow {
            topic,
            rank,
            doc_id: number as i64,
            source_id,
            weight,
        }));
    }

    fn rows(&self, mut lines: Vec<TopicDocumentRow>, _: &()) -> Vec<TopicDocumentRow> {
        lines.sort_by_key(|row| (row.topic, row.rank));
        lines
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
