//! Table `topic_changes`: how topics have moved since the result that training started from.

super::schema::row! {
    table: "topic_changes",
    sorted_by: &["topic"],
    looked_up_by: &[];
    /// A row of `topic_changes`: one per topic.
    pub(crate) struct TopicChangeRow<'a> {
        /// The topic, from 0; it has the same number in both results.
        pub(crate) topic: i32,
        /// Hellinger distance between its terms' distributions before and now: 0 if nothing has changed, at most 1.
        pub(crate) distance: f64,
        /// Its share of the sample's tokens before.
        pub(crate) share_before: f64,
        /// The same now.
        pub(crate) share: f64,
        /// Terms that are among its top terms now and were not, the most probable first.
        pub(crate) gained: &'a [String],
        /// Terms that were among them and are no more, the most probable first.
        pub(crate) lost: &'a [String],
    }
}
