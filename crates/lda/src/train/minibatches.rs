//! The minibatch that a document belongs to, in schedules that visit each document once a pass.
//!
//! A document has a *place*, a 64-bit number that depends only on the seed, its number and its counts; minibatches
//! are ranges of places ([`Deal`]). So any worker knows where its documents belong, and documents can be ordered
//! before the number of minibatches is known.

use super::document_schedule::DocumentSchedule;
use super::schedule::Schedule;
use super::warm_start::WarmStart;
use crate::infer::Bag;
use crate::math::random::{Stage, hash};

/// Returns the place of a document in a uniformly random order.
pub fn place(seed: u64, document: u64) -> u64 {
    hash(seed, Stage::Minibatch, 0, document)
}

/// Returns the place of a document in the order of a schedule, to within a hundredth of its number there.
///
/// After a warm start with another prior, the documents that are visited again come first; both they and the others
/// are in random order.
pub fn scheduled_place(
    schedule: &DocumentSchedule,
    warm_start: Option<&WarmStart>,
    [seed, document]: [u64; 2],
    bag: Bag<'_>,
) -> u64 {
    if let Some(start) = warm_start.filter(|start| start.is_partial()) {
        return place(seed, document) >> 1 | u64::from(!start.revisits(bag)) << (u64::BITS - 1);
    }
    match schedule.order {
        Some(order) => {
            let within = hash(seed, Stage::Minibatch, 1, document);
            logarithmic(order([seed, document], bag), within)
        }
        None => place(seed, document),
    }
}

/// Returns a place for the logarithm of a number: its cell, which separates numbers that differ by a hundredth, and
/// `random` within the cell.
fn logarithmic(logarithm: f64, random: u64) -> u64 {
    const LEAST: f64 = -36.0;
    const MOST: f64 = 4.0;
    let share = ((logarithm - LEAST) / (MOST - LEAST)).clamp(0.0, 1.0);
    let cell = ((share * CELLS as f64) as u64).min(CELLS as u64 - 1);
    cell << WITHIN_BITS | random >> (u64::BITS - WITHIN_BITS)
}

/// The number of equal ranges of places in which documents are counted.
pub const CELLS: usize = 1 << CELL_BITS;
const CELL_BITS: u32 = 12;
/// Bits of a place within its cell.
const WITHIN_BITS: u32 = u64::BITS - CELL_BITS;

/// Returns the cell of a place.
pub fn cell(place: u64) -> usize {
    (place >> WITHIN_BITS) as usize
}

/// The division of places into minibatches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deal {
    /// This many, with equal ranges of places.
    Even(u64),
    /// This many, and the number of documents before each cell. Minibatches have equal numbers of documents, as far
    /// as those of a cell are spread evenly over it.
    ByCell(u64, Vec<u64>),
    /// The minibatches that passes visit, and the others, each with equal ranges of its half of the places.
    Partial(u64, u64),
}

impl Deal {
    /// Returns the minibatches of `schedule`. If its documents are ordered, `in_cell` are in each cell, over all
    /// workers, and minibatches have about the same number of documents.
    pub fn new(schedule: &Schedule, in_cell: &[i64]) -> Self {
        let count = schedule.minibatch_count;
        if schedule.unvisited_count > 0 {
            return Self::Partial(count, schedule.unvisited_count);
        }
        if !schedule.documents().is_ordered() {
            return Self::Even(count);
        }
        let mut before = vec![0];
        before.extend(in_cell.iter().scan(0, |sum, &own| {
            *sum += own as u64;
            Some(*sum)
        }));
        Self::ByCell(count, before)
    }

    /// Returns the number of minibatches.
    pub fn count(&self) -> u64 {
        match self {
            Self::Even(count) | Self::ByCell(count, _) => *count,
            Self::Partial(visited, others) => visited + others,
        }
    }

    /// Returns the minibatch that a place belongs to, which ascends with the place.
    pub fn minibatch(&self, place: u64) -> u64 {
        match self {
            Self::Even(count) => minibatch_at(place, *count),
            Self::ByCell(count, before) => {
                let (cell, within) = (cell(place), place << CELL_BITS);
                let [first, end] = [before[cell], before[cell + 1]].map(u128::from);
                let all = u128::from(before[CELLS]).max(1);
                let at = (first << u64::BITS) + (end - first) * u128::from(within);
                minibatch_at((at / all) as u64, *count)
            }
            Self::Partial(visited, others) => match place >> (u64::BITS - 1) {
                0 => minibatch_at(place << 1, *visited),
                _ => visited + minibatch_at(place << 1, *others),
            },
        }
    }
}

/// Returns the minibatch, of `count` with equal ranges, that a place belongs to.
pub fn minibatch_at(place: u64, count: u64) -> u64 {
    ((u128::from(place) * u128::from(count)) >> u64::BITS) as u64
}

/// Deals documents, given by their places, to the minibatches of a schedule; returns their indices.
pub fn deal(schedule: &Schedule, places: &[u64]) -> Vec<Vec<u32>> {
    let mut in_cell = vec![0; CELLS];
    for &place in places {
        in_cell[cell(place)] += 1;
    }
    let deal = Deal::new(schedule, &in_cell);
    let mut minibatches = vec![Vec::new(); deal.count() as usize];
    for (index, &place) in places.iter().enumerate() {
        minibatches[deal.minibatch(place) as usize].push(index as u32);
    }
    minibatches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::document_schedule::{INFLUENCE, UNIFORM};
    use crate::train::norms::Norms;
    use crate::train::settings::{MinibatchSize, TrainSettings};

    fn rounds(schedule: &'static DocumentSchedule, minibatches: u64) -> Schedule {
        let settings = TrainSettings {
            schedule,
            minibatch: Some(MinibatchSize::Documents(1)),
            ..TrainSettings::default()
        };
        Schedule::new(&settings, minibatches, minibatches, Norms::default())
    }

    /// The minibatches of documents of one term, given by its counts.
    fn dealt(
        schedule: &'static DocumentSchedule,
        counts: &[u32],
        minibatches: u64,
        seed: u64,
    ) -> Vec<Vec<u32>> {
        let places: Vec<u64> = (0..)
            .zip(counts)
            .map(|(document, &count)| {
                let bag = Bag { terms: &[0], counts: &[count] };
                scheduled_place(schedule, None, [seed, document], bag)
            })
            .collect();
        deal(&rounds(schedule, minibatches), &places)
    }

    /// The sizes of minibatches are alike although the order depends on the counts.
    #[test]
    fn minibatches_of_documents_in_an_order_are_alike() {
        let counts: Vec<u32> = (0..3000u32).map(|i| 1 + i * 7919 % 500).collect();
        let minibatches = dealt(&INFLUENCE, &counts, 12, 3);
        assert!(minibatches.iter().all(|minibatch| minibatch.len().abs_diff(250) < 40));
    }

    #[test]
    fn documents_of_one_length_are_dealt_to_all_minibatches() {
        let minibatches = dealt(&INFLUENCE, &[500; 400], 20, 1);
        let sizes: Vec<usize> = minibatches.iter().map(Vec::len).collect();
        assert!(sizes.iter().all(|size| (5..40).contains(size)), "{sizes:?}");
    }

    /// A document is the first of a draw without replacement with the probability p(d): χ² over seeds.
    #[test]
    fn influence_decides_which_document_comes_first() {
        const SEEDS: u64 = 20_000;
        let counts = [1u32, 2, 3, 4, 5];
        let total: f64 = counts.iter().map(|&n| f64::from(n * n)).sum();
        let mut first = [0u64; 5];
        for seed in 0..SEEDS {
            let places = (0..).zip(counts).map(|(document, count)| {
                let bag = Bag { terms: &[0], counts: &[count] };
                scheduled_place(&INFLUENCE, None, [seed, document], bag)
            });
            let (index, _) = places.enumerate().min_by_key(|&(_, place)| place).unwrap();
            first[index] += 1;
        }
        let chi_squared: f64 = first
            .iter()
            .zip(counts)
            .map(|(&seen, count)| {
                let expected = SEEDS as f64 * f64::from(count * count) / total;
                (seen as f64 - expected).powi(2) / expected
            })
            .sum();
        // 4 degrees of freedom: 18.5 is exceeded once in a thousand.
        assert!(chi_squared < 18.5, "{chi_squared}");
    }

    #[test]
    fn every_document_is_in_one_minibatch() {
        for schedule in [&UNIFORM, &INFLUENCE] {
            let counts = [4u32; 100];
            let mut all = dealt(schedule, &counts, 7, 1).concat();
            all.sort_unstable();
            assert_eq!(all, (0..100).collect::<Vec<u32>>());
        }
        assert!(dealt(&INFLUENCE, &[], 3, 1).iter().all(Vec::is_empty));
    }
}
