//! Finding the place of a draw in running sums.

use super::ImpossibleDraw;
use crate::model::factors::BLOCK;

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
