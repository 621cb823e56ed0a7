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

use super::{Bag, ImpossibleDraw};
use crate::estimate::{Proportions, Sampled};
use crate::math::draw::running_sums;
use crate::math::random::Stream;
use crate::model::factors::{BLOCK, CHUNK, Chunk, FactorTable, Row, SparseRow, flat, flat_mut};

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
pub(super) fn is_few(table: FactorTable<'_>) -> bool {
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
                let token = Token { term, row, old, sense };
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

// The draw of one token's topic: adding up masses, and finding the place of a random number in
// them.

/// A token to be drawn.
#[derive(Clone, Copy)]
struct Token<'a> {
    term: u32,
    row: &'a Row,
    /// Its old topic; its own count there is left out of the model's.
    old: u16,
    /// The place of its old leaf among its term's leaves.
    sense: u16,
}

impl Token<'_> {
    /// Returns the token's own part of its old topic's factor.
    #[inline(always)]
    fn own_part(self, table: FactorTable<'_>) -> f32 {
        table.own_part(self.term, *self.row, self.old, self.sense)
    }
}

/// The count and the mass that are set apart from a document's for a draw.
#[derive(Clone, Copy, Default)]
struct Apart {
    count: f32,
    mass: f32,
}

/// Returns counts for every `u16`, so that no index can be out of bounds or needs a check.
#[inline(always)]
fn every(counts: &[f32]) -> &[f32; EVERY] {
    counts.first_chunk().expect("`clear` makes room for them")
}

/// Returns g_kw of the token's old topic.
#[inline(always)]
fn weight_of(token: Token<'_>, table: FactorTable<'_>) -> f32 {
    let sparse = table.sparse(*token.row);
    match sparse.topics.binary_search(&token.old) {
        Ok(place) => sparse.weights[place],
        Err(_) => 0.0,
    }
}

impl Sampler {
    /// Draws a topic for a token that is currently not counted.
    #[inline(always)]
    fn draw<const OWN: bool>(
        &mut self,
        token: Token<'_>,
        table: FactorTable<'_>,
        stream: &mut Stream,
    ) -> Result<u16, ImpossibleDraw> {
        match table.dense(*token.row) {
            Some(weights) => self.draw_dense::<OWN>(token, weights, table, stream),
            None => self.draw_sparse::<OWN>(token, table.blocks(*token.row), table, stream),
        }
    }

    /// Adds up Σ_{k∈d} n_dk (g_kw + h_k) over the document's topics, and draws.
    #[inline(always)]
    fn draw_dense<const OWN: bool>(
        &mut self,
        token: Token<'_>,
        weights: &[f32],
        table: FactorTable<'_>,
        stream: &mut Stream,
    ) -> Result<u16, ImpossibleDraw> {
        let own = if OWN {
            self.set_apart(token, weights[usize::from(token.old)], table)
        } else {
            Apart::default()
        };
        let counts = every(&self.counts);
        let mass = |topic: u16| counts[usize::from(topic)] * weights[usize::from(topic)];
        let (blocks, _) = self.active.as_chunks::<BLOCK>();
        let mut sum = 0.0;
        for (block, running) in blocks.iter().zip(&mut self.running) {
            let &[a, b, c, d] = block;
            sum += (mass(a) + mass(b)) + (mass(c) + mass(d));
            *running = sum;
        }
        close(&mut self.running, blocks.len());
        let prior = table.prior_mass(*token.row);
        let total = check(token.term, sum + own.mass, 0.0, prior)?;
        let drawn = loop {
            let target = stream.uniform_f32() * total;
            if target < sum {
                let (place, rest) = place_of(&self.running, blocks.len(), target);
                break pick(&blocks[place], counts, blocks[place].map(mass), rest);
            }
            let target = target - sum;
            if OWN && target < own.mass {
                break token.old;
            }
            if let Some(topic) = self.draw_prior::<OWN>(token, target - own.mass, table) {
                break topic;
            }
        };
        self.put_back::<OWN>(token.old, own);
        Ok(drawn)
    }

    /// Adds up Σ_{k∈w} n_dk g_kw over the term's topics, and draws.
    #[inline(always)]
    fn draw_sparse<const OWN: bool>(
        &mut self,
        token: Token<'_>,
        row: SparseRow<'_>,
        table: FactorTable<'_>,
        stream: &mut Stream,
    ) -> Result<u16, ImpossibleDraw> {
        let own = if OWN && every(&self.counts)[usize::from(token.old)] > 0.0 {
            self.set_apart(token, weight_of(token, table), table)
        } else {
            Apart::default()
        };
        let counts = every(&self.counts);
        let (topics, _) = row.topics.as_chunks::<BLOCK>();
        let (weights, _) = row.weights.as_chunks::<BLOCK>();
        let mass = |topic: u16, weight: f32| counts[usize::from(topic)] * weight;
        let mut sum = 0.0f32;
        for ((k, g), running) in topics.iter().zip(weights).zip(&mut self.running) {
            sum += (mass(k[0], g[0]) + mass(k[1], g[1])) + (mass(k[2], g[2]) + mass(k[3], g[3]));
            *running = sum;
        }
        close(&mut self.running, topics.len());
        let smoothing = self.smoothing_mass as f32;
        let prior = token.row.alpha_mass + table.smoothing().mass;
        let total = check(token.term, sum + own.mass, smoothing, prior)?;
        let mut is_smoothing = false;
        let mut target;
        let drawn = loop {
            target = stream.uniform_f32() * total;
            if target < sum {
                let (place, rest) = place_of(&self.running, topics.len(), target);
                let (k, g) = (&topics[place], &weights[place]);
                let masses = std::array::from_fn(|i| mass(k[i], g[i]));
                break pick(k, counts, masses, rest);
            }
            target -= sum;
            if OWN && target < own.mass {
                break token.old;
            }
            target -= own.mass;
            if target < smoothing {
                is_smoothing = true;
                break token.old;
            }
            if let Some(topic) = self.draw_prior::<OWN>(token, target - smoothing, table) {
                break topic;
            }
        };
        self.put_back::<OWN>(token.old, own);
        Ok(if is_smoothing {
            self.search_smoothing(&table.smoothing().factors, target)
        } else {
            drawn
        })
    }

    /// Sets a token's old topic apart from the document's, for a draw that leaves the token's own count out of the
    /// model's. Returns the topic's count, and the mass that it has without the token.
    #[inline(always)]
    fn set_apart(&mut self, token: Token<'_>, weight: f32, table: FactorTable<'_>) -> Apart {
        let count = std::mem::take(&mut self.counts[usize::from(token.old)]);
        // At least 0: rounding may make g_kw smaller than the token's own part of it.
        let mass = count * (weight - token.own_part(table)).max(0.0);
        Apart { count, mass }
    }

    #[inline(always)]
    fn put_back<const OWN: bool>(&mut self, topic: u16, own: Apart) {
        if OWN && own.count > 0.0 {
            self.counts[usize::from(topic)] = own.count;
        }
    }

    /// Returns the topic at `target` in the prior's part, A_w and then H; `None` if the target hits the token's own
    /// count.
    fn draw_prior<const OWN: bool>(
        &self,
        token: Token<'_>,
        target: f32,
        table: FactorTable<'_>,
    ) -> Option<u16> {
        let smoothing = table.smoothing();
        if !token.row.is_whole() && target >= token.row.alpha_mass {
            let place = search(&smoothing.prefix, target - token.row.alpha_mass);
            return Some(place as u16);
        }
        let sparse = table.sparse(*token.row);
        let place = search(sparse.prefix, target);
        let topic = sparse.topics[place];
        let before = if place > 0 { sparse.prefix[place - 1] } else { 0.0 };
        let is_own = || {
            let own = smoothing.alpha[usize::from(topic)] * token.own_part(table);
            target - before < own
        };
        (!(OWN && topic == token.old && is_own())).then_some(topic)
    }

    /// Returns the document's topic at `target` in the running sums of n_dk h_k.
    fn search_smoothing(&self, h: &[f32], target: f32) -> u16 {
        let (mut sum, mut last) = (0.0, self.active[0]);
        for &topic in &self.active[..self.active_count] {
            let k = usize::from(topic);
            if self.counts[k] > 0.0 {
                sum += self.counts[k] * h[k];
                last = topic;
                if sum > target {
                    break;
                }
            }
        }
        last
    }
}

/// There are fewer topics than this.
const EVERY: usize = 1 << u16::BITS;
/// Places are found by counting, this many at a time.
const LANES: usize = 8;
/// More sums than this are searched by bisection.
const COUNTED_AT_MOST: usize = 64;

/// Returns the total mass of a draw, if it is positive and finite.
#[inline(always)]
pub(crate) fn check(
    term: u32,
    document: f32,
    smoothing: f32,
    prior: f32,
) -> Result<f32, ImpossibleDraw> {
    let total = document + smoothing + prior;
    // Cheaper than `is_finite`: twenty fewer instructions.
    if total > 0.0 && total <= f32::MAX {
        return Ok(total);
    }
    let masses = [document, smoothing, prior];
    Err(ImpossibleDraw { term, masses })
}

/// Terminates running sums with infinities, so that they can be counted in whole lanes.
#[inline(always)]
fn close(running: &mut [f32], length: usize) {
    running[length..length + LANES].fill(f32::INFINITY);
}

/// Returns the first place of the `length` running sums that exceeds `target`, the last that adds anything if rounding
/// puts the target beyond, and how far into that place's mass the target lies.
#[inline(always)]
fn place_of(running: &[f32], length: usize, target: f32) -> (usize, f32) {
    let place = find(running, length, target);
    let before = if place > 0 { running[place - 1] } else { 0.0 };
    (place, target - before)
}

#[inline(always)]
fn find(running: &[f32], length: usize, target: f32) -> usize {
    if length > COUNTED_AT_MOST {
        return search(&running[..length], target);
    }
    let (lanes, _) = running[..length.next_multiple_of(LANES)].as_chunks::<LANES>();
    let not_above = |lane: &[f32; LANES]| lane.iter().map(|&s| u32::from(s <= target)).sum::<u32>();
    let place = lanes.iter().map(not_above).sum::<u32>() as usize;
    if place < length { place } else { last_rise(&running[..length]) }
}

/// Returns the topic of a block at `target` in the running sums of its masses.
#[inline(always)]
fn pick(block: &[u16; BLOCK], counts: &[f32; EVERY], masses: [f32; BLOCK], target: f32) -> u16 {
    let second = masses[0] + masses[1];
    let sums = [masses[0], second, second + masses[2]];
    let place: usize = sums.iter().map(|&s| usize::from(target >= s)).sum();
    if masses[place] > 0.0 {
        return block[place];
    }
    behind(block, counts, masses)
}

/// Returns the last topic that has a mass, or else a count, for a target that rounding put behind it.
#[cold]
#[inline(never)]
fn behind(block: &[u16; BLOCK], counts: &[f32; EVERY], masses: [f32; BLOCK]) -> u16 {
    let places = || (0..BLOCK).rev();
    let is_present = |&i: &usize| counts[usize::from(block[i])] > 0.0;
    let last = places().find(|&i| masses[i] > 0.0);
    block[last.or_else(|| places().find(is_present)).unwrap_or(0)]
}

/// Returns the first place whose running sum exceeds `target`, or the last place that adds anything.
#[inline]
pub(crate) fn search<T: PartialOrd + From<f32>>(running: &[f32], target: T) -> usize {
    let place = running.partition_point(|&sum| T::from(sum) <= target);
    if place < running.len() { place } else { last_rise(running) }
}

/// Returns the last place with its own mass, for a target that rounding puts at the very end.
#[cold]
fn last_rise(running: &[f32]) -> usize {
    let whole = running[running.len() - 1];
    running.partition_point(|&sum| sum < whole)
}

// Sweeps for few topics: every draw goes through all of them, several at a time.
//
// The plain loop (`few_tests::plain`): with a_k = α_k + n_dk, the current token not counted,
//
// ```text
// total = Σ_k a_k e_kw; target = uniform · total
// draw the first topic k with a_0 e_0w + … + a_k e_kw > target
// ```
//
// Departures from it, and their gain over `draw`, which adds up only the document's topics (K = 100, 20
// Newsgroups; five sweeps per document: 327 instructions per draw instead of 416, 0.78 to 0.86 of the time; one
// sweep per visit: 532 instead of 527, 0.82 to 0.94 of the time):
// 1. Rows are written contiguously, e_kw for all k, when a document starts, and a_k is stored beside them. A draw
// then needs no list of topics, no look-up by topic and no search in the prior's part, and cold rows are read
// from memory one after another, before any draw waits for them.
// 2. Topics are visited in another order, which adds four sums at a time: chunk by chunk within a lane, and lane
// after lane; lane l of a chunk has its topics l, l + 8, l + 4, l + 12.
// 3. A token's old topic comes last, with its own mass: a branch predictor learns that most draws end there.
// Without that branch, draws took 15 % longer. The token's own count is also left out of λ̃_kw exactly, so no
// draw has to be rejected.
// 4. The number of chunks is a compile-time constant, and the loop is over tokens, not over terms and their
// tokens: together this saves a sixth of the instructions.
//
// Tried and dropped: AVX2 in addition to the baseline (fewer instructions, no faster), changing a_k by whole
// vectors (slower).

/// The largest number of topics for these sweeps: a draw_from_all's time grows with the topics, whatever the document has.
const FEW: usize = MOST_CHUNKS * CHUNK - 1;
const MOST_CHUNKS: usize = 8;

/// Sums are added up this many at a time.
const FEW_LANES: usize = 4;
type Lanes = [f32; FEW_LANES];

/// The state of a document with few topics, besides its counts.
#[derive(Clone, Debug, Default)]
struct Few {
    /// α_k + n_dk, and 0 in the padding of the last chunk.
    raised: Vec<Chunk>,
    /// The factors e_kw of each distinct term, one after another.
    rows: Vec<Chunk>,
    /// For each token, the index of its term's row.
    row_of: Vec<u32>,
}

impl Few {
    fn start(&mut self, table: FactorTable<'_>) {
        self.raised.clear();
        self.raised.extend_from_slice(&table.smoothing().chunks.alpha);
        self.rows.clear();
        self.row_of.clear();
    }

    /// Adds a term with `count` tokens.
    #[inline]
    fn push(&mut self, row: Row, count: u32, table: FactorTable<'_>) {
        let number = self.rows.len() / self.raised.len();
        let length = self.row_of.len() + count as usize;
        self.row_of.resize(length, number as u32);
        table.write(row, &mut self.rows);
    }

    /// Sets the counts of a document whose tokens have topics.
    fn count(&mut self, counts: &[f32], table: FactorTable<'_>) {
        let alpha = &table.smoothing().alpha;
        let raised = flat_mut(&mut self.raised).iter_mut();
        for ((raised, count), alpha) in raised.zip(counts).zip(alpha) {
            *raised = count + alpha;
        }
    }
}

impl Sampler {
    /// Sweeps as [`sweep_tokens`](Self::sweep_tokens) does.
    fn sweep_few<const OWN: bool>(
        &mut self,
        table: FactorTable<'_>,
        stream: &mut Stream,
    ) -> Result<(), ImpossibleDraw> {
        match self.few.raised.len() {
            1 => self.sweep_chunks::<OWN, 1>(table, stream),
            2 => self.sweep_chunks::<OWN, 2>(table, stream),
            3 => self.sweep_chunks::<OWN, 3>(table, stream),
            4 => self.sweep_chunks::<OWN, 4>(table, stream),
            5 => self.sweep_chunks::<OWN, 5>(table, stream),
            6 => self.sweep_chunks::<OWN, 6>(table, stream),
            7 => self.sweep_chunks::<OWN, 7>(table, stream),
            _ => self.sweep_chunks::<OWN, MOST_CHUNKS>(table, stream),
        }
    }

    /// Sweeps over topics that take up N chunks, a compile-time constant, so that loops have a fixed length.
    fn sweep_chunks<const OWN: bool, const N: usize>(
        &mut self,
        table: FactorTable<'_>,
        stream: &mut Stream,
    ) -> Result<(), ImpossibleDraw> {
        let fixed = &table.smoothing().chunks;
        let (alpha, unit) = (flat(whole::<N>(&fixed.alpha)), flat(whole::<N>(&fixed.unit)));
        let (counts, _) = self.counts.as_chunks_mut::<CHUNK>();
        let counts = counts[..N].as_flattened_mut();
        let (raised, _) = self.few.raised.as_chunks_mut::<N>();
        let raised = &mut raised[0];
        let (rows, _) = self.few.rows.as_chunks::<N>();
        let senses = &self.senses;
        for (place, (z, &number)) in self.assignments.iter_mut().zip(&self.few.row_of).enumerate() {
            let row = &rows[number as usize];
            let old = usize::from(*z);
            let mut token = OldToken { old: *z, mass: 0.0 };
            let mut put_back = 0.0;
            if *z != UNASSIGNED {
                let unit = match (OWN, senses.is_empty()) {
                    (false, _) => 0.0,
                    (true, true) => unit[old],
                    (true, false) => {
                        let (term, row, _) = self.terms[number as usize];
                        table.own_part(term, row, *z, senses[place])
                    }
                };
                // At least 0: rounding may make e_kw smaller than the token's own part of it.
                let factor = (flat(row)[old] - unit).max(0.0);
                token.mass = (counts[old] - 1.0 + alpha[old]) * factor;
                put_back = std::mem::take(&mut flat_mut(raised)[old]);
            }
            let Some(new) = draw_from_all(raised, row, token, stream.uniform_f32()) else {
                let (term, ..) = self.terms[number as usize];
                return Err(impossible(term, raised, row, token.mass));
            };
            let raised = flat_mut(raised);
            if *z != UNASSIGNED {
                raised[old] = put_back;
                if new == *z {
                    continue;
                }
                counts[old] -= 1.0;
                raised[old] = counts[old] + alpha[old];
            }
            let k = usize::from(new);
            counts[k] += 1.0;
            raised[k] = counts[k] + alpha[k];
            *z = new;
        }
        Ok(())
    }
}

fn whole<const N: usize>(chunks: &[Chunk]) -> &[Chunk; N] {
    &chunks.as_chunks::<N>().0[0]
}

/// A token to be drawn: its old topic, and the mass that it has there.
#[derive(Clone, Copy)]
struct OldToken {
    old: u16,
    mass: f32,
}

/// Draws a topic by the masses `raised[k] * row[k]`, of which the old topic's is 0, and the token's own mass;
/// `None` if they do not add up to a positive, finite number.
#[inline(always)]
fn draw_from_all<const N: usize>(
    raised: &[Chunk; N],
    row: &[Chunk; N],
    token: OldToken,
    uniform: f32,
) -> Option<u16> {
    let mut running = [[0.0; FEW_LANES]; N];
    add_up(raised, row, &mut running);
    let sums = running[N - 1];
    let first = sums[0];
    let second = first + sums[1];
    let third = second + sums[2];
    let others = second + (sums[2] + sums[3]);
    let total = others + token.mass;
    if !(total > 0.0 && total <= f32::MAX) {
        return None;
    }
    let target = uniform * total;
    if target >= others && token.mass > 0.0 {
        return Some(token.old);
    }
    let starts = [0.0, first, second, third];
    let rests: Lanes = std::array::from_fn(|l| target - starts[l]);
    let mut places = [0; FEW_LANES];
    for sums in &running {
        for l in 0..FEW_LANES {
            places[l] += u32::from(sums[l] <= rests[l]);
        }
    }
    let l = count_up_to([first, second, third], target);
    let c = places[l] as usize;
    if c < N {
        let start = if c > 0 { running[c - 1][l] } else { 0.0 };
        let (a, e) = (&raised[c].0, &row[c].0);
        let first = a[l] * e[l];
        let second = first + a[l + 8] * e[l + 8];
        let third = second + a[l + 4] * e[l + 4];
        let lane = l + [0, 8, 4, 12][count_up_to([first, second, third], rests[l] - start)];
        if a[lane] * e[lane] > 0.0 {
            return Some((c * CHUNK + lane) as u16);
        }
    }
    Some(beyond(raised, row, token))
}

/// Returns how many of three ascending sums do not exceed `target`.
#[inline(always)]
fn count_up_to(sums: [f32; 3], target: f32) -> usize {
    let [first, second, third] = sums.map(|sum| usize::from(target >= sum));
    first + second + third
}

/// Computes running sums of the masses, lane by lane. Not inlined, because the compiler would see that the sums are
/// taken apart afterwards, and add them up in pieces, which takes more instructions.
#[inline(never)]
fn add_up<const N: usize>(raised: &[Chunk; N], row: &[Chunk; N], running: &mut [Lanes; N]) {
    let mut sums = [0.0; FEW_LANES];
    for ((Chunk(a), Chunk(e)), running) in raised.iter().zip(row).zip(running) {
        let masses: [f32; CHUNK] = std::array::from_fn(|i| a[i] * e[i]);
        for l in 0..FEW_LANES {
            sums[l] += (masses[l] + masses[l + 8]) + (masses[l + 4] + masses[l + 12]);
        }
        *running = sums;
    }
}

/// Returns the topic of the largest mass, for a target that rounding puts beyond the last mass of its lane.
#[cold]
#[inline(never)]
fn beyond(raised: &[Chunk], row: &[Chunk], token: OldToken) -> u16 {
    let (mut largest, mut topic) = (token.mass, token.old);
    for (k, (a, e)) in flat(raised).iter().zip(flat(row)).enumerate() {
        if a * e > largest {
            (largest, topic) = (a * e, k as u16);
        }
    }
    topic
}

#[cold]
#[inline(never)]
fn impossible(term: u32, raised: &[Chunk], row: &[Chunk], own: f32) -> ImpossibleDraw {
    let masses = flat(raised).iter().zip(flat(row)).map(|(a, e)| a * e);
    let masses = [masses.sum::<f32>() + own, 0.0, 0.0];
    ImpossibleDraw { term, masses }
}

// Sweeps over a document that may have only some topics: those of its labels (Labeled LDA; Ramage, Hall, Nallapati
// & Manning 2009; Papanikolaou 2017, §2.4). A plain loop over them suffices, because a document has few labels,
// however many there are in all.

/// The state of a document that is restricted to some topics, besides its counts.
#[derive(Clone, Debug, Default)]
struct Within {
    /// The topics that it may have, ascending; if none, it may have all.
    topics: Vec<u16>,
    /// e_kw of the current term for each of them.
    factors: Vec<f32>,
    /// Running sums of the current draw.
    running: Vec<f32>,
}

impl Sampler {
    /// Restricts the started document to `topics`, ascending; if there are none, it is not restricted.
    pub fn restrict(&mut self, topics: &[u16]) {
        self.within.topics.extend_from_slice(topics);
    }

    /// Assigns each token one of the document's topics, drawn from α_k.
    fn scatter_within(&mut self, table: FactorTable<'_>, stream: &mut Stream) {
        let alpha = &table.smoothing().alpha;
        let Within { topics, running, .. } = &mut self.within;
        let mass = running_sums(topics.iter().map(|&k| alpha[usize::from(k)]), running);
        for z in &mut self.assignments {
            let target = stream.uniform_f32() * mass;
            *z = topics[search(running, target)];
        }
    }

    /// Sweeps as [`sweep_tokens`](Self::sweep_tokens) does.
    fn sweep_within<const OWN: bool>(
        &mut self,
        table: FactorTable<'_>,
        stream: &mut Stream,
    ) -> Result<(), ImpossibleDraw> {
        let mut within = std::mem::take(&mut self.within);
        let swept = self.sweep_topics::<OWN>(&mut within, table, stream);
        if !is_few(table) {
            self.list_only(&within.topics);
        }
        self.within = within;
        swept
    }

    /// Lists those of `topics` that have tokens, and no others.
    fn list_only(&mut self, topics: &[u16]) {
        let counts = &self.counts;
        let has_tokens = |&&k: &&u16| counts[usize::from(k)] > 0.0;
        let before = std::mem::take(&mut self.active);
        self.active.extend(topics.iter().filter(has_tokens));
        self.active_count = self.active.len();
        (before.iter()).for_each(|&k| self.is_active[usize::from(k)] = false);
        (self.active.iter()).for_each(|&k| self.is_active[usize::from(k)] = true);
    }

    fn sweep_topics<const OWN: bool>(
        &mut self,
        within: &mut Within,
        table: FactorTable<'_>,
        stream: &mut Stream,
    ) -> Result<(), ImpossibleDraw> {
        let Within { topics, factors, running } = within;
        let smoothing = table.smoothing();
        let mut first = 0;
        for &(term, row, count) in &self.terms {
            factors.clear();
            table.write_some(row, topics, factors);
            let tokens = first..first + count as usize;
            first = tokens.end;
            for place in tokens {
                let (old, sense) = (self.assignments[place], self.sense(place));
                if old != UNASSIGNED {
                    self.counts[usize::from(old)] -= 1.0;
                }
                let mass = |(&topic, &factor): (&u16, &f32)| {
                    let k = usize::from(topic);
                    let own = OWN && topic == old;
                    // At least 0: rounding may make e_kw smaller than the token's own part of it.
                    let others = if own {
                        (factor - table.own_part(term, row, topic, sense)).max(0.0)
                    } else {
                        factor
                    };
                    (smoothing.alpha[k] + self.counts[k]) * others
                };
                let sum = running_sums(topics.iter().zip(&*factors).map(mass), running);
                let total = check(term, sum, 0.0, 0.0)?;
                let drawn = topics[search(running, stream.uniform_f32() * total)];
                self.counts[usize::from(drawn)] += 1.0;
                self.assignments[place] = drawn;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod few_tests {
    use super::*;
    use crate::math::random::Stage;

    const N: usize = 7;

    /// Topics in the order in which a draw_from_all goes through them.
    fn order(chunks: usize) -> impl Iterator<Item = usize> {
        (0..FEW_LANES).flat_map(move |l| {
            (0..chunks).flat_map(move |c| [0, 8, 4, 12].map(|lane| c * CHUNK + l + lane))
        })
    }

    /// The plain loop, in f64, and the distance of the target from the nearest running sum, as a share of the total.
    fn plain(raised: &[Chunk], row: &[Chunk], token: OldToken, uniform: f32) -> (u16, f64) {
        let mass = |k: usize| f64::from(flat(raised)[k]) * f64::from(flat(row)[k]);
        let masses = order(raised.len()).map(|k| (k as u16, mass(k)));
        let masses: Vec<_> = masses
            .chain([(token.old, f64::from(token.mass))])
            .filter(|&(_, mass)| mass > 0.0)
            .collect();
        let total: f64 = masses.iter().map(|&(_, mass)| mass).sum();
        let target = f64::from(uniform) * total;
        let (mut sum, mut drawn, mut nearest) = (0.0, None, target);
        for &(topic, mass) in &masses {
            sum += mass;
            nearest = f64::min(nearest, (sum - target).abs());
            if sum > target {
                drawn = drawn.or(Some(topic));
            }
        }
        let (last, _) = masses[masses.len() - 1];
        (drawn.unwrap_or(last), nearest / total)
    }

    /// Masses like a document's: most topics have only their prior.
    fn random_masses(stream: &mut Stream, topics: usize) -> ([Chunk; N], [Chunk; N]) {
        let (mut raised, mut row) = ([Chunk::default(); N], [Chunk::default(); N]);
        for k in 0..topics {
            let is_present = stream.below(5) == 0;
            let count = if is_present { stream.below(30) } else { 0 };
            flat_mut(&mut raised)[k] = 0.05 + count as f32;
            flat_mut(&mut row)[k] = stream.uniform_f32().powi(4);
        }
        (raised, row)
    }

    #[test]
    fn draws_are_those_of_the_plain_loop() {
        let mut stream = Stream::keyed(3, Stage::Synth, 0, 0);
        let mut compared = 0;
        for round in 0..20_000 {
            let topics = 96 + round % 16;
            let (mut raised, row) = random_masses(&mut stream, topics);
            let old = stream.below(topics as u64) as u16;
            flat_mut(&mut raised)[usize::from(old)] = 0.0;
            let mass = 3.0 * stream.uniform_f32();
            let token = OldToken { old, mass };
            let uniform = stream.uniform_f32();
            let (expected, gap) = plain(&raised, &row, token, uniform);
            if gap > 1e-5 {
                assert_eq!(draw_from_all(&raised, &row, token, uniform), Some(expected));
                compared += 1;
            }
        }
        assert!(compared > 19_000, "{compared}");
    }

    #[test]
    fn a_topic_without_a_mass_is_never_drawn() {
        let (mut raised, mut row) = ([Chunk::default(); N], [Chunk::default(); N]);
        for k in [3, 50, 99] {
            flat_mut(&mut raised)[k] = 1.0;
            flat_mut(&mut row)[k] = 0.1;
        }
        let token = OldToken { old: 7, mass: 0.0 };
        for uniform in [0.0, 0.3, 0.333_333_34, 0.5, 0.7, 1.0 - f32::EPSILON / 2.0, 1.0] {
            let drawn = draw_from_all(&raised, &row, token, uniform).expect("there is a mass");
            assert!([3, 50, 99].contains(&drawn), "{uniform}: {drawn}");
        }
        let alone = OldToken { old: 7, mass: 0.1 };
        let empty = [Chunk::default(); N];
        assert_eq!(draw_from_all(&empty, &row, alone, 0.0), Some(7));
        assert_eq!(draw_from_all(&empty, &row, token, 0.5), None);
    }
}
