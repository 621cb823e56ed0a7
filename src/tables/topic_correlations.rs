//! Table `topic_correlations`: which topics go together in documents.

/// Maximum number of topics of a model for which there is the table.
pub(crate) const MOST_TOPICS: usize = 4096;

super::schema::row! {
    table: "topic_correlations",
    sorted_by: &["topic", "other"],
    looked_up_by: &[];
    /// A row of `topic_correlations`: one per pair of topics that a document lists.
    pub(crate) struct TopicCorrelationRow {
        /// A topic, from 0.
        pub(crate) topic: i32,
        /// A later one.
        pub(crate) other: i32,
        /// Pearson's correlation of their listed proportions over the documents with terms.
        pub(crate) correlation: Option<f64>,
        /// Normalised pointwise mutual information of being listed.
        pub(crate) npmi: Option<f64>,
        /// Documents that list both.
        pub(crate) documents: i64,
    }
}
