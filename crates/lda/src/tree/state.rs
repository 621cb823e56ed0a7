//! The state that all samplers share.

use super::Tree;
use super::counts::Counts;
use super::document::Document;

/// The state on which a token's conditional depends.
#[derive(Clone, Debug)]
pub(super) struct State<'t> {
    pub(super) tree: &'t Tree,
    /// α_k.
    pub(super) alpha: Vec<f64>,
    pub(super) counts: Counts,
    pub(super) document: Document,
}
