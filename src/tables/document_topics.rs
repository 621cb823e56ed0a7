//! Table `document_topics`: the topics of each document, the sparse θ. One row per document and
//! topic whose proportion reaches the threshold; the rest is `documents.dropped_mass`.

super::schema::row! {
    table: "document_topics",
    sorted_by: &["doc_id", "rank"],
    looked_up_by: &[];
    /// A row of `document_topics`.
    pub(crate) struct DocumentTopicRow {
        /// The document.
        pub(crate) doc_id: i64,
        /// The topic, from 0.
        pub(crate) topic: i32,
        /// Its proportion in the document, 0 to 1.
        pub(crate) weight: f32,
        /// 1 for the document's largest proportion, and on without gaps.
        pub(crate) rank: i32,
    }
}
