//! The nodes of a tree-structured prior, by topic.

use super::schema::table;

table! {
    /// How the topics of a tree-structured prior use its nodes. One row per topic and node within the tree's
    /// structures that has tokens in the topic.
    "topic_nodes", sorted_by [topic, node], looked_up_by [term];
    pub(crate) struct TopicNodeRow<'a> {
        topic: i32,            /// The topic, from 0.
        node: i32,             /// The node, from 1; the root, which has no row, is 0.
        parent: i32,           /// The node above it.
        path: &'a str,         /// The names of the inner nodes on the way to it, its own among them, joined by `/`.
        term: Option<&'a str>, /// Its term, if it is a leaf: a sense of that term.
        weight: f32,           /// The probability that a token of the topic passes it.
        count: f64,            /// Its expected tokens in the sample.
    }
}
