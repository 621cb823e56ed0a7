//! The nodes of a tree-structured prior, by topic.

use super::records::table;
use corpus::vocabulary::Vocabulary;
use lda::model::published::PublishedNode;
use lda::model::tree::Tree;

table! {
    /// How the topics of a tree-structured prior use its nodes. One row per topic and node within the tree's
    /// structures that has tokens in the topic.
    "topic_nodes", sorted_by [topic, node], looked_up_by [term];
    pub(crate) struct TopicNodeRow {
        topic: i32,            /// The topic, from 0.
        node: i32,             /// The node, from 1; the root, which has no row, is 0.
        parent: i32,           /// The node above it.
        path: String,         /// The names of the inner nodes on the way to it, its own among them, joined by `/`.
        term: Option<String>, /// Its term, if it is a leaf: a sense of that term.
        weight: f32,           /// The probability that a token of the topic passes it.
        count: f64,            /// Its expected tokens in the sample.
    }
}

impl TopicNodeRow {
    /// Returns all rows, given the nodes of each topic that have tokens.
    pub(crate) fn all(
        tree: &Tree,
        nodes: &[Vec<PublishedNode>],
        vocabulary: &Vocabulary,
    ) -> impl Iterator<Item = Self> {
        let of_topics = (0..).zip(nodes);
        let rows = of_topics.flat_map(|(topic, nodes)| nodes.iter().map(move |node| (topic, node)));
        let term = |term: u32| vocabulary.kept_terms()[term as usize].term.clone();
        rows.map(move |(topic, found)| Self {
            topic,
            node: found.node as i32,
            parent: tree.parent(found.node) as i32,
            path: tree.names_to(found.node).join("/"),
            term: tree.term_of(found.node).map(term),
            weight: found.weight as f32,
            count: found.count,
        })
    }
}
