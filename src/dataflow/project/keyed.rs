//! Sums by key, at an owner: a key belongs to a bucket by its hash, and buckets belong to workers in turn.
//!
//! The workers of a process sum in memory that they share. Sums by name are sent to their owners a few hundred at a
//! time; sums by number, of which there is a limited number, at the end. Owners keep what arrives, in memory and then in
//! a file, and at the end read one bucket after another: memory depends on the size of a bucket, not on the number of
//! keys.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::dataflow::outbox::Outbox;
use crate::failure::Failure;
use crate::tables::rollup::{Key, Sums};
use crate::wire::{MOST_NAME_BYTES, Wire, unpacked};
use store::Writer;

/// Parts of the shared memory, each with a lock.
const STRIPES: usize = 64;
/// Words of sums that are sent together.
pub(super) const WORDS_A_MESSAGE: usize = 8 * 1024;
/// Words that a worker keeps in memory: for all its buckets, and the least and most for one.
const MOST_WORDS: u64 = 8 << 20;
const WORDS_A_BUCKET: [u64; 2] = [1 << 10, 1 << 15];

/// The sums that the workers of a process have not sent.
pub(super) type Pending<K, S> = Arc<[Mutex<BTreeMap<<K as ToOwned>::Owned, S>>]>;

/// Returns memory without sums.
pub(super) fn pending<K: Key + ?Sized, S>() -> Pending<K, S> {
    (0..STRIPES).map(|_| Mutex::default()).collect()
}

/// The sums that have arrived for a bucket: each message's length, and the message, a key and parts of its sums.
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
        let mut file =
            if self.has_file { Writer::append(&path())? } else { Writer::create(&path())? };
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

/// A worker of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkerPlace {
    pub(super) index: usize,
    pub(super) workers: usize,
    /// Workers in each process.
    pub(super) threads: usize,
}

/// Sums documents by key, sends the sums to their owners, and keeps those that this worker owns.
pub(super) struct KeyedSums<K: Key + ?Sized, S: Sums> {
    /// The tag of its blocks.
    tag: u64,
    worker: WorkerPlace,
    buckets: u64,
    /// The files of buckets have this name with another extension.
    path: PathBuf,
    empty: S,
    pending: Pending<K, S>,
    held: BTreeMap<u64, Bucket>,
    /// The hashes of the keys that this worker owns, at most one more than `most_keys`.
    keys: HashSet<u64>,
    most_keys: u64,
    error: Option<Failure>,
}

impl<K: Key + ?Sized, S: Sums + Clone> KeyedSums<K, S> {
    /// Creates sums in `buckets` buckets; each starts as `empty`. Counts up to one more than `most_keys` keys.
    pub(super) fn new(
        tag: u64,
        worker: WorkerPlace,
        (buckets, path): (u64, PathBuf),
        empty: S,
        pending: Pending<K, S>,
        most_keys: u64,
    ) -> Self {
        let (held, keys) = (BTreeMap::new(), HashSet::new());
        Self { tag, worker, buckets, path, empty, pending, held, keys, most_keys, error: None }
    }

    /// Adds a document to the sums of a key, unless the key is too long a name.
    pub(super) fn add(&self, key: &K, outbox: &mut Outbox, count: impl FnOnce(&mut S)) {
        if size_of_val(key) > MOST_NAME_BYTES {
            return;
        }
        let mut stripe = self.pending[key.hash() as usize % STRIPES].lock();
        if let Some(sums) = stripe.get_mut(key) {
            return count(sums);
        }
        let most = K::MOST_PENDING.saturating_mul(self.worker.threads) / STRIPES;
        if stripe.len() >= most.max(1) {
            let full = std::mem::take(&mut *stripe);
            full.into_iter().for_each(|(key, sums)| self.send_sums(key.borrow(), sums, outbox));
        }
        let mut sums = self.empty.clone();
        count(&mut sums);
        stripe.insert(key.to_owned(), sums);
    }

    /// Sends what has not been sent yet and other processes own, once all documents are added: each worker of a process
    /// a part of it.
    pub(super) fn send(&self, outbox: &mut Outbox) {
        let WorkerPlace { index, threads, .. } = self.worker;
        for stripe in self.pending.iter().skip(index % threads).step_by(threads) {
            let unsent = std::mem::take(&mut *stripe.lock());
            for (key, sums) in unsent {
                let owner = outbox.target(self.bucket(key.borrow()));
                if owner / threads == index / threads {
                    stripe.lock().insert(key, sums);
                } else {
                    self.send_sums(key.borrow(), sums, outbox);
                }
            }
        }
    }

    fn bucket(&self, key: &K) -> u64 {
        key.hash() % self.buckets
    }

    fn send_sums(&self, key: &K, sums: S, outbox: &mut Outbox) {
        let target = outbox.target(self.bucket(key));
        give_messages(key, sums, |message| outbox.send(self.tag, target, message));
    }

    /// Keeps those of the stored messages that are for this worker.
    pub(super) fn take_over(&mut self, mut words: &[u64]) {
        while let [hash, length, ..] = words {
            let (message, others) = words.split_at(2 + *length as usize);
            if self.owns_bucket(hash % self.buckets) {
                self.receive(message);
            }
            words = others;
        }
    }

    /// Keeps messages for this worker, unless it has too many keys.
    pub(super) fn receive(&mut self, words: &[u64]) {
        let own = self.buckets.div_ceil(self.worker.workers as u64);
        let most = (MOST_WORDS / own).clamp(WORDS_A_BUCKET[0], WORDS_A_BUCKET[1]);
        let mut rest = words;
        while let [hash, others @ ..] = rest {
            let (message, others) = others.split_at(1 + others[0] as usize);
            rest = others;
            self.count_key(*hash);
            if self.error.is_none() {
                let bucket = hash % self.buckets;
                let path = || path_of(&self.path, bucket);
                let held = self.held.entry(bucket).or_default();
                let kept = held.keep(message, most, path);
                self.error = kept.map_err(Failure::io(path())).err();
            }
        }
    }

    fn count_key(&mut self, hash: u64) {
        if self.keys.len() as u64 <= self.most_keys {
            self.keys.insert(hash);
        }
    }

    /// Returns how many keys this worker owns, up to one more than the most it counts, once all sums have arrived.
    pub(super) fn count(&mut self) -> u64 {
        for stripe in &*Arc::clone(&self.pending) {
            let stripe = stripe.lock();
            for key in stripe.keys().map(Borrow::<K>::borrow) {
                if self.owns(key) {
                    self.count_key(key.hash());
                }
            }
        }
        self.keys.len() as u64
    }

    fn owns(&self, key: &K) -> bool {
        self.owns_bucket(self.bucket(key))
    }

    fn owns_bucket(&self, bucket: u64) -> bool {
        bucket % self.worker.workers as u64 == self.worker.index as u64
    }

    /// Whether this worker may own keys of the bucket with this number, where there are `buckets`.
    pub(super) fn owns_some(&self, [bucket, buckets]: [u64; 2]) -> bool {
        buckets != self.buckets || self.owns_bucket(bucket)
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
    pub(super) fn buckets(&self) -> impl Iterator<Item = u64> + use<K, S> {
        (self.worker.index as u64..self.buckets).step_by(self.worker.workers)
    }

    /// Passes the sums of one of this worker's buckets to `visit`, by key, once all have arrived.
    pub(super) fn each(
        &mut self,
        bucket: u64,
        mut visit: impl FnMut(K::Owned, S),
    ) -> Result<(), Failure> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let path = || path_of(&self.path, bucket);
        let words = self.held.remove(&bucket).unwrap_or_default().take(path);
        let words = words.map_err(Failure::io(path()))?;
        let mut found = by_key::<K::Owned>(&words);
        for stripe in &*self.pending {
            let stripe = stripe.lock();
            let here = stripe.keys().filter(|key| self.bucket((*key).borrow()) == bucket);
            here.for_each(|key| _ = found.entry(key.borrow().to_owned()).or_default());
        }
        for (key, messages) in found {
            let hash = key.borrow().hash();
            let here = self.pending[hash as usize % STRIPES].lock().remove(key.borrow());
            let mut sums = here.unwrap_or_else(|| self.empty.clone());
            for message in messages {
                unpacked(&words[message]).for_each(|part| sums.add(part));
            }
            visit(key, sums);
        }
        Ok(())
    }
}

/// Passes the messages that tell an owner the sums of a key.
pub(super) fn give_messages<K: Key + ?Sized, S: Sums>(
    key: &K,
    mut sums: S,
    mut give: impl FnMut(Vec<u64>),
) {
    let mut head = Vec::new();
    key.to_owned().pack(&mut head);
    let mut give = |parts: &mut Vec<u64>| {
        let frame = [key.hash(), (head.len() + parts.len()) as u64];
        give([&frame[..], &head, parts].concat());
        parts.clear();
    };
    let mut parts = Vec::new();
    sums.take(&mut |part| {
        part.pack(&mut parts);
        if parts.len() >= WORDS_A_MESSAGE {
            give(&mut parts);
        }
    });
    if !parts.is_empty() {
        give(&mut parts);
    }
}

fn path_of(sums: &Path, bucket: u64) -> PathBuf {
    sums.with_extension(format!("{bucket:05}"))
}

/// Returns where the parts of each key are among the messages of a bucket.
fn by_key<K: for<'w> Wire<'w> + Ord>(messages: &[u64]) -> BTreeMap<K, Vec<Range<usize>>> {
    let mut keys: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let mut start = 0;
    while let Some(&length) = messages.get(start) {
        let end = start + 1 + length as usize;
        let mut parts = &messages[start + 1..end];
        if let Some(key) = K::unpack(&mut parts) {
            keys.entry(key).or_default().push(end - parts.len()..end);
        }
        start = end;
    }
    keys
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use lda::math::random::{Stage, hash};

    /// Numbers, each a part.
    #[derive(Clone, Debug, Default, PartialEq)]
    struct Numbers(BTreeMap<u64, u64>);

    impl Sums for Numbers {
        type Part = [u64; 2];

        fn take(&mut self, send: &mut dyn FnMut([u64; 2])) {
            std::mem::take(&mut self.0).into_iter().for_each(|(key, value)| send([key, value]));
        }

        fn add(&mut self, [key, value]: [u64; 2]) {
            *self.0.entry(key).or_default() += value;
        }
    }

    type Groups = KeyedSums<str, Numbers>;

    fn groups(
        [index, workers]: [usize; 2],
        folder: &Path,
        pending: &Pending<str, Numbers>,
    ) -> Groups {
        let worker = WorkerPlace { index, workers, threads: if workers == 4 { 2 } else { 1 } };
        let place = (3, folder.join("groups"));
        KeyedSums::new(0, worker, place, Numbers::default(), Arc::clone(pending), 699)
    }

    /// Returns for each document its group, and a key and value to count.
    fn documents() -> impl Iterator<Item = (String, u64, u64)> {
        (0..60_000).map(|d| {
            let draw = |n| hash(1, Stage::Synth, d, n);
            (format!("größe {}", draw(0) % 700), draw(1) % 5, draw(2) % 9)
        })
    }

    /// Returns the groups of a worker's buckets, in each by name.
    fn groups_of(groups: &mut Groups) -> Vec<(String, Numbers)> {
        let buckets = groups.buckets();
        let of_bucket = |bucket| {
            let mut found = Vec::new();
            groups.each(bucket, |name, sums| found.push((name, sums))).unwrap();
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
            let processes: Vec<_> = (0..5).map(|_| pending::<str, Numbers>()).collect();
            let create = |worker: usize| {
                let process = if workers == 4 { worker / 2 } else { worker };
                groups([worker, workers], folder.path(), &processes[process])
            };
            let mut all: Vec<_> = (0..workers).map(create).collect();
            let mut outboxes: Vec<_> = (0..workers).map(|n| Outbox::new([n, workers])).collect();
            for worker in 0..workers {
                for (name, key, value) in documents().skip(worker).step_by(workers) {
                    let outbox = &mut outboxes[worker];
                    all[worker].add(&name, outbox, |sums| sums.add([key, value]));
                }
            }
            for (worker, mut outbox) in outboxes.into_iter().enumerate() {
                all[worker].send(&mut outbox);
                for block in outbox.all() {
                    all[block.target().unwrap()].receive(block.words());
                }
            }
            let written = std::fs::read_dir(folder.path()).unwrap().count();
            assert_eq!(written, 3, "more than is kept in memory");
            let count = all.iter_mut().map(KeyedSums::count).sum::<u64>();
            assert_eq!(count, 700, "{workers} workers");
            if workers == 5 {
                all.iter_mut().for_each(|it| it.discard().unwrap());
                assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
                return;
            }
            let found: Vec<_> = all.iter_mut().flat_map(groups_of).collect();
            let names: BTreeSet<_> = found.iter().map(|(name, _)| name).collect();
            assert_eq!((found.len(), names.len()), (expected.len(), found.len()), "at two workers");
            let found = found.into_iter().collect::<BTreeMap<_, _>>();
            assert!(found == expected, "{workers} workers");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
            let mut stored = Vec::new();
            for (name, sums) in found {
                give_messages(&name[..], sums, |message| stored.extend(message));
            }
            let mut again: Vec<_> = (0..workers).map(create).collect();
            again.iter_mut().for_each(|it| it.take_over(&stored));
            let found = again.iter_mut().flat_map(groups_of).collect::<BTreeMap<_, _>>();
            assert!(found == expected, "{workers} workers with the sums of one");
        }
    }

    #[test]
    fn a_file_that_cannot_be_written_is_an_error() {
        let mut groups = groups([0, 1], Path::new("/nowhere"), &pending::<str, Numbers>());
        let words = vec![1; WORDS_A_BUCKET[1] as usize];
        groups.receive(&[&[0, words.len() as u64], &words[..]].concat());
        let error = groups.each(0, |_, _| ()).unwrap_err();
        assert!(error.to_string().starts_with("/nowhere/groups.00000: "));
    }

    #[test]
    fn names_that_are_too_long_are_left_out() {
        let mut groups = groups([0, 1], Path::new("/nowhere"), &pending::<str, Numbers>());
        let (long, mut outbox) = ("x".repeat(MOST_NAME_BYTES + 1), Outbox::new([0, 1]));
        groups.add(&long, &mut outbox, |_| unreachable!());
        groups.add(&long[1..], &mut outbox, |_| ());
        assert_eq!(groups.count(), 1);
    }
}
