//! Sums over groups of documents, by name. A group belongs to a bucket by the hash of its name, and buckets belong to
//! workers in turn.
//!
//! A worker sums consecutive documents, and sends the sums of a few hundred groups at a time to the owners of
//! their buckets, which keep them as they arrive, in memory and then in a file. At the end they read one bucket
//! after another: memory depends on the size of a bucket, not on the number of groups.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::ProjectPlan;
use crate::dataflow::outbox::MOST_NAME_BYTES;
use crate::dataflow::outbox::Outbox;
use crate::failure::Failure;
use crate::wire::{Wire, name_hash};
use store::Writer;

/// Groups that a worker sums before it sends them.
const GROUPS_A_BATCH: usize = 256;
/// Words that a worker keeps in memory: for all its buckets, and the least and most for one.
const MOST_WORDS: u64 = 8 << 20;
const WORDS_A_BUCKET: [u64; 2] = [1 << 10, 1 << 15];

/// The most pairs in a piece of sums.
pub(super) const PAIRS_A_PIECE: usize = 4096;

/// Integer sums that can be sent to another worker and added to its own.
pub(super) trait Sums: Send + 'static {
    /// Passes everything added to `send`, in pieces of a few thousand words, and becomes empty.
    fn take(&mut self, send: impl FnMut(&[u64]));
    /// Adds a piece of another worker's sums.
    fn add_piece(&mut self, piece: &[u64]);
}

/// The sums that have arrived for a bucket: each message's length, and the message, a name and a piece.
#[derive(Default)]
struct Bucket {
    has_file: bool,
    words: Vec<u64>,
}

impl Bucket {
    /// Keeps words in memory; once there are `most`, moves them to the file.
    fn keep(&mut self, words: &[u64], most: u64, path: impl Fn() -> PathBuf) -> io::Result<()> {
        self.words.extend_from_slice(words);
        if (self.words.len() as u64) < most {
            return Ok(());
        }
        // Opened for each write: a process may have more buckets than the system lets it open files.
        let mut file = match self.has_file {
            true => Writer::append(&path())?,
            false => Writer::create(&path())?,
        };
        self.has_file = true;
        file.write_all(bytemuck::cast_slice(&self.words))?;
        self.words.clear();
        Ok(())
    }

    /// Returns all words, and removes the file.
    fn take(mut self, path: impl Fn() -> PathBuf) -> io::Result<Vec<u64>> {
        if !self.has_file {
            return Ok(self.words);
        }
        let mut file = File::open(path())?;
        let mut words = vec![0; file.metadata()?.len() as usize / size_of::<u64>()];
        file.read_exact(bytemuck::cast_slice_mut(&mut words))?;
        words.append(&mut self.words);
        store::remove_file(&path())?;
        Ok(words)
    }
}

/// Collects groups, sends them to their owners, and keeps those that this worker owns.
pub(super) struct Groups<S> {
    /// The kind of its blocks.
    kind: u64,
    /// This worker's number, and the number of workers.
    worker: [usize; 2],
    buckets: u64,
    /// The files of buckets have this name with another extension.
    path: PathBuf,
    empty: S,
    batch: BTreeMap<String, S>,
    /// Groups that were sent.
    pub(super) sent: i64,
    held: BTreeMap<u64, Bucket>,
    error: Option<Failure>,
}

impl<S: Sums + Clone> Groups<S> {
    /// Creates the groups of the plan's documents, about `documents_a_bucket` in a bucket; each starts as `empty`.
    pub(super) fn new(
        (plan, worker): (&ProjectPlan, usize),
        kind: u64,
        documents_a_bucket: u64,
        empty: S,
    ) -> Self {
        let buckets = plan.collection.documents.div_ceil(documents_a_bucket);
        let output = &plan.process.output;
        let path = output.temporary_path(&format!("groups-{kind}"));
        let worker = [worker, plan.process.placement.workers()];
        Self::in_buckets((kind, worker), buckets.max(1), path, empty)
    }

    /// Creates groups in `buckets` buckets, on worker `worker[0]` of `worker[1]`.
    pub(super) fn in_buckets(
        (kind, worker): (u64, [usize; 2]),
        buckets: u64,
        path: PathBuf,
        empty: S,
    ) -> Self {
        Self {
            kind,
            worker,
            buckets,
            path,
            empty,
            batch: BTreeMap::new(),
            sent: 0,
            held: BTreeMap::new(),
            error: None,
        }
    }

    /// Adds a document of a group, unless the group's name is too long.
    pub(super) fn add(&mut self, name: &str, outbox: &mut Outbox, count: impl FnOnce(&mut S)) {
        if name.len() > MOST_NAME_BYTES {
            return;
        }
        if let Some(sums) = self.batch.get_mut(name) {
            return count(sums);
        }
        if self.batch.len() == GROUPS_A_BATCH {
            self.send(outbox);
        }
        let mut sums = self.empty.clone();
        count(&mut sums);
        self.batch.insert(name.to_owned(), sums);
    }

    /// Sends what has not been sent yet.
    pub(super) fn send(&mut self, outbox: &mut Outbox) {
        for (name, mut sums) in std::mem::take(&mut self.batch) {
            self.sent += 1;
            let hash = name_hash(&name);
            let target = outbox.target(hash % self.buckets);
            let mut packed = Vec::new();
            name.pack(&mut packed);
            sums.take(|piece| {
                let head = [hash, (packed.len() + piece.len()) as u64];
                let message = [&head, &packed[..], piece].concat();
                outbox.send(self.kind, target, message);
            });
        }
    }

    /// Keeps messages for this worker; passes the hash of each name in them to `visit`.
    pub(super) fn receive(&mut self, words: &[u64], mut visit: impl FnMut(u64)) {
        let own = self.buckets.div_ceil(self.worker[1] as u64);
        let most = (MOST_WORDS / own).clamp(WORDS_A_BUCKET[0], WORDS_A_BUCKET[1]);
        let mut rest = words;
        while let [hash, others @ ..] = rest {
            let (message, others) = others.split_at(1 + others[0] as usize);
            rest = others;
            visit(*hash);
            if self.error.is_none() {
                let bucket = hash % self.buckets;
                let path = || path_of(&self.path, bucket);
                let held = self.held.entry(bucket).or_default();
                let kept = held.keep(message, most, path);
                self.error = kept.map_err(Failure::io(path())).err();
            }
        }
    }

    /// Forgets what has arrived, and removes its files.
    pub(super) fn discard(&mut self) -> Result<(), Failure> {
        let held = std::mem::take(&mut self.held).into_iter();
        for (bucket, _) in held.filter(|(_, bucket)| bucket.has_file) {
            let path = path_of(&self.path, bucket);
            store::remove_file(&path).map_err(Failure::io(&path))?;
        }
        Ok(())
    }

    /// Returns the buckets of this worker.
    pub(super) fn buckets(&self) -> impl Iterator<Item = u64> + use<S> {
        let [worker, workers] = self.worker;
        (worker as u64..self.buckets).step_by(workers)
    }

    /// Passes the groups of one of this worker's buckets to `visit`, by name, once all have arrived.
    pub(super) fn each(
        &mut self,
        bucket: u64,
        mut visit: impl FnMut(String, S),
    ) -> Result<(), Failure> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let path = || path_of(&self.path, bucket);
        let words = self.held.remove(&bucket).unwrap_or_default().take(path);
        let words = words.map_err(Failure::io(path()))?;
        for (name, pieces) in by_name(&words) {
            let mut sums = self.empty.clone();
            for piece in pieces {
                sums.add_piece(&words[piece]);
            }
            visit(name, sums);
        }
        Ok(())
    }
}

fn path_of(groups: &Path, bucket: u64) -> PathBuf {
    groups.with_extension(format!("{bucket:05}"))
}

/// Returns where the pieces of each group are among the messages of a bucket.
fn by_name(messages: &[u64]) -> BTreeMap<String, Vec<Range<usize>>> {
    let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let mut start = 0;
    while let Some(&length) = messages.get(start) {
        let end = start + 1 + length as usize;
        let mut piece = &messages[start + 1..end];
        if let Some(name) = String::unpack(&mut piece) {
            groups.entry(name).or_default().push(end - piece.len()..end);
        }
        start = end;
    }
    groups
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use lda::math::random::{Stage, hash};

    /// Numbers, each sent in a separate piece.
    #[derive(Clone, Debug, Default, PartialEq)]
    struct Numbers(BTreeMap<u64, u64>);

    impl Sums for Numbers {
        fn take(&mut self, mut send: impl FnMut(&[u64])) {
            for (key, value) in std::mem::take(&mut self.0) {
                send(&[key, value]);
            }
        }

        fn add_piece(&mut self, piece: &[u64]) {
            *self.0.entry(piece[0]).or_default() += piece[1];
        }
    }

    fn groups(worker: [usize; 2], folder: &Path) -> Groups<Numbers> {
        Groups::in_buckets((0, worker), 3, folder.join("groups"), Numbers::default())
    }

    /// Returns for each document its group, and a key and value to count.
    fn documents() -> impl Iterator<Item = (String, u64, u64)> {
        (0..60_000).map(|d| {
            let draw = |n| hash(1, Stage::Synth, d, n);
            (format!("größe {}", draw(0) % 700), draw(1) % 5, draw(2) % 9)
        })
    }

    /// Returns the groups of a worker's buckets, in each by name.
    fn groups_of(groups: &mut Groups<Numbers>) -> Vec<(String, Numbers)> {
        let buckets = groups.buckets();
        let of_bucket = |bucket| {
            let mut found = Vec::new();
            let visit = |name, sums| found.push((name, sums));
            groups.each(bucket, visit).unwrap();
            assert!(found.is_sorted_by_key(|(name, _)| name.clone()));
            found
        };
        buckets.flat_map(of_bucket).collect()
    }

    #[test]
    fn any_number_of_workers_finds_the_sums_of_one_in_memory_and_in_files() {
        let mut expected: BTreeMap<String, Numbers> = BTreeMap::new();
        for (name, key, value) in documents() {
            *expected.entry(name).or_default().0.entry(key).or_default() += value;
        }
        for workers in 1..=5 {
            let folder = tempfile::tempdir().unwrap();
            let mut all: Vec<_> =
                (0..workers).map(|worker| groups([worker, workers], folder.path())).collect();
            let mut names = BTreeSet::new();
            for worker in 0..workers {
                let mut outbox = Outbox::new([worker, workers]);
                for (name, key, value) in documents().skip(worker).step_by(workers) {
                    all[worker].add(&name, &mut outbox, |sums| sums.add_piece(&[key, value]));
                }
                all[worker].send(&mut outbox);
                for block in outbox.all() {
                    all[block.target().unwrap()]
                        .receive(block.words(), |hash| _ = names.insert(hash));
                }
            }
            let written = std::fs::read_dir(folder.path()).unwrap().count();
            assert_eq!(written, 3, "more than is kept in memory");
            if workers == 5 {
                all.iter_mut().for_each(|it| it.discard().unwrap());
                assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
                return;
            }
            let found: Vec<_> = all.iter_mut().flat_map(groups_of).collect();
            assert_eq!(found.len(), expected.len(), "a group at two workers");
            assert_eq!(names.len(), expected.len());
            let found = found.into_iter().collect::<BTreeMap<_, _>>();
            assert!(found == expected, "{workers} workers");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn a_file_that_cannot_be_written_is_an_error() {
        let mut groups = groups([0, 1], Path::new("/nowhere"));
        let words = vec![1; WORDS_A_BUCKET[1] as usize];
        groups.receive(&[&[0, words.len() as u64], &words[..]].concat(), |_| ());
        let error = groups.each(0, |_, _| ()).unwrap_err();
        assert!(error.to_string().starts_with("/nowhere/groups.00000: "));
    }

    #[test]
    fn names_that_are_too_long_are_left_out() {
        let mut groups = groups([0, 1], Path::new("/nowhere"));
        let (long, mut outbox) = ("x".repeat(MOST_NAME_BYTES + 1), Outbox::new([0, 1]));
        groups.add(&long, &mut outbox, |_| unreachable!());
        groups.add(&long[1..], &mut outbox, |_| ());
        assert_eq!(groups.batch.len(), 1);
    }
}
