//! The nodes of a hierarchy, and their priors.
//!
//! Unless it has its own prior, an edge from the root has η for each leaf below it: before there are data, these
//! leaves are together as probable as if they were attached to the root. The edges from any other node sum to β_1,
//! shared by the leaves below them: every node thus draws its children with the same strength (the S of Boyd-Graber,
//! Blei & Zhu 2007, "A topic model for word sense disambiguation"), and a node with few leaves ties them closer than
//! one with many.

use std::collections::BTreeMap;

use lda::constraints::Strengths;
use lda::model::tree::Node;
use serde::Serialize;

/// A node whose leaves are words or terms.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Branch<T> {
    pub(super) name: String,
    /// β of the edge that leads to it, if not the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prior: Option<f64>,
    /// β of the edges to its own leaves, if not the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) leaf_prior: Option<f64>,
    pub(super) terms: Vec<T>,
    pub(super) children: Vec<Self>,
}

impl<T> Branch<T> {
    /// Returns the number of nodes, including this one.
    pub(super) fn nodes(&self) -> usize {
        1 + self.children.iter().map(Self::nodes).sum::<usize>()
    }

    /// Returns the number of edges on the longest path to a leaf.
    pub(super) fn height(&self) -> usize {
        1 + self.children.iter().map(Self::height).max().unwrap_or(0)
    }

    /// Returns the number of its own leaves and those of all nodes below.
    pub(super) fn leaves(&self) -> usize {
        self.terms.len() + self.children.iter().map(Self::leaves).sum::<usize>()
    }
}

impl Branch<u32> {
    /// Removes what has no term below, and nodes that leave no choice: a node with one child is replaced by it. `None`
    /// if nothing is left. `empty` counts nodes without a term.
    fn prune(mut self, empty: &mut usize) -> Option<Self> {
        for child in std::mem::take(&mut self.children) {
            let Some(child) = child.prune(empty) else {
                continue;
            };
            match child.children.is_empty().then_some(&child.terms[..]) {
                Some(&[term]) if self.takes(term, &child) => self.terms.push(term),
                _ => self.children.push(child),
            }
        }
        match (&self.terms[..], self.children.len()) {
            ([], 0) => {
                *empty += 1;
                None
            }
            ([], 1) => {
                let only = self.children.pop()?;
                let prior = self.prior;
                Some(Self { prior, ..only })
            }
            _ => Some(self),
        }
    }

    /// Whether a child's only leaf can be attached to this node instead.
    fn takes(&self, term: u32, child: &Self) -> bool {
        child.prior.is_none() && self.leaf_prior.is_none() && !self.terms.contains(&term)
    }

    /// Makes the node; `above` is the number of leaves of the node above, unless that is the root.
    fn into_node(self, above: Option<usize>, strengths: Strengths) -> Node {
        let leaves = self.leaves();
        let usual = match above {
            None => strengths.ordinary * leaves as f64,
            Some(above) => strengths.must * leaves as f64 / above as f64,
        };
        let below = |child: Self| child.into_node(Some(leaves), strengths);
        Node {
            name: self.name,
            prior: self.prior.unwrap_or(usual),
            leaf_prior: self.leaf_prior.unwrap_or(strengths.must / leaves as f64),
            children: self.children.into_iter().map(below).collect(),
            terms: self.terms,
        }
    }
}

/// Returns the nodes of a hierarchy, pruned, and how many of its nodes have no terms left, or a single one that
/// makes no difference.
pub(super) fn nodes(branches: Vec<Branch<u32>>, strengths: Strengths) -> (Vec<Node>, usize) {
    let mut empty = 0;
    let branches = branches.into_iter().filter_map(|b| b.prune(&mut empty));
    let branches: Vec<_> = branches.collect();
    let mut leaves = BTreeMap::new();
    branches.iter().for_each(|branch| count(branch, &mut leaves));
    // Nothing distinguishes such a term from an ordinary one.
    let is_ordinary = |branch: &Branch<u32>| {
        let term = branch.terms.first();
        branch.prior.is_none() && branch.leaves() == 1 && term.is_some_and(|t| leaves[t] == 1)
    };
    let (ordinary, kept): (Vec<_>, Vec<_>) = branches.into_iter().partition(is_ordinary);
    let nodes = kept.into_iter().map(|branch| branch.into_node(None, strengths));
    (nodes.collect(), empty + ordinary.len())
}

/// Counts the leaves of each term.
fn count(branch: &Branch<u32>, leaves: &mut BTreeMap<u32, usize>) {
    for &term in &branch.terms {
        *leaves.entry(term).or_default() += 1;
    }
    branch.children.iter().for_each(|child| count(child, leaves));
}
