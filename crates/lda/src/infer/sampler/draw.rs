//! The draw of one token's topic: adding up masses, and finding the place of a random number in
//! them.

use super::Sampler;
use crate::infer::ImpossibleDraw;
use crate::math::random::Stream;
use crate::model::factors::{BLOCK, FactorTable, Row, SparseRow};

/// A token to be drawn.
#[derive(Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) term: u32,
    pub(super) row: &'a Row,
    /// Its old topic; its own count there is left out of the model's.
    pub(super) old: u16,
    /// The place of its old leaf among its term's leaves.
    pub(super) sense: u16,
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
    pub(super) fn draw<const OWN: bool>(
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
pub(super) const EVERY: usize = 1 << u16::BITS;
/// Places are found by counting, this many at a time.
pub(super) const LANES: usize = 8;
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
pub(super) fn close(running: &mut [f32], length: usize) {
    running[length..length + LANES].fill(f32::INFINITY);
}

/// Returns the first place of the `length` running sums that exceeds `target`, the last that adds anything if rounding
/// puts the target beyond, and how far into that place's mass the target lies.
#[inline(always)]
pub(super) fn place_of(running: &[f32], length: usize, target: f32) -> (usize, f32) {
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
pub(super) fn pick(
    block: &[u16; BLOCK],
    counts: &[f32; EVERY],
    masses: [f32; BLOCK],
    target: f32,
) -> u16 {
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
