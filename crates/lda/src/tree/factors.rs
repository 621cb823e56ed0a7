//! The factors e_kw of parameters that stay fixed while documents are sampled (Mimno 2012, §2.2),
//! under a tree-structured prior (Hu & Boyd-Graber 2012, Eq. 1).
//!
//! [`Parameters`] are kept by leaf: a leaf's number takes the place of a term's, λ̃_kl. They change by
//! sums and factors only, so that the parameter of an edge is the sum of those of the leaves below it,
//! and nothing is kept for inner nodes. With x_e that sum and B_i = Σ β over node i's edges,
//!
//! ```text
//! e_kl = Π_{(i→j)∈l} (β_{i→j} + x_{i→j|k}) / (B_i + x_{i|k})          e_kw = Σ_l e_kl, the leaves of w
//! ```
//!
//! or, in the exp Ψ geometry, exp(Ψ(β + x) − Ψ(B + x)) for each edge; where β is far below 1 that
//! vanishes for what has no tokens, so that a cannot-link's β_2 asks for the mean geometry.
//!
//! Terms attached to the root keep the split of Mimno's Eq. 15, e_kw = g_kw + h_k, and rows as sparse
//! as their parameters: h_k is the same for all. Terms within structures have dense rows, since all
//! topics differ where one edge of a path is observed, and e_kw may even be below h_k.
//!
//! A topic is drawn by e_kw, whatever the term's leaves; then a leaf of the term, in that topic
//! ([`draw_leaf`](TreeFactors::draw_leaf)). All of it takes O(non-zeros · depth + (inner nodes +
//! structured leaves) · K), and no float is summed in an order that depends on the parts.

use super::{ROOT, Tree};
use crate::math::random::Stream;
use crate::math::special::{digamma, exp};
use crate::model::parameters::Parameters;

/// What documents are sampled with.
#[derive(Clone, Debug)]
pub struct TreeFactors<'t> {
    tree: &'t Tree,
    topic_count: usize,
    exp_psi: bool,
    /// x_{i|k} of each inner node, a row of topics each; the root's is λ̃_k.
    sums: Vec<f64>,
    /// λ̃_kl > 0 of each leaf, ascending by topic; leaf l has those from `starts[l]` on.
    entries: Vec<(u16, f32)>,
    starts: Vec<usize>,
    /// h_k.
    smoothing: Vec<f64>,
    /// e_kw of the structured terms, a row of topics each.
    dense: Vec<f32>,
    /// Which of these rows is a term's.
    rows: Vec<u32>,
}

const NOT_DENSE: u32 = u32::MAX;

impl<'t> TreeFactors<'t> {
    /// The factors of all terms. `parts` are all parts of parameters by leaf, in order;
    /// `exp_psi` asks for the geometry of that name.
    pub fn prepare(tree: &'t Tree, parts: &[&Parameters], exp_psi: bool) -> Self {
        debug_assert_eq!(parts[0].vocabulary_size(), tree.leaf_count());
        let topic_count = parts[0].topic_count();
        let mut factors = Self {
            tree,
            topic_count,
            exp_psi,
            sums: vec![0.0; tree.inner_count() * topic_count],
            entries: Vec::new(),
            starts: vec![0],
            smoothing: Vec::new(),
            dense: Vec::new(),
            rows: vec![NOT_DENSE; tree.vocabulary_size()],
        };
        factors.sums[..topic_count].copy_from_slice(parts[0].totals());
        for leaf in 0..tree.leaf_count() as u32 {
            factors.add_leaf(leaf, parts[leaf as usize % parts.len()]);
        }
        let totals = &factors.sums[..topic_count];
        let h = |x: &f64| factors.quotient(tree.eta(), tree.prior_sum(ROOT) + x);
        factors.smoothing = totals.iter().map(h).collect();
        factors.fill_dense();
        factors
    }

    fn add_leaf(&mut self, leaf: u32, part: &Parameters) {
        for entry in part.row(leaf) {
            let unsmoothed = f64::from(entry.value) * part.scale();
            self.entries.push((entry.topic as u16, unsmoothed as f32));
            for node in self.tree.path(leaf).skip(1) {
                self.sums[node as usize * self.topic_count + entry.topic as usize] += unsmoothed;
            }
        }
        self.starts.push(self.entries.len());
    }

    /// The rows of the structured terms.
    fn fill_dense(&mut self) {
        let topics = self.topic_count;
        // Π over the edges to each inner node.
        let mut reach = vec![1.0; self.sums.len()];
        for node in 1..self.tree.inner_count() {
            let parent = self.tree.parent(node as u32) as usize;
            for k in 0..topics {
                let edge = self.edge(node as u32, self.sums[node * topics + k], k);
                reach[node * topics + k] = reach[parent * topics + k] * edge;
            }
        }
        let mut row = vec![0.0; topics];
        for term in 0..self.tree.vocabulary_size() as u32 {
            if !self.tree.is_structured(term) {
                continue;
            }
            row.fill(0.0);
            for leaf in self.tree.leaves_of(term) {
                let node = self.tree.node(leaf);
                let parent = self.tree.leaf_parent(leaf) as usize;
                let mut entries = self.entries(leaf).iter().peekable();
                for (k, value) in row.iter_mut().enumerate() {
                    let own = entries.next_if(|entry| usize::from(entry.0) == k);
                    let unsmoothed = own.map_or(0.0, |entry| f64::from(entry.1));
                    *value += reach[parent * topics + k] * self.edge(node, unsmoothed, k);
                }
            }
            self.rows[term as usize] = (self.dense.len() / topics) as u32;
            self.dense.extend(row.iter().map(|&value| value as f32));
        }
    }

    /// The factor of the edge to a node that has `unsmoothed` in topic k.
    #[inline]
    fn edge(&self, node: u32, unsmoothed: f64, k: usize) -> f64 {
        let parent = self.tree.parent(node);
        let whole = self.sums[parent as usize * self.topic_count + k];
        self.quotient(
            self.tree.prior(node) + unsmoothed,
            self.tree.prior_sum(parent) + whole,
        )
    }

    #[inline]
    fn quotient(&self, part: f64, whole: f64) -> f64 {
        match self.exp_psi {
            true => exp(digamma(part) - digamma(whole)),
            false => part / whole,
        }
    }

    fn entries(&self, leaf: u32) -> &[(u16, f32)] {
        &self.entries[self.starts[leaf as usize]..self.starts[leaf as usize + 1]]
    }

    /// h_k for each topic: e_kw where a term attached to the root has λ̃_kw = 0.
    pub fn smoothing(&self) -> &[f64] {
        &self.smoothing
    }

    /// The topics of a term attached to the root with λ̃_kw > 0, ascending, and g_kw = e_kw − h_k.
    pub fn sparse(&self, term: u32) -> impl Iterator<Item = (u16, f64)> {
        debug_assert!(!self.tree.is_structured(term), "its row is dense");
        let leaf = self.tree.leaves_of(term).start;
        self.entries(leaf).iter().map(move |&(topic, unsmoothed)| {
            let k = usize::from(topic);
            let whole = self.edge(self.tree.node(leaf), f64::from(unsmoothed), k);
            (topic, whole - self.smoothing[k])
        })
    }

    /// e_kw for each topic, of a term within structures.
    #[inline]
    pub fn dense(&self, term: u32) -> Option<&[f32]> {
        let row = self.rows[term as usize];
        let start = row as usize * self.topic_count;
        (row != NOT_DENSE).then(|| &self.dense[start..start + self.topic_count])
    }

    /// e_kl of one leaf. With a token's path as `own`, without that token: where parameters are counts
    /// of assignments, and the token one of them, in this topic. The root's normaliser keeps it, as
    /// in [`infer::sampler`](crate::infer::sampler).
    pub fn path_factor(&self, leaf: u32, topic: u16, own: Option<u32>) -> f64 {
        let k = usize::from(topic);
        let is_own = |node: u32| own.is_some_and(|own| self.tree.path(own).any(|on| on == node));
        let less = |node: u32, x: f64| if is_own(node) { (x - 1.0).max(0.0) } else { x };
        let inner = |node: u32| self.sums[node as usize * self.topic_count + k];
        let mut unsmoothed = self.unsmoothed(leaf, topic);
        let mut factor = 1.0;
        for node in self.tree.path(leaf) {
            let parent = self.tree.parent(node);
            let whole = less(parent, inner(parent));
            factor *= self.quotient(
                self.tree.prior(node) + less(node, unsmoothed),
                self.tree.prior_sum(parent) + whole,
            );
            unsmoothed = inner(parent);
        }
        factor
    }

    /// λ̃_kl.
    fn unsmoothed(&self, leaf: u32, topic: u16) -> f64 {
        let entries = self.entries(leaf);
        let place = entries.binary_search_by_key(&topic, |entry| entry.0);
        place.map_or(0.0, |place| f64::from(entries[place].1))
    }

    /// e_kw without a token of the term that counts in this topic, on the path to the leaf `own`.
    pub fn without(&self, term: u32, topic: u16, own: u32) -> f64 {
        let leaves = self.tree.leaves_of(term);
        leaves
            .map(|leaf| self.path_factor(leaf, topic, Some(own)))
            .sum()
    }

    /// A leaf of a term that was drawn in a topic: p(l | k, w) = e_kl / e_kw; with `own`, the token's
    /// old path in this topic, without that token. Takes a random number only if there is a choice.
    pub fn draw_leaf(&self, term: u32, topic: u16, own: Option<u32>, stream: &mut Stream) -> u32 {
        let leaves = self.tree.leaves_of(term);
        if leaves.len() == 1 {
            return leaves.start;
        }
        let masses = leaves.map(|leaf| (leaf, self.path_factor(leaf, topic, own)));
        let total: f64 = masses.clone().map(|(_, mass)| mass).sum();
        let mut target = stream.uniform() * total;
        let mut drawn = self.tree.leaves_of(term).start;
        for (leaf, mass) in masses.filter(|&(_, mass)| mass > 0.0) {
            drawn = leaf;
            if target < mass {
                break;
            }
            target -= mass;
        }
        drawn
    }
}

#[cfg(test)]
mod tests;
