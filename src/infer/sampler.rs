//! The sampler: Gibbs sweeps over one document, in the time of the topics that are present.
//!
//! The plain loop (`reference`, O(K) a token):
//!
//! ```text
//! for each token: remove it from its topic
//!     draw k with p(k) ∝ (α_k + n_dk) (g_kw + h_k)          (Mimno 2012, Eqs. 9 and 15)
//!     add it to k
//! ```
//!
//! Where we depart from it, and what it buys:
//! 1. The α-part Σ_k α_k (g_kw + h_k) = A_w + H is constant within a round, so its running sums
//!    are prepared (`model::factors`) and a draw that lands there is a binary search. Only the
//!    document's part is added up a token: O(K_d) instead of O(K_w) of Eq. 15.
//! 2. A term with few topics is scanned over those instead: Σ n_dk g_kw over the term's topics,
//!    and Σ n_dk h_k over the document's, which is kept up to date: O(min(K_d, K_w)).
//! 3. Rare terms first: they know their topic best, and leave fewer topics empty.

use super::{Bag, ImpossibleDraw};
use crate::estimate::Sampled;
use crate::math::random::Stream;
use crate::model::factors::{FactorTable, Row};

/// Sums longer than this are searched by bisection rather than from the front.
const SCAN_LENGTH: usize = 16;

/// One document being sampled. Lent from document to document: its buffers are used again.
#[derive(Clone, Debug, Default)]
pub struct Sampler {
    /// n_dk for each topic.
    counts: Vec<u32>,
    /// The topics with n_dk > 0, in no particular (but reproducible) order.
    active: Vec<u16>,
    /// Where each topic stands in `active`.
    position: Vec<u16>,
    /// Distinct terms that have factors, rare ones first: term, row, tokens.
    terms: Vec<(u32, Row, u32)>,
    /// z_di, the tokens of a term together, in the order of `terms`.
    assignments: Vec<u16>,
    /// Σ_{k∈d} n_dk h_k.
    smoothing_mass: f64,
    /// Running sums of the draw in hand, room for every topic.
    running: Vec<f32>,
}

/// No topic yet: `model::MAX_TOPICS` keeps this value free.
const UNASSIGNED: u16 = u16::MAX;

impl Sampler {
    /// Starts a document: its tokens have no topics yet. Terms without a row are left out.
    pub fn start(&mut self, bag: Bag<'_>, table: FactorTable<'_>) {
        self.clear(table.topic_count());
        for (&term, &count) in bag.terms.iter().zip(bag.counts).rev() {
            if let Some(row) = table.find(term) {
                self.terms.push((term, row, count));
                let length = self.assignments.len() + count as usize;
                self.assignments.resize(length, UNASSIGNED);
            }
        }
    }

    fn clear(&mut self, topic_count: usize) {
        if self.counts.len() == topic_count {
            for &topic in &self.active {
                self.counts[usize::from(topic)] = 0;
            }
        } else {
            self.counts = vec![0; topic_count];
            self.position = vec![0; topic_count];
            self.running = vec![0.0; topic_count];
        }
        self.active.clear();
        self.terms.clear();
        self.assignments.clear();
        self.smoothing_mass = 0.0;
    }

    /// One sweep over all tokens. The first one after [`start`](Self::start) is sequential: each
    /// token is drawn given those before it (Mimno 2012, footnote 3).
    pub fn sweep(
        &mut self,
        table: FactorTable<'_>,
        stream: &mut Stream,
    ) -> Result<(), ImpossibleDraw> {
        self.refresh_smoothing_mass(table);
        let mut token = 0;
        for index in 0..self.terms.len() {
            let (term, row, count) = self.terms[index];
            for _ in 0..count {
                let old = self.assignments[token];
                if old != UNASSIGNED {
                    self.remove_token(old, table);
                }
                let new = self.draw(term, row, table, stream.uniform())?;
                self.add_token(new, table);
                self.assignments[token] = new;
                token += 1;
            }
        }
        Ok(())
    }

    /// Recomputes the cached Σ n_dk h_k, so that rounding cannot build up.
    fn refresh_smoothing_mass(&mut self, table: FactorTable<'_>) {
        let h = &table.smoothing().factors;
        let terms = self.active.iter().map(|&k| usize::from(k));
        let fresh: f64 = terms
            .map(|k| f64::from(self.counts[k]) * f64::from(h[k]))
            .sum();
        debug_assert!((fresh - self.smoothing_mass).abs() <= 1e-6 * (1e-30 + fresh));
        self.smoothing_mass = fresh;
    }

    #[inline]
    fn remove_token(&mut self, topic: u16, table: FactorTable<'_>) {
        let k = usize::from(topic);
        self.counts[k] -= 1;
        self.smoothing_mass -= f64::from(table.smoothing().factors[k]);
        if self.counts[k] == 0 {
            let place = self.position[k];
            self.active.swap_remove(usize::from(place));
            if let Some(&moved) = self.active.get(usize::from(place)) {
                self.position[usize::from(moved)] = place;
            }
        }
    }

    #[inline]
    fn add_token(&mut self, topic: u16, table: FactorTable<'_>) {
        let k = usize::from(topic);
        if self.counts[k] == 0 {
            self.position[k] = self.active.len() as u16;
            self.active.push(topic);
        }
        self.counts[k] += 1;
        self.smoothing_mass += f64::from(table.smoothing().factors[k]);
    }

    /// Draws a topic for a token of `term` that is not counted at present.
    #[inline]
    fn draw(
        &mut self,
        term: u32,
        row: Row,
        table: FactorTable<'_>,
        uniform: f64,
    ) -> Result<u16, ImpossibleDraw> {
        let smoothing = table.smoothing();
        let prior_mass = row.alpha_mass + smoothing.mass;
        let dense = table.dense(row);
        let (document_mass, smoothing_mass) = match dense {
            Some(weights) => (self.add_up_document(weights), 0.0),
            None => {
                let sparse = table.sparse(row);
                let mass = self.add_up_term(sparse.topics, sparse.weights);
                (
                    mass,
                    if self.active.is_empty() {
                        0.0
                    } else {
                        self.smoothing_mass as f32
                    },
                )
            }
        };
        let total = document_mass + smoothing_mass + prior_mass;
        if !(total > 0.0 && total.is_finite()) {
            return Err(ImpossibleDraw {
                term,
                document_mass,
                smoothing_mass,
                prior_mass,
            });
        }
        let mut target = (uniform * f64::from(total)) as f32;
        if target < document_mass {
            let topics = match dense {
                Some(_) => &self.active[..],
                None => table.sparse(row).topics,
            };
            return Ok(topics[search(&self.running[..topics.len()], target)]);
        }
        target -= document_mass;
        if target < smoothing_mass {
            return Ok(self.search_document_smoothing(&smoothing.factors, target));
        }
        target -= smoothing_mass;
        if target < row.alpha_mass {
            let sparse = table.sparse(row);
            return Ok(sparse.topics[search(sparse.prefix, target)]);
        }
        Ok(search(&smoothing.prefix, target - row.alpha_mass) as u16)
    }

    /// Σ_{k∈d} n_dk (g_kw + h_k), with its running sums, over the document's topics.
    #[inline]
    fn add_up_document(&mut self, weights: &[f32]) -> f32 {
        let counts = &self.counts[..weights.len()];
        let mut sum = 0.0;
        for (&topic, running) in self.active.iter().zip(&mut self.running) {
            let k = usize::from(topic);
            sum += counts[k] as f32 * weights[k];
            *running = sum;
        }
        sum
    }

    /// Σ_{k∈w} n_dk g_kw, with its running sums, over the term's topics.
    #[inline]
    fn add_up_term(&mut self, topics: &[u16], weights: &[f32]) -> f32 {
        let mut sum = 0.0;
        let entries = topics.iter().zip(weights);
        for ((&topic, &weight), running) in entries.zip(&mut self.running) {
            sum += self.counts[usize::from(topic)] as f32 * weight;
            *running = sum;
        }
        sum
    }

    /// The document's topic at `target` in the running sums of n_dk h_k.
    fn search_document_smoothing(&self, h: &[f32], target: f32) -> u16 {
        let mut sum = 0.0;
        let last = self.active[self.active.len() - 1];
        let at = |&&topic: &&u16| {
            let k = usize::from(topic);
            sum += self.counts[k] as f32 * h[k];
            sum > target
        };
        self.active.iter().find(at).copied().unwrap_or(last)
    }

    /// Hands (term, topic) of every token to `visit`.
    pub fn for_each_assignment(&self, mut visit: impl FnMut(u32, u16)) {
        let mut rest = &self.assignments[..];
        for &(term, _, count) in &self.terms {
            let (own, others) = rest.split_at(count as usize);
            own.iter().for_each(|&topic| visit(term, topic));
            rest = others;
        }
    }

    /// Hands the index of each distinct term, its row and its tokens' topics to `visit`.
    pub fn for_each_term(&self, mut visit: impl FnMut(usize, Row, &[u16])) {
        let mut rest = &self.assignments[..];
        for (index, &(_, row, count)) in self.terms.iter().enumerate() {
            let (own, others) = rest.split_at(count as usize);
            visit(index, row, own);
            rest = others;
        }
    }

    /// n_dk, as estimators read them.
    pub fn sample(&self) -> Sampled<'_> {
        Sampled {
            counts: &self.counts,
            active: &self.active,
        }
    }

    /// Tokens that have factors.
    pub fn token_count(&self) -> usize {
        self.assignments.len()
    }
}

/// The first place whose running sum exceeds `target`, or the last place that adds anything.
#[inline]
fn search(running: &[f32], target: f32) -> usize {
    let place = if running.len() <= SCAN_LENGTH {
        running.iter().take_while(|&&sum| sum <= target).count()
    } else {
        running.partition_point(|&sum| sum <= target)
    };
    if place < running.len() {
        place
    } else {
        last_rise(running)
    }
}

/// Rounding can put a target on the very end: the last place with a mass of its own.
#[cold]
fn last_rise(running: &[f32]) -> usize {
    let whole = running[running.len() - 1];
    running.partition_point(|&sum| sum < whole)
}
