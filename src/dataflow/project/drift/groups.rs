//! Sums over groups of documents, each held by the worker given by the hash of its name.
//!
//! A worker sums over what it reads, and sends the sums when they become too large to hold. A
//! group's sums are sent as words: length of its name, name, the sums that every group has, (topic,
//! mass) pairs, (place, bits) pairs of its terms; in pieces that fit into a block.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use timely::worker::Worker;

use super::{SUMS, fixed_sums, set_fixed_sums};
use crate::dataflow::names::{MOST_NAME_BYTES, name_hash, pack_name, unpack_name};
use crate::dataflow::outbox::Outbox;
use crate::dataflow::sum::sum;
use lda::evaluate::drift::DriftSums;

/// Groups that a worker adds up before it sends them off.
const GROUPS_A_BATCH: usize = 256;
/// Pairs in a piece, at most.
const PAIRS_A_PIECE: usize = 8 * 1024;

/// The groups that this worker owns.
struct Held {
    sums: BTreeMap<String, DriftSums>,
    empty: DriftSums,
    most: usize,
    too_many: bool,
}

impl Held {
    /// Adds a piece of a group.
    fn add(&mut self, name: &str, piece: impl FnOnce(&mut DriftSums)) {
        if self.too_many {
            return;
        }
        if !self.sums.contains_key(name) {
            if self.sums.len() == self.most {
                self.too_many = true;
                self.sums.clear();
                return;
            }
            self.sums.insert(name.to_owned(), self.empty.clone());
        }
        if let Some(sums) = self.sums.get_mut(name) {
            piece(sums);
        }
    }
}

/// Collects groups, and sends them to their owners.
pub(super) struct Groups {
    outbox: Outbox,
    held: Rc<RefCell<Held>>,
    batch: BTreeMap<String, DriftSums>,
    empty: DriftSums,
    most: usize,
}

impl Groups {
    /// For sums of the shape of `empty`; of all groups, those that fit into `most_bytes`.
    pub(super) fn new(worker: &mut Worker, empty: &DriftSums, most_bytes: usize) -> Self {
        let most = most_bytes / bytes_of(empty);
        let held = Rc::new(RefCell::new(Held {
            sums: BTreeMap::new(),
            empty: empty.clone(),
            most,
            too_many: false,
        }));
        let received = Rc::clone(&held);
        let receive = move |words: &[u64]| unpack(words, &mut received.borrow_mut());
        Self {
            outbox: Outbox::new(worker, "drift groups", receive),
            held,
            batch: BTreeMap::new(),
            empty: empty.clone(),
            most,
        }
    }

    /// Adds a document of a group.
    pub(super) fn add(&mut self, group: &str, count: impl FnOnce(&mut DriftSums)) {
        if group.len() > MOST_NAME_BYTES {
            return;
        }
        if let Some(sums) = self.batch.get_mut(group) {
            return count(sums);
        }
        if self.batch.len() == GROUPS_A_BATCH {
            self.send_batch();
        }
        let mut sums = self.empty.clone();
        count(&mut sums);
        self.batch.insert(group.to_owned(), sums);
    }

    fn send_batch(&mut self) {
        for (name, sums) in std::mem::take(&mut self.batch) {
            let target = self.outbox.target(name_hash(&name));
            for piece in pack(&name, &sums) {
                self.outbox.send(target, piece);
            }
        }
    }

    /// The groups that this worker owns, and whether there are too many in all: then there are none.
    pub(super) fn finish(mut self, worker: &mut Worker) -> (BTreeMap<String, DriftSums>, bool) {
        self.send_batch();
        self.outbox.finish(worker);
        let (mine, overflow) = {
            let held = self.held.borrow();
            (held.sums.len(), held.too_many)
        };
        let all = sum(worker, &[mine as i64, i64::from(overflow)]);
        let too_many = all[1] > 0 || all[0] > self.most as i64;
        match too_many {
            true => (BTreeMap::new(), true),
            false => (std::mem::take(&mut self.held.borrow_mut().sums), false),
        }
    }
}

/// Bytes that the sums of a group take, about.
fn bytes_of(sums: &DriftSums) -> usize {
    8 * (sums.topics.len() + sums.terms.words().len()) + 256
}

/// A group's sums as words, in pieces.
fn pack(name: &str, sums: &DriftSums) -> Vec<Vec<u64>> {
    let numbered = |(place, value): (usize, u64)| (value != 0).then_some([place as u64, value]);
    let topics = sums.topics.iter().map(|&mass| mass as u64).enumerate();
    let terms = sums.terms.words().iter().copied().enumerate();
    let topics: Vec<[u64; 2]> = topics.filter_map(numbered).collect();
    let terms: Vec<[u64; 2]> = terms.filter_map(numbered).collect();
    let mut pieces = Vec::new();
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
        pieces.push(words);
        fixed = [0; SUMS];
    }
    pieces
}

/// Adds the pieces of a block.
fn unpack(words: &[u64], held: &mut Held) {
    let mut rest = words;
    while let Some((name, others)) = unpack_name(rest) {
        let (fixed, others) = others.split_at(SUMS);
        let (topics, others) = split_pairs(others);
        let (terms, others) = split_pairs(others);
        held.add(&name, |sums| {
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
    use crate::cluster::{ClusterSettings, Failure, Placement, execute};
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
    fn added_up(threads: usize, most_bytes: usize) -> Lines {
        let parts = execute(
            &Placement::single(threads),
            &ClusterSettings::default(),
            move |worker| {
                let empty = DriftSums::new(TOPICS, TERMS);
                let mut groups = Groups::new(worker, &empty, most_bytes);
                let mine = documents().into_iter().skip(worker.index());
                for document in mine.step_by(worker.peers()) {
                    groups.add(&document.0, |sums| count(sums, &document));
                }
                Ok::<_, Failure>(groups.finish(worker))
            },
        )
        .unwrap();
        let too_many = parts[0].1;
        assert!(parts.iter().all(|part| part.1 == too_many));
        let mut all: Vec<_> = parts.into_iter().flat_map(|part| part.0).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        (all, too_many)
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
    fn too_many_groups_are_too_many_for_any_number_of_workers() {
        let each = bytes_of(&DriftSums::new(TOPICS, TERMS));
        let groups = added_up(1, 1 << 20).0.len();
        for threads in 1..=3 {
            let (found, too_many) = added_up(threads, each * (groups - 1));
            assert!(too_many && found.is_empty(), "{threads} threads");
            assert_eq!(added_up(threads, each * groups).0.len(), groups);
        }
    }

    #[test]
    fn a_large_group_travels_in_pieces() {
        let vocabulary_size = 64 * (PAIRS_A_PIECE * 2 + 5);
        let empty = DriftSums::new(PAIRS_A_PIECE + 1, vocabulary_size);
        let mut sums = empty.clone();
        set_fixed_sums(&mut sums, &[1, 2, 3, 4, -5]);
        sums.topics.iter_mut().for_each(|mass| *mass = -7);
        (0..vocabulary_size as u32).for_each(|term| sums.terms.insert(term));
        let pieces = pack("größe", &sums);
        assert_eq!(pieces.len(), 2 + 3);
        let mut held = Held {
            sums: BTreeMap::new(),
            empty,
            most: 1,
            too_many: false,
        };
        unpack(&pieces.concat(), &mut held);
        assert!(!held.too_many && held.sums["größe"] == sums);
    }
}
