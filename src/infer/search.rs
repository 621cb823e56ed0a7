//! Finding the place of a draw in running sums.

use super::ImpossibleDraw;
use crate::model::factors::BLOCK;

/// Places are found by counting, this many at a time.
pub(super) const LANES: usize = 8;
/// Sums longer than this are searched by bisection.
const COUNTED_AT_MOST: usize = 64;

/// The whole mass of a draw, if it is one that can be drawn from.
#[inline(always)]
pub(super) fn check(
    term: u32,
    document: f32,
    smoothing: f32,
    prior: f32,
) -> Result<f32, ImpossibleDraw> {
    let total = document + smoothing + prior;
    if total > 0.0 && total.is_finite() {
        return Ok(total);
    }
    Err(ImpossibleDraw {
        term,
        document_mass: document,
        smoothing_mass: smoothing,
        prior_mass: prior,
    })
}

/// Ends running sums with infinities, so that they can be counted in whole lanes.
#[inline(always)]
pub(super) fn close(running: &mut [f32], length: usize) {
    running[length..length + LANES].fill(f32::INFINITY);
}

/// The first place of the `length` running sums that exceeds `target`; the last if rounding puts
/// the target beyond.
#[inline(always)]
pub(super) fn find(running: &[f32], length: usize, target: f32) -> usize {
    if length > COUNTED_AT_MOST {
        return search(&running[..length], target);
    }
    let (lanes, _) = running[..length.next_multiple_of(LANES)].as_chunks::<LANES>();
    let not_above = |lane: &[f32; LANES]| lane.iter().map(|&s| u32::from(s <= target)).sum::<u32>();
    let place = lanes.iter().map(not_above).sum::<u32>() as usize;
    if place < length {
        place
    } else {
        last_rise(&running[..length])
    }
}

/// The topic of a block at `target` in the running sums of its masses, and how far into that
/// topic's mass the target lies.
#[inline(always)]
pub(super) fn pick(
    block: &[u16; BLOCK],
    counts: &[f32],
    mass: impl Fn(u16) -> f32,
    target: f32,
) -> (u16, f32) {
    let first = mass(block[0]);
    let second = first + mass(block[1]);
    let third = second + mass(block[2]);
    let sums = [first, second, third];
    let place = sums
        .iter()
        .map(|&s| usize::from(target >= s))
        .sum::<usize>();
    let starts = [0.0, first, second, third];
    if counts[usize::from(block[place])] > 0.0 {
        return (block[place], target - starts[place]);
    }
    // Rounding put the target behind the last topic that has a mass.
    let present = |&&topic: &&u16| counts[usize::from(topic)] > 0.0;
    let last = block[..place].iter().rev().find(present);
    (last.copied().unwrap_or(block[place]), f32::INFINITY)
}

/// The first place whose running sum exceeds `target`, or the last place that adds anything.
#[inline]
pub(super) fn search(running: &[f32], target: f32) -> usize {
    let place = running.partition_point(|&sum| sum <= target);
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
