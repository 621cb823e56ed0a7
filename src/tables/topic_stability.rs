//! Which topics of a model the other models of its sweep have.

use super::records::table;

table! {
    /// For a result that was taken from a sweep (`topicmill take`), whether other seeds find its topics: one row per
    /// topic.
    "topic_stability", sorted_by [topic];
    pub(crate) struct TopicStabilityRow {
        topic: i32,     /// The topic, from 0.
        stability: f64, /// Share of the models of other seeds in which it has a partner that is the same topic, 0 to 1.
        models: i32,    /// The number of these models.
    }
}
