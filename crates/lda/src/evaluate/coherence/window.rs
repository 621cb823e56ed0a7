//! Co-occurrence within a sliding window over the text, and C_V, which is computed from it.
//!
//! Röder, Both & Hinneburg 2015, *Exploring the space of topic coherence measures* (WSDM): C_V takes
//! p(w) and p(w, w′) as shares of windows of 110 tokens (their P_sw(110)), compares each top term
//! with the whole set (their S_one^set) by the cosine of NPMI vectors, and averages.
//!
//! A [`CoherenceCounter`] treats each window as a document, so UMass and NPMI can be computed over windows as well.
//! Windows are not visited one by one: a token at position i is in the windows that begin at i − 109 to i, so a
//! term's windows form a few intervals, and a pair's windows are their intersection.

use super::{CoherenceCounter, UNTRACKED};
use crate::evaluate::comparison::cosine;
use crate::math::special::ln;

/// The number of tokens in a window of C_V.
pub const C_V_WINDOW: usize = 110;

/// The number of a topic's terms that C_V uses.
pub const C_V_TERMS: usize = 10;

/// In a sequence, a token that is not in the vocabulary. It keeps its position.
pub const UNKNOWN: u32 = u32::MAX;

/// ε of NPMI in the paper's Eq. 4.
const EPSILON: f64 = 1e-12;

/// Counts windows, and the windows in which top terms and pairs of them occur.
///
/// ```
/// use lda::evaluate::coherence::window::{SlidingWindowCounter, UNKNOWN};
/// let mut counter = SlidingWindowCounter::new(&[vec![0, 1]], 2, 10, 2);
/// // Windows of two tokens: (0, 1), (1, unknown), (unknown, 0).
/// counter.add_sequence(&[0, 1, UNKNOWN, 0]);
/// assert_eq!(counter.counts(), [3, 2, 2, 1]);
/// ```
#[derive(Clone, Debug)]
pub struct SlidingWindowCounter {
    counter: CoherenceCounter,
    window: usize,
    /// Slot → the windows that contain its term, as [first, last] intervals, ascending and
    /// separate; empty between documents.
    intervals: Vec<Vec<(u64, u64)>>,
    /// Slots with intervals.
    found: Vec<u32>,
}

impl SlidingWindowCounter {
    /// Creates a counter of windows of `window` tokens; the other arguments are those of
    /// [`CoherenceCounter::new`].
    ///
    /// # Panics
    ///
    /// Panics if `window` is 0, or as [`CoherenceCounter::new`] does.
    pub fn new(top_terms: &[Vec<u32>], vocabulary_size: usize, most: usize, window: usize) -> Self {
        assert!(window > 0, "a window has at least one token");
        let counter = CoherenceCounter::new(top_terms, vocabulary_size, most);
        let slots = counter.starts.len() - 1;
        Self { counter, window, intervals: vec![Vec::new(); slots], found: Vec::new() }
    }

    /// Creates a counter for C_V: windows of 110 tokens, 10 terms of each topic.
    pub fn for_c_v(top_terms: &[Vec<u32>], vocabulary_size: usize) -> Self {
        Self::new(top_terms, vocabulary_size, C_V_TERMS, C_V_WINDOW)
    }

    /// Counts the windows of one document, given the term of each token in order. A token that is
    /// not in the vocabulary is [`UNKNOWN`]. A document shorter than a window has one window, an
    /// empty document none.
    pub fn add_sequence(&mut self, tokens: &[u32]) {
        if tokens.is_empty() {
            return;
        }
        let windows = (tokens.len().saturating_sub(self.window) + 1) as u64;
        self.counter.counts[0] += windows;
        for (place, &term) in tokens.iter().enumerate() {
            let slot = self.counter.slots.get(term as usize).copied();
            if let Some(slot) = slot.filter(|&slot| slot != UNTRACKED) {
                let first = (place + 1).saturating_sub(self.window) as u64;
                self.note(slot, first, (place as u64).min(windows - 1));
            }
        }
        self.count_found();
    }

    /// Records that a term is in the windows `first` to `last`; called in the order of the text.
    fn note(&mut self, slot: u32, first: u64, last: u64) {
        let intervals = &mut self.intervals[slot as usize];
        match intervals.last_mut() {
            Some(before) if first <= before.1 + 1 => before.1 = before.1.max(last),
            _ => {
                if intervals.is_empty() {
                    self.found.push(slot);
                }
                intervals.push((first, last));
            }
        }
    }

    /// Adds the windows of the terms found and of their pairs to the counts; clears the intervals.
    fn count_found(&mut self) {
        let counter = &mut self.counter;
        for &slot in &self.found {
            let windows: u64 = self.intervals[slot as usize].iter().map(|i| i.1 - i.0 + 1).sum();
            counter.mark(slot as usize);
            // `mark` has already counted one.
            counter.counts[1 + slot as usize] += windows - 1;
        }
        while let Some(topic) = counter.touched.pop() {
            let topic = topic as usize;
            let ranks = std::mem::take(&mut counter.seen[topic]);
            let of = |rank: usize| &self.intervals[counter.ranked[topic][rank] as usize];
            let pairs = &mut counter.counts[counter.pairs_start[topic]..];
            super::for_each_pair(ranks, |low, high| {
                pairs[super::pair_index(low, high)] += in_common(of(low), of(high));
            });
        }
        for slot in self.found.drain(..) {
            self.intervals[slot as usize].clear();
        }
    }

    /// Returns the counts as one flat row, in the layout of [`CoherenceCounter::counts`].
    pub fn counts(&self) -> &[u64] {
        self.counter.counts()
    }

    /// Adds the counts of a counter made from the same arguments.
    ///
    /// # Panics
    ///
    /// Panics if the length differs, which means other topics.
    pub fn add_counts(&mut self, counts: &[u64]) {
        self.counter.add_counts(counts);
    }

    /// Returns the counter whose documents are windows. Its NPMI is the paper's C_NPMI for windows of 10 tokens.
    pub fn windows(&self) -> &CoherenceCounter {
        &self.counter
    }

    /// Returns C_V of a topic: the mean over its 10 heaviest terms of cos(v_i, Σ_j v_j), where v_i is
    /// the NPMI of term i with each of the ten, itself included. It is from −1 to 1, rarely below 0.
    ///
    /// A term that is in no window has NPMI 0 with every term, and cosine 0. A pair in every window
    /// has NPMI 1. A topic of fewer than two terms gets 0.
    pub fn c_v(&self, topic: usize) -> f64 {
        let terms = self.counter.term_count(topic).min(C_V_TERMS);
        if terms < 2 {
            return 0.0;
        }
        let vectors: Vec<Vec<f64>> =
            (0..terms).map(|i| (0..terms).map(|j| self.npmi(topic, i, j)).collect()).collect();
        let whole: Vec<f64> = (0..terms).map(|j| vectors.iter().map(|v| v[j]).sum()).collect();
        let sum: f64 = vectors.iter().map(|v| cosine(v, &whole)).sum();
        sum / terms as f64
    }

    /// Returns the NPMI of two of a topic's terms, given by rank, by the paper's Eq. 4.
    fn npmi(&self, topic: usize, i: usize, j: usize) -> f64 {
        let windows = self.counter.documents();
        let (alone_i, alone_j) =
            (self.counter.document_frequency(topic, i), self.counter.document_frequency(topic, j));
        let joint =
            if i == j { alone_i } else { self.counter.joint_frequency(topic, i.min(j), i.max(j)) };
        if alone_i == 0 || alone_j == 0 {
            return 0.0;
        }
        if joint == windows {
            return 1.0;
        }
        let share = |count: u64| count as f64 / windows as f64;
        let joint = share(joint) + EPSILON;
        ln(joint / (share(alone_i) * share(alone_j))) / -ln(joint)
    }
}

/// Returns the number of windows that two lists of intervals have in common.
fn in_common(a: &[(u64, u64)], b: &[(u64, u64)]) -> u64 {
    let (mut i, mut j, mut common) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        let (first, last) = (a[i].0.max(b[j].0), a[i].1.min(b[j].1));
        if first <= last {
            common += last - first + 1;
        }
        if a[i].1 < b[j].1 {
            i += 1;
        } else {
            j += 1;
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::random::{Stage, Stream};

    fn random_texts(count: u64, vocabulary: u64) -> Vec<Vec<u32>> {
        let text = |d: u64| {
            let mut stream = Stream::keyed(5, Stage::Synth, 0, d);
            let length = stream.below(60);
            let token = |_| match stream.below(4) {
                0 => UNKNOWN,
                _ => stream.below(1 + stream.clone().below(vocabulary)) as u32,
            };
            (0..length).map(token).collect()
        };
        (0..count).map(text).collect()
    }

    /// The windows of a text, one by one.
    fn windows(text: &[u32], window: usize) -> Vec<&[u32]> {
        match text.len() {
            0 => Vec::new(),
            length if length <= window => vec![text],
            _ => text.windows(window).collect(),
        }
    }

    #[test]
    fn counts_are_those_of_all_windows_one_by_one() {
        let texts = random_texts(80, 30);
        let tops: Vec<Vec<u32>> = vec![(0..20).collect(), (5..25).rev().collect(), vec![3]];
        for window in [1, 2, 7, 30, 100] {
            let mut fast = SlidingWindowCounter::new(&tops, 30, 20, window);
            let mut naive = CoherenceCounter::new(&tops, 30, 20);
            for text in &texts {
                fast.add_sequence(text);
                for window in windows(text, window) {
                    let mut terms: Vec<u32> = window.to_vec();
                    terms.retain(|&t| t != UNKNOWN);
                    terms.sort_unstable();
                    terms.dedup();
                    naive.add_document(&terms);
                }
            }
            assert_eq!(fast.counts(), naive.counts(), "window {window}");
            let mut twice = fast.clone();
            twice.add_counts(naive.counts());
            assert_eq!(twice.counts()[0], 2 * naive.documents());
        }
    }

    #[test]
    fn c_v_of_a_text_made_by_hand() {
        // Windows of two: (0 1) (1 2) (2 9) (9 0) (0 1): p0 = 3/5, p1 = 3/5, p2 = 2/5, p01 = 2/5,
        // p02 = 0, p12 = 1/5.
        let mut counter = SlidingWindowCounter::new(&[vec![0, 1, 2]], 10, 10, 2);
        counter.add_sequence(&[0, 1, 2, 9, 0, 1]);
        assert_eq!(counter.counts(), [5, 3, 3, 2, 2, 0, 1]);
        let npmi = |joint: f64, a: f64, b: f64| ln((joint + 1e-12) / (a * b)) / -ln(joint + 1e-12);
        let (ab, ac, bc) = (npmi(0.4, 0.6, 0.6), npmi(0.0, 0.6, 0.4), npmi(0.2, 0.6, 0.4));
        let itself = |p: f64| npmi(p, p, p);
        let rows = [[itself(0.6), ab, ac], [ab, itself(0.6), bc], [ac, bc, itself(0.4)]];
        let whole = [0, 1, 2].map(|j| rows[0][j] + rows[1][j] + rows[2][j]);
        let expected = rows.iter().map(|row| cosine(row, &whole)).sum::<f64>() / 3.0;
        assert!((counter.c_v(0) - expected).abs() < 1e-12);
        assert!((itself(0.6) - 1.0).abs() < 1e-10 && (-1.0..-0.9).contains(&ac));
    }

    #[test]
    fn c_v_tells_what_stands_together_from_what_does_not() {
        // Terms 0 to 3 are adjacent in every other text; 4 to 7 are each in texts of their own.
        let mut counter = SlidingWindowCounter::for_c_v(&[vec![0, 1, 2, 3], vec![4, 5, 6, 7]], 50);
        for text in 0..40_u32 {
            match text % 2 {
                0 => counter.add_sequence(&[0, 1, 2, 3, 40]),
                _ => counter.add_sequence(&[4 + text / 2 % 4, 41, 42]),
            }
        }
        assert!((counter.c_v(0) - 1.0).abs() < 1e-9, "{}", counter.c_v(0));
        // The four terms of the second topic are alike: NPMI 1 with themselves, `apart` with each
        // other. C_V is known to stay above 0 for such terms.
        let apart = ln(1e-12 / (0.125 * 0.125)) / -ln(1e-12);
        let expected = (1.0 + 3.0 * apart).abs() / (2.0 * (1.0 + 3.0 * apart * apart).sqrt());
        assert!((counter.c_v(1) - expected).abs() < 1e-9 && expected < 0.5);
    }

    #[test]
    fn edges_have_stated_values() {
        let mut counter = SlidingWindowCounter::new(&[vec![], vec![2], vec![0, 1]], 3, 10, 5);
        assert_eq!((counter.c_v(0), counter.c_v(1)), (0.0, 0.0));
        counter.add_sequence(&[]);
        assert_eq!(counter.counts()[0], 0, "an empty document has no window");
        counter.add_sequence(&[0, 1]);
        counter.add_sequence(&[1, 0, 1]);
        assert_eq!(counter.c_v(2), 1.0, "both in every window");
        assert_eq!(counter.c_v(1), 0.0, "in no window");
    }
}
