//! The description of a tree, and its errors.

use super::{MAX_DEPTH, Tree};
use crate::model::statistics::MAX_TERMS;

/// An inner node below the root, in a tree's description.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Node {
    /// Its name in messages.
    pub name: String,
    /// β of the edge that leads to it, > 0.
    pub prior: f64,
    /// β of each edge from it to one of its terms, > 0.
    pub leaf_prior: f64,
    /// Inner nodes below it.
    pub children: Vec<Self>,
    /// Terms on leaves directly below it, each at most once.
    pub terms: Vec<u32>,
}

/// An error in the description of a tree; nodes are named with those above them.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TreeError {
    /// A term beyond the vocabulary.
    #[error("node {node}: there is no term {term} in a vocabulary of {vocabulary_size}")]
    UnknownTerm {
        /// The node.
        node: String,
        /// The term.
        term: u32,
        /// V.
        vocabulary_size: usize,
    },
    /// A node with nothing below it.
    #[error("node {node} has neither terms nor nodes below it: leave it out")]
    Empty {
        /// The node.
        node: String,
    },
    /// A term on two leaves of one node, which could not be told apart.
    #[error("node {node}: term {term} is on two of its leaves; one sense is one leaf")]
    RepeatedTerm {
        /// The node.
        node: String,
        /// The term.
        term: u32,
    },
    /// An invalid edge prior.
    #[error("node {node}: an edge prior of {prior}; it must be positive and finite")]
    Prior {
        /// The node.
        node: String,
        /// β.
        prior: f64,
    },
    /// A path that is too long.
    #[error("node {node} is {MAX_DEPTH} edges below the root: a leaf is at most that deep")]
    TooDeep {
        /// The node.
        node: String,
    },
    /// More leaves than can be numbered.
    #[error("a tree of {leaves} leaves; {MAX_TERMS} are possible: give terms fewer senses")]
    TooManyLeaves {
        /// The leaves.
        leaves: usize,
    },
}

/// Refuses an edge prior that is not positive and finite.
pub(super) fn check_prior(prior: f64, node: impl Fn() -> String) -> Result<(), TreeError> {
    if prior > 0.0 && prior.is_finite() {
        return Ok(());
    }
    Err(TreeError::Prior {
        node: node(),
        prior,
    })
}

/// The stored form of a tree.
#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct Description {
    vocabulary_size: usize,
    eta: f64,
    structures: Vec<Node>,
}

impl serde::Serialize for Tree {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let description = Description {
            vocabulary_size: self.vocabulary_size(),
            eta: self.eta(),
            structures: self.structures(),
        };
        description.serialize(serializer)
    }
}

impl TryFrom<Description> for Tree {
    type Error = TreeError;

    fn try_from(read: Description) -> Result<Self, TreeError> {
        Self::new(read.vocabulary_size, read.eta, &read.structures)
    }
}
