//! The number of tokens that pass each node of a tree in each topic: the state of collapsed Gibbs sampling.

use super::{ROOT, Tree};

/// A token's topic and the leaf of its term: z and l in Eq. 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Assignment {
    /// z, the topic.
    pub topic: u16,
    /// l, the path, given by its leaf.
    pub leaf: u32,
}

/// n_{i→j|k} for every edge and topic, stored densely: nodes × K numbers of 32 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    topic_count: usize,
    /// A row of topics for each node; the root's row is n_k.
    rows: Vec<u32>,
}

impl Counts {
    /// Creates counts without tokens.
    pub fn new(tree: &Tree, topic_count: usize) -> Self {
        Self { topic_count, rows: vec![0; tree.node_count() * topic_count] }
    }

    /// Returns K.
    pub fn topic_count(&self) -> usize {
        self.topic_count
    }

    /// Returns the tokens of a topic on the edge that leads to `node`; for an inner node, this is also
    /// the number on all edges from it.
    #[inline]
    pub fn get(&self, node: u32, topic: u16) -> u32 {
        self.rows[self.place(node, topic)]
    }

    #[inline]
    fn place(&self, node: u32, topic: u16) -> usize {
        node as usize * self.topic_count + usize::from(topic)
    }

    /// Counts a token.
    pub fn add(&mut self, tree: &Tree, token: Assignment) {
        self.change(tree, token, 1);
    }

    /// Removes a counted token.
    pub fn remove(&mut self, tree: &Tree, token: Assignment) {
        self.change(tree, token, u32::MAX);
    }

    /// Adds `by`, which is 1, or −1 modulo 2³².
    #[inline]
    fn change(&mut self, tree: &Tree, token: Assignment, by: u32) {
        for node in tree.path(token.leaf).chain([ROOT]) {
            let place = self.place(node, token.topic);
            debug_assert!(by == 1 || self.rows[place] > 0, "{token:?} is not counted");
            self.rows[place] = self.rows[place].wrapping_add(by);
        }
    }

    /// Returns Π (β + n) / Σ (β + n) over the edges of a path: Eq. 1 without the document's factor.
    #[inline]
    pub fn path_probability(&self, tree: &Tree, token: Assignment) -> f64 {
        let Assignment { topic, leaf } = token;
        let (mut observed, mut normalizer) = (1.0, 1.0);
        for node in tree.path(leaf) {
            let parent = tree.parent(node);
            observed *= tree.prior(node) + f64::from(self.get(node, topic));
            normalizer *= tree.prior_sum(parent) + f64::from(self.get(parent, topic));
        }
        observed / normalizer
    }

    /// Returns φ_kw: the probability that a topic's next token has this term, on any path.
    pub fn term_probability(&self, tree: &Tree, term: u32, topic: u16) -> f64 {
        let paths = tree.leaves_of(term);
        paths.map(|leaf| self.path_probability(tree, Assignment { topic, leaf })).sum()
    }
}
