//! The passages of documents that show what a topic is about.

use std::collections::BTreeSet;

use super::check::{Known, VerifyReport};
use super::records::{records, table};
use super::topic_documents::TopicDocumentRow;
use crate::failure::Failure;

table! {
    /// For each row of `topic_documents` whose document has a text, the passage that has most of the topic.
    "topic_passages", sorted_by [topic, rank], checked_by check;
    pub(crate) struct TopicPassageRow {
        topic: i32,          /// The topic, from 0.
        rank: i32,           /// The document's rank in `topic_documents`.
        doc_id: i64,         /// The document.
        passage: String,     /// Consecutive sentences, at most 300 characters; or the beginning of the text.
        words: Vec<String>,  /// Its distinct words that are the topic's.
    }
}

fn check(known: &Known<'_>, report: &mut VerifyReport) -> Result<(), Failure> {
    let mut listed = BTreeSet::new();
    for row in records::<TopicDocumentRow>(known.root)? {
        let TopicDocumentRow { topic, rank, doc_id, .. } = row?;
        listed.insert((topic, rank, doc_id));
    }
    for row in records::<TopicPassageRow>(known.root)? {
        let TopicPassageRow { topic, rank, doc_id, .. } = row?;
        report.expect(listed.remove(&(topic, rank, doc_id)), || {
            format!("topic_passages: document {doc_id} is not of rank {rank} in topic {topic}, or has two rows")
        });
    }
    Ok(())
}
