//! Coherence of topics on a reference corpus: UMass (Mimno 2012 §4.1, Eq. 13) and NPMI.
//!
//! Each worker counts documents with its own [`CoherenceCounter`], in integers; the counts are added
//! in any order; the scores are computed from the sums. Counting a document takes time proportional
//! to its number of distinct terms.
//!
//! UMass uses a topic's 20 heaviest terms with ε = 1, as in the original; NPMI uses the 10 heaviest.
//! Both also work with another number of terms. The caller decides what a document is: a
//! document of the training sample, of another reference corpus, or a window of one
//! ([`window`], from which C_V is computed).

pub mod window;

use std::collections::BTreeMap;
use std::ops::Range;

use crate::math::special::ln;

/// The number of a topic's terms that UMass uses.
pub const UMASS_TERMS: usize = 20;

/// The number of a topic's terms that NPMI uses.
pub const NPMI_TERMS: usize = 10;

/// Maximum number of a topic's terms that a counter can track.
pub const MOST_TERMS: usize = 64;

/// ε of Eq. 13.
const EPSILON: f64 = 1.0;

/// In `slots`, marks a term that is a top term of no topic.
const UNTRACKED: u32 = u32::MAX;

/// Counts documents, and the documents in which top terms and pairs of them occur.
///
/// ```
/// use lda::evaluate::coherence::CoherenceCounter;
/// let mut counter = CoherenceCounter::new(&[vec![4, 1]], 5, 20);
/// counter.add_document(&[1, 4]);
/// counter.add_document(&[3, 4]);
/// // One pair: ln((D(1, 4) + 1) / D(4)) = ln(2 / 2).
/// assert_eq!(counter.umass(0), 0.0);
/// ```
#[derive(Clone, Debug)]
pub struct CoherenceCounter {
    /// Term → slot of a tracked term, or [`UNTRACKED`]; length `vocabulary_size`.
    slots: Vec<u32>,
    /// Slot → start of its occurrences in `occurrences`; one longer than the number of slots.
    starts: Vec<u32>,
    /// (topic, rank) of each tracked term's occurrences among the top terms.
    occurrences: Vec<(u32, u8)>,
    /// Topic → rank → slot.
    ranked: Vec<Vec<u32>>,
    /// Topic → start of its pairs in `counts`.
    pairs_start: Vec<usize>,
    /// Documents, then documents per slot, then documents per pair of each topic.
    counts: Vec<u64>,
    /// Topic → the ranks seen in the current document, as bits; all 0 between documents.
    seen: Vec<u64>,
    /// Topics with a bit in `seen`.
    touched: Vec<u32>,
}

/// Returns the index of the pair of ranks (`low` < `high`) among a topic's pairs.
fn pair_index(low: usize, high: usize) -> usize {
    high * (high - 1) / 2 + low
}

impl CoherenceCounter {
    /// Creates a counter for the first `most` of each topic's `top_terms`, which are distinct and sorted heaviest
    /// first. `vocabulary_size` is the largest term id plus one.
    ///
    /// Counts of counters with the same arguments can be added.
    ///
    /// # Panics
    ///
    /// Panics if a top term is not below `vocabulary_size`, or `most` is above [`MOST_TERMS`].
    pub fn new(top_terms: &[Vec<u32>], vocabulary_size: usize, most: usize) -> Self {
        assert!(most <= MOST_TERMS, "at most {MOST_TERMS} terms of a topic");
        let tops = || top_terms.iter().map(|t| &t[..t.len().min(most)]);
        let mut slots = vec![UNTRACKED; vocabulary_size];
        let mut tracked = 0_u32;
        for &term in tops().flatten() {
            let slot = &mut slots[term as usize];
            if *slot == UNTRACKED {
                *slot = tracked;
                tracked += 1;
            }
        }
        let slots_of = |top: &[u32]| top.iter().map(|&t| slots[t as usize]).collect();
        let ranked: Vec<Vec<u32>> = tops().map(slots_of).collect();
        let (starts, occurrences) = index_occurrences(&ranked, tracked as usize);
        let mut length = 1 + tracked as usize;
        let mut pairs_start = Vec::with_capacity(ranked.len());
        for top in &ranked {
            pairs_start.push(length);
            length += pair_index(0, top.len().max(1));
        }
        Self {
            slots,
            starts,
            occurrences,
            pairs_start,
            counts: vec![0; length],
            seen: vec![0; ranked.len()],
            touched: Vec::new(),
            ranked,
        }
    }

    /// Counts one document of the reference corpus, given its distinct terms in any order. A document
    /// without terms counts too, in NPMI's N.
    pub fn add_document(&mut self, terms: &[u32]) {
        self.counts[0] += 1;
        for &term in terms {
            let slot = self.slots[term as usize];
            if slot != UNTRACKED {
                self.mark(slot as usize);
            }
        }
        while let Some(topic) = self.touched.pop() {
            let topic = topic as usize;
            let ranks = std::mem::take(&mut self.seen[topic]);
            let pairs = &mut self.counts[self.pairs_start[topic]..];
            for_each_pair(ranks, |low, high| pairs[pair_index(low, high)] += 1);
        }
    }

    /// Marks a tracked term as seen in each topic that has it, and counts the document for it.
    fn mark(&mut self, slot: usize) {
        self.counts[1 + slot] += 1;
        for &(topic, rank) in &self.occurrences[self.occurrences_of(slot)] {
            let seen = &mut self.seen[topic as usize];
            if *seen == 0 {
                self.touched.push(topic);
            }
            *seen |= 1 << rank;
        }
    }

    /// Returns the number of topics.
    pub fn topic_count(&self) -> usize {
        self.ranked.len()
    }

    /// Returns the topics that have at least `terms` of the tracked terms of `topic`, including `topic` itself.
    pub fn topics_sharing(&self, terms: usize, topic: usize) -> impl Iterator<Item = usize> {
        let mut shared = BTreeMap::new();
        for &slot in &self.ranked[topic] {
            for &(other, _) in &self.occurrences[self.occurrences_of(slot as usize)] {
                *shared.entry(other as usize).or_insert(0) += 1;
            }
        }
        shared.into_iter().filter(move |(_, count)| *count >= terms).map(|(other, _)| other)
    }

    /// Returns where the occurrences of a tracked term are.
    fn occurrences_of(&self, slot: usize) -> Range<usize> {
        self.starts[slot] as usize..self.starts[slot + 1] as usize
    }

    /// Returns the counts as one flat row, which processes add entry by entry: documents, documents
    /// per tracked term, documents per pair of a topic's terms.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Adds the counts of a counter made from the same arguments.
    ///
    /// # Panics
    ///
    /// Panics if the length differs, which means other topics.
    pub fn add_counts(&mut self, counts: &[u64]) {
        assert_eq!(
            self.counts.len(),
            counts.len(),
            "coherence counts of different topics cannot be added up"
        );
        for (own, other) in self.counts.iter_mut().zip(counts) {
            *own += other;
        }
    }

    /// Replaces the counts by what `sum` makes of them, such as their sum over all workers.
    ///
    /// # Panics
    ///
    /// Panics if the length differs.
    pub fn replace_counts(&mut self, sum: impl FnOnce(&[i64]) -> Vec<i64>) {
        let all = sum(bytemuck::cast_slice(&self.counts));
        self.counts.fill(0);
        self.add_counts(bytemuck::cast_slice(&all));
    }

    /// Returns the number of documents counted.
    pub fn documents(&self) -> u64 {
        self.counts[0]
    }

    /// Returns the number of distinct tracked terms that occur in no document.
    pub fn absent_terms(&self) -> usize {
        let frequencies = &self.counts[1..self.starts.len()];
        frequencies.iter().filter(|&&documents| documents == 0).count()
    }

    /// Returns the number of a topic's terms that are tracked.
    pub fn term_count(&self, topic: usize) -> usize {
        self.ranked[topic].len()
    }

    /// Returns D(w), the number of documents that contain the topic's term of this rank, from 0.
    ///
    /// # Panics
    ///
    /// Panics if the topic has no such rank.
    pub fn document_frequency(&self, topic: usize, rank: usize) -> u64 {
        self.counts[1 + self.ranked[topic][rank] as usize]
    }

    /// Returns D(w_i, w_j) for two of a topic's terms, given by rank, `low` < `high`.
    fn joint_frequency(&self, topic: usize, low: usize, high: usize) -> u64 {
        self.counts[self.pairs_start[topic] + pair_index(low, high)]
    }

    /// Returns the UMass coherence of a topic, C = Σ_i Σ_{j<i} ln((D(w_i, w_j) + 1) / D(w_j)) over its
    /// 20 heaviest terms by rank: the **sum** over pairs, ≤ 0 except for ε; closer to 0 is better.
    ///
    /// A pair whose w_j is in no document of the reference corpus is left out. A topic of fewer than
    /// two terms gets 0.
    pub fn umass(&self, topic: usize) -> f64 {
        self.umass_of(topic, UMASS_TERMS)
    }

    /// Returns [`umass`](Self::umass) over a topic's first `terms` terms, as far as they are tracked.
    pub fn umass_of(&self, topic: usize, terms: usize) -> f64 {
        let mut sum = 0.0;
        for high in 1..self.term_count(topic).min(terms) {
            for low in 0..high {
                sum += self.pair_umass(topic, low, high).unwrap_or(0.0);
            }
        }
        sum
    }

    /// Returns how poorly a topic's term fits the terms before it: the least of its summands
    /// in [`umass`](Self::umass), at most 0 (MALLET's `coherence` of a word).
    ///
    /// # Panics
    ///
    /// Panics if the topic has no such rank.
    pub fn term_umass(&self, topic: usize, rank: usize) -> f64 {
        let pairs = (0..rank).filter_map(|low| self.pair_umass(topic, low, rank));
        pairs.fold(0.0, f64::min)
    }

    fn pair_umass(&self, topic: usize, low: usize, high: usize) -> Option<f64> {
        let frequency = self.document_frequency(topic, low);
        let joint = self.joint_frequency(topic, low, high) as f64;
        (frequency > 0).then(|| ln((joint + EPSILON) / frequency as f64))
    }

    /// Returns the NPMI coherence of a topic: the **mean** over pairs of its 10 heaviest terms of
    /// ln(p(w_i, w_j) / (p(w_i) p(w_j))) / −ln p(w_i, w_j), with p the share of documents
    /// (Bouma 2009; Lau, Newman & Baldwin 2014). It is from −1 to 1; a pair that never co-occurs
    /// counts −1, a pair in every document 1. A topic of fewer than two terms gets 0.
    pub fn npmi(&self, topic: usize) -> f64 {
        self.npmi_of(topic, NPMI_TERMS)
    }

    /// Returns [`npmi`](Self::npmi) over a topic's first `terms` terms, as far as they are tracked.
    pub fn npmi_of(&self, topic: usize, terms: usize) -> f64 {
        let (mut sum, mut pairs) = (0.0, 0.0);
        for high in 1..self.term_count(topic).min(terms) {
            for low in 0..high {
                sum += self.pair_npmi(topic, low, high);
                pairs += 1.0;
            }
        }
        if pairs > 0.0 { sum / pairs } else { 0.0 }
    }

    fn pair_npmi(&self, topic: usize, low: usize, high: usize) -> f64 {
        let documents = self.documents() as f64;
        let share = |count: u64| count as f64 / documents;
        let joint = self.joint_frequency(topic, low, high);
        if joint == 0 {
            return -1.0;
        }
        if joint == self.documents() {
            return 1.0;
        }
        let alone = share(self.document_frequency(topic, low))
            * share(self.document_frequency(topic, high));
        ln(share(joint) / alone) / -ln(share(joint))
    }
}

/// Returns the (topic, rank) occurrences of each slot, as row starts and one flat list.
fn index_occurrences(ranked: &[Vec<u32>], slots: usize) -> (Vec<u32>, Vec<(u32, u8)>) {
    let mut found: Vec<(u32, u32, u8)> = Vec::new();
    for (topic, top) in ranked.iter().enumerate() {
        for (rank, &slot) in top.iter().enumerate() {
            found.push((slot, topic as u32, rank as u8));
        }
    }
    found.sort_unstable();
    let mut starts = vec![0_u32; slots + 1];
    for &(slot, _, _) in &found {
        starts[slot as usize + 1] += 1;
    }
    for slot in 0..slots {
        starts[slot + 1] += starts[slot];
    }
    let occurrences = found.into_iter().map(|(_, topic, rank)| (topic, rank));
    (starts, occurrences.collect())
}

/// Visits each pair (`low` < `high`) of ranks whose bits are set.
fn for_each_pair(ranks: u64, mut visit: impl FnMut(usize, usize)) {
    let mut highs = ranks & ranks.wrapping_sub(1);
    while highs != 0 {
        let high = highs.trailing_zeros() as usize;
        highs &= highs - 1;
        let mut lows = ranks & ((1 << high) - 1);
        while lows != 0 {
            visit(lows.trailing_zeros() as usize, high);
            lows &= lows - 1;
        }
    }
}

#[cfg(test)]
mod tests;
