//! Table `topic_scores`: the score of each topic in an evaluation, by metric.

super::schema::row! {
    table: "topic_scores",
    sorted_by: &["topic"],
    looked_up_by: &[];
    /// A row of `topic_scores`.
    pub struct TopicScoreRow<'a> {
        /// The topic, from 0.
        pub topic: i32,
        /// What is measured (`coherence_umass`, `coherence_npmi`, `coherence_c_v`).
        pub metric: &'a str,
        /// On which documents (`sample`, `all`, `reference`).
        pub split: &'a str,
        /// The score; `None` for a topic of fewer than two terms.
        pub value: Option<f64>,
    }
}
