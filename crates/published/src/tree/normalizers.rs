//! N_kλ of every path and topic, kept up to date (Hu & Boyd-Graber 2012, Eq. 4 and Section 4): the
//! root's normaliser, which all paths share, is separate from the downstream one, which changes only
//! with the counts of the path's cousins.
//!
//! A downstream normaliser depends on the inner nodes of a path, and so belongs to the leaf's parent:
//! there is one for each inner node, where the paper has one for each path. Reciprocals are stored,
//! because draws multiply by them.

use super::counts::{Assignment, Counts};
use super::{ROOT, Tree};

/// 1 / N_kλ, as two factors.
#[derive(Clone, Debug)]
pub(super) struct Normalizers {
    /// 1 / Σ_j (β_{root→j} + n_{root→j|k}) for each topic.
    root: Vec<f64>,
    /// Π 1 / Σ_j (β_{i→j} + n_{i→j|k}) over an inner node and those above it except the root: inner
    /// nodes × K. The root's row is 1.
    downstream: Vec<f64>,
}

impl Normalizers {
    pub(super) fn new(tree: &Tree, counts: &Counts) -> Self {
        let topics = counts.topic_count();
        let mut normalizers =
            Self { root: vec![0.0; topics], downstream: vec![1.0; tree.inner_count() * topics] };
        for topic in 0..topics as u16 {
            normalizers.set_root(tree, counts, topic);
            normalizers.set_downstream(tree, counts, topic, 1..tree.inner_count() as u32);
        }
        normalizers
    }

    /// Updates the normalisers after a token was added to the counts or removed.
    pub(super) fn update(&mut self, tree: &Tree, counts: &Counts, token: Assignment) {
        self.set_root(tree, counts, token.topic);
        if let Some(cousins) = tree.cousins(token.leaf) {
            let inner = cousins.inner.iter().copied();
            self.set_downstream(tree, counts, token.topic, inner);
        }
    }

    fn set_root(&mut self, tree: &Tree, counts: &Counts, topic: u16) {
        let sum = tree.prior_sum(ROOT) + f64::from(counts.get(ROOT, topic));
        self.root[usize::from(topic)] = 1.0 / sum;
    }

    /// Updates `inner`, which are nodes below the root, each after its parent.
    fn set_downstream(
        &mut self,
        tree: &Tree,
        counts: &Counts,
        topic: u16,
        inner: impl Iterator<Item = u32>,
    ) {
        let topics = self.root.len();
        let place = |node: u32| node as usize * topics + usize::from(topic);
        for node in inner {
            let sum = tree.prior_sum(node) + f64::from(counts.get(node, topic));
            self.downstream[place(node)] = self.downstream[place(tree.parent(node))] / sum;
        }
    }

    /// Returns 1 / N_kλ for the paths to leaves of the inner node `parent`.
    #[inline]
    pub(super) fn inverse(&self, parent: u32, topic: u16) -> f64 {
        let k = usize::from(topic);
        self.root[k] * self.downstream[parent as usize * self.root.len() + k]
    }
}
