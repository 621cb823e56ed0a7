//! Sums over groups of documents, each held by the worker given by the hash of its name.
//!
//! A worker sums over what it reads, and sends the sums when they become too large to hold. A
//! group's sums are sent as words: length of its name, name, the sums that every group has, (topic,
//! mass) pairs, (place, bits) pairs of its terms; in pieces that fit into a block.

use std::collections::BTreeMap;

use super::{SUMS, fixed_sums, set_fixed_sums};
use crate::dataflow::names::{MOST_NAME_BYTES, name_hash, pack_name, unpack_name};
use crate::dataflow::outbox::Outbox;
use crate::dataflow::project::kinds::GROUP_DRIFT;
use lda::evaluate::drift::DriftSums;

/// Groups that a worker adds up before it sends them off.
const GROUPS_A_BATCH: usize = 256;
/// Pairs in a piece, at most.
const PAIRS_A_PIECE: usize = 8 * 1024;

/// Adds up groups, sends the sums to their owners, and holds those that this worker owns.
pub(super) struct Groups {
    /// Sums that were not sent yet.
    batch: BTreeMap<String, DriftSums>,
    /// Sums that have arrived.
    held: BTreeMap<String, DriftSums>,
    too_many: bool,
    empty: DriftSums,
    most: usize,
}

impl Groups {
    /// For sums of the shape of `empty`; of all groups, those that fit into `most_bytes`.
    pub(super) fn new(empty: DriftSums, most_bytes: usize) -> Self {
        Self {
            batch: BTreeMap::new(),
            held: BTreeMap::new(),
            too_many: false,
            most: most_bytes / bytes_of(&empty),
            empty,
        }
    }

    /// Groups that may be held by all workers together.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Adds a document of a group.
    pub(super) fn add(
        &mut self,
        group: &str,
        count: impl FnOnce(&mut DriftSums),
        outbox: &mut Outbox,
    ) {
        if group.len() > MOST_NAME_BYTES {
            return;
        }
        if let Some(sums) = self.batch.get_mut(group) {
            return count(sums);
        }
        if self.batch.len() == GROUPS_A_BATCH {
            self.send(outbox);
        }
        let mut sums = self.empty.clone();
        count(&mut sums);
        self.batch.insert(group.to_owned(), sums);
    }

    /// Sends what was not sent yet.
    pub(super) fn send(&mut self, outbox: &mut Outbox) {
        for (name, sums) in std::mem::take(&mut self.batch) {
            let target = outbox.target(name_hash(&name));
            pack(&name, &sums, |piece| {
                outbox.send(GROUP_DRIFT, target, piece);
            });
        }
    }

    /// Adds what has come for this worker.
    pub(super) fn receive(&mut self, words: &[u64]) {
        unpack(words, |name, add| {
            if self.held.len() == self.most && !self.held.contains_key(&name) {
                self.too_many = true;
                self.held.clear();
            }
            if !self.too_many {
                add(self.held.entry(name).or_insert_with(|| self.empty.clone()));
            }
        });
    }

    /// The groups that this worker owns, and whether they are more than may be held: then there are none.
    pub(super) fn held(&self) -> (&BTreeMap<String, DriftSums>, bool) {
        (&self.held, self.too_many)
    }
}

/// Bytes that the sums of a group take, about.
fn bytes_of(sums: &DriftSums) -> usize {
    8 * (sums.topics.len() + sums.terms.words().len()) + 256
}

/// A group's sums as words, in pieces that are handed to `send`.
pub(super) fn pack(name: &str, sums: &DriftSums, mut send: impl FnMut(Vec<u64>)) {
    let numbered = |(place, value): (usize, u64)| (value != 0).then_some([place as u64, value]);
    let topics = sums.topics.iter().map(|&mass| mass as u64).enumerate();
    let terms = sums.terms.words().iter().copied().enumerate();
    let topics: Vec<[u64; 2]> = topics.filter_map(numbered).collect();
    let terms: Vec<[u64; 2]> = terms.filter_map(numbered).collect();
    let mut fixed = fixed_sums(sums);
    let of_topics = topics.chunks(PAIRS_A_PIECE).map(|chunk| (chunk, &[][..]));
    let of_terms = terms.chunks(PAIRS_A_PIECE).map(|chunk| (&[][..], chunk));
    for (topics, terms) in of_topics.chain(of_terms) {
        let mut words = Vec::new();
        pack_name(name, &mut words);
        words.extend(fixed.map(|value| value as u64));
        for pairs in [topics, terms] {
            words.push(pairs.len() as u64);
            words.extend(pairs.as_flattened());
        }
        send(words);
        fixed = [0; SUMS];
    }
}

/// Hands over the pieces of a block: the group's name, and what adds the piece to its sums.
pub(super) fn unpack(words: &[u64], mut take: impl FnMut(String, &dyn Fn(&mut DriftSums))) {
    let mut rest = words;
    while let Some((name, others)) = unpack_name(rest) {
        let (fixed, others) = others.split_at(SUMS);
        let (topics, others) = split_pairs(others);
        let (terms, others) = split_pairs(others);
        take(name, &|sums| {
            let fixed: Vec<i64> = fixed.iter().map(|&value| value as i64).collect();
            set_fixed_sums(sums, &fixed);
            for pair in topics.chunks_exact(2) {
                sums.topics[pair[0] as usize] += pair[1] as i64;
            }
            for pair in terms.chunks_exact(2) {
                sums.terms.extend_word(pair[0] as usize, pair[1]);
            }
        });
        rest = others;
    }
}

/// Pairs behind their number, and what follows them.
fn split_pairs(words: &[u64]) -> (&[u64], &[u64]) {
    let pairs = words[0] as usize;
    words[1..].split_at(2 * pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lda::math::random::{Stage, hash};

    const TOPICS: usize = 3;
    const TERMS: usize = 300;

    /// Documents as (group, term, topic, mass).
    fn documents() -> Vec<(String, u32, usize, i64)> {
        let document = |d: u64| {
            let draw = |n| hash(1, Stage::Synth, d, n);
            let group = format!("volume {} of the collection", draw(0) % 700);
            let (term, topic) = (draw(1) % TERMS as u64, draw(2) % TOPICS as u64);
            (
                group,
                term as u32,
                topic as usize,
                (draw(3) % 50) as i64 - 9,
            )
        };
        (0..3000).map(document).collect()
    }

    fn count(sums: &mut DriftSums, document: &(String, u32, usize, i64)) {
        sums.documents += 1;
        sums.likelihood -= document.3;
        sums.topics[document.2] += document.3;
        sums.terms.insert(document.1);
    }

    type Lines = (Vec<(String, DriftSums)>, bool);

    /// All groups as found by workers that read every N-th document.
    fn added_up(workers: usize, most_bytes: usize) -> Lines {
        let groups = || Groups::new(DriftSums::new(TOPICS, TERMS), most_bytes);
        let mut all: Vec<Groups> = (0..workers).map(|_| groups()).collect();
        for worker in 0..workers {
            let mut outbox = Outbox::new([worker, workers]);
            for document in documents().iter().skip(worker).step_by(workers) {
                all[worker].add(&document.0, |sums| count(sums, document), &mut outbox);
            }
            all[worker].send(&mut outbox);
            for block in outbox.all() {
                all[block.target().unwrap()].receive(block.words());
            }
        }
        let too_many = all.iter().any(|groups| groups.too_many);
        let held = all.into_iter().flat_map(|groups| groups.held);
        let mut held: Vec<_> = held.collect();
        held.sort_by(|a, b| a.0.cmp(&b.0));
        (held, too_many)
    }

    #[test]
    fn any_number_of_workers_finds_the_sums_of_one() {
        let mut expected: BTreeMap<String, DriftSums> = BTreeMap::new();
        for document in documents() {
            let sums = expected.entry(document.0.clone());
            count(sums.or_insert(DriftSums::new(TOPICS, TERMS)), &document);
        }
        let expected: Vec<_> = expected.into_iter().collect();
        for threads in 1..=3 {
            let (found, too_many) = added_up(threads, 1 << 20);
            assert!(!too_many && found == expected, "{threads} threads");
        }
    }

    #[test]
    fn a_worker_holds_no_group_when_they_are_too_many() {
        let each = bytes_of(&DriftSums::new(TOPICS, TERMS));
        let groups = added_up(1, 1 << 20).0.len();
        let (found, too_many) = added_up(1, each * (groups - 1));
        assert!(too_many && found.is_empty());
        assert_eq!(added_up(1, each * groups).0.len(), groups);
    }

    #[test]
    fn a_large_group_travels_in_pieces() {
        let vocabulary_size = 64 * (PAIRS_A_PIECE * 2 + 5);
        let empty = DriftSums::new(PAIRS_A_PIECE + 1, vocabulary_size);
        let mut sums = empty.clone();
        set_fixed_sums(&mut sums, &[1, 2, 3, 4, -5]);
        sums.topics.iter_mut().for_each(|mass| *mass = -7);
        (0..vocabulary_size as u32).for_each(|term| sums.terms.insert(term));
        let mut pieces = Vec::new();
        pack("größe", &sums, |piece| pieces.push(piece));
        assert_eq!(pieces.len(), 2 + 3);
        let mut groups = Groups::new(empty, usize::MAX);
        groups.receive(&pieces.concat());
        assert!(!groups.too_many && groups.held["größe"] == sums);
    }
}
