//! Deterministic inference for one document against a fixed model, in the time of the topics that
//! its terms have: variational Bayes (Yao 2009, §4) and CVB0 (Asuncion et al. 2009; Papanikolaou 2017, §3.3).
//!
//! Both keep expected tokens a_k − α_k per topic. With factors e_kw = g_kw + h_k
//!
//! ```text
//! variational:  γ_wk ∝ e_kw exp Ψ(a_k)              a_k = α_k + Σ_w n_w γ_wk     (Yao 2009, Eqs. 13–15)
//! CVB0:         γ_wk ∝ e_kw (a_k − γ_wk)            the same a_k, but taken term by term
//! ```
//!
//! Where we depart from the dense form (`variational`), and what it buys:
//! 1. What a term has from h_k is the same for all terms but for its scale. It is added up in one
//!    number, and spread over all topics once an iteration: O(Σ_w K_w + K) and not O(W K).
//! 2. CVB0 leaves a token's own share out of g_kw (a_k − γ_wk) only; h_k γ_wk is below what h_k a_k
//!    is by the factor of a document's length, and neglected.
//! 3. CVB0 begins like the sampler: one term after the other, rare ones first, each given those
//!    before it.
//! 4. CVB0 forgets a topic of a term whose share falls below [`LEAST_SHARE`]; what is left goes the
//!    way of h_k, so that nothing is lost. Most of the topics that a term has are forgotten after
//!    the first iteration, which therefore takes most of the time.
//!
//! More iterations are not better: CVB0 is nearest to the posterior's mean after two to five of
//! them (docs/INFERENCE.md), then it leans towards a mode.

use super::settings::InferSettings;
use super::{Bag, ImpossibleDraw};
use crate::math::special::{digamma, exp};
use crate::model::factors::{FactorTable, Row, SparseRow};

/// CVB0 forgets the topics that have a smaller share of a term.
const LEAST_SHARE: f32 = 1e-3;
/// Entries of a term that take as long one by one as so many topics in a row.
const TOPICS_AN_ENTRY: usize = 4;

/// Infers documents, one after the other, with the same buffers.
#[derive(Clone, Debug, Default)]
pub struct MeanField {
    /// a_k; K long, and a 0 for the topic K that fills up blocks.
    dirichlet: Vec<f32>,
    /// Ψ(a_k), K long.
    digammas: Vec<f64>,
    /// exp Ψ(a_k) but for a factor; K long, and a 0.
    weights: Vec<f32>,
    /// Σ_w r_w g_kw, K long, and one more; or what the topics have from h_k.
    sums: Vec<f32>,
    /// Terms that have factors, rare ones first: term, row, tokens.
    terms: Vec<(u32, Row, f32)>,
    /// CVB0: where each term's entries end.
    ends: Vec<usize>,
    /// CVB0: topic, g_kw, γ_wk of a token.
    entries: Vec<Entry>,
    /// CVB0: g_kw a_k of the term in hand.
    masses: Vec<f32>,
    proportions: Vec<f32>,
}

/// A topic that a term has in the document in hand.
#[derive(Clone, Copy, Debug)]
struct Entry {
    topic: u32,
    /// g_kw.
    weight: f32,
    /// γ_wk, of one token.
    share: f32,
}

impl MeanField {
    /// Takes up a document: a_k = α_k. Gives the tokens that have factors.
    fn start(&mut self, bag: Bag<'_>, table: FactorTable<'_>) -> f32 {
        self.terms.clear();
        let mut tokens = 0.0;
        for (&term, &count) in bag.terms.iter().zip(bag.counts).rev() {
            if let Some(row) = table.find(term) {
                self.terms.push((term, row, count as f32));
                tokens += count as f32;
            }
        }
        self.dirichlet.clear();
        self.dirichlet.extend_from_slice(&table.smoothing().alpha);
        self.dirichlet.push(0.0);
        tokens
    }

    /// θ_d = a_d / Σ_k a_dk by variational Bayes; adds up to 1. Takes `settings.iterations` at most, and ends
    /// when less than `settings.tolerance` of a document's tokens move.
    ///
    /// # Errors
    /// [`ImpossibleDraw`] if the model holds no positive, finite factor for a term.
    pub fn variational(
        &mut self,
        bag: Bag<'_>,
        table: FactorTable<'_>,
        settings: &InferSettings,
    ) -> Result<&[f32], ImpossibleDraw> {
        let tokens = self.start(bag, table);
        let topics = table.topic_count();
        let share = tokens / topics as f32;
        for a in &mut self.dirichlet[..topics] {
            *a += share;
        }
        for _ in 0..settings.iterations {
            let change = self.iterate(table)?;
            if f64::from(change) <= settings.tolerance * f64::from(tokens) {
                break;
            }
        }
        Ok(self.finish(table))
    }

    /// One iteration of variational Bayes; gives the tokens that moved.
    fn iterate(&mut self, table: FactorTable<'_>) -> Result<f32, ImpossibleDraw> {
        let smoothing = table.smoothing();
        let topics = table.topic_count();
        // Relative to the largest, which γ does not see: Ψ of a small α is far below what fits in f32.
        let digammas = self.dirichlet[..topics]
            .iter()
            .map(|&a| digamma(f64::from(a)));
        self.digammas.clear();
        self.digammas.extend(digammas);
        let largest = self.digammas.iter().copied().fold(f64::MIN, f64::max);
        let weight = |digamma: &f64| exp(digamma - largest) as f32;
        self.weights.clear();
        self.weights.extend(self.digammas.iter().map(weight));
        self.weights.push(0.0);
        self.sums.clear();
        self.sums.resize(topics + 1, 0.0);
        let everywhere = dot(&self.weights[..topics], &smoothing.factors);
        let mut spread = 0.0;
        for &(term, row, count) in &self.terms {
            if let Some(dense) = table.dense(row) {
                let sum = dot(&self.weights, dense);
                let ratio = count / positive(term, sum, 0.0)?;
                add_scaled(&mut self.sums, ratio, dense);
            } else {
                let sparse = table.sparse(row);
                let mut sum = 0.0;
                for (topic, weight) in sparse.topics.iter().zip(sparse.weights) {
                    sum += self.weights[usize::from(*topic)] * weight;
                }
                let ratio = count / positive(term, sum, everywhere)?;
                spread += ratio;
                for (topic, weight) in sparse.topics.iter().zip(sparse.weights) {
                    self.sums[usize::from(*topic)] += ratio * weight;
                }
            }
        }
        let mut change = 0.0;
        for k in 0..topics {
            let new = smoothing.alpha[k]
                + self.weights[k] * (self.sums[k] + spread * smoothing.factors[k]);
            change += (new - self.dirichlet[k]).abs();
            self.dirichlet[k] = new;
        }
        Ok(change)
    }

    /// θ_d = a_d / Σ_k a_dk by CVB0; adds up to 1. Effort and errors as of [`variational`](Self::variational);
    /// the first iteration is the sequential one.
    pub fn cvb0(
        &mut self,
        bag: Bag<'_>,
        table: FactorTable<'_>,
        settings: &InferSettings,
    ) -> Result<&[f32], ImpossibleDraw> {
        let tokens = self.start(bag, table);
        let topics = table.topic_count();
        self.sums.clear();
        self.sums.resize(topics, 0.0);
        self.entries.clear();
        self.ends.clear();
        let mut everywhere = table.smoothing().mass;
        let mut left = 0.0;
        for index in 0..self.terms.len() {
            left += self.begin_term(index, everywhere, table)?;
        }
        everywhere = self.spread(left, table);
        for _ in 1..settings.iterations {
            let (left, change) = self.iterate_cvb0(everywhere)?;
            everywhere = self.spread(left, table);
            if f64::from(change) <= settings.tolerance * f64::from(tokens) {
                break;
            }
        }
        Ok(self.finish(table))
    }

    /// Shares of the `index`-th term given the terms before it; gives the tokens that have no entry.
    fn begin_term(
        &mut self,
        index: usize,
        everywhere: f32,
        table: FactorTable<'_>,
    ) -> Result<f32, ImpossibleDraw> {
        let (term, row, count) = self.terms[index];
        match table.dense(row) {
            Some(dense)
                if table.sparse(row).topics.len() * TOPICS_AN_ENTRY > table.topic_count() =>
            {
                self.begin_dense(term, dense, count, table)
            }
            _ => self.begin_sparse(term, table.sparse(row), count, everywhere),
        }
    }

    fn begin_sparse(
        &mut self,
        term: u32,
        row: SparseRow<'_>,
        count: f32,
        everywhere: f32,
    ) -> Result<f32, ImpossibleDraw> {
        let mut sum = 0.0;
        self.masses.clear();
        for (&topic, &weight) in row.topics.iter().zip(row.weights) {
            let mass = weight * self.dirichlet[usize::from(topic)];
            sum += mass;
            self.masses.push(mass);
        }
        let ratio = 1.0 / positive(term, sum, everywhere)?;
        let mut kept = 0.0;
        for ((&topic, &weight), mass) in row.topics.iter().zip(row.weights).zip(&self.masses) {
            let share = mass * ratio;
            if share >= LEAST_SHARE {
                kept += share;
                self.dirichlet[usize::from(topic)] += count * share;
                let topic = u32::from(topic);
                self.entries.push(Entry {
                    topic,
                    weight,
                    share,
                });
            }
        }
        self.ends.push(self.entries.len());
        Ok(count * (1.0 - kept).max(0.0))
    }

    fn begin_dense(
        &mut self,
        term: u32,
        row: &[f32],
        count: f32,
        table: FactorTable<'_>,
    ) -> Result<f32, ImpossibleDraw> {
        let h = &table.smoothing().factors;
        let topics = h.len();
        let a = &mut self.dirichlet[..topics];
        let ratio = 1.0 / positive(term, dot(a, &row[..topics]), 0.0)?;
        let mut kept = 0.0;
        for (k, ((a, &factor), &h)) in a.iter_mut().zip(row).zip(h).enumerate() {
            let share = factor * *a * ratio;
            if share >= LEAST_SHARE {
                kept += share;
                *a += count * share;
                let (topic, weight) = (k as u32, factor - h);
                self.entries.push(Entry {
                    topic,
                    weight,
                    share,
                });
            }
        }
        self.ends.push(self.entries.len());
        Ok(count * (1.0 - kept).max(0.0))
    }

    /// One iteration of CVB0; gives the tokens that have no entry, and those that moved.
    fn iterate_cvb0(&mut self, everywhere: f32) -> Result<(f32, f32), ImpossibleDraw> {
        let (mut left, mut change, mut from, mut to) = (0.0, 0.0, 0, 0);
        for (&(term, _, count), end) in self.terms.iter().zip(&mut self.ends) {
            let mut sum = 0.0;
            for entry in &mut self.entries[from..*end] {
                let others = (self.dirichlet[entry.topic as usize] - entry.share).max(0.0);
                sum += entry.weight * others;
            }
            let ratio = 1.0 / positive(term, sum, everywhere)?;
            let mut kept = 0.0;
            for place in from..*end {
                let entry = self.entries[place];
                let a = &mut self.dirichlet[entry.topic as usize];
                let share = entry.weight * (*a - entry.share).max(0.0) * ratio;
                if share >= LEAST_SHARE {
                    let difference = count * (share - entry.share);
                    *a += difference;
                    change += difference.abs();
                    kept += share;
                    self.entries[to] = Entry { share, ..entry };
                    to += 1;
                } else {
                    *a -= count * entry.share;
                }
            }
            left += count * (1.0 - kept).max(0.0);
            from = *end;
            *end = to;
        }
        Ok((left, change))
    }

    /// Spreads tokens over all topics as h_k a_k; gives Σ_k h_k a_k.
    fn spread(&mut self, tokens: f32, table: FactorTable<'_>) -> f32 {
        let h = &table.smoothing().factors;
        let a = &mut self.dirichlet[..h.len()];
        let ratio = tokens / dot(a, h).max(f32::MIN_POSITIVE);
        for ((a, h), old) in a.iter_mut().zip(h).zip(&mut self.sums) {
            let new = ratio * h * *a;
            *a += new - *old;
            *old = new;
        }
        dot(a, h)
    }

    /// a_k to proportions.
    fn finish(&mut self, table: FactorTable<'_>) -> &[f32] {
        let a = &self.dirichlet[..table.topic_count()];
        let sum: f32 = a.iter().sum();
        self.proportions.clear();
        self.proportions.extend(a.iter().map(|a| a / sum));
        &self.proportions
    }
}

/// The mass of a term, if it is one.
fn positive(term: u32, sparse: f32, everywhere: f32) -> Result<f32, ImpossibleDraw> {
    let mass = sparse + everywhere;
    if mass > 0.0 && mass.is_finite() {
        return Ok(mass);
    }
    Err(ImpossibleDraw {
        term,
        document_mass: sparse,
        smoothing_mass: everywhere,
        prior_mass: 0.0,
    })
}

/// Σ_k a_k b_k, in eight interleaved sums, so that a processor takes several topics at once.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; 8];
    let (a, b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest = a.remainder().iter().zip(b.remainder());
    let rest: f32 = rest.map(|(x, y)| x * y).sum();
    for (x, y) in a.zip(b) {
        for (sum, (x, y)) in sums.iter_mut().zip(x.iter().zip(y)) {
            *sum += x * y;
        }
    }
    sums.iter().sum::<f32>() + rest
}

/// sums_k += ratio · row_k.
fn add_scaled(sums: &mut [f32], ratio: f32, row: &[f32]) {
    for (sum, factor) in sums.iter_mut().zip(row) {
        *sum += ratio * factor;
    }
}
