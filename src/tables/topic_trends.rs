//! Table `topic_trends`: the share of each topic by the values of metadata columns.

/// Maximum number of values of a column that are named.
pub(crate) const MOST_VALUES: usize = 1_000;
/// The same at least, however many topics there are.
pub(crate) const LEAST_VALUES: usize = 12;
/// Maximum number of named values of all columns times topics.
pub(crate) const MOST_PAIRS: usize = 1 << 19;

super::schema::row! {
    table: "topic_trends",
    sorted_by: &["name", "value", "value_count", "topic"],
    looked_up_by: &[];
    /// A row of `topic_trends`: one per value and topic that a document with the value lists.
    pub(crate) struct TopicTrendRow<'a> {
        /// The column of `documents`.
        pub(crate) name: &'a str,
        /// Its value; null for the documents of other values, and for those without one.
        pub(crate) value: Option<&'a str>,
        /// How many values the row covers: 1 for a named value, the number of all others in their row, 0 for documents without a value.
        pub(crate) value_count: i64,
        /// The topic, from 0.
        pub(crate) topic: i32,
        /// Σ_d θ_dk N_d / Σ_d N_d over the documents d with the value, with θ as listed in `document_topics`.
        pub(crate) share: f64,
        /// The 2.5 % quantile of the share over bootstrap replicates.
        pub(crate) low: Option<f64>,
        /// The 97.5 % quantile.
        pub(crate) high: Option<f64>,
        /// Σ_d N_d: tokens in the vocabulary.
        pub(crate) tokens: i64,
        /// Documents with the value and with such tokens.
        pub(crate) documents: i64,
    }
}
