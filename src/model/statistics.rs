//! The sufficient statistics of a minibatch: how often each term was assigned to each topic in the
//! kept sweeps (S·N̂_kw of Mimno 2012, Eq. 10).
//!
//! They are integers, so that sums do not depend on the order of summation: workers may add them
//! up in any order and get the same model. An entry is one 64-bit word, plain old data that is
//! sent as it lies: term in the high 24 bits, then the topic in 16, then the count in 24.

/// The largest vocabulary that an entry can name.
pub const MAX_TERMS: usize = 1 << 24;

const COUNT_BITS: u32 = 24;
const TOPIC_BITS: u32 = 16;
const MAX_COUNT: u64 = (1 << COUNT_BITS) - 1;

/// How often a term was assigned to a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assigned {
    /// The term.
    pub term: u32,
    /// The topic.
    pub topic: u16,
    /// Assignments, summed over the kept sweeps; at most 2²⁴ − 1.
    pub count: u32,
}

impl Assigned {
    /// The entry as a word that sorts by term, then topic.
    ///
    /// ```
    /// # use topicmill::model::statistics::Assigned;
    /// let entry = Assigned { term: 70_000, topic: 999, count: 12 };
    /// assert_eq!(Assigned::from_word(entry.word()), entry);
    /// ```
    pub fn word(self) -> u64 {
        debug_assert!((self.term as usize) < MAX_TERMS && u64::from(self.count) <= MAX_COUNT);
        u64::from(self.term) << (TOPIC_BITS + COUNT_BITS)
            | u64::from(self.topic) << COUNT_BITS
            | u64::from(self.count)
    }

    /// The entry that [`word`](Self::word) made.
    pub fn from_word(word: u64) -> Self {
        Self {
            term: (word >> (TOPIC_BITS + COUNT_BITS)) as u32,
            topic: (word >> COUNT_BITS) as u16,
            count: (word & MAX_COUNT) as u32,
        }
    }
}

/// Collects assignments in any order and gives them back aggregated and sorted.
///
/// A counting sort by term, then a small table of topics within each term: linear in the number of
/// assignments, whatever their order. The buffers are kept from one round to the next.
#[derive(Debug, Default)]
pub struct Aggregator {
    collected: Vec<u64>,
    sorted: Vec<u64>,
    starts: Vec<u32>,
    by_topic: Vec<u64>,
    touched: Vec<u16>,
}

impl Aggregator {
    /// For a vocabulary of `vocabulary_size` terms and `topic_count` topics.
    pub fn new(vocabulary_size: usize, topic_count: usize) -> Self {
        Self {
            starts: vec![0; vocabulary_size + 1],
            by_topic: vec![0; topic_count],
            ..Self::default()
        }
    }

    /// Adds one assignment of `term` to `topic`.
    #[inline]
    pub fn add(&mut self, term: u32, topic: u16) {
        self.collected.push(
            Assigned {
                term,
                topic,
                count: 1,
            }
            .word(),
        );
    }

    /// Adds entries that are aggregated already.
    pub fn add_words(&mut self, words: &[u64]) {
        self.collected.extend_from_slice(words);
    }

    /// Hands each aggregated entry to `emit`, ascending by term, then topic, and forgets all.
    ///
    /// A count over 2²⁴ − 1 is handed over in several entries.
    pub fn drain(&mut self, mut emit: impl FnMut(Assigned)) {
        self.sort_by_term();
        let mut begin = 0;
        while begin < self.sorted.len() {
            let term = Assigned::from_word(self.sorted[begin]).term;
            let mut end = begin;
            while end < self.sorted.len() {
                let entry = Assigned::from_word(self.sorted[end]);
                if entry.term != term {
                    break;
                }
                let total = &mut self.by_topic[usize::from(entry.topic)];
                if *total == 0 {
                    self.touched.push(entry.topic);
                }
                *total += u64::from(entry.count);
                end += 1;
            }
            self.touched.sort_unstable();
            for topic in self.touched.drain(..) {
                let mut rest = std::mem::take(&mut self.by_topic[usize::from(topic)]);
                while rest > 0 {
                    let count = rest.min(MAX_COUNT) as u32;
                    emit(Assigned { term, topic, count });
                    rest -= u64::from(count);
                }
            }
            begin = end;
        }
        self.sorted.clear();
    }

    /// Moves `collected` to `sorted`, ordered by term; order within a term is of no consequence.
    fn sort_by_term(&mut self) {
        self.starts.fill(0);
        for &word in &self.collected {
            self.starts[Assigned::from_word(word).term as usize + 1] += 1;
        }
        for i in 1..self.starts.len() {
            self.starts[i] += self.starts[i - 1];
        }
        self.sorted.resize(self.collected.len(), 0);
        for &word in &self.collected {
            let place = &mut self.starts[Assigned::from_word(word).term as usize];
            self.sorted[*place as usize] = word;
            *place += 1;
        }
        self.collected.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn drained(aggregator: &mut Aggregator) -> Vec<(u32, u16, u32)> {
        let mut out = Vec::new();
        aggregator.drain(|e| out.push((e.term, e.topic, e.count)));
        out
    }

    proptest! {
        #[test]
        fn aggregates_like_a_map(pairs in prop::collection::vec((0u32..50, 0u16..9), 0..400)) {
            let mut aggregator = Aggregator::new(50, 9);
            let mut twin = BTreeMap::new();
            for &(term, topic) in &pairs {
                aggregator.add(term, topic);
                *twin.entry((term, topic)).or_insert(0u32) += 1;
            }
            let expected: Vec<_> = twin.into_iter().map(|((w, k), n)| (w, k, n)).collect();
            prop_assert_eq!(drained(&mut aggregator), expected);
            prop_assert_eq!(drained(&mut aggregator), vec![]);
        }
    }

    #[test]
    fn merging_parts_equals_the_whole_in_any_order() {
        let words = |pairs: &[(u32, u16)]| {
            let mut a = Aggregator::new(10, 4);
            pairs.iter().for_each(|&(w, k)| a.add(w, k));
            let mut out = Vec::new();
            a.drain(|e| out.push(e.word()));
            out
        };
        let (left, right) = (words(&[(3, 1), (3, 1), (0, 2)]), words(&[(3, 1), (9, 0)]));
        let merged = |parts: [&Vec<u64>; 2]| {
            let mut a = Aggregator::new(10, 4);
            parts.iter().for_each(|p| a.add_words(p));
            drained(&mut a)
        };
        assert_eq!(
            merged([&left, &right]),
            vec![(0, 2, 1), (3, 1, 3), (9, 0, 1)]
        );
        assert_eq!(merged([&left, &right]), merged([&right, &left]));
    }

    #[test]
    fn a_count_too_large_for_an_entry_is_split() {
        let mut aggregator = Aggregator::new(1, 1);
        let half = Assigned {
            term: 0,
            topic: 0,
            count: MAX_COUNT as u32,
        }
        .word();
        aggregator.add_words(&[half, half, half]);
        let total: u64 = drained(&mut aggregator)
            .iter()
            .map(|&(_, _, n)| u64::from(n))
            .sum();
        assert_eq!(total, 3 * MAX_COUNT);
    }
}
