//! The sufficient statistics of a minibatch: how often each term was assigned to each topic in the
//! kept sweeps (S·N̂_kw of Mimno 2012, Eq. 10), or by how much that has changed since the documents
//! were visited last.
//!
//! They are integers, so that sums do not depend on the order of summation: workers may add them
//! up in any order and get the same model. An entry is one 64-bit word, plain old data that is
//! sent as it lies: term in the high 24 bits, then the topic in 16, then the count in 24, in two's
//! complement.

/// The largest vocabulary that an entry can name.
pub const MAX_TERMS: usize = 1 << 24;

const COUNT_BITS: u32 = 24;
const TOPIC_BITS: u32 = 16;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;
/// The largest count, positive or negative, of one entry.
const MAX_COUNT: i64 = (1 << (COUNT_BITS - 1)) - 1;

/// Assignments that are collected before they are aggregated: bounds the memory of a large
/// minibatch (8 bytes each, and as many again while they are sorted).
const COLLECTED_AT_MOST: usize = 1 << 22;

/// How often a term was assigned to a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assigned {
    /// The term.
    pub term: u32,
    /// The topic.
    pub topic: u16,
    /// Assignments, summed over the kept sweeps, or their change: within ±(2²³ − 1).
    pub count: i32,
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
        debug_assert!((self.term as usize) < MAX_TERMS);
        debug_assert!(i64::from(self.count).abs() <= MAX_COUNT);
        u64::from(self.term) << (TOPIC_BITS + COUNT_BITS)
            | u64::from(self.topic) << COUNT_BITS
            | (i64::from(self.count) as u64 & COUNT_MASK)
    }

    /// The entry that [`word`](Self::word) made.
    pub fn from_word(word: u64) -> Self {
        Self {
            term: (word >> (TOPIC_BITS + COUNT_BITS)) as u32,
            topic: (word >> COUNT_BITS) as u16,
            count: ((word << (64 - COUNT_BITS)) as i64 >> (64 - COUNT_BITS)) as i32,
        }
    }
}

/// Collects assignments, or changes of them, in any order and gives them back aggregated and sorted.
///
/// A counting sort by term, then a small table of topics within each term: linear in the number of
/// assignments, whatever their order. The buffers are kept from one round to the next.
#[derive(Debug, Default)]
pub struct Aggregator {
    collected: Vec<u64>,
    sorted: Vec<u64>,
    starts: Vec<u32>,
    by_topic: Vec<i64>,
    touched: Vec<u16>,
    /// Collecting more than this makes it aggregate what there is.
    limit: usize,
}

impl Aggregator {
    /// For a vocabulary of `vocabulary_size` terms and `topic_count` topics.
    pub fn new(vocabulary_size: usize, topic_count: usize) -> Self {
        Self {
            starts: vec![0; vocabulary_size + 1],
            by_topic: vec![0; topic_count],
            limit: COLLECTED_AT_MOST,
            ..Self::default()
        }
    }

    /// Adds one assignment of `term` to `topic`.
    #[inline]
    pub fn add(&mut self, term: u32, topic: u16) {
        self.push(term, topic, 1);
    }

    /// Assignments of `term` have moved from the topics `old` to the topics `new`, one by one.
    #[inline]
    pub fn moved(&mut self, term: u32, old: &[u16], new: &[u16]) {
        if self.collected.len() >= self.limit {
            self.compact();
        }
        // Whether a topic has changed is anybody's guess, for a processor too: write first, then
        // keep or not.
        let mut length = self.collected.len();
        self.collected.resize(length + 2 * old.len(), 0);
        for (&from, &to) in old.iter().zip(new) {
            let entry = |topic, count| Assigned { term, topic, count }.word();
            self.collected[length] = entry(from, -1);
            self.collected[length + 1] = entry(to, 1);
            length += 2 * usize::from(from != to);
        }
        self.collected.truncate(length);
    }

    #[inline]
    fn push(&mut self, term: u32, topic: u16, count: i32) {
        if self.collected.len() >= self.limit {
            self.compact();
        }
        self.collected.push(Assigned { term, topic, count }.word());
    }

    /// Aggregates what was collected, to make room.
    #[cold]
    fn compact(&mut self) {
        let mut words = Vec::new();
        self.drain(|entry| words.push(entry.word()));
        self.limit = COLLECTED_AT_MOST.max(2 * words.len());
        self.collected.extend_from_slice(&words);
    }

    /// Adds entries that are aggregated already.
    pub fn add_words(&mut self, words: &[u64]) {
        self.collected.extend_from_slice(words);
    }

    /// Hands each aggregated entry to `emit`, ascending by term, then topic, and forgets all. What
    /// has cancelled out is not handed over.
    ///
    /// A count beyond ±(2²³ − 1) is handed over in several entries.
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
                *total += i64::from(entry.count);
                end += 1;
            }
            self.touched.sort_unstable();
            for topic in self.touched.drain(..) {
                let mut rest = std::mem::take(&mut self.by_topic[usize::from(topic)]);
                while rest != 0 {
                    let count = rest.clamp(-MAX_COUNT, MAX_COUNT) as i32;
                    emit(Assigned { term, topic, count });
                    rest -= i64::from(count);
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

    fn drained(aggregator: &mut Aggregator) -> Vec<(u32, u16, i32)> {
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
                *twin.entry((term, topic)).or_insert(0i32) += 1;
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
    fn changes_cancel_out() {
        let mut aggregator = Aggregator::new(3, 4);
        aggregator.moved(2, &[1], &[3]);
        aggregator.moved(2, &[3], &[0]);
        aggregator.moved(0, &[2], &[1]);
        aggregator.moved(0, &[1], &[2]);
        assert_eq!(drained(&mut aggregator), vec![(2, 0, 1), (2, 1, -1)]);
    }

    #[test]
    fn what_is_too_much_is_aggregated_early_and_comes_out_the_same() {
        let (mut whole, mut small) = (Aggregator::new(5, 3), Aggregator::new(5, 3));
        small.limit = 7;
        for i in 0..100u32 {
            for aggregator in [&mut whole, &mut small] {
                aggregator.add(i * 7 % 5, (i % 3) as u16);
            }
            small.limit = 7.max(small.limit.min(20));
        }
        assert_eq!(drained(&mut whole), drained(&mut small));
    }

    #[test]
    fn a_count_too_large_for_an_entry_is_split() {
        let mut aggregator = Aggregator::new(1, 1);
        let half = Assigned {
            term: 0,
            topic: 0,
            count: MAX_COUNT as i32,
        }
        .word();
        aggregator.add_words(&[half, half, half]);
        let total: i64 = drained(&mut aggregator)
            .iter()
            .map(|&(_, _, n)| i64::from(n))
            .sum();
        assert_eq!(total, 3 * MAX_COUNT);
    }
}
