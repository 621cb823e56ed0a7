//! The labels of each document.

use super::records::table;

table! {
    /// The labels of each document, if documents have labels. One row per document and label that is predicted, or
    /// that it has.
    "predictions", sorted_by [doc_id, rank];
    pub(crate) struct PredictionRow {
        doc_id: i64,          /// The document.
        rank: i32,            /// 1 for the label with the largest weight in the document, of all labels.
        topic: i32,           /// The label's topic, from 0.
        label: String,       /// The label.
        weight: f32,          /// The share of the document's tokens that it is expected to have, 0 to 1: its proportion without the prior's part.
        predicted: bool,      /// Whether it is predicted.
        actual: Option<bool>, /// Whether the document has it; null if the document has no label.
    }
}
