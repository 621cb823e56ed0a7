//! Groups of terms that belong together, each a node below the root, whatever other groups say: a
//! term has a leaf in every group that it is in (Hu & Boyd-Graber 2012, Section 5).

use std::collections::HashSet;

use lda::tree::Node;
use lda::tree::constraints::Strengths;

use super::Pruned;

/// Nodes of groups, as they come.
pub(super) struct Groups {
    strengths: Strengths,
    known: HashSet<Vec<u32>>,
    pub(super) nodes: Vec<Node>,
    pub(super) pruned: Pruned,
}

impl Groups {
    /// Without groups; `pruned` is what is known already.
    pub(super) fn new(pruned: Pruned, strengths: Strengths) -> Self {
        Self {
            strengths,
            known: HashSet::new(),
            nodes: Vec::new(),
            pruned,
        }
    }

    /// Adds a group of distinct terms, ascending, unless they are fewer than two, or have been added.
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
