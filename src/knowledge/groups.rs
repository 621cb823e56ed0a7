//! Groups of terms that belong together, each a node below the root, independent of other groups: a term has a leaf in
//! every group that contains it (Hu & Boyd-Graber 2012, Section 5).

use std::collections::HashSet;

use lda::tree::Node;
use lda::tree::constraints::Strengths;

use super::Pruned;

/// The nodes of groups, in the order they were added.
pub(super) struct Groups {
    strengths: Strengths,
    known: HashSet<Vec<u32>>,
    pub(super) nodes: Vec<Node>,
    pub(super) pruned: Pruned,
}

impl Groups {
    /// Starts without groups; `pruned` is what is already known.
    pub(super) fn new(pruned: Pruned, strengths: Strengths) -> Self {
        Self { strengths, known: HashSet::new(), nodes: Vec::new(), pruned }
    }

    /// Adds a group of distinct terms, ascending, unless it has fewer than two or has already been added.
    pub(super) fn add(&mut self, name: &str, terms: Vec<u32>) {
        self.pruned.entries += 1;
        if terms.len() < 2 {
            self.pruned.dropped_entries += 1;
        } else if !self.known.insert(terms.clone()) {
            self.pruned.repeated_entries += 1;
        } else {
            self.nodes.push(Node {
                name: name.to_owned(),
                prior: self.strengths.ordinary * terms.len() as f64,
                leaf_prior: self.strengths.must,
                children: Vec::new(),
                terms,
            });
        }
    }
}
