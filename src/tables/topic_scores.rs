//! The coherence of each topic in an evaluation.

use super::records::table;

table! {
    /// The score of each topic in an evaluation, by metric.
    "topic_scores", sorted_by [topic];
    pub(crate) struct TopicScoreRow {
        topic: i32,         /// The topic, from 0.
        metric: String,    /// The metric (`coherence_umass`, `coherence_npmi`, `coherence_c_v`).
        split: String,     /// On which documents (`sample`, `all`, `reference`).
        value: Option<f64>, /// The score; `None` for a topic of fewer than two terms.
    }
}
