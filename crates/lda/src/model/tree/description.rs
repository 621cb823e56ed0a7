//! The description of a tree, and its errors.

use super::Tree;

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
#[error("{0}")]
pub struct TreeError(pub(super) String);

/// Refuses an edge prior that is not positive and finite.
pub(super) fn check_prior(prior: f64, node: impl Fn() -> String) -> Result<(), TreeError> {
    if prior > 0.0 && prior.is_finite() {
        return Ok(());
    }
    let node = node();
    Err(TreeError(format!("node {node}: an edge prior of {prior}; it must be positive and finite")))
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
