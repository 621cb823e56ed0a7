//! The topics of each document.

use super::records::table;

table! {
    /// The topics of each document, the sparse θ. One row per document and topic whose proportion reaches
    /// the threshold; the rest is `documents.dropped_mass`.
    "document_topics", sorted_by [doc_id, rank];
    pub(crate) struct DocumentTopicRow {
        doc_id: i64, /// The document.
        topic: i32,  /// The topic, from 0.
        weight: f32, /// Its proportion in the document, 0 to 1.
        rank: i32,   /// 1 for the document's largest proportion, then without gaps.
    }
}
