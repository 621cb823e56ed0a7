//! CVB0 where the model has few topics: over all of them, several at a time.
//!
//! ```text
//! γ_wk ∝ e_kw (a_k − γ_wk)     a_k = α_k + Σ_w n_w γ_wk     (Papanikolaou 2017, §2.5), term by term
//! ```
//!
//! Departures from the published form, and their gain:
//! 1. The first iteration is sequential: a_k has the terms before, rare ones first.
//! 2. The last step is lengthened by half: a_k moves on in the direction in which the last iteration moved it. Three
//!    iterations are then about as close to the posterior mean as four.
//!
//! Tried and dropped: all terms from the same a_k, without γ in memory (no faster, and twice the iterations); leaving
//! topics with few tokens out of later iterations (their tokens stay spread: worse in every measure); over-relaxation
//! of each term's step (as close as departure 2, slower); two iterations with a longer last step (worse); rows read where
//! they are, instead of copied (no faster).

use super::FETCHED;
use crate::infer::ImpossibleDraw;
use crate::infer::sampler::check;
use crate::model::factors::{CHUNK, Chunk, FactorTable, Row, flat, flat_mut};

/// The part of the last iteration's step that is added to it.
const LENGTHENED: f32 = 0.5;

/// The terms of a document, in chunks of topics.
#[derive(Clone, Debug, Default)]
pub(super) struct FewTopics {
    /// e_kw of the terms, one row after another.
    rows: Vec<Chunk>,
    /// γ_wk of one token, like `rows`.
    shares: Vec<Chunk>,
    /// e_kw (a_k − γ_wk) of the current term.
    masses: Vec<Chunk>,
    /// a_k, and as it was before the iteration.
    dirichlet: Vec<Chunk>,
    before: Vec<Chunk>,
}

impl FewTopics {
    /// Copies the rows of a document's terms.
    pub(super) fn gather(&mut self, terms: &[(u32, Row, f32)], table: FactorTable<'_>) {
        self.rows.clear();
        for some in terms.chunks(FETCHED) {
            some.iter().for_each(|&(_, row, _)| table.fetch(row));
            some.iter().for_each(|&(_, row, _)| table.write(row, &mut self.rows));
        }
        self.shares.resize(self.rows.len().max(self.shares.len()), Chunk::default());
    }

    /// Iterates from a_k = α_k, which `a` contains, at most `iterations` times, or until `is_settled` by the tokens that
    /// moved.
    ///
    /// # Errors
    /// Returns [`ImpossibleDraw`] if a term has no positive, finite mass.
    pub(super) fn settle(
        &mut self,
        (terms, a): (&[(u32, Row, f32)], &mut [f32]),
        iterations: u32,
        is_settled: impl Fn(f32) -> bool,
    ) -> Result<(), ImpossibleDraw> {
        let chunks = a.len().div_ceil(CHUNK);
        self.dirichlet.clear();
        self.dirichlet.resize(chunks, Chunk::default());
        self.masses.resize(chunks, Chunk::default());
        flat_mut(&mut self.dirichlet)[..a.len()].copy_from_slice(a);
        self.iterate::<true>(terms)?;
        self.before.clone_from(&self.dirichlet);
        for _ in 1..iterations {
            self.before.clone_from(&self.dirichlet);
            self.iterate::<false>(terms)?;
            let pairs = flat(&self.before).iter().zip(flat(&self.dirichlet));
            if is_settled(pairs.map(|(before, after)| (after - before).abs()).sum()) {
                break;
            }
        }
        let moved = flat(&self.before).iter().zip(flat(&self.dirichlet));
        for (a, (before, after)) in a.iter_mut().zip(moved) {
            *a = (after + LENGTHENED * (after - before)).max(*a);
        }
        Ok(())
    }

    /// Takes one iteration, term by term.
    fn iterate<const FIRST: bool>(
        &mut self,
        terms: &[(u32, Row, f32)],
    ) -> Result<(), ImpossibleDraw> {
        let (a, masses) = (&mut self.dirichlet[..], &mut self.masses[..]);
        let rows = self.rows.chunks_exact(a.len()).zip(self.shares.chunks_exact_mut(a.len()));
        for (&(term, _, count), (row, shares)) in terms.iter().zip(rows) {
            let mut sums = [0.0; CHUNK];
            for (((a, e), share), mass) in a.iter().zip(row).zip(&*shares).zip(&mut *masses) {
                let others =
                    if FIRST { a.0 } else { each(a.0, share.0, |a, share| at_least_0(a - share)) };
                mass.0 = each(e.0, others, |e, others| e * others);
                sums = each(sums, mass.0, |sum, mass| sum + mass);
            }
            let ratio = 1.0 / check(term, total(sums), 0.0, 0.0)?;
            for ((a, share), mass) in a.iter_mut().zip(shares).zip(&*masses) {
                let new = mass.0.map(|mass| mass * ratio);
                let change = if FIRST { new } else { each(new, share.0, |new, old| new - old) };
                a.0 = each(a.0, change, |a, change| a + count * change);
                share.0 = new;
            }
        }
        Ok(())
    }
}

/// Combines two chunks topic by topic.
#[inline(always)]
fn each(a: [f32; CHUNK], b: [f32; CHUNK], combine: impl Fn(f32, f32) -> f32) -> [f32; CHUNK] {
    std::array::from_fn(|lane| combine(a[lane], b[lane]))
}

/// One instruction, unlike `max`, which must return a number beside a NaN.
#[inline(always)]
fn at_least_0(value: f32) -> f32 {
    if value > 0.0 { value } else { 0.0 }
}

/// Returns the sum of a chunk, in a fixed order.
#[inline(always)]
fn total(lanes: [f32; CHUNK]) -> f32 {
    let four: [f32; 4] =
        std::array::from_fn(|l| (lanes[l] + lanes[l + 4]) + (lanes[l + 8] + lanes[l + 12]));
    (four[0] + four[1]) + (four[2] + four[3])
}
