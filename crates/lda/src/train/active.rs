//! Schedules that draw each round's documents (Wahabzada & Kersting 2011, Algorithm 3): a document of
//! influence ξ(d) is visited with a probability proportional to ξ(d)².
//!
//! A round of expected length S includes each document independently, with probability
//!
//! ```text
//! π(d) = min(1, r p(d)),   p(d) = ξ(d)² / Σ_i ξ(i)²,   r such that Σ_d π(d) = S
//! ```
//!
//! So a document's draw depends only on (seed, round, document), its own weight and a few sums of integers: any
//! number of workers draws the same documents, and only the sums are exchanged. Each document drawn costs D / S
//! hashes, of some 2 ns each.
//!
//! Departures from the paper:
//!
//! 1. The paper draws S documents with replacement. Here a document is drawn at most once a round, and S is the
//!    expected number.
//! 2. γ is in whole tokens, without α: for the sampled step, the topic counts of the last sweep; for variational
//!    Bayes, γ − α rounded. So ∇ is an integer: Σ_k |n_dk − n_dk of the previous visit|. Before the first visit
//!    γ = 0, as in the paper's derivation of ξ_init = N_d.
//! 3. The paper switches to uniform draws permanently when |log D − H(p)| ≤ ε. Here each round decides.

pub use super::document_schedule::{Change, Influence};
use super::document_schedule::{InfluenceRule, UNIT};
use super::settings::TrainSettings;
use crate::infer::Bag;
use crate::math::random::{Stage, hash_unit};
use crate::math::special::ln;

/// [`Draw::weight`] of a document that is as likely as in a uniform draw, if documents are weighted.
pub const WEIGHT_UNIT: f64 = 16.0;
/// The largest weight, in those units.
const LARGEST_WEIGHT: f64 = 65_535.0;

/// The rule by which the influence of documents changes.
#[derive(Clone, Copy)]
pub struct ActiveSchedule {
    rule: InfluenceRule,
    /// c.
    floor: f64,
    /// ε.
    switch: f64,
    /// Whether a document is weighted by the inverse of its probability.
    is_weighted: bool,
}

impl ActiveSchedule {
    /// Returns the schedule of these settings, for a sample whose shortest document has `least_tokens`; `None` if
    /// documents are not drawn.
    pub fn new(settings: &TrainSettings, least_tokens: u64) -> Option<Self> {
        // Algorithm 3, line 6.
        let chosen = least_tokens.max(1) as f64;
        settings.schedule.draw.map(|rule| Self {
            rule,
            floor: settings.residual_floor.unwrap_or(chosen),
            switch: settings.residual_switch,
            is_weighted: settings.importance,
        })
    }

    /// Returns the influence of a document that has not been visited.
    pub fn first(&self, bag: Bag<'_>) -> Influence {
        Influence::first((self.rule.first)(bag))
    }

    /// Returns the influence of a document after a visit.
    pub fn after(&self, before: Influence, change: Change) -> Influence {
        let after = self.rule.after.map_or(before, |after| after(before, change, self.floor));
        Influence { visits: before.visits.saturating_add(1), ..after }
    }

    /// Returns the draw of a round of expected length `length`.
    pub fn draw(&self, sums: &InfluenceSums, length: f64) -> Draw {
        let is_uniform = sums
            .entropy()
            .is_some_and(|entropy| (ln(sums.documents()) - entropy).abs() <= self.switch);
        Draw {
            is_uniform,
            is_weighted: self.is_weighted,
            uniform: (length / sums.documents()).min(1.0),
            rate: sums.rate(length),
        }
    }
}

/// A comparison of visits to documents, one after another.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// n_dk minus that of the previous visit.
    differences: Vec<i32>,
}

impl Comparison {
    /// Creates a comparison for K topics.
    pub fn new(topic_count: usize) -> Self {
        Self { differences: vec![0; topic_count] }
    }

    /// Returns the change by a visit that found a document's tokens with the topics `old`, and left them with the
    /// topics `new`; `old` is empty at the first visit.
    pub fn change(&mut self, old: &[u16], new: &[u16]) -> Change {
        let tokens = new.len() as u64;
        if old.is_empty() {
            return Change { tokens, difference: tokens };
        }
        for (&from, &to) in old.iter().zip(new) {
            self.differences[usize::from(from)] -= 1;
            self.differences[usize::from(to)] += 1;
        }
        let touched = old.iter().chain(new);
        let taken = touched.map(|&k| std::mem::take(&mut self.differences[usize::from(k)]));
        let difference = taken.map(|change| u64::from(change.unsigned_abs())).sum();
        Change { tokens, difference }
    }
}

/// Powers of two that ξ² may have, in its units.
const OCTAVES: usize = 64;

/// The documents whose ξ² has the same power of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Octave {
    documents: u64,
    /// Σ ξ².
    total: u128,
}

/// InfluenceSums over documents, as integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InfluenceSums {
    octaves: [Octave; OCTAVES],
    /// Σ ξ² ln ξ² of the same integers, in units of 2⁻¹⁶, rounded document by document.
    logarithms: u128,
}

impl Default for InfluenceSums {
    fn default() -> Self {
        Self { octaves: [Octave::default(); OCTAVES], logarithms: 0 }
    }
}

impl InfluenceSums {
    /// Counts a document.
    pub fn add(&mut self, influence: Influence) {
        let squared = influence.squared;
        let octave = &mut self.octaves[squared.max(1).ilog2() as usize];
        octave.documents += 1;
        octave.total += u128::from(squared);
        self.logarithms += (squared as f64 * ln(squared as f64) * UNIT).round_ties_even() as u128;
    }

    fn documents(&self) -> f64 {
        self.octaves.iter().map(|octave| octave.documents).sum::<u64>() as f64
    }

    fn total(&self) -> f64 {
        self.octaves.iter().map(|octave| octave.total).sum::<u128>() as f64
    }

    /// Returns H(p) = log Σ ξ² − Σ ξ² log ξ² / Σ ξ²; `None` without documents.
    pub fn entropy(&self) -> Option<f64> {
        let total = self.total();
        (total > 0.0).then(|| ln(total) - self.logarithms as f64 / UNIT / total)
    }

    /// Returns r / Σ ξ² for rounds of expected length `length`: documents of large influence are certain to be
    /// drawn, and the others fill the rest of the round. All documents of an octave count as certain, or none: where
    /// only some of the last one counted are, a round is shorter on average than `length`.
    fn rate(&self, length: f64) -> f64 {
        let (mut length, mut total) = (length, self.total());
        for (power, octave) in (0..OCTAVES).zip(&self.octaves).rev() {
            let smallest = (1u64 << power) as f64;
            if octave.documents > 0 && smallest * length < total {
                break;
            }
            length = (length - octave.documents as f64).max(0.0);
            total -= octave.total as f64;
        }
        match total > 0.0 {
            true => length / total,
            // All are certain.
            false => 1.0,
        }
    }

    /// Returns the sums as numbers that can be added up over workers.
    pub fn to_words(&self) -> Vec<i64> {
        let halves = |sum: u128| [(sum & 0xFFFF_FFFF) as i64, (sum >> 32) as i64];
        let mut words = halves(self.logarithms).to_vec();
        for octave in &self.octaves {
            words.push(octave.documents as i64);
            words.extend(halves(octave.total));
        }
        words
    }

    /// Returns the sums of all workers, from the sums of their [`to_words`](Self::to_words).
    ///
    /// # Panics
    /// Panics if the number of words is wrong.
    pub fn from_words(words: &[i64]) -> Self {
        let whole = |low: i64, high: i64| ((high as u128) << 32) + low as u128;
        let mut sums = Self { logarithms: whole(words[0], words[1]), ..Self::default() };
        let (octaves, _) = words[2..].as_chunks::<3>();
        assert_eq!(octaves.len(), OCTAVES, "words of sums");
        for (octave, &[documents, low, high]) in sums.octaves.iter_mut().zip(octaves) {
            octave.documents = documents as u64;
            octave.total = whole(low, high);
        }
        sums
    }
}

/// The draw of a round's documents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Draw {
    is_uniform: bool,
    is_weighted: bool,
    /// S / D.
    uniform: f64,
    /// r / Σ ξ².
    rate: f64,
}

impl Draw {
    /// Returns π(d), the probability that a document is drawn.
    pub fn probability(&self, influence: Influence) -> f64 {
        if self.is_uniform { self.uniform } else { (influence.squared as f64 * self.rate).min(1.0) }
    }

    /// Returns whether a document is drawn in a round.
    pub fn takes(&self, influence: Influence, [seed, round, document]: [u64; 3]) -> bool {
        hash_unit(seed, Stage::Draw, round, document) < self.probability(influence)
    }

    /// Returns the weight by which a drawn document's counts are multiplied: [`WEIGHT_UNIT`] times S/D over π(d),
    /// so that the sum over a round's documents is an unbiased estimate of S/D times that over all (Horvitz &
    /// Thompson 1952); 1 if documents are not weighted. It is rounded at random with the number that decided the
    /// draw, which for the documents drawn is uniform between 0 and π(d).
    pub fn weight(&self, influence: Influence, [seed, round, document]: [u64; 3]) -> u32 {
        if !self.is_weighted {
            return 1;
        }
        let probability = self.probability(influence);
        let weight = WEIGHT_UNIT * self.uniform / probability;
        let rounding = hash_unit(seed, Stage::Draw, round, document) / probability;
        (weight + rounding).floor().min(LARGEST_WEIGHT) as u32
    }
}

#[cfg(test)]
mod tests;
