//! Table `topic_documents`: for each topic the documents in which its proportion is largest.

super::schema::row! {
    table: "topic_documents",
    sorted_by: &["topic", "rank"],
    looked_up_by: &["source_id"];
    /// A row of `topic_documents`.
    pub(crate) struct TopicDocumentRow<'a> {
        /// The topic, from 0.
        pub(crate) topic: i32,
        /// 1 for the document with the largest proportion, and on without gaps.
        pub(crate) rank: i32,
        /// The document.
        pub(crate) doc_id: i64,
        /// The input's own id of it.
        pub(crate) source_id: &'a str,
        /// The topic's proportion in it, 0 to 1.
        pub(crate) weight: f32,
    }
}
