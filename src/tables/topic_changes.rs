//! How topics have moved since the result that training started from.

use super::records::table;

table! {
    /// How topics have moved since the result that training started from. One row per topic.
    "topic_changes", sorted_by [topic];
    pub(crate) struct TopicChangeRow<'a> {
        topic: i32,           /// The topic, from 0; it has the same number in both results.
        distance: f64,        /// Hellinger distance between its terms' distributions before and now: 0 if nothing has changed, at most 1.
        share_before: f64,    /// Its share of the sample's tokens before.
        share: f64,           /// The same now.
        gained: &'a [String], /// Terms that are among its top terms now and were not, the most probable first.
        lost: &'a [String],   /// Terms that were among them and are not now, the most probable first.
    }
}
