//! The factors of a tree-structured prior (Hu & Boyd-Graber 2012, Eq. 1) within a round.
//!
//! [`Parameters`] are stored by leaf, λ̃_kl: a leaf's number replaces a term's. They change only by addition and
//! scaling, so the parameter of an edge is the sum of those of the leaves below it, and nothing is stored for inner
//! nodes. With x_e that sum and B_i = Σ β over node i's edges,
//!
//! ```text
//! e_kl = Π_{(i→j)∈l} (β_{i→j} + x_{i→j|k}) / (B_i + x_{i|k})          e_kw = Σ_l e_kl, the leaves of w
//! ```
//!
//! or, in the exp Ψ geometry, exp(Ψ(β + x) − Ψ(B + x)) for each edge. Where β is far below 1, this vanishes for
//! edges without tokens, so a cannot-link's β_2 needs the mean geometry.
//!
//! Terms attached to the root keep the split of Mimno's Eq. 15, e_kw = g_kw + h_k, and rows as sparse as their
//! parameters, because h_k is the same for all of them. Terms within structures have whole rows, because all topics
//! differ once an edge of a path is observed, and e_kw may even be below h_k.
//!
//! A topic is drawn by e_kw, whatever the term's leaves, and then a leaf of the term in that topic. If a model is
//! published with η′, the root's edges have η′/η of their priors.

use std::sync::Arc;

use super::lifted_unit;
use crate::math::special::{digamma, exp, exp_digamma};
use crate::model::Priors;
use crate::model::parameters::Parameters;
use crate::model::tree::{ROOT, Tree};

/// The counts of the inner nodes of some cousin sets: part p of P has the sets s with
/// s mod P = p, whose paths share no edge with those of other sets.
#[derive(Clone, Debug)]
pub struct Branches {
    edges: Edges,
    /// The place of each inner node's row, if the node is in one of these sets.
    places: Vec<u32>,
    /// x_{i|k} of each inner node: a row of topics for each.
    sums: Vec<f64>,
    /// The multiplier of β + x of the edges from each inner node: Π of the factors of the edges to the node, over
    /// its normaliser B_i + x_{i|k}.
    units: Vec<f64>,
}

/// The priors of edges, and the geometry of their factors.
#[derive(Clone, Debug)]
struct Edges {
    tree: Arc<Tree>,
    topic_count: usize,
    exp_psi: bool,
    /// η′/η.
    root_scale: f64,
    /// λ̃_k, and the root's units.
    totals: Vec<f64>,
    units: Vec<f64>,
}

/// The leaf of a token that is to be left out of the factors it is drawn by, where parameters are counts of
/// assignments that include the token. The root's normaliser keeps it, as in
/// [`infer::sampler`](crate::infer::sampler).
pub(crate) type Own = Option<u32>;

impl Branches {
    /// Prepares the branches of one part. `parts` are all parts of the parameters, in order.
    pub(super) fn prepare(
        tree: &Arc<Tree>,
        parts: &[&Parameters],
        part: usize,
        priors: &Priors,
    ) -> Self {
        debug_assert_eq!(parts[0].vocabulary_size(), tree.leaf_count());
        let edges = Edges::new(tree, parts[0], priors);
        let topics = edges.topic_count;
        let sets = || tree.cousin_sets().iter().skip(part).step_by(parts.len());
        let mut branches = Self {
            edges,
            places: vec![0; tree.inner_count()],
            sums: Vec::new(),
            units: Vec::new(),
        };
        for (place, &node) in (0..).zip(sets().flat_map(|set| &set.inner)) {
            branches.places[node as usize] = place;
            branches.sums.resize(branches.sums.len() + topics, 0.0);
        }
        for &leaf in sets().flat_map(|set| &set.leaves) {
            let part = parts[leaf as usize % parts.len()];
            for entry in part.row(leaf) {
                let unsmoothed = f64::from(entry.value) * part.scale();
                for node in tree.path(leaf).skip(1) {
                    let place = branches.places[node as usize] as usize;
                    branches.sums[place * topics + entry.topic as usize] += unsmoothed;
                }
            }
        }
        for &node in sets().flat_map(|set| &set.inner) {
            for k in 0..topics {
                let whole = branches.edges.prior_sum(node) + branches.sum(node, k);
                let unit = branches.reach(node, k) * branches.edges.inverse_denominator(whole);
                branches.units.push(unit);
            }
        }
        branches
    }

    /// Returns x_{i|k} of the root, or of an inner node of this part.
    #[inline]
    fn sum(&self, inner: u32, k: usize) -> f64 {
        match inner {
            ROOT => self.edges.totals[k],
            _ => self.sums[self.places[inner as usize] as usize * self.edges.topic_count + k],
        }
    }

    /// Returns, for each topic, the multiplier of β + x of an edge from the root, or from an inner node of this part.
    #[inline]
    fn units(&self, inner: u32) -> &[f64] {
        let topics = self.edges.topic_count;
        match inner {
            ROOT => &self.edges.units,
            _ => &self.units[self.places[inner as usize] as usize * topics..][..topics],
        }
    }

    /// Returns the product of the factors of the edges to an inner node of this part: in the mean geometry, the
    /// probability that a token of the topic passes through it.
    fn reach(&self, node: u32, k: usize) -> f64 {
        let part = self.edges.prior(node) + self.sum(node, k);
        self.units(self.edges.tree.parent(node))[k] * self.edges.numerator(part)
    }

    /// Returns the factor of the edge to a node that has `unsmoothed` in topic k, without the token `own`.
    #[inline]
    fn edge(&self, node: u32, unsmoothed: f64, k: usize, own: Own) -> f64 {
        let (edges, tree) = (&self.edges, &*self.edges.tree);
        let parent = tree.parent(node);
        let is_own = |node: u32| own.is_some_and(|own| tree.path(own).any(|on| on == node));
        let less = |node: u32, x: f64| if is_own(node) { (x - 1.0).max(0.0) } else { x };
        let whole = edges.prior_sum(parent) + less(parent, self.sum(parent, k));
        edges.numerator(edges.prior(node) + less(node, unsmoothed))
            * edges.inverse_denominator(whole)
    }

    /// Passes each node of this part and each topic in which it has tokens to `visit`: the node, the topic, the
    /// probability that a walk passes through the node, and its tokens. `parts` are all parts of the parameters.
    pub(crate) fn for_each_observed(
        &self,
        parts: &[&Parameters],
        part: usize,
        mut visit: impl FnMut(u32, usize, f64, f64),
    ) {
        let tree = &*self.edges.tree;
        let sets = || tree.cousin_sets().iter().skip(part).step_by(parts.len());
        let topics = 0..self.edges.topic_count;
        let inner = sets().flat_map(|set| &set.inner);
        for (&node, k) in inner.flat_map(|node| topics.clone().map(move |k| (node, k))) {
            let tokens = self.sum(node, k);
            if tokens > 0.0 {
                visit(node, k, self.reach(node, k), tokens);
            }
        }
        for &leaf in sets().flat_map(|set| &set.leaves) {
            let part = parts[leaf as usize % parts.len()];
            for entry in part.row(leaf) {
                let tokens = f64::from(entry.value) * part.scale();
                let k = entry.topic as usize;
                visit(tree.node(leaf), k, self.leaf(leaf, tokens, k), tokens);
            }
        }
    }

    /// Returns e_kl of a leaf of this part, whose λ̃_kl is `unsmoothed`.
    #[inline]
    fn leaf(&self, leaf: u32, unsmoothed: f64, k: usize) -> f64 {
        let (edges, tree) = (&self.edges, &self.edges.tree);
        let part = edges.prior(tree.node(leaf)) + unsmoothed;
        self.units(tree.leaf_parent(leaf))[k] * edges.numerator(part)
    }

    /// Returns the same without the token `own`.
    fn leaf_without(&self, leaf: u32, mut unsmoothed: f64, k: usize, own: Own) -> f64 {
        let mut factor = 1.0;
        for node in self.edges.tree.path(leaf) {
            factor *= self.edge(node, unsmoothed, k, own);
            unsmoothed = self.sum(self.edges.tree.parent(node), k);
        }
        factor
    }
}

impl Edges {
    fn new(tree: &Arc<Tree>, parameters: &Parameters, priors: &Priors) -> Self {
        let mut edges = Self {
            tree: Arc::clone(tree),
            topic_count: parameters.topic_count(),
            exp_psi: priors.exp_psi,
            root_scale: priors.eta / tree.eta(),
            totals: parameters.totals().to_vec(),
            units: Vec::new(),
        };
        let root = edges.prior_sum(ROOT);
        let unit = |total| {
            if priors.exp_psi {
                lifted_unit(root + total)
            } else {
                edges.inverse_denominator(root + total)
            }
        };
        edges.units = edges.totals.iter().copied().map(unit).collect();
        edges
    }

    #[inline]
    fn prior(&self, node: u32) -> f64 {
        match self.tree.parent(node) {
            ROOT => self.root_scale * self.tree.prior(node),
            _ => self.tree.prior(node),
        }
    }

    #[inline]
    fn prior_sum(&self, inner: u32) -> f64 {
        match inner {
            ROOT => self.root_scale * self.tree.prior_sum(ROOT),
            _ => self.tree.prior_sum(inner),
        }
    }

    /// Returns the numerator of an edge's factor, from its β + x.
    #[inline]
    fn numerator(&self, part: f64) -> f64 {
        if self.exp_psi { exp_digamma(part) } else { part }
    }

    /// Returns the inverse denominator of an edge's factor, from the normaliser B + x of the edge's parent.
    #[inline]
    fn inverse_denominator(&self, whole: f64) -> f64 {
        if self.exp_psi { exp(-digamma(whole)) } else { 1.0 / whole }
    }
}

/// The branches of all parts.
#[derive(Clone, Debug)]
pub(super) struct AllBranches {
    pub(super) tree: Arc<Tree>,
    parts: Vec<Arc<Branches>>,
}

impl AllBranches {
    pub(super) fn new(tree: &Arc<Tree>, parts: &[Arc<Branches>]) -> Self {
        Self { tree: Arc::clone(tree), parts: parts.to_vec() }
    }

    #[inline]
    fn of(&self, leaf: u32) -> &Branches {
        let set = self.tree.cousin_set(leaf).expect("a structured term's leaf");
        &self.parts[set % self.parts.len()]
    }

    /// Adds e_kl of a leaf within structures to `factors`, for each topic; `entries` are the topics with λ̃_kl > 0,
    /// and λ̃_kl.
    pub(super) fn add_leaf(
        &self,
        leaf: u32,
        entries: impl Iterator<Item = (usize, f64)>,
        factors: &mut [f64],
    ) {
        let branches = self.of(leaf);
        let edges = &branches.edges;
        let units = branches.units(self.tree.leaf_parent(leaf));
        let prior = edges.prior(self.tree.node(leaf));
        let least = edges.numerator(prior);
        for (factor, unit) in factors.iter_mut().zip(units) {
            *factor += unit * least;
        }
        for (k, unsmoothed) in entries {
            factors[k] += units[k] * (edges.numerator(prior + unsmoothed) - least);
        }
    }

    /// Returns e_kl of a leaf within structures whose λ̃_kl is `unsmoothed`, without the token `own`.
    #[inline]
    pub(super) fn leaf(&self, leaf: u32, unsmoothed: f32, topic: u16, own: Own) -> f64 {
        let (unsmoothed, k) = (f64::from(unsmoothed), usize::from(topic));
        match own {
            None => self.of(leaf).leaf(leaf, unsmoothed, k),
            Some(_) => self.of(leaf).leaf_without(leaf, unsmoothed, k, own),
        }
    }
}

#[cfg(test)]
mod tests;
