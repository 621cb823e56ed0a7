//! Rows of the tables with texts: kept terms, labels, the documents of topics, values of metadata columns.

use std::collections::BTreeSet;
use std::path::Path;

use serde::Serialize;

use crate::failure::Failure;
use crate::tables::records::{record, records};
use crate::tables::topic_documents::TopicDocumentRow;

record! {
    /// A kept term of `vocabulary`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TermLine {
        /// Its number.
        pub(crate) term_id: Option<i32>,
        /// The term.
        pub term: String,
        /// Its tokens in the collection.
        pub count: i64,
    }
}

/// Reads the kept terms of `vocabulary`, by number.
///
/// # Errors
/// The table cannot be read, or lacks a column.
pub fn kept_terms(root: &Path) -> Result<Vec<TermLine>, Failure> {
    records(root, "vocabulary")?.only(|line: &TermLine| line.term_id.is_some())
}

record! {
    /// A row of `labels`.
    #[derive(Clone, Debug, Default, PartialEq, Serialize)]
    pub(crate) struct LabelLine {
        pub(crate) label: String,
        /// Documents of the collection with this label.
        pub(crate) documents: i64,
        /// Those that were not trained on; like the next three, `None` if nothing was projected.
        pub(crate) evaluated: Option<i64>,
        /// Documents with labels, not trained on, for which it is predicted.
        pub(crate) predicted: Option<i64>,
        /// Those that have the label.
        pub(crate) hits: Option<i64>,
        /// 2 hits / (predicted + evaluated); `None` if both are 0.
        pub(crate) f1: Option<f64>,
    }
}

impl LabelLine {
    /// Returns hits / predicted; `None` if the label is never predicted.
    pub(crate) fn precision(&self) -> Option<f64> {
        share(self.hits?, self.predicted?)
    }

    /// Returns hits / evaluated; `None` if no such document has the label.
    pub(crate) fn recall(&self) -> Option<f64> {
        share(self.hits?, self.evaluated?)
    }
}

fn share(part: i64, whole: i64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

record! {
    /// A row of `topic_changes`.
    #[derive(Clone, Debug, Default, PartialEq, Serialize)]
    pub(crate) struct ChangeLine {
        /// Hellinger distance between the topic's terms before and now.
        pub(crate) distance: f64,
        /// Its new top terms.
        pub(crate) gained: Vec<String>,
        /// Those that are no longer top terms.
        pub(crate) lost: Vec<String>,
    }
}

record! {
    /// A row of `predictions`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct PredictionLine {
        pub(crate) doc_id: i64,
        /// The label's topic.
        pub(crate) topic: i32,
        /// Whether it is predicted.
        pub(crate) predicted: bool,
        /// Whether the document has this label; `None` if it has no labels.
        pub(crate) actual: Option<bool>,
    }
}

/// Reads the rows of `predictions` for these documents, in order; none without the table.
///
/// # Errors
/// The table cannot be read, or lacks a column.
pub(crate) fn predictions(
    root: &Path,
    documents: &BTreeSet<i64>,
) -> Result<Vec<PredictionLine>, Failure> {
    let is_wanted = |line: &PredictionLine| documents.contains(&line.doc_id);
    records(root, "predictions")?.only(is_wanted)
}

/// Reads up to `most` documents of each topic, by topic and rank; none without the table.
///
/// # Errors
/// The table cannot be read, or lacks a column.
pub(crate) fn topic_documents(root: &Path, most: usize) -> Result<Vec<TopicDocumentRow>, Failure> {
    let is_first = |line: &TopicDocumentRow| line.rank as usize <= most;
    records(root, "topic_documents")?.only(is_first)
}
