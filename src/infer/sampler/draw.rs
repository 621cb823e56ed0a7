//! The draw of one token's topic: adding up masses, and finding the place of a random number in
//! them.

use super::Sampler;
use crate::infer::ImpossibleDraw;
use crate::infer::search::{check, close, find, pick, search};
use crate::math::random::Stream;
use crate::model::factors::{BLOCK, FactorTable, Row, SparseRow};

/// A token to be drawn.
#[derive(Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) term: u32,
    pub(super) row: &'a Row,
    /// The topic it had; its own count there is left out of the model's.
    pub(super) old: u16,
}

impl Sampler {
    /// Draws a topic for a token that is not counted at present.
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
        let counts = &self.counts[..weights.len()];
        let mass = |topic: u16| counts[usize::from(topic)] * weights[usize::from(topic)];
        let (blocks, _) = self.active.as_chunks::<BLOCK>();
        let mut sum = 0.0;
        for (block, running) in blocks.iter().zip(&mut self.running) {
            let &[a, b, c, d] = block;
            sum += (mass(a) + mass(b)) + (mass(c) + mass(d));
            *running = sum;
        }
        close(&mut self.running, blocks.len());
        let prior = token.row.alpha_mass + table.smoothing().mass;
        let total = check(token.term, sum, 0.0, prior)?;
        loop {
            let target = stream.uniform_f32() * total;
            if target >= sum {
                match self.draw_prior::<OWN>(token, target - sum, table) {
                    Some(topic) => return Ok(topic),
                    None => continue,
                }
            }
            let place = find(&self.running, blocks.len(), target);
            let before = if place > 0 {
                self.running[place - 1]
            } else {
                0.0
            };
            let (topic, rest) = pick(&blocks[place], counts, mass, target - before);
            let own = counts[usize::from(topic)] * table.smoothing().unit[usize::from(topic)];
            if !(OWN && topic == token.old && rest < own) {
                return Ok(topic);
            }
        }
    }

    /// Adds up Σ_{k∈w} n_dk g_kw over the term's topics, and draws. The token's own count is
    /// left out of g_kw, rather than its draw refused: a term that occurs once has no other.
    #[inline(always)]
    fn draw_sparse<const OWN: bool>(
        &mut self,
        token: Token<'_>,
        row: SparseRow<'_>,
        table: FactorTable<'_>,
        stream: &mut Stream,
    ) -> Result<u16, ImpossibleDraw> {
        let counts = &self.counts[..];
        let own = match OWN {
            true => table.smoothing().unit[usize::from(token.old)],
            false => 0.0,
        };
        let mass = |topic: u16, weight: f32| {
            let others = if OWN && topic == token.old {
                weight - own
            } else {
                weight
            };
            counts[usize::from(topic)] * others
        };
        let (topics, _) = row.topics.as_chunks::<BLOCK>();
        let (weights, _) = row.weights.as_chunks::<BLOCK>();
        let (sums, _) = self.running.as_chunks_mut::<BLOCK>();
        let mut sum = 0.0f32;
        for ((k, g), running) in topics.iter().zip(weights).zip(sums) {
            let (a, b) = (mass(k[0], g[0]), mass(k[1], g[1]));
            let (c, d) = (mass(k[2], g[2]), mass(k[3], g[3]));
            let half = a + b;
            *running = [
                sum + a,
                sum + half,
                sum + (half + c),
                sum + (half + (c + d)),
            ];
            sum = running[3];
        }
        close(&mut self.running, row.topics.len());
        let smoothing = self.smoothing_mass as f32;
        let prior = token.row.alpha_mass + table.smoothing().mass;
        let total = check(token.term, sum, smoothing, prior)?;
        loop {
            let target = stream.uniform_f32() * total;
            if target < sum {
                return Ok(row.topics[find(&self.running, row.topics.len(), target)]);
            }
            let target = target - sum;
            if target < smoothing {
                return Ok(self.search_smoothing(&table.smoothing().factors, target));
            }
            if let Some(topic) = self.draw_prior::<OWN>(token, target - smoothing, table) {
                return Ok(topic);
            }
        }
    }

    /// The topic at `target` in the prior's part, A_w and then H; `None` if it is the token's own
    /// count that was hit.
    fn draw_prior<const OWN: bool>(
        &self,
        token: Token<'_>,
        target: f32,
        table: FactorTable<'_>,
    ) -> Option<u16> {
        let smoothing = table.smoothing();
        if target >= token.row.alpha_mass {
            let place = search(&smoothing.prefix, target - token.row.alpha_mass);
            return Some(place as u16);
        }
        let sparse = table.sparse(*token.row);
        let place = search(sparse.prefix, target);
        let topic = sparse.topics[place];
        let before = if place > 0 {
            sparse.prefix[place - 1]
        } else {
            0.0
        };
        let k = usize::from(topic);
        let is_own =
            OWN && topic == token.old && target - before < smoothing.alpha[k] * smoothing.unit[k];
        (!is_own).then_some(topic)
    }

    /// The document's topic at `target` in the running sums of n_dk h_k.
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
