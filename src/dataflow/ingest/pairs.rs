//! Counts tokens that follow each other in the documents of one worker.

use differential_dataflow::Hashable;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

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
}

impl Units {
    /// Numbers words, and the phrases found so far. A word with the name of a phrase is that phrase.
    pub(super) fn new(words: &[String], phrases: &[Phrase]) -> Self {
        let mut units = Self { names: words.to_vec(), words: vec![1; words.len()] };
        for name in phrases.iter().map(Phrase::name) {
            match words.binary_search(&name) {
                Ok(place) => units.words[place] = 2,
                Err(_) => {
                    units.names.push(name);
                    units.words.push(2);
                }
            }
        }
        units
    }

    /// Returns their numbers by local id; `NONE` for all other tokens.
    pub(super) fn numbers(&self, terms: &TermCounter) -> Vec<u32> {
        let mut numbers = vec![NONE; terms.len()];
        for (number, name) in (0..).zip(&self.names) {
            if let Some(local) = terms.id(name) {
                numbers[local as usize] = number;
            }
        }
        numbers
    }
}

/// Counts the units of documents, and the pairs of those that follow each other.
pub(super) struct PairCounter<'a> {
    units: &'a Units,
    /// Their numbers by local id.
    numbers: Vec<u32>,
    /// The most words of a pair.
    max_words: usize,
    /// The part of all pairs that is counted, and the number of parts.
    part: [u64; 2],
    counts: HashTable<(u64, u64)>,
}

impl<'a> PairCounter<'a> {
    /// Creates one that has counted nothing, for documents of these terms.
    pub(super) fn new(
        units: &'a Units,
        terms: &TermCounter,
        max_words: usize,
        part: [u64; 2],
    ) -> Self {
        let numbers = units.numbers(terms);
        Self { units, numbers, max_words, part, counts: HashTable::new() }
    }

    /// Counts a document of these local ids.
    pub(super) fn add(&mut self, tokens: &[u32]) {
        let units = self.units;
        let mut before = NONE;
        for &local in tokens {
            let unit = self.numbers[local as usize];
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
        let units = Units::new(&words, &phrases);
        let mut all = BTreeMap::new();
        for part in 0..parts {
            let mut counter = PairCounter::new(&units, &terms, max_words, [part, parts]);
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
