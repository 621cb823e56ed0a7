//! The sufficient statistics of a minibatch: how often each term was assigned to each topic in the
//! kept sweeps (S·N̂_kw of Mimno 2012, Eq. 10), or by how much that has changed since the documents
//! were visited last.
//!
//! They are integers, so sums do not depend on the order of summation: workers may add them up in any order and get
//! the same model. An entry is one 64-bit word, plain data that is sent as it is: the term in the high 24 bits,
//! then the topic in 16, then the count in 24, in two's complement.

/// The largest vocabulary that entries can represent.
pub const MAX_TERMS: usize = 1 << 24;

const COUNT_BITS: u32 = 24;
const TOPIC_BITS: u32 = 16;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;
/// The largest count, positive or negative, of one entry.
const MAX_COUNT: i64 = (1 << (COUNT_BITS - 1)) - 1;

/// The maximum number of assignments that are collected before they are aggregated: bounds the memory of a large
/// minibatch (8 bytes each, and as much again while they are sorted).
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
    /// Returns the entry as a word; words sort by term, then topic.
    ///
    /// ```
    /// # use lda::model::statistics::Assigned;
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

    /// Returns the entry that [`word`](Self::word) encoded.
    pub fn from_word(word: u64) -> Self {
        Self {
            term: (word >> (TOPIC_BITS + COUNT_BITS)) as u32,
            topic: (word >> COUNT_BITS) as u16,
            count: ((word << (64 - COUNT_BITS)) as i64 >> (64 - COUNT_BITS)) as i32,
        }
    }
}

/// Returns the sum of the counts of some entries, for each of K topics.
pub fn topic_counts(entries: &[u64], topic_count: usize) -> Vec<i64> {
    let mut sums = vec![0; topic_count];
    for &word in entries {
        let entry = Assigned::from_word(word);
        sums[usize::from(entry.topic)] += i64::from(entry.count);
    }
    sums
}

/// A sum of entries, added in any order and returned aggregated and sorted.
///
/// Uses a counting sort by term, then a small table of topics within each term: linear in the number of entries,
/// whatever their order. The buffers are kept from one round to the next.
#[derive(Debug, Default)]
pub struct Aggregator {
    words: Vec<u64>,
    tally: Tally,
}

impl Aggregator {
    /// Creates an aggregator for a vocabulary of `vocabulary_size` terms and `topic_count` topics.
    pub fn new(vocabulary_size: usize, topic_count: usize) -> Self {
        Self { words: Vec::new(), tally: Tally::new(vocabulary_size, topic_count) }
    }

    /// Adds entries.
    pub fn add_words(&mut self, words: &[u64]) {
        self.words.extend_from_slice(words);
    }

    /// Passes each aggregated entry to `emit`, ascending by term, then topic, and forgets all entries. Counts that
    /// cancel out are not passed.
    ///
    /// A count beyond ±(2²³ − 1) is passed in several entries.
    pub fn drain(&mut self, emit: impl FnMut(Assigned)) {
        let entries = |words: &[u64], tally: &mut Tally| {
            for &word in words {
                let entry = Assigned::from_word(word);
                tally.count(entry.topic, i64::from(entry.count));
            }
        };
        self.tally.by_term(0, &self.words, |word| Assigned::from_word(word).term, entries, emit);
        self.words.clear();
    }
}

/// A collector of tokens that move between topics or are assigned one, which returns the changes of the counts as
/// an [`Aggregator`] does.
///
/// A move is one word: the term in the high 32 bits, then the old topic, then the new one. Moves are collected in
/// buckets by ranges of terms. A document's terms descend, so it fills the buckets one after another, and a bucket
/// has so few terms that sorting it stays in the cache: with 65,000 terms, it takes 0.53 (assigned) to 0.79 (moved)
/// of the time of a single sort by term.
#[derive(Debug, Default)]
pub struct Moves {
    buckets: Vec<Bucket>,
    /// The number of a term's low bits, below those of its bucket's number.
    shift: u32,
    /// The moves that all buckets have room for.
    room: usize,
    /// Added counts, and sums that were aggregated early.
    early: Vec<u64>,
    tally: Tally,
    merger: Aggregator,
    rows: TermRows,
    /// The old topic of tokens without one: K.
    nowhere: u16,
    limit: usize,
}

/// The moves of a range of terms: the first `filled` words, followed by free space.
#[derive(Clone, Debug, Default)]
struct Bucket {
    words: Vec<u64>,
    filled: usize,
}

/// The maximum number of buckets.
const BUCKETS: usize = 256;

impl Moves {
    /// Creates a collector for a vocabulary of `vocabulary_size` terms and `topic_count` topics.
    pub fn new(vocabulary_size: usize, topic_count: usize) -> Self {
        let range = vocabulary_size.div_ceil(BUCKETS).next_power_of_two();
        Self {
            buckets: vec![Bucket::default(); vocabulary_size.div_ceil(range)],
            shift: range.trailing_zeros(),
            tally: Tally::new(range, topic_count),
            merger: Aggregator::new(vocabulary_size, topic_count),
            nowhere: topic_count as u16,
            limit: COLLECTED_AT_MOST,
            ..Self::default()
        }
    }

    /// Records that tokens of `term` are assigned to topics.
    #[inline]
    pub fn assigned(&mut self, term: u32, topics: &[u16]) {
        let nowhere = self.nowhere;
        let bucket = self.bucket(term, topics.len());
        let room = &mut bucket.words[bucket.filled..];
        for (place, &topic) in room.iter_mut().zip(topics) {
            *place = move_word(term, nowhere, topic);
        }
        bucket.filled += topics.len();
    }

    /// Adds a count.
    pub fn add(&mut self, term: u32, topic: u16, count: i64) {
        if self.early.len() >= self.limit {
            self.merger.add_words(&self.early);
            self.early.clear();
            let early = &mut self.early;
            self.merger.drain(|entry| early.push(entry.word()));
            // The aggregated sums may be as many; aggregating them again with each entry would take forever.
            self.limit = self.limit.max(2 * early.len());
        }
        let early = &mut self.early;
        in_pieces(count, |count| {
            early.push(Assigned { term, topic, count }.word());
        });
    }

    /// Adds `counts`, one per topic, `times` times.
    #[inline]
    pub fn add_row(&mut self, term: u32, counts: &[u16], times: u32) {
        self.rows.add(term, counts, times);
    }

    /// Records that tokens of `term` have moved from the topics `old` to the topics `new`, one by one.
    #[inline]
    pub fn moved(&mut self, term: u32, old: &[u16], new: &[u16]) {
        let bucket = self.bucket(term, old.len());
        let mut filled = bucket.filled;
        // Branch prediction cannot guess whether a topic has changed: write first, then keep or discard.
        for (&from, &to) in old.iter().zip(new) {
            bucket.words[filled] = move_word(term, from, to);
            filled += usize::from(from != to);
        }
        bucket.filled = filled;
    }

    /// Returns the bucket of a term, with room for `moves` more moves.
    #[inline]
    fn bucket(&mut self, term: u32, moves: usize) -> &mut Bucket {
        let number = (term >> self.shift) as usize;
        let bucket = &self.buckets[number];
        if bucket.filled + moves > bucket.words.len() {
            self.grow(number, moves);
        }
        &mut self.buckets[number]
    }

    /// Makes room in a bucket; if the buckets are already at the limit, aggregates their moves first.
    #[cold]
    fn grow(&mut self, number: usize, moves: usize) {
        if self.room >= self.limit {
            let mut early = std::mem::take(&mut self.early);
            self.aggregate(|entry| early.push(entry.word()));
            self.early = early;
            self.buckets.fill(Bucket::default());
            self.room = 0;
        }
        let Bucket { words, filled } = &mut self.buckets[number];
        let needed = (*filled + moves).max(2 * words.len());
        self.room += needed - words.len();
        words.resize(needed, 0);
    }

    fn aggregate(&mut self, mut emit: impl FnMut(Assigned)) {
        let nowhere = self.nowhere;
        let moves = |words: &[u64], tally: &mut Tally| {
            for &word in words {
                let from = (word >> TOPIC_BITS) as u16;
                if from != nowhere {
                    tally.count(from, -1);
                }
                tally.count(word as u16, 1);
            }
        };
        let term_of = |word| (word >> (2 * TOPIC_BITS)) as u32;
        for (number, bucket) in (0..).zip(&mut self.buckets) {
            let words = &bucket.words[..std::mem::take(&mut bucket.filled)];
            let first = number << self.shift;
            self.tally.by_term(first, words, term_of, moves, &mut emit);
        }
    }

    /// Passes each changed count to `emit`, ascending by term, then topic, and forgets all counts.
    pub fn drain(&mut self, mut emit: impl FnMut(Assigned)) {
        let mut words = std::mem::take(&mut self.early);
        if words.is_empty() && self.buckets.iter().all(|bucket| bucket.filled == 0) {
            return self.rows.drain(emit);
        }
        self.rows.drain(|entry| words.push(entry.word()));
        if words.is_empty() {
            return self.aggregate(emit);
        }
        self.aggregate(|entry| words.push(entry.word()));
        self.merger.add_words(&words);
        self.merger.drain(&mut emit);
    }
}

/// Passes a count to `emit` in pieces that an entry can hold; nothing for 0.
#[inline]
fn in_pieces(mut rest: i64, mut emit: impl FnMut(i32)) {
    while rest != 0 {
        let count = rest.clamp(-MAX_COUNT, MAX_COUNT) as i32;
        emit(count);
        rest -= i64::from(count);
    }
}

#[inline]
fn move_word(term: u32, from: u16, to: u16) -> u64 {
    u64::from(term) << (2 * TOPIC_BITS) | u64::from(from) << TOPIC_BITS | u64::from(to)
}

/// A counting sort of words by term, with the counts of each term's topics.
#[derive(Debug, Default)]
struct Tally {
    starts: Vec<u32>,
    sorted: Vec<u64>,
    /// Counts of the current term, by topic.
    by_topic: Vec<i64>,
    touched: TopicSet,
}

impl Tally {
    fn new(term_count: usize, topic_count: usize) -> Self {
        Self {
            starts: vec![0; term_count + 1],
            sorted: Vec::new(),
            by_topic: vec![0; topic_count],
            touched: TopicSet::new(topic_count),
        }
    }

    #[inline]
    fn count(&mut self, topic: u16, count: i64) {
        self.by_topic[usize::from(topic)] += count;
        self.touched.insert(topic);
    }

    /// Passes the words of each term, from `first` on, to `add`, which counts them, and passes the counts to `emit`.
    fn by_term(
        &mut self,
        first: u32,
        words: &[u64],
        term_of: impl Fn(u64) -> u32,
        add: impl Fn(&[u64], &mut Self),
        mut emit: impl FnMut(Assigned),
    ) {
        if words.is_empty() {
            return;
        }
        self.sort(words, |word| (term_of(word) - first) as usize);
        let sorted = std::mem::take(&mut self.sorted);
        let mut from = 0;
        for index in 0..self.starts.len() - 1 {
            let to = self.starts[index] as usize;
            if from < to {
                add(&sorted[from..to], self);
                self.give(first + index as u32, &mut emit);
            }
            from = to;
        }
        self.sorted = sorted;
    }

    /// Passes the counts of the current term to `emit`, ascending by topic, and forgets them.
    fn give(&mut self, term: u32, emit: &mut impl FnMut(Assigned)) {
        let by_topic = &mut self.by_topic;
        self.touched.drain(|topic| {
            let count = std::mem::take(&mut by_topic[usize::from(topic)]);
            in_pieces(count, |count| emit(Assigned { term, topic, count }));
        });
    }

    /// Writes the words, ordered by term, to the beginning of `sorted`; their order within a term does not matter.
    /// `starts` then contains the ends of the terms.
    fn sort(&mut self, words: &[u64], index_of: impl Fn(u64) -> usize) {
        self.starts.fill(0);
        for &word in words {
            self.starts[index_of(word) + 1] += 1;
        }
        for i in 1..self.starts.len() {
            self.starts[i] += self.starts[i - 1];
        }
        if self.sorted.len() < words.len() {
            self.sorted.resize(words.len(), 0);
        }
        for &word in words {
            let place = &mut self.starts[index_of(word)];
            self.sorted[*place as usize] = word;
            *place += 1;
        }
    }
}

#[cfg(test)]
mod tests;

/// Counts of terms that occur in most topics: a row of K sums for each term; empty if the term was never counted.
#[derive(Debug, Default)]
struct TermRows {
    rows: Vec<Vec<i64>>,
}

impl TermRows {
    /// Adds `counts`, one per topic, `times` times.
    #[inline]
    fn add(&mut self, term: u32, counts: &[u16], times: u32) {
        let (term, rows) = (term as usize, &mut self.rows);
        if rows.len() <= term {
            rows.resize(term + 1, Vec::new());
        }
        let row = &mut rows[term];
        if row.is_empty() {
            row.resize(counts.len(), 0);
        }
        for (sum, &count) in row.iter_mut().zip(counts) {
            *sum += i64::from(count) * i64::from(times);
        }
    }

    /// Passes the counts to `emit`, ascending by term, then topic, and forgets them.
    fn drain(&mut self, mut emit: impl FnMut(Assigned)) {
        for (term, row) in (0..).zip(&mut self.rows) {
            for (topic, sum) in (0..).zip(row) {
                let count = std::mem::take(sum);
                in_pieces(count, |count| emit(Assigned { term, topic, count }));
            }
        }
    }
}

/// A set of topics that are inserted without a branch and drained in order: a bit for each topic, and a bit for
/// each word of those.
#[derive(Debug, Default)]
struct TopicSet {
    bits: Vec<u64>,
    words: Vec<u64>,
}

impl TopicSet {
    /// Creates a set for topics below `size`.
    fn new(size: usize) -> Self {
        let words = size.div_ceil(64);
        Self { bits: vec![0; words], words: vec![0; words.div_ceil(64)] }
    }

    #[inline]
    fn insert(&mut self, topic: u16) {
        let word = usize::from(topic) / 64;
        self.bits[word] |= 1 << (topic % 64);
        self.words[word / 64] |= 1 << (word % 64);
    }

    /// Passes all topics to `visit`, ascending, and forgets them.
    #[inline]
    fn drain(&mut self, mut visit: impl FnMut(u16)) {
        for (block, words) in self.words.iter_mut().enumerate() {
            for_each_bit(std::mem::take(words), |word| {
                let word = block * 64 + word;
                for_each_bit(std::mem::take(&mut self.bits[word]), |bit| {
                    visit((word * 64 + bit) as u16);
                });
            });
        }
    }
}

#[inline]
fn for_each_bit(mut bits: u64, mut visit: impl FnMut(usize)) {
    while bits != 0 {
        visit(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}
