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
//! h_k = f_k exp Ψ(η), all times 2⁶³.

mod branches;
mod smoothing;
mod table;

use std::sync::Arc;

use super::Priors;
use super::parameters::{Entry, Parameters};
use branches::AllBranches;
pub use branches::Branches;
pub(crate) use branches::Own;
pub use smoothing::Smoothing;
pub(crate) use smoothing::{CHUNK, Chunk, flat, flat_mut};
pub use table::FactorTable;

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

    /// Returns the sparse form of a row of this part.
    #[inline]
    pub fn sparse(&self, row: Row) -> SparseRow<'_> {
        self.entries(row, row.length as usize)
    }

    /// Returns the sparse form of a row of this part, padded to whole blocks with the topic K.
    #[inline]
    pub fn blocks(&self, row: Row) -> SparseRow<'_> {
        self.entries(row, (row.length as usize).next_multiple_of(BLOCK))
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

    /// Returns the dense form of a row of this part, if it has one: g_kw + h_k for each topic, and a 0 for the
    /// topic K.
    #[inline]
    pub fn dense(&self, row: Row) -> Option<&[f32]> {
        let chunks = self.dense_chunks(row)?;
        Some(&flat(chunks)[..=self.topic_count])
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

    /// Appends g_kw + h_k of all topics of a row of this part.
    #[inline]
    fn write(&self, row: Row, to: &mut Vec<Chunk>) {
        if let Some(chunks) = self.dense_chunks(row) {
            to.extend_from_slice(chunks);
            return;
        }
        let start = to.len();
        to.extend_from_slice(&self.smoothing.chunks.factors);
        let sparse = self.sparse(row);
        add(sparse.topics, sparse.weights, &mut to[start..]);
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
