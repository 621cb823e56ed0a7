//! The topic–term factors e_kw of one model version, laid out for drawing topics.
//!
//! Within a round e_kw does not change (Mimno 2012, §2.2), and splits into a sparse and a smoothing part (Eq. 15):
//! e_kw = g_kw + h_k, with g_kw = 0 wherever λ̃_kw = 0. Everything a draw needs about a term is therefore prepared
//! once: its g_kw, the running sums of α_k g_kw and, if the term has many topics, a dense row of g_kw + h_k. With
//! f_k = 1/(Vη + λ̃_k) (mean geometry)
//!
//! ```text
//! g_kw = f_k λ̃_kw     h_k = f_k η     A_w = Σ_k α_k g_kw     H = Σ_k α_k h_k
//! ```
//!
//! and in the paper's geometry f_k = exp −Ψ(Vη + λ̃_k), g_kw = f_k (exp Ψ(η + λ̃_kw) − exp Ψ(η)),
//! h_k = f_k exp Ψ(η), all times 2⁶³. A topic with α_k = 0 has f_k = 0: no token is drawn to it, and its own tokens
//! leave it.

mod branches;

use std::hint::black_box;
use std::sync::Arc;

use super::Priors;
use super::parameters::{Entry, Parameters};
use super::tree::{ROOT, Tree};
use crate::math::draw::running_sums;
use crate::math::random::Stream;
use crate::math::special::{digamma, exp, exp_digamma};
use branches::AllBranches;
pub use branches::Branches;
pub(crate) use branches::Own;

/// The location of a term's factors in its part.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    part: u16,
    is_whole: bool,
    offset: u32,
    length: u32,
    dense: u32,
    /// A_w = Σ_k α_k g_kw.
    pub(crate) alpha_mass: f32,
}

const NOT_PREPARED: u32 = u32::MAX;
const NOT_DENSE: u32 = u32::MAX;

/// Rows are padded to a multiple of this, so that draws process them block by block.
pub(crate) const BLOCK: usize = 4;

/// The factors of the prepared terms of one part of the model.
///
/// Sparse rows are padded to whole blocks with the topic K, of weight 0, which no document has; dense rows have a
/// place for it.
#[derive(Clone, Debug)]
pub struct Factors {
    part: u16,
    topic_count: usize,
    /// For a tree-structured prior.
    branches: Option<AllBranches>,
    dense_from: usize,
    rows: Vec<Row>,
    topics: Vec<u16>,
    weights: Vec<f32>,
    prefix: Vec<f32>,
    dense: Vec<Chunk>,
    /// The parts that do not depend on the term.
    pub smoothing: Smoothing,
}

/// The topics of a term with λ̃_kw > 0, ascending, with g_kw and the running sums of α_k g_kw.
///
/// A row that [is whole](Row::is_whole) has all topics, and its g_kw may be negative.
#[derive(Clone, Copy, Debug)]
pub struct SparseRow<'a> {
    /// Topics, ascending.
    pub topics: &'a [u16],
    /// g_kw.
    pub weights: &'a [f32],
    /// Σ α_j g_jw over this topic and those before it; Σ α_j e_jw if the row is whole.
    pub prefix: &'a [f32],
}

impl Row {
    /// Returns whether the term is within the structures of a tree: its row then has all topics, and a dense form too.
    #[inline]
    pub fn is_whole(self) -> bool {
        self.is_whole
    }
}

impl Factors {
    /// Prepares the factors of the terms for which `is_needed`, where all terms are in one part.
    ///
    /// `buffers` are the factors of an earlier version, whose memory is reused.
    pub fn prepare(
        parameters: &Parameters,
        priors: &Priors,
        is_needed: impl Fn(u32) -> bool,
        buffers: Option<Self>,
    ) -> Self {
        let branches = Self::branches(&[parameters], 0, priors).map(Arc::new);
        let branches = branches.as_slice();
        Self::prepare_part(&[parameters], 0, priors, branches, is_needed, buffers)
    }

    /// Prepares the inner nodes of a tree for one part, if there is a tree; `parts` are all parts of the parameters.
    pub fn branches(parts: &[&Parameters], part: usize, priors: &Priors) -> Option<Branches> {
        let tree = priors.tree.as_ref()?;
        Some(Branches::prepare(tree, parts, part, priors))
    }

    /// Prepares the factors of the terms of one part (w mod P = `part`) for which `is_needed`. `parts` are all
    /// parts of the parameters, and `branches` those of a tree.
    pub fn prepare_part(
        parts: &[&Parameters],
        part: usize,
        priors: &Priors,
        branches: &[Arc<Branches>],
        is_needed: impl Fn(u32) -> bool,
        buffers: Option<Self>,
    ) -> Self {
        let parameters = parts[part];
        let scale = parameters.scale();
        let read = |smoothing: &Smoothing, entry: &Entry| {
            let unsmoothed = f64::from(entry.value) * scale;
            let weight = smoothing.sparse_factor(entry.topic as usize, unsmoothed);
            (entry.topic as u16, weight)
        };
        let mut factors = Self::recycled(parameters, priors, buffers);
        let Some(tree) = &priors.tree else {
            factors.branches = None;
            for term in parameters.terms() {
                let row = if is_needed(term) {
                    factors.push(parameters.row(term), read)
                } else {
                    factors.missing()
                };
                factors.rows.push(row);
            }
            return factors;
        };
        let all = AllBranches::new(tree, branches);
        let entries = |leaf: u32| parts[leaf as usize % parts.len()].row(leaf);
        for term in (part..tree.vocabulary_size()).step_by(parts.len()) {
            let leaves = tree.leaves_of(term as u32);
            let row = match is_needed(term as u32) {
                true if tree.is_structured(term as u32) => {
                    let leaves = leaves.map(|leaf| (leaf, entries(leaf)));
                    factors.push_whole(&all, scale, leaves)
                }
                true => factors.push(entries(leaves.start), read),
                false => factors.missing(),
            };
            factors.rows.push(row);
        }
        factors.branches = Some(all);
        factors
    }

    /// Creates the factors of an external model, all terms in one part: e_kw = φ_kw.
    ///
    /// `smoothing` is h_k, the part that every term has in each topic; `row` returns a term's excess over it,
    /// (k, g_kw) with k ascending and g_kw > 0, or `None` for a term that the model lacks.
    pub fn from_topics<'t>(
        alpha: &[f64],
        smoothing: &[f64],
        vocabulary_size: usize,
        row: impl Fn(u32) -> Option<&'t [(u16, f32)]>,
    ) -> Self {
        debug_assert_eq!(alpha.len(), smoothing.len());
        let mut factors = Self::empty(0, alpha.len(), Smoothing::fixed(alpha, smoothing));
        for term in 0..vocabulary_size as u32 {
            let row = match row(term) {
                Some(entries) => factors.push(entries, |_, &entry| entry),
                None => factors.missing(),
            };
            factors.rows.push(row);
        }
        factors
    }

    fn empty(part: u16, topic_count: usize, smoothing: Smoothing) -> Self {
        Self {
            part,
            topic_count,
            branches: None,
            dense_from: dense_row_length(topic_count),
            rows: Vec::new(),
            topics: Vec::new(),
            weights: Vec::new(),
            prefix: Vec::new(),
            dense: Vec::new(),
            smoothing,
        }
    }

    fn recycled(parameters: &Parameters, priors: &Priors, buffers: Option<Self>) -> Self {
        let topic_count = parameters.topic_count();
        let smoothing = Smoothing::new(priors, parameters.totals(), parameters.vocabulary_size());
        let part = parameters.terms().next().unwrap_or(0) % parameters.part_count() as u32;
        let part = part as u16;
        let Some(mut old) = buffers else {
            return Self::empty(part, topic_count, smoothing);
        };
        old.rows.clear();
        old.topics.clear();
        old.weights.clear();
        old.prefix.clear();
        old.dense.clear();
        Self { part, topic_count, dense_from: dense_row_length(topic_count), smoothing, ..old }
    }

    /// Returns the bytes of this many weights, and of those in dense rows: for each a topic, the weight and a running
    /// sum; in a dense row the weight again.
    pub fn bytes(weights: u64, dense: u64) -> u64 {
        weights * (size_of::<u16>() + 2 * size_of::<f32>()) as u64 + dense * size_of::<f32>() as u64
    }

    /// Returns about the bytes of terms within a tree, whose rows have all topics: `pairs` of a term and a topic, two
    /// leaves a term, and a node or, in a hierarchy, two; the rows of a round and of the next, in vectors that grow. It is
    /// 0.9 to 1.5 times what WordNet takes on 20 Newsgroups.
    pub fn tree_bytes(pairs: u64, is_hierarchy: bool) -> u64 {
        let nodes = 2 * size_of::<f64>() as u64 * (1 + u64::from(is_hierarchy));
        3 * (Self::bytes(pairs, pairs) + pairs * (2 * size_of::<u32>() as u64 + nodes))
    }

    /// Returns the bytes of all rows.
    pub fn held_bytes(&self) -> usize {
        let sparse = size_of_val(&*self.topics) + size_of_val(&*self.weights);
        sparse + size_of_val(&*self.prefix) + size_of_val(&*self.dense) + size_of_val(&*self.rows)
    }

    fn missing(&self) -> Row {
        Row {
            part: self.part,
            is_whole: false,
            offset: NOT_PREPARED,
            length: 0,
            dense: NOT_DENSE,
            alpha_mass: 0.0,
        }
    }

    /// Appends a row; `read` returns each entry's topic and g_kw.
    #[inline]
    fn push<E>(&mut self, entries: &[E], read: impl Fn(&Smoothing, &E) -> (u16, f32)) -> Row {
        let offset = self.topics.len();
        let mut alpha_mass = 0.0;
        for entry in entries {
            let (topic, weight) = read(&self.smoothing, entry);
            alpha_mass += self.smoothing.alpha[usize::from(topic)] * weight;
            self.topics.push(topic);
            self.weights.push(weight);
            self.prefix.push(alpha_mass);
        }
        let mut dense = NOT_DENSE;
        if entries.len() >= self.dense_from {
            let start = self.dense.len();
            let smoothing = &self.smoothing.chunks.factors;
            dense = (start / smoothing.len()) as u32;
            self.dense.extend_from_slice(smoothing);
            let (topics, weights) = (&self.topics[offset..], &self.weights[offset..]);
            add(topics, weights, &mut self.dense[start..]);
        }
        self.fill_block(offset, alpha_mass);
        Row {
            part: self.part,
            is_whole: false,
            offset: offset as u32,
            length: entries.len() as u32,
            dense,
            alpha_mass,
        }
    }

    /// Appends the row of a term within structures, with λ̃_kl of its leaves after its dense form.
    fn push_whole<'e>(
        &mut self,
        branches: &AllBranches,
        scale: f64,
        leaves: impl Iterator<Item = (u32, &'e [Entry])>,
    ) -> Row {
        let (offset, topics) = (self.topics.len(), self.topic_count);
        let (start, stride) = (self.dense.len(), self.smoothing.chunks.factors.len());
        let mut factors = vec![0.0; topics];
        self.dense.resize(start + stride, Chunk::default());
        for (leaf, entries) in leaves {
            let from = self.dense.len();
            self.dense.resize(from + stride, Chunk::default());
            let unsmoothed = flat_mut(&mut self.dense[from..]);
            for entry in entries {
                unsmoothed[entry.topic as usize] = (f64::from(entry.value) * scale) as f32;
            }
            let entries = entries.iter().map(|entry| entry.topic as usize);
            let entries = entries.map(|k| (k, f64::from(unsmoothed[k])));
            branches.add_leaf(leaf, entries, &mut factors);
        }
        let Smoothing { factors: h, alpha, mass, .. } = &self.smoothing;
        let dense = flat_mut(&mut self.dense[start..start + stride]);
        let mut sum = 0.0;
        for k in 0..topics {
            let factor = factors[k] as f32;
            dense[k] = factor;
            sum += alpha[k] * factor;
            self.topics.push(k as u16);
            self.weights.push(factor - h[k]);
            self.prefix.push(sum);
        }
        let alpha_mass = sum - mass;
        self.fill_block(offset, sum);
        Row {
            part: self.part,
            is_whole: true,
            offset: offset as u32,
            length: topics as u32,
            dense: (start / stride) as u32,
            alpha_mass,
        }
    }

    /// Pads the row that begins at `offset` to whole blocks with the topic K.
    fn fill_block(&mut self, offset: usize, prefix: f32) {
        let filled = offset + (self.topics.len() - offset).next_multiple_of(BLOCK);
        self.topics.resize(filled, self.topic_count as u16);
        self.weights.resize(filled, 0.0);
        self.prefix.resize(filled, prefix);
    }

    #[inline]
    fn entries(&self, row: Row, length: usize) -> SparseRow<'_> {
        let from = row.offset as usize;
        let to = from + length;
        SparseRow {
            topics: &self.topics[from..to],
            weights: &self.weights[from..to],
            prefix: &self.prefix[from..to],
        }
    }

    /// Returns λ̃_kl of a leaf of a whole row's term; `place` is the leaf's place among the term's leaves.
    #[inline]
    fn unsmoothed(&self, row: Row, place: u32, topic: u16) -> f32 {
        let stride = self.smoothing.chunks.factors.len();
        let from = (row.dense + 1 + place) as usize * stride;
        flat(&self.dense[from..from + stride])[usize::from(topic)]
    }

    #[inline]
    fn dense_chunks(&self, row: Row) -> Option<&[Chunk]> {
        if row.dense == NOT_DENSE {
            return None;
        }
        let stride = self.smoothing.chunks.factors.len();
        let from = row.dense as usize * stride;
        Some(&self.dense[from..from + stride])
    }
}

/// Adds the g_kw of some topics to h_k.
#[inline]
fn add(topics: &[u16], weights: &[f32], to: &mut [Chunk]) {
    let to = flat_mut(to);
    for (topic, weight) in topics.iter().zip(weights) {
        to[usize::from(*topic)] += weight;
    }
}

/// Returns the number of topics from which a term also gets a dense row. Looking up a document's topics in a cold
/// dense row waits for many cache lines; a sparse row is read in one sequence.
fn dense_row_length(topic_count: usize) -> usize {
    (topic_count / 5).clamp(16, 512)
}

// The parts of the factors that do not depend on the term: h_k, f_k and α_k, and their running sums.

/// Topics in one chunk.
pub(crate) const CHUNK: usize = 16;

/// Returns f_k = exp −Ψ(whole) of the paper's geometry, times 2⁶³: with this power of two no factor vanishes in f32
/// (with η = 0.01, exp Ψ(η) is 2 · 10⁻⁴⁴), and it changes no draw, because it is common to all topics.
fn lifted_unit(whole: f64) -> f64 {
    (1u64 << 63) as f64 * exp(-digamma(whole))
}

/// The values of adjacent topics, in a cache line of their own; in the last chunk, topics from K on have 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
pub(crate) struct Chunk(pub(crate) [f32; CHUNK]);

/// Returns the values of chunks, topic by topic.
#[inline]
pub(crate) fn flat(chunks: &[Chunk]) -> &[f32] {
    bytemuck::cast_slice(chunks)
}

/// Returns the values of chunks, topic by topic.
#[inline]
pub(crate) fn flat_mut(chunks: &mut [Chunk]) -> &mut [f32] {
    bytemuck::cast_slice_mut(chunks)
}

/// Copies `values` to chunks that also have a place for the topic K.
fn chunked(values: &[f32]) -> Vec<Chunk> {
    let mut chunks = vec![Chunk::default(); (values.len() + 1).div_ceil(CHUNK)];
    flat_mut(&mut chunks)[..values.len()].copy_from_slice(values);
    chunks
}

/// The parts of [`Smoothing`] that draws over all topics read.
#[derive(Clone, Debug)]
pub(crate) struct SmoothingChunks {
    /// h_k.
    pub(crate) factors: Vec<Chunk>,
    /// α_k.
    pub(crate) alpha: Vec<Chunk>,
    /// f_k.
    pub(crate) unit: Vec<Chunk>,
}

impl SmoothingChunks {
    fn new(factors: &[f32], alpha: &[f32], unit: &[f32]) -> Self {
        Self { factors: chunked(factors), alpha: chunked(alpha), unit: chunked(unit) }
    }
}

/// The parts of the factors that do not depend on the term: h_k, the running sums of α_k h_k, and f_k.
#[derive(Clone, Debug)]
pub struct Smoothing {
    /// h_k for each topic.
    pub factors: Vec<f32>,
    /// Σ_{j ≤ k} α_j h_j for each topic.
    pub prefix: Vec<f32>,
    /// H = Σ_k α_k h_k.
    pub mass: f32,
    /// α_k for each topic.
    pub alpha: Vec<f32>,
    /// f_k for each topic: the amount that one token adds to g_kw where λ̃ are counts.
    pub unit: Vec<f32>,
    /// h_k, α_k and f_k again, in chunks.
    pub(crate) chunks: SmoothingChunks,
    scales: Vec<f64>,
    eta: f64,
    exp_psi: bool,
}

impl Smoothing {
    /// Computes them from the priors, the row sums λ̃_k, and V. With a tree, they are those of terms attached to
    /// the root.
    pub fn new(priors: &Priors, totals: &[f64], vocabulary_size: usize) -> Self {
        let smoothing = match &priors.tree {
            Some(tree) => priors.eta / tree.eta() * tree.prior_sum(ROOT),
            None => vocabulary_size as f64 * priors.eta,
        };
        let scale = |total: f64| {
            if priors.exp_psi { lifted_unit(smoothing + total) } else { 1.0 / (smoothing + total) }
        };
        let scale = |(&alpha, &total): (&f64, &f64)| if alpha > 0.0 { scale(total) } else { 0.0 };
        let scales: Vec<f64> = priors.alpha.iter().zip(totals).map(scale).collect();
        let unseen = if priors.exp_psi { exp_digamma(priors.eta) } else { priors.eta };
        let factors = scales.iter().map(|f| f * unseen).collect();
        let (eta, exp_psi) = (priors.eta, priors.exp_psi);
        Self::of(factors, &priors.alpha, scales, (eta, exp_psi))
    }

    /// Computes them for given topics: h_k is `factors`, and another token changes nothing.
    fn fixed(alpha: &[f64], factors: &[f64]) -> Self {
        let scales = vec![0.0; alpha.len()];
        Self::of(factors.to_vec(), alpha, scales, (0.0, false))
    }

    fn of(factors: Vec<f64>, alpha: &[f64], scales: Vec<f64>, (eta, exp_psi): (f64, bool)) -> Self {
        let [factors, alpha, unit] = [&factors, alpha, &scales]
            .map(|values| -> Vec<f32> { values.iter().map(|&value| value as f32).collect() });
        let mut prefix = Vec::new();
        let masses = alpha.iter().zip(&factors).map(|(a, h)| a * h);
        let mass = running_sums(masses, &mut prefix);
        Self {
            chunks: SmoothingChunks::new(&factors, &alpha, &unit),
            factors,
            prefix,
            mass,
            alpha,
            unit,
            scales,
            eta,
            exp_psi,
        }
    }

    /// Returns g_kw for a λ̃_kw > 0.
    #[inline]
    fn sparse_factor(&self, topic: usize, unsmoothed: f64) -> f32 {
        let unscaled = if self.exp_psi {
            exp_digamma(self.eta + unsmoothed) - exp_digamma(self.eta)
        } else {
            unsmoothed
        };
        (self.scales[topic] * unscaled) as f32
    }
}

// The factors of all parts, as draws read them.

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
        self.parts[usize::from(row.part)].entries(row, row.length as usize)
    }

    /// Reads one value in each cache line of a row's dense form or else sparse one, so that they are being fetched from
    /// memory while other rows are.
    #[inline]
    pub(crate) fn fetch(&self, row: Row) {
        let (part, line) = (self.parts[usize::from(row.part)], CHUNK);
        if let Some(chunks) = part.dense_chunks(row) {
            black_box(chunks.iter().fold(0, |all, chunk| all ^ chunk.0[0].to_bits()));
            return;
        }
        let SparseRow { topics, weights, .. } = self.sparse(row);
        let topics = topics.iter().step_by(2 * line).fold(0, |all, topic| all ^ topic);
        let weights = weights.iter().step_by(line).fold(0, |all, weight| all ^ weight.to_bits());
        black_box((topics, weights));
    }

    /// Returns the sparse form of a row, padded to whole blocks with the topic K, of weight 0.
    #[inline]
    pub fn blocks(&self, row: Row) -> SparseRow<'a> {
        let length = (row.length as usize).next_multiple_of(BLOCK);
        self.parts[usize::from(row.part)].entries(row, length)
    }

    /// Returns the dense form of a row, if it has one, with a 0 for the topic K.
    #[inline]
    pub fn dense(&self, row: Row) -> Option<&'a [f32]> {
        let part = self.parts[usize::from(row.part)];
        Some(&flat(part.dense_chunks(row)?)[..=part.topic_count])
    }

    /// Appends e_kw = g_kw + h_k of all topics of a row.
    #[inline]
    pub(crate) fn write(&self, row: Row, to: &mut Vec<Chunk>) {
        let part = self.parts[usize::from(row.part)];
        if let Some(chunks) = part.dense_chunks(row) {
            to.extend_from_slice(chunks);
            return;
        }
        let start = to.len();
        to.extend_from_slice(&part.smoothing.chunks.factors);
        let sparse = self.sparse(row);
        add(sparse.topics, sparse.weights, &mut to[start..]);
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
    fn leaf_masses(
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
