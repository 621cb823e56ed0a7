//! Tree-structured priors over terms (Hu & Boyd-Graber 2012, "Efficient tree-based topic modeling"): a topic draws a
//! term by walking from the root of a [`Tree`] to a leaf, with a Dirichlet prior at each node. Terms near each other in
//! the tree are correlated; a term on several leaves has several senses. [`constraints`] builds a tree from must-link
//! and cannot-link lists.
//!
//! An edge is named by the node that it leads to. [`model::factors`](crate::model::factors) applies the prior in
//! rounds, whose parameters stay fixed while documents are sampled.

pub mod constraints;

pub use crate::model::tree::{Cousins, MAX_DEPTH, Node, ROOT, Tree, TreeError};
