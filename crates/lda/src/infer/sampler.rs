//! The sampler: Gibbs sweeps over one document, in time proportional to the topics present or, if the model has few
//! topics, over all of them several at a time (`few`).
//!
//! The plain loop (`reference`, O(K) a token):
//!
//! ```text
//! for each token: remove it from its topic
//!     draw k with p(k) ∝ (α_k + n_dk) (g_kw + h_k)          (Mimno 2012, Eqs. 9 and 15)
//!     add it to k
//! ```
//!
//! Departures from it with more topics, and their gain:
//! 1. The α-part Σ_k α_k (g_kw + h_k) = A_w + H is constant within a round, so its running sums are prepared
//!    (`model::factors`) and a draw that lands there is a binary search. Per token, only the document's part is
//!    added up: O(K_d) instead of the O(K_w) of Eq. 15.
//! 2. For a term with few topics, the sum is over those instead: Σ n_dk g_kw over the term's topics, and Σ n_dk h_k
//!    over the document's, which is kept up to date: O(min(K_d, K_w)).
//! 3. Rare terms come first: their topics are the most certain, and fewer topics are left empty. It also makes
//!    branches predictable, because the terms without dense rows are adjacent.
//! 4. Sums run over blocks of four topics, so that one addition in four waits for the one before it, and places are
//!    found by counting instead of stopping: 7 % less time than one topic at a time.
//! 5. Counts have a place for every `u16`, so reading one needs no bounds check. With one sum per block, for sparse
//!    rows too, a draw takes 540 instructions instead of 588 at K = 1000, and 1190 instead of 1570 at K = 10,000,
//!    most of which go through long rows.
//! 6. Topics that the document has lost stay listed, with a count of 0, until the next sweep.
//!
//! A document whose assignments are remembered ([`resume`](Sampler::resume)) counts in the model it is sampled
//! against. There a token's own count is left out of λ̃_kw, as collapsed Gibbs sampling requires (Griffiths &
//! Steyvers 2004): g_kw minus f_k in the token's old topic k, which has its own mass in a draw, apart from the other
//! topics. With departure 5, draws that looked for it in the row took 726 instructions instead of 640 at K = 1000,
//! and 2110 instead of 1320 at K = 10,000. The count is also part of λ̃_k; this is neglected, an error of one in
//! n_k.

mod draw;
mod few;
mod within;

use draw::{EVERY, LANES};
pub(crate) use draw::{check, search};
use few::{FEW, Few};
use within::Within;

use super::{Bag, ImpossibleDraw};
use crate::estimate::{Proportions, Sampled};
use crate::math::random::Stream;
use crate::model::factors::{BLOCK, CHUNK, FactorTable, Row};

/// A document being sampled. Reused from document to document, with its buffers.
#[derive(Clone, Debug, Default)]
pub struct Sampler {
    /// n_dk for each topic, and 0 from K on: a place for every u16 or, with few topics, for whole chunks.
    counts: Vec<f32>,
    /// The topics with n_dk > 0, and some with 0, in a reproducible order; padded to whole blocks with the topic K.
    active: Vec<u16>,
    /// How many of them are not padding.
    active_count: usize,
    /// For each topic, whether it is among them.
    is_active: Vec<bool>,
    /// Distinct terms that have factors, rare ones first: term, row, tokens.
    terms: Vec<(u32, Row, u32)>,
    /// z_di, the tokens of a term together, in the order of `terms`.
    assignments: Vec<u16>,
    /// The place of each token's leaf among its term's leaves; empty without a tree.
    senses: Vec<u16>,
    /// Σ_{k∈d} n_dk h_k.
    smoothing_mass: f64,
    /// Running sums of the current draw, then infinities: room for every topic.
    running: Vec<f32>,
    /// With few topics, used instead of `is_active`, `smoothing_mass` and `running`.
    few: Few,
    within: Within,
}

/// No topic yet: `model::MAX_TOPICS` keeps this value free.
const UNASSIGNED: u16 = u16::MAX;

/// Returns whether draws go through all topics (`few`) instead of those present (`draw`).
fn is_few(table: FactorTable<'_>) -> bool {
    table.topic_count() <= FEW
}

impl Sampler {
    /// Starts a document: its tokens have no topics yet. Terms without a row are left out.
    pub fn start(&mut self, bag: Bag<'_>, table: FactorTable<'_>) {
        let is_few = is_few(table);
        self.clear(table.topic_count());
        if is_few {
            self.few.start(table);
        }
        // All rows are looked up before any is copied, so that several are fetched from memory at a time.
        for (&term, &count) in bag.terms.iter().zip(bag.counts).rev() {
            if let Some(row) = table.find(term) {
                self.terms.push((term, row, count));
            }
        }
        let length = self.terms.iter().map(|&(.., count)| count as usize).sum();
        self.assignments.resize(length, UNASSIGNED);
        if is_few {
            for &(_, row, count) in &self.terms {
                self.few.push(row, count, table);
            }
        }
    }

    /// Starts a document whose tokens have topics drawn from α_k h_k, whatever their terms; if it is
    /// [restricted](Self::restrict), from the α_k of its `topics`.
    pub(crate) fn scatter(
        &mut self,
        bag: Bag<'_>,
        table: FactorTable<'_>,
        topics: &[u16],
        stream: &mut Stream,
    ) {
        self.start(bag, table);
        self.restrict(topics);
        let smoothing = table.smoothing();
        if !topics.is_empty() {
            self.scatter_within(table, stream);
        } else {
            for z in &mut self.assignments {
                let target = stream.uniform_f32() * smoothing.mass;
                *z = search(&smoothing.prefix, target) as u16;
            }
        }
        self.count(table);
    }

    /// Resumes a document whose assignments, in the order of [`assignments`](Self::assignments), count in the
    /// model; all its terms must have factors. Under a tree, a token is remembered as its topic + K · its sense.
    pub fn resume(&mut self, bag: Bag<'_>, table: FactorTable<'_>, remembered: &[u16]) {
        self.start(bag, table);
        debug_assert_eq!(self.assignments.len(), remembered.len());
        self.assignments.copy_from_slice(remembered);
        if table.tree().is_some() {
            let topics = table.topic_count() as u16;
            self.senses.extend(remembered.iter().map(|z| z / topics));
            self.assignments.iter_mut().for_each(|z| *z %= topics);
        }
        self.count(table);
    }

    /// Counts the topics of all tokens.
    fn count(&mut self, table: FactorTable<'_>) {
        let assignments = std::mem::take(&mut self.assignments);
        let (is_few, filler) = (is_few(table), table.topic_count() as u16);
        for &topic in &assignments {
            let k = usize::from(topic);
            if !is_few && !self.is_active[k] {
                self.list(topic, filler);
            }
            self.counts[k] += 1.0;
        }
        self.assignments = assignments;
        if is_few {
            return self.few.count(&self.counts, table);
        }
        let h = &table.smoothing().factors;
        let active = self.active[..self.active_count].iter();
        self.smoothing_mass = active.map(|&k| self.smoothing_of(k, h)).sum();
    }

    /// Returns n_dk h_k.
    #[inline]
    fn smoothing_of(&self, topic: u16, h: &[f32]) -> f64 {
        let k = usize::from(topic);
        f64::from(self.counts[k]) * f64::from(h[k])
    }

    fn clear(&mut self, topic_count: usize) {
        if topic_count <= FEW {
            self.counts.clear();
            self.counts.resize((topic_count + 1).next_multiple_of(CHUNK), 0.0);
            self.is_active.clear();
        } else if self.is_active.len() == topic_count + 1 {
            for &topic in &self.active {
                self.counts[usize::from(topic)] = 0.0;
                self.is_active[usize::from(topic)] = false;
            }
        } else {
            self.counts = vec![0.0; EVERY];
            self.is_active = vec![false; topic_count + 1];
            self.running = vec![0.0; (topic_count + BLOCK + 1).next_multiple_of(LANES) + LANES];
        }
        self.active.clear();
        self.active_count = 0;
        self.terms.clear();
        self.assignments.clear();
        self.senses.clear();
        self.within.topics.clear();
        self.smoothing_mass = 0.0;
    }

    /// Sweeps over all tokens. The first sweep after [`start`](Self::start) is sequential: each token is drawn
    /// given those before it (Mimno 2012, footnote 3).
    pub fn sweep(
        &mut self,
        table: FactorTable<'_>,
        stream: &mut Stream,
    ) -> Result<(), ImpossibleDraw> {
        self.sweep_tokens::<false>(table, stream)
    }

    /// Sweeps over a document that counts in the model, leaving out each token's own count.
    pub fn sweep_own(
        &mut self,
        table: FactorTable<'_>,
        stream: &mut Stream,
    ) -> Result<(), ImpossibleDraw> {
        self.sweep_tokens::<true>(table, stream)
    }

    fn sweep_tokens<const OWN: bool>(
        &mut self,
        table: FactorTable<'_>,
        stream: &mut Stream,
    ) -> Result<(), ImpossibleDraw> {
        if !self.within.topics.is_empty() {
            return self.sweep_within::<OWN>(table, stream);
        }
        if is_few(table) {
            return self.sweep_few::<OWN>(table, stream);
        }
        self.forget_lost_topics(table);
        let mut place = 0;
        let terms = std::mem::take(&mut self.terms);
        for &(term, ref row, count) in &terms {
            for _ in 0..count {
                let old = self.assignments[place];
                if old != UNASSIGNED {
                    self.remove_token(old, table);
                }
                let sense = self.sense(place);
                let token = draw::Token { term, row, old, sense };
                let new = self.draw::<OWN>(token, table, stream)?;
                self.add_token(new, table);
                self.assignments[place] = new;
                place += 1;
            }
        }
        self.terms = terms;
        Ok(())
    }

    /// Returns the sense that a token was resumed with.
    #[inline(always)]
    fn sense(&self, place: usize) -> u16 {
        self.senses.get(place).copied().unwrap_or_default()
    }

    /// Removes topics without tokens from the list, and recomputes the cached Σ n_dk h_k, so that rounding cannot
    /// build up.
    fn forget_lost_topics(&mut self, table: FactorTable<'_>) {
        let h = &table.smoothing().factors;
        let (mut kept, mut fresh) = (0, 0.0);
        for place in 0..self.active_count {
            let topic = self.active[place];
            let k = usize::from(topic);
            self.is_active[k] = self.counts[k] > 0.0;
            if self.is_active[k] {
                fresh += self.smoothing_of(topic, h);
                self.active[kept] = topic;
                kept += 1;
            }
        }
        self.active.truncate(kept);
        self.active_count = kept;
        let filled = kept.next_multiple_of(BLOCK);
        self.active.resize(filled, table.topic_count() as u16);
        debug_assert!((fresh - self.smoothing_mass).abs() <= 1e-6 * (1e-30 + fresh));
        self.smoothing_mass = fresh;
    }

    #[inline(always)]
    fn remove_token(&mut self, topic: u16, table: FactorTable<'_>) {
        let k = usize::from(topic);
        self.counts[k] -= 1.0;
        self.smoothing_mass -= f64::from(table.smoothing().factors[k]);
    }

    #[inline(always)]
    fn add_token(&mut self, topic: u16, table: FactorTable<'_>) {
        let k = usize::from(topic);
        if !self.is_active[k] {
            self.list(topic, table.topic_count() as u16);
        }
        self.counts[k] += 1.0;
        self.smoothing_mass += f64::from(table.smoothing().factors[k]);
    }

    #[cold]
    #[inline(never)]
    fn list(&mut self, topic: u16, filler: u16) {
        self.is_active[usize::from(topic)] = true;
        if self.active_count == self.active.len() {
            self.active.extend_from_slice(&[filler; BLOCK]);
        }
        self.active[self.active_count] = topic;
        self.active_count += 1;
    }

    /// Returns z_di of all tokens that have factors: the tokens of a term together, the largest term first.
    pub fn assignments(&self) -> &[u16] {
        &self.assignments
    }

    /// Returns each distinct term, its row and its tokens' topics, in the order of [`assignments`](Self::assignments).
    #[inline]
    pub fn runs(&self) -> impl Iterator<Item = (u32, Row, &[u16])> {
        let mut rest = &self.assignments[..];
        self.terms.iter().map(move |&(term, row, count)| {
            let (own, others) = rest.split_at(count as usize);
            rest = others;
            (term, row, own)
        })
    }

    /// Returns n_dk, as estimators read them.
    pub fn sample(&mut self) -> Sampled<'_> {
        self.list_present();
        self.sampled()
    }

    /// With few topics, lists those with n_dk > 0, ascending; otherwise they are listed already.
    fn list_present(&mut self) {
        if !self.is_active.is_empty() {
            return;
        }
        self.active.resize(self.counts.len(), 0);
        self.active_count = 0;
        for (k, &count) in self.counts.iter().enumerate() {
            self.active[self.active_count] = k as u16;
            self.active_count += usize::from(count > 0.0);
        }
    }

    fn sampled(&self) -> Sampled<'_> {
        Sampled { counts: &self.counts, active: &self.active[..self.active_count] }
    }

    /// Adds a soft sample to the document's proportions.
    pub fn add_soft(&mut self, estimate: &mut Proportions, table: FactorTable<'_>) {
        self.list_present();
        let sample = self.sampled();
        estimate.begin_sample();
        for (index, (_, row, own)) in self.runs().enumerate() {
            estimate.add_term(index, row, own, sample, table);
        }
        estimate.end_sample(sample, table);
    }

    /// Returns the number of tokens that have factors.
    pub fn token_count(&self) -> usize {
        self.assignments.len()
    }
}
