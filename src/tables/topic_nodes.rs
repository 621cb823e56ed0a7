//! Table `topic_nodes`: how the topics of a tree-structured prior use its nodes.

super::schema::row! {
    table: "topic_nodes",
    sorted_by: &["topic", "node"],
    looked_up_by: &["term"];
    /// A row of `topic_nodes`: a node within the structures of the tree that has tokens in the topic.
    pub(crate) struct TopicNodeRow<'a> {
        /// The topic, from 0.
        pub(crate) topic: i32,
        /// The node, from 1; the root, which has no row, is 0.
        pub(crate) node: i32,
        /// The node above it.
        pub(crate) parent: i32,
        /// The names of the inner nodes on the way to it, its own among them, joined by `/`.
        pub(crate) path: &'a str,
        /// Its term, if it is a leaf: a sense of that term.
        pub(crate) term: Option<&'a str>,
        /// The probability that a token of the topic passes it.
        pub(crate) weight: f32,
        /// Its tokens in the sample, as expected.
        pub(crate) count: f64,
    }
}
