//! Table `topic_scores`: the score of each topic in an evaluation, by metric.

super::schema::row! {
    table: "topic_scores",
    sorted_by: &["topic"],
    looked_up_by: &[];
    /// A row of `topic_scores`.
    pub(crate) struct TopicScoreRow<'a> {
        /// The topic, from 0.
        pub(crate) topic: i32,
        /// The metric (`coherence_umass`, `coherence_npmi`, `coherence_c_v`).
        pub(crate) metric: &'a str,
        /// On which documents (`sample`, `all`, `reference`).
        pub(crate) split: &'a str,
        /// The score; `None` for a topic of fewer than two terms.
        pub(crate) value: Option<f64>,
    }
}
