//! Table `topic_correlations`: which topics go together in documents.

/// Maximum number of topics of a model for which there is the table.
pub const MOST_TOPICS: usize = 4096;

super::schema::row! {
    table: "topic_correlations",
    sorted_by: &["topic", "other"],
    looked_up_by: &[];
    /// A row of `topic_correlations`: one per pair of topics that a document lists.
    pub struct TopicCorrelationRow {
        /// A topic, from 0.
        pub topic: i32,
        /// A later one.
        pub other: i32,
        /// Pearson's correlation of their listed proportions over the documents with terms.
        pub correlation: Option<f64>,
        /// Normalised pointwise mutual information of being listed.
        pub npmi: Option<f64>,
        /// Documents that list both.
        pub documents: i64,
    }
}
