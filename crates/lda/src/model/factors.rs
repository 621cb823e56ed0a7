//! The topic–term factors e_kw of one model version, laid out for drawing topics.
//!
//! Within a round e_kw does not change (Mimno 2012, §2.2), and splits in a sparse and a smoothing
//! part (Eq. 15): e_kw = g_kw + h_k, with g_kw = 0 wherever λ̃_kw = 0. What a draw needs of a term
//! is therefore prepared once: its g_kw, the running sums of α_k g_kw, and, where the term has many
//! topics, a dense row of g_kw + h_k. With f_k = 1/(Vη + λ̃_k) (mean geometry)
//!
//! ```text
//! g_kw = f_k λ̃_kw     h_k = f_k η     A_w = Σ_k α_k g_kw     H = Σ_k α_k h_k
//! ```
//!
//! and in the paper's geometry f_k = exp −Ψ(Vη + λ̃_k), g_kw = f_k (exp Ψ(η + λ̃_kw) − exp Ψ(η)),
//! h_k = f_k exp Ψ(η).

mod smoothing;

use super::Priors;
use super::parameters::{Entry, Parameters};
pub use smoothing::Smoothing;
pub(crate) use smoothing::{CHUNK, Chunk, flat, flat_mut};

/// Where the factors of a term lie in its part.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    part: u32,
    offset: u32,
    length: u32,
    dense: u32,
    /// A_w = Σ_k α_k g_kw.
    pub alpha_mass: f32,
}

const NOT_PREPARED: u32 = u32::MAX;
const NOT_DENSE: u32 = u32::MAX;

/// Rows are filled up to a multiple of this, so that draws go through them block by block.
pub(crate) const BLOCK: usize = 4;

/// The factors of the prepared terms of one part of the model.
///
/// Sparse rows are filled up to whole blocks with the topic K, of weight 0, which no document has;
/// dense rows have a place for it.
#[derive(Clone, Debug)]
pub struct Factors {
    part: u32,
    topic_count: usize,
    dense_from: usize,
    rows: Vec<Row>,
    topics: Vec<u16>,
    weights: Vec<f32>,
    prefix: Vec<f32>,
    dense: Vec<Chunk>,
    /// What does not depend on the term.
    pub smoothing: Smoothing,
}

/// The topics of a term with λ̃_kw > 0, ascending, with g_kw and the running sums of α_k g_kw.
#[derive(Clone, Copy, Debug)]
pub struct SparseRow<'a> {
    /// Topics, ascending.
    pub topics: &'a [u16],
    /// g_kw.
    pub weights: &'a [f32],
    /// Σ α_j g_jw over this topic and those before it.
    pub prefix: &'a [f32],
}

impl Factors {
    /// The factors of those terms of the part for which `is_needed`.
    ///
    /// `buffers` are the factors of an earlier version, whose memory is used again.
    pub fn prepare(
        parameters: &Parameters,
        priors: &Priors,
        is_needed: impl Fn(u32) -> bool,
        buffers: Option<Self>,
    ) -> Self {
        let mut factors = Self::recycled(parameters, priors, buffers);
        let scale = parameters.scale();
        let read = |smoothing: &Smoothing, entry: &Entry| {
            let unsmoothed = f64::from(entry.value) * scale;
            let weight = smoothing.sparse_factor(entry.topic as usize, unsmoothed);
            (entry.topic as u16, weight)
        };
        for term in parameters.terms() {
            let row = if is_needed(term) {
                factors.push(parameters.row(term), read)
            } else {
                factors.missing()
            };
            factors.rows.push(row);
        }
        factors
    }

    /// The factors of topics that somebody else has learnt, all terms in one part: e_kw = φ_kw.
    ///
    /// `smoothing` is what every term has of each topic, h_k; `row` gives what a term has beyond
    /// that, (k, g_kw) with k ascending and g_kw > 0, and `None` for a term that the model lacks.
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

    fn empty(part: u32, topic_count: usize, smoothing: Smoothing) -> Self {
        Self {
            part,
            topic_count,
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
        let Some(mut old) = buffers else {
            return Self::empty(part, topic_count, smoothing);
        };
        old.rows.clear();
        old.topics.clear();
        old.weights.clear();
        old.prefix.clear();
        old.dense.clear();
        Self {
            part,
            topic_count,
            dense_from: dense_row_length(topic_count),
            smoothing,
            ..old
        }
    }

    /// Bytes of all rows.
    pub fn bytes(&self) -> usize {
        let sparse = size_of_val(&*self.topics) + size_of_val(&*self.weights);
        sparse + size_of_val(&*self.prefix) + size_of_val(&*self.dense) + size_of_val(&*self.rows)
    }

    fn missing(&self) -> Row {
        Row {
            part: self.part,
            offset: NOT_PREPARED,
            length: 0,
            dense: NOT_DENSE,
            alpha_mass: 0.0,
        }
    }

    /// Appends a row; `read` gives each entry's topic and g_kw.
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
        let filled = offset + entries.len().next_multiple_of(BLOCK);
        self.topics.resize(filled, self.topic_count as u16);
        self.weights.resize(filled, 0.0);
        self.prefix.resize(filled, alpha_mass);
        Row {
            part: self.part,
            offset: offset as u32,
            length: entries.len() as u32,
            dense,
            alpha_mass,
        }
    }

    /// The sparse form of a row of this part.
    #[inline]
    pub fn sparse(&self, row: Row) -> SparseRow<'_> {
        self.entries(row, row.length as usize)
    }

    /// The sparse form of a row of this part, filled up to whole blocks with the topic K.
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

    /// The dense form of a row of this part, if it has one: g_kw + h_k for each topic, and a 0 for
    /// the topic K.
    #[inline]
    pub fn dense(&self, row: Row) -> Option<&[f32]> {
        let chunks = self.dense_chunks(row)?;
        Some(&flat(chunks)[..=self.topic_count])
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

/// The number of topics from which a term gets a dense row as well. To look up a document's topics
/// in a cold dense row, a processor waits for many cache lines; a sparse row comes in one sequence.
fn dense_row_length(topic_count: usize) -> usize {
    (topic_count / 5).clamp(16, 512)
}

/// The factors of all parts: what documents are sampled with. Cheap to make; borrows the parts.
#[derive(Clone, Copy, Debug)]
pub struct FactorTable<'a> {
    parts: &'a [&'a Factors],
}

impl<'a> FactorTable<'a> {
    /// `parts[p]` are the factors of part p.
    pub fn new(parts: &'a [&'a Factors]) -> Self {
        debug_assert!(!parts.is_empty());
        Self { parts }
    }

    /// K.
    pub fn topic_count(&self) -> usize {
        self.parts[0].topic_count
    }

    /// What does not depend on the term.
    pub fn smoothing(&self) -> &'a Smoothing {
        &self.parts[0].smoothing
    }

    /// The row of a term, if it was prepared.
    #[inline]
    pub fn find(&self, term: u32) -> Option<Row> {
        // Divisions are slow, and one part is common.
        let row = match self.parts {
            [part] => part.rows[term as usize],
            parts => {
                let count = parts.len() as u32;
                parts[(term % count) as usize].rows[(term / count) as usize]
            }
        };
        (row.offset != NOT_PREPARED).then_some(row)
    }

    /// The sparse form of a row.
    #[inline]
    pub fn sparse(&self, row: Row) -> SparseRow<'a> {
        self.parts[row.part as usize].sparse(row)
    }

    /// The sparse form of a row, filled up to whole blocks with the topic K, of weight 0.
    #[inline]
    pub fn blocks(&self, row: Row) -> SparseRow<'a> {
        self.parts[row.part as usize].blocks(row)
    }

    /// The dense form of a row, if it has one, with a 0 for the topic K.
    #[inline]
    pub fn dense(&self, row: Row) -> Option<&'a [f32]> {
        self.parts[row.part as usize].dense(row)
    }

    /// Appends e_kw = g_kw + h_k of all topics of a row.
    #[inline]
    pub(crate) fn write(&self, row: Row, to: &mut Vec<Chunk>) {
        self.parts[row.part as usize].write(row, to);
    }

    /// e_kw = g_kw + h_k for every topic, in f64: for references and tests, not for draws.
    pub fn all(&self, row: Row) -> Vec<f64> {
        let mut all = Vec::new();
        self.write_all(row, &mut all);
        all
    }

    /// Appends e_kw = g_kw + h_k of every topic, in f64.
    pub fn write_all(&self, row: Row, to: &mut Vec<f64>) {
        let start = to.len();
        to.extend(self.smoothing().factors.iter().map(|&h| f64::from(h)));
        let all = &mut to[start..];
        let sparse = self.sparse(row);
        for (topic, weight) in sparse.topics.iter().zip(sparse.weights) {
            all[usize::from(*topic)] += f64::from(*weight);
        }
    }
}
