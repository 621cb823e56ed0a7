//! The random sample for training, and its held-out share.
//!
//! Whether a document is sampled depends only on the seed and its number, so that any worker can decide it, and the
//! sample does not depend on where the document is read.

use super::document::ShardDocument;
use super::settings::{SampleSettings, SampleSize};
use lda::math::random::{Stage, hash, hash_unit};

/// The role of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// Trained on.
    Sample,
    /// In the sample, but kept back to measure quality.
    HeldOut,
    /// Only projected.
    Projected,
}

impl Split {
    /// Returns the name written to the tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sample => "sample",
            Self::HeldOut => "held_out",
            Self::Projected => "projected",
        }
    }
}

/// The rule for each document's [`Split`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleRule {
    seed: u64,
    /// Documents whose key is at most this are in the sample.
    bound: u64,
    held_out: f64,
    /// Documents from this one on are not in the sample.
    documents: u64,
}

impl SampleRule {
    /// Creates the rule for a share of the documents, or a number of them: `nth_key` must then be the
    /// [`key`](Self::key) of that rank, in ascending order, among all documents with terms (`u64::MAX` if there are
    /// fewer).
    pub fn new(settings: &SampleSettings, seed: u64, nth_key: u64) -> Self {
        let bound = match settings.size {
            SampleSize::Fraction(share) if share >= 1.0 => u64::MAX,
            SampleSize::Fraction(share) => (share * 2f64.powi(64)) as u64,
            SampleSize::Documents(_) => nth_key,
        };
        Self { seed, bound, held_out: settings.held_out, documents: u64::MAX }
    }

    /// Returns the rule for a collection to which others were added after its first `documents`: they are not sampled.
    #[must_use]
    pub fn of_first(self, documents: u64) -> Self {
        Self { documents, ..self }
    }

    /// Returns the random key by which documents enter the sample, the smallest first.
    pub fn key(seed: u64, document: u64) -> u64 {
        hash(seed, Stage::Sample, document, 0)
    }

    /// Returns the split of a document that has terms.
    pub fn split(&self, document: u64) -> Split {
        if document >= self.documents || Self::key(self.seed, document) > self.bound {
            Split::Projected
        } else if hash_unit(self.seed, Stage::HeldOut, document, 0) < self.held_out {
            Split::HeldOut
        } else {
            Split::Sample
        }
    }

    /// Returns the split of a document by what it is: one that repeats another is neither trained on nor held out, and,
    /// where training needs labels (`Some`), one without any is not trained on.
    pub fn split_of(&self, number: u64, document: &ShardDocument, labels: Option<&[u16]>) -> Split {
        match (self.split(number), labels) {
            _ if document.duplicate_of.is_some() => Split::Projected,
            (Split::Sample, Some([])) => Split::Projected,
            (split, _) => split,
        }
    }
}

/// Leading bits of a key by which it is counted.
const PREFIX_BITS: u32 = 12;

fn prefix(key: u64) -> usize {
    (key >> (u64::BITS - PREFIX_BITS)) as usize
}

/// Returns the prefix of the `wanted`-th smallest of the counted keys, and how many keys have a smaller one.
fn bound_prefix(counts: &[i64], wanted: u64) -> (usize, u64) {
    let mut below = 0;
    for (place, &count) in counts.iter().enumerate() {
        if below + count as u64 >= wanted {
            return (place, below);
        }
        below += count as u64;
    }
    (counts.len(), below)
}

/// Returns the `wanted`-th smallest key over all workers, given all workers' counts and candidates ([`SmallestKeys`]);
/// `u64::MAX` if there are fewer keys.
pub fn sample_bound(counts: &[i64], mut candidates: Vec<u64>, wanted: u64) -> u64 {
    let (_, below) = bound_prefix(counts, wanted);
    candidates.sort_unstable();
    let place = wanted.saturating_sub(below + 1) as usize;
    candidates.get(place).copied().unwrap_or(u64::MAX)
}

/// The N smallest keys seen, which each worker needs for `documents = N`.
#[derive(Clone, Debug)]
pub struct SmallestKeys {
    limit: usize,
    heap: std::collections::BinaryHeap<u64>,
}

impl SmallestKeys {
    /// Creates a set that keeps the `limit` smallest keys.
    pub fn new(limit: u64) -> Self {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Self { limit, heap: std::collections::BinaryHeap::new() }
    }

    /// Adds a key.
    pub fn add(&mut self, key: u64) {
        if self.heap.len() < self.limit {
            self.heap.push(key);
        } else if self.heap.peek().is_some_and(|&largest| key < largest) {
            self.heap.pop();
            self.heap.push(key);
        }
    }

    /// Counts the kept keys by their highest `PREFIX_BITS` bits. Added up over workers, the counts determine the prefix
    /// of the bound over all workers.
    pub fn prefix_counts(&self) -> Vec<i64> {
        let mut counts = vec![0; 1 << PREFIX_BITS];
        for &key in &self.heap {
            counts[prefix(key)] += 1;
        }
        counts
    }

    /// Returns the kept keys with the prefix of the bound over all workers, given all workers'
    /// [`prefix_counts`](Self::prefix_counts): with all workers' candidates [`sample_bound`] finds it.
    pub fn candidates(&self, counts: &[i64]) -> Vec<u64> {
        let (place, _) = bound_prefix(counts, self.limit as u64);
        let keys = self.heap.iter().copied();
        keys.filter(|&key| prefix(key) == place).collect()
    }

    /// Returns the bound for [`SampleRule`]: the largest key kept, or `u64::MAX` if fewer than the limit were added.
    pub fn bound(self) -> u64 {
        let full = self.heap.len() == self.limit;
        self.heap.peek().copied().filter(|_| full).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(size: SampleSize, held_out: f64) -> SampleSettings {
        SampleSettings { size, held_out, seed: None }
    }

    #[test]
    fn shares_are_what_was_asked_for() {
        let rule = SampleRule::new(&settings(SampleSize::Fraction(0.25), 0.1), 7, 0);
        let splits: Vec<_> = (0..100_000).map(|d| rule.split(d)).collect();
        let share = |s| splits.iter().filter(|&&x| x == s).count() as f64 / 100_000.0;
        assert!((share(Split::Sample) - 0.225).abs() < 0.005);
        assert!((share(Split::HeldOut) - 0.025).abs() < 0.002);
        let all = SampleRule::new(&settings(SampleSize::Fraction(1.0), 0.0), 7, 0);
        assert!((0..1000).all(|d| all.split(d) == Split::Sample));
        let of_first = all.of_first(500);
        assert!((0..500).all(|d| of_first.split(d) == Split::Sample));
        assert!((500..1000).all(|d| of_first.split(d) == Split::Projected));
    }

    #[test]
    fn a_number_of_documents_is_met_exactly_however_workers_share_them() {
        let bound = |workers: u64| {
            let own = |worker: u64| {
                let mut own = SmallestKeys::new(100);
                let mine = (0..1000).filter(|d| d % workers == worker);
                mine.for_each(|d| own.add(SampleRule::key(3, d)));
                own
            };
            let held: Vec<_> = (0..workers).map(own).collect();
            let mut counts = vec![0; 1 << PREFIX_BITS];
            for keys in &held {
                let own = keys.prefix_counts();
                (counts.iter_mut().zip(own)).for_each(|(sum, count)| *sum += count);
            }
            let candidates = held.iter().flat_map(|keys| keys.candidates(&counts));
            sample_bound(&counts, candidates.collect(), 100)
        };
        assert_eq!(bound(1), bound(3));
        let rule = SampleRule::new(&settings(SampleSize::Documents(100), 0.0), 3, bound(2));
        assert_eq!((0..1000).filter(|&d| rule.split(d) == Split::Sample).count(), 100);
        let mut few = SmallestKeys::new(100);
        few.add(5);
        let counts = few.prefix_counts();
        let candidates = few.candidates(&counts);
        assert_eq!(sample_bound(&counts, candidates, 100), u64::MAX);
        assert_eq!(few.bound(), u64::MAX);
    }
}
