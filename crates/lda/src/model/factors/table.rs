//! The factors of all parts, as draws read them.

use super::branches::AllBranches;
use super::{Chunk, Factors, NOT_PREPARED, Own, Row, Smoothing, SparseRow};
use crate::math::random::Stream;
use crate::model::tree::Tree;

/// The factors of all parts, with which documents are sampled. Cheap to create; borrows the parts.
#[derive(Clone, Copy, Debug)]
pub struct FactorTable<'a> {
    parts: &'a [&'a Factors],
}

impl<'a> FactorTable<'a> {
    /// Creates a table; `parts[p]` are the factors of part p.
    pub fn new(parts: &'a [&'a Factors]) -> Self {
        debug_assert!(!parts.is_empty());
        Self { parts }
    }

    /// Returns K.
    pub fn topic_count(&self) -> usize {
        self.parts[0].topic_count
    }

    /// Returns the part of the factors that does not depend on the term.
    pub fn smoothing(&self) -> &'a Smoothing {
        &self.parts[0].smoothing
    }

    /// Returns the row of a term, if it was prepared.
    ///
    /// # Panics
    /// Panics if the term is not in the vocabulary.
    #[inline]
    pub fn find(&self, term: u32) -> Option<Row> {
        // Divisions are slow, and a single part is common.
        let row = match self.parts {
            [part] => part.rows[term as usize],
            parts => {
                let count = parts.len() as u32;
                parts[(term % count) as usize].rows[(term / count) as usize]
            }
        };
        (row.offset != NOT_PREPARED).then_some(row)
    }

    /// Returns the sparse form of a row.
    #[inline]
    pub fn sparse(&self, row: Row) -> SparseRow<'a> {
        self.parts[usize::from(row.part)].sparse(row)
    }

    /// Returns the sparse form of a row, padded to whole blocks with the topic K, of weight 0.
    #[inline]
    pub fn blocks(&self, row: Row) -> SparseRow<'a> {
        self.parts[usize::from(row.part)].blocks(row)
    }

    /// Returns the dense form of a row, if it has one, with a 0 for the topic K.
    #[inline]
    pub fn dense(&self, row: Row) -> Option<&'a [f32]> {
        self.parts[usize::from(row.part)].dense(row)
    }

    /// Appends e_kw = g_kw + h_k of all topics of a row.
    #[inline]
    pub(crate) fn write(&self, row: Row, to: &mut Vec<Chunk>) {
        self.parts[usize::from(row.part)].write(row, to);
    }

    /// Returns the tree of the terms' prior, if there is one.
    #[inline]
    pub fn tree(&self) -> Option<&'a Tree> {
        let branches = self.parts[0].branches.as_ref()?;
        Some(&branches.tree)
    }

    /// Returns e_kw of each topic, and a 0 for the topic K, if the row is whole.
    #[inline]
    pub fn whole(&self, row: Row) -> Option<&'a [f32]> {
        if row.is_whole { self.dense(row) } else { None }
    }

    /// Returns Σ_k α_k e_kw.
    #[inline]
    pub(crate) fn prior_mass(&self, row: Row) -> f32 {
        if row.is_whole {
            let sparse = self.sparse(row);
            sparse.prefix[sparse.prefix.len() - 1]
        } else {
            row.alpha_mass + self.smoothing().mass
        }
    }

    /// Returns the part of e_kw that a token of a term contributes, in `topic` and on the leaf at place `sense`
    /// among the term's leaves, where λ̃ are counts that include the token.
    #[inline]
    pub(crate) fn own_part(&self, term: u32, row: Row, topic: u16, sense: u16) -> f32 {
        match self.whole(row) {
            None => self.smoothing().unit[usize::from(topic)],
            Some(factors) => {
                let own = self.branches().tree.leaves_of(term).start + u32::from(sense);
                let others: f64 = self.leaf_masses(term, row, topic, Some(own)).sum();
                (f64::from(factors[usize::from(topic)]) - others) as f32
            }
        }
    }

    /// Returns the branches of the tree that whole rows belong to.
    #[inline]
    fn branches(&self) -> &'a AllBranches {
        let branches = self.parts[0].branches.as_ref();
        branches.expect("a whole row is of a tree")
    }

    /// Returns e_kl of each leaf of a term within structures, without the token `own`.
    pub(super) fn leaf_masses(
        &self,
        term: u32,
        row: Row,
        topic: u16,
        own: Own,
    ) -> impl Iterator<Item = f64> + Clone + use<'a> {
        let (part, branches) = (self.parts[usize::from(row.part)], self.branches());
        let leaves = branches.tree.leaves_of(term);
        (0..).zip(leaves).map(move |(place, leaf)| {
            let unsmoothed = part.unsmoothed(row, place, topic);
            branches.leaf(leaf, unsmoothed, topic, own)
        })
    }

    /// Draws the sense of a token that was drawn in a topic: the place of a leaf among its term's leaves, by
    /// p(l | k, w) = e_kl / e_kw, without the token `own`. Takes a random number only if there is a choice.
    pub fn draw_sense(
        &self,
        term: u32,
        row: Row,
        topic: u16,
        own: Own,
        stream: &mut Stream,
    ) -> u16 {
        let senses = self.tree().map_or(1, |tree| tree.leaves_of(term).len());
        if senses == 1 {
            return 0;
        }
        let masses = || (0..).zip(self.leaf_masses(term, row, topic, own));
        let total: f64 = masses().map(|(_, mass)| mass).sum();
        let (mut target, mut drawn) = (stream.uniform() * total, 0);
        for (sense, mass) in masses().filter(|&(_, mass)| mass > 0.0) {
            drawn = sense;
            if target < mass {
                break;
            }
            target -= mass;
        }
        drawn
    }

    /// Returns e_kw = g_kw + h_k for every topic, in f64: for references and tests, not for draws.
    pub fn all(&self, row: Row) -> Vec<f64> {
        let mut all = Vec::new();
        self.write_all(row, &mut all);
        all
    }

    /// Appends e_kw = g_kw + h_k of every topic, in f64.
    pub fn write_all(&self, row: Row, to: &mut Vec<f64>) {
        if let Some(factors) = self.whole(row) {
            to.extend(factors[..self.topic_count()].iter().map(|&e| f64::from(e)));
            return;
        }
        let start = to.len();
        to.extend(self.smoothing().factors.iter().map(|&h| f64::from(h)));
        let all = &mut to[start..];
        let sparse = self.sparse(row);
        for (topic, weight) in sparse.topics.iter().zip(sparse.weights) {
            all[usize::from(*topic)] += f64::from(*weight);
        }
    }

    /// Appends e_kw of `topics`, one after another.
    pub(crate) fn write_some(&self, row: Row, topics: &[u16], to: &mut Vec<f32>) {
        if let Some(factors) = self.dense(row) {
            to.extend(topics.iter().map(|&k| factors[usize::from(k)]));
            return;
        }
        let (smoothing, sparse) = (self.smoothing(), self.sparse(row));
        to.extend(topics.iter().map(|topic| {
            let weight = sparse.topics.binary_search(topic);
            let weight = weight.map_or(0.0, |place| sparse.weights[place]);
            smoothing.factors[usize::from(*topic)] + weight
        }));
    }
}
