//! Counts tokens that follow each other in the documents of one worker.

use corpus::phrases::pair_buckets;
use differential_dataflow::Hashable;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use lda::math::special::ln;

use corpus::phrases::Phrase;
use corpus::terms::TermCounter;

/// The number of a token that is part of no phrase.
pub(super) const NONE: u32 = u32::MAX;

/// The tokens that a pass pairs, numbered alike on all workers.
pub(super) struct Units {
    /// Their names.
    pub(super) names: Vec<String>,
    /// The number of words of each.
    words: Vec<usize>,
    /// Their numbers by local id; `NONE` for all other tokens.
    numbers: Vec<u32>,
}

impl Units {
    /// Numbers words, and the phrases found so far. A word with the name of a phrase is that phrase.
    pub(super) fn new(words: &[String], phrases: &[Phrase], terms: &TermCounter) -> Self {
        let mut units = Self {
            names: words.to_vec(),
            words: vec![1; words.len()],
            numbers: vec![NONE; terms.len()],
        };
        for (number, word) in (0..).zip(words) {
            units.set(word, number, terms);
        }
        for name in phrases.iter().map(Phrase::name) {
            match words.binary_search(&name) {
                Ok(place) => units.words[place] = 2,
                Err(_) => {
                    units.set(&name, units.names.len() as u32, terms);
                    units.names.push(name);
                    units.words.push(2);
                }
            }
        }
        units
    }

    fn set(&mut self, name: &str, number: u32, terms: &TermCounter) {
        if let Some(local) = terms.id(name) {
            self.numbers[local as usize] = number;
        }
    }
}

/// Counts the units of documents, and the pairs of those that follow each other.
pub(super) struct PairCounter<'a> {
    units: &'a Units,
    /// The most words of a pair.
    max_words: usize,
    /// The part of all pairs that is counted, and the number of parts.
    part: [u64; 2],
    counts: HashTable<(u64, u64)>,
}

impl<'a> PairCounter<'a> {
    /// Creates one that has counted nothing.
    pub(super) fn new(units: &'a Units, max_words: usize, part: [u64; 2]) -> Self {
        Self { units, max_words, part, counts: HashTable::new() }
    }

    /// Counts a document of these local ids.
    pub(super) fn add(&mut self, tokens: &[u32]) {
        let units = self.units;
        let mut before = NONE;
        for &local in tokens {
            let unit = units.numbers[local as usize];
            if unit != NONE {
                self.count(unit, NONE);
            }
            if unit != NONE && before != NONE {
                let [first, second] = [before, unit].map(|unit| units.words[unit as usize]);
                if first + second <= self.max_words {
                    self.count(before, unit);
                }
            }
            before = unit;
        }
    }

    fn count(&mut self, first: u32, second: u32) {
        let key = u64::from(first) << 32 | u64::from(second);
        let hash = key.hashed();
        // The low bits determine which worker sums the pair.
        if (hash >> 32) % self.part[1] != self.part[0] {
            return;
        }
        let same = |slot: &(u64, u64)| slot.0 == key;
        match self.counts.entry(hash, same, |slot| slot.0.hashed()) {
            Entry::Occupied(mut slot) => slot.get_mut().1 += 1,
            Entry::Vacant(slot) => _ = slot.insert((key, 1)),
        }
    }

    /// Returns the number of distinct units and pairs counted.
    pub(super) fn len(&self) -> usize {
        self.counts.len()
    }

    /// Passes each and its count to `give`, in any order, and forgets them.
    pub(super) fn drain(&mut self, give: &mut dyn FnMut(u64, u64)) {
        for (key, count) in self.counts.drain() {
            give(key, count);
        }
    }
}

/// Returns the two units of a pair; the second is [`NONE`] for a single unit.
pub(super) fn split(key: u64) -> [u32; 2] {
    [(key >> 32) as u32, key as u32]
}

// Tells which pairs cannot be frequent, in a byte for each of many buckets instead of a count for each pair (the hash
// filter of Park, Chen & Yu 1995). Most distinct pairs of a text are rare.

/// Counts by bucket of a worker's pairs, at most 255 each.
pub(super) struct PairFilter {
    buckets: Vec<u8>,
    least: u8,
}

impl PairFilter {
    /// Creates a filter for the pairs of this many tokens that occur at least `least` times.
    pub(super) fn new(tokens: u64, least: u64) -> Self {
        Self {
            buckets: vec![0; pair_buckets(tokens, least) as usize],
            least: least.clamp(1, u8::MAX.into()) as u8,
        }
    }

    /// Adds the count of a pair, or a part of it.
    pub(super) fn add(&mut self, pair: u64, count: u64) {
        let bucket = self.bucket(pair);
        let sum = u64::from(self.buckets[bucket]).saturating_add(count);
        self.buckets[bucket] = sum.min(u8::MAX.into()) as u8;
    }

    /// Whether a pair may be frequent, after all counts are added.
    pub(super) fn passes(&self, pair: u64) -> bool {
        self.buckets[self.bucket(pair)] >= self.least
    }

    /// Returns how many distinct pairs pass, about, and at least half as many.
    pub(super) fn passing(&self) -> u64 {
        let count = |is: &dyn Fn(u8) -> bool| self.buckets.iter().filter(|&&n| is(n)).count();
        let [empty, passing] = [count(&|n| n == 0), count(&|n| n >= self.least)];
        // Linear counting (Whang et al. 1990): the pairs in a bucket, on average.
        let buckets = self.buckets.len() as f64;
        let pairs = ln(buckets / empty.max(1) as f64);
        (passing as f64 * (1.0 + 2.0 * pairs)) as u64
    }

    fn bucket(&self, pair: u64) -> usize {
        // As MurmurHash3 ends; the pair's worker and part follow from another hash.
        let hash = (pair ^ pair >> 33).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
        let hash = (hash ^ hash >> 33).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
        (hash >> (64 - self.buckets.len().ilog2())) as usize
    }
}

#[cfg(test)]
mod pair_filter_tests {
    use super::*;

    #[test]
    fn frequent_pairs_pass_and_few_others_do() {
        let rare = 0..40_000_u64;
        let frequent = |n: u64| (n + 1) << 32 | 7;
        let mut filter = PairFilter::new(50_000, 5);
        rare.clone().for_each(|n| filter.add(n << 32 | n, 1));
        for n in 0..1000 {
            (0..2).for_each(|_| filter.add(frequent(n), 2));
            filter.add(frequent(n), 300);
        }
        assert!((0..1000).all(|n| filter.passes(frequent(n))));
        let wrong = rare.filter(|&n| filter.passes(n << 32 | n)).count();
        assert!(wrong < 2500, "{wrong}");
        let passing = 1000 + wrong as u64;
        let estimate = filter.passing();
        assert!((passing / 2..4 * passing).contains(&estimate), "{estimate} {passing}");
    }

    #[test]
    fn limits_that_no_byte_holds_let_more_pass() {
        let mut filter = PairFilter::new(10, 1000);
        filter.add(1 << 32, 400);
        assert!(filter.passes(1 << 32));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Returns the counts of units and pairs in this text, by name.
    fn counted(
        text: &[&str],
        words: &[&str],
        phrases: [[&str; 2]; 1],
        max_words: usize,
        parts: u64,
    ) -> BTreeMap<String, u64> {
        let mut terms = TermCounter::new();
        let ids: Vec<u32> = text.iter().map(|word| terms.intern(word)).collect();
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let phrases = phrases.map(|[first, second]| Phrase {
            pass: 1,
            first: first.to_owned(),
            second: second.to_owned(),
            count: 1,
            score: 1.0,
        });
        let units = Units::new(&words, &phrases, &terms);
        let mut all = BTreeMap::new();
        for part in 0..parts {
            let mut counter = PairCounter::new(&units, max_words, [part, parts]);
            counter.add(&ids);
            counter.add(&ids[..1]);
            counter.drain(&mut |key, count| {
                let [first, second] = split(key).map(|unit| units.names.get(unit as usize));
                let name = format!("{} {}", first.unwrap(), second.map_or("", |name| name));
                assert_eq!(all.insert(name, count), None, "counted in two parts");
            });
        }
        all
    }

    #[test]
    fn pairs_of_units_are_counted_once_in_any_number_of_parts() {
        let text = ["new_york", "city", "the", "city", "hall", "hall"];
        let words = ["city", "hall", "new_york"];
        let [pairs, longer] = [2, 3].map(|most| counted(&text, &words, [["new", "york"]], most, 1));
        let expected =
            [("city ", 2), ("city hall", 1), ("hall ", 2), ("hall hall", 1), ("new_york ", 2)];
        let expected: BTreeMap<String, u64> =
            expected.map(|(name, count)| (name.to_owned(), count)).into();
        assert_eq!(pairs, expected, "new_york city has three words");
        assert_eq!(longer.get("new_york city"), Some(&1));
        for parts in 2..6 {
            assert_eq!(counted(&text, &words, [["new", "york"]], 2, parts), pairs);
        }
    }
}
