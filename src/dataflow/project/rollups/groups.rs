//! `group_topics`: the sums of each group. A group belongs to a bucket by the hash of its name, a bucket becomes a
//! part of the table, and buckets belong to workers in turn.
//!
//! A worker adds up sections that follow each other, and sends the sums of some hundred groups at a time to the
//! owners of their buckets, who keep them as they come, in memory and then in a file. At the end they read one
//! bucket after the other: memory depends on the size of a bucket, not on how many volumes there are.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use crate::dataflow::names::{MOST_NAME_BYTES, name_hash, pack_name, unpack_name};
use crate::dataflow::outbox::Outbox;
use crate::dataflow::process::Process;
use crate::dataflow::project::ProjectPlan;
use crate::dataflow::project::kinds::GROUP_TOPICS;
use crate::dataflow::project::tally::{FIXED_POINT, fixed, part_path};
use crate::failure::Failure;
use crate::tables::rows::GroupTopicRow;
use crate::tables::{FileMetadata, PartInfo, Row, write_part};
use corpus::ShardDocument;
use store::Writer;

/// Documents to a bucket, about.
const DOCUMENTS_A_BUCKET: u64 = 1 << 18;
/// Groups that a worker adds up before it sends them off.
const GROUPS_A_BATCH: usize = 256;
/// Topics in a piece, at most.
const TOPICS_A_PIECE: usize = 8 * 1024;
/// Words of a bucket that are kept in memory.
const WORDS_A_BUCKET: usize = 32 * 1024;

/// Sums over the sections of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct GroupSums {
    documents: i64,
    tokens: i64,
    /// Σ θ_dk N_d, in fixed point.
    topics: BTreeMap<u16, i64>,
}

impl GroupSums {
    /// As messages.
    fn pack(&self, name: &str, mut send: impl FnMut(Vec<u64>)) {
        let topics: Vec<[u64; 2]> = (self.topics.iter())
            .map(|(&topic, &mass)| [topic.into(), mass as u64])
            .collect();
        let mut sizes = [self.documents, self.tokens].map(|n| n as u64);
        let mut rest = &topics[..];
        loop {
            let (first, others) = rest.split_at(rest.len().min(TOPICS_A_PIECE));
            let mut words = Vec::new();
            pack_name(name, &mut words);
            words.extend(sizes);
            words.push(first.len() as u64);
            words.extend(first.as_flattened());
            send(words);
            (rest, sizes) = (others, [0; 2]);
            if rest.is_empty() {
                return;
            }
        }
    }

    /// Adds what follows a name; returns what follows that.
    fn unpack<'w>(&mut self, words: &'w [u64]) -> &'w [u64] {
        self.documents += words[0] as i64;
        self.tokens += words[1] as i64;
        let (pairs, rest) = words[3..].split_at(2 * words[2] as usize);
        for pair in pairs.chunks_exact(2) {
            *self.topics.entry(pair[0] as u16).or_default() += pair[1] as i64;
        }
        rest
    }
}

/// The sums that have arrived for a bucket.
struct Bucket {
    path: PathBuf,
    file: Option<Writer>,
    words: Vec<u64>,
}

impl Bucket {
    fn keep(&mut self, words: &[u64]) -> io::Result<()> {
        self.words.extend_from_slice(words);
        if self.words.len() < WORDS_A_BUCKET {
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(Writer::create(&self.path)?),
        };
        file.write_all(bytemuck::cast_slice(&self.words))?;
        self.words.clear();
        Ok(())
    }

    /// The groups, by name.
    fn groups(self) -> io::Result<BTreeMap<String, GroupSums>> {
        let mut groups = BTreeMap::new();
        let mut add = |words: &[u64]| {
            let mut rest = words;
            while let Some((name, others)) = unpack_name(rest) {
                let sums: &mut GroupSums = groups.entry(name).or_default();
                rest = sums.unpack(others);
            }
        };
        if let Some(file) = self.file {
            drop(file);
            let bytes = std::fs::read(&self.path)?;
            add(&bytemuck::pod_collect_to_vec(&bytes));
            store::remove_file(&self.path)?;
        }
        add(&self.words);
        Ok(groups)
    }
}

/// The buckets of a worker, by number, and what went wrong.
#[derive(Default)]
struct Held {
    buckets: BTreeMap<u64, Bucket>,
    error: Option<(PathBuf, io::Error)>,
}

impl Held {
    /// Keeps messages, each after its bucket's number and its length.
    fn receive(&mut self, words: &[u64], path: impl Fn(u64) -> PathBuf) {
        let mut rest = words;
        while let [number, length, others @ ..] = rest {
            let (message, others) = others.split_at(*length as usize);
            let bucket = self.buckets.entry(*number).or_insert_with(|| Bucket {
                path: path(*number),
                file: None,
                words: Vec::new(),
            });
            if self.error.is_none() {
                let kept = bucket.keep(message);
                self.error = kept.err().map(|error| (bucket.path.clone(), error));
            }
            rest = others;
        }
    }
}

/// Collects groups, sends them to their owners, and writes those that this worker owns.
pub(crate) struct Groups {
    process: Arc<Process>,
    metadata: FileMetadata,
    worker: usize,
    batch: BTreeMap<String, GroupSums>,
    buckets: u64,
    /// Groups that were sent.
    pub(crate) sent: i64,
    held: Held,
}

impl Groups {
    /// For the groups of the plan's collection.
    pub(crate) fn new(plan: &ProjectPlan, worker: usize) -> Self {
        let documents = plan.collection.documents;
        Self {
            process: Arc::clone(&plan.process),
            metadata: plan.metadata.clone(),
            worker,
            batch: BTreeMap::new(),
            buckets: documents.div_ceil(DOCUMENTS_A_BUCKET).max(1),
            sent: 0,
            held: Held::default(),
        }
    }

    /// Adds a document with terms that lists these topics, if it is of a group.
    pub(crate) fn add(
        &mut self,
        document: &ShardDocument,
        topics: &[(f32, u16)],
        outbox: &mut Outbox,
    ) {
        let group = document.group.as_ref();
        let Some(group) = group.filter(|group| group.len() <= MOST_NAME_BYTES) else {
            return;
        };
        if !self.batch.contains_key(group) {
            if self.batch.len() == GROUPS_A_BATCH {
                self.send(outbox);
            }
            self.batch.insert(group.clone(), GroupSums::default());
        }
        let Some(sums) = self.batch.get_mut(group) else {
            return;
        };
        let tokens = document.tokens_in_vocabulary();
        sums.documents += 1;
        sums.tokens += tokens as i64;
        for &(weight, topic) in topics {
            let mass = fixed(f64::from(weight) * tokens as f64);
            *sums.topics.entry(topic).or_default() += mass;
        }
    }

    /// Sends what was not sent yet.
    pub(crate) fn send(&mut self, outbox: &mut Outbox) {
        for (name, sums) in std::mem::take(&mut self.batch) {
            self.sent += 1;
            let bucket = name_hash(&name) % self.buckets;
            let target = outbox.target(bucket);
            sums.pack(&name, |message| {
                let head = [bucket, message.len() as u64];
                outbox.send(GROUP_TOPICS, target, head.into_iter().chain(message));
            });
        }
    }

    /// Keeps what has come for this worker.
    pub(crate) fn receive(&mut self, words: &[u64]) {
        let folder = || self.process.output.temporary_path("group_sums");
        let path = |number| folder().with_extension(format!("{number:05}"));
        self.held.receive(words, path);
    }

    /// Writes the parts of this worker's buckets; these, by path. There are none if no worker has sent a group.
    pub(crate) fn write(&mut self, sent: i64) -> Result<BTreeMap<String, PartInfo>, Failure> {
        let mut held = std::mem::take(&mut self.held);
        if let Some((path, source)) = held.error {
            return Err(Failure::io(path)(source));
        }
        let mut written = BTreeMap::new();
        if sent == 0 {
            return Ok(written);
        }
        let step = self.process.placement.workers();
        for number in (self.worker as u64..self.buckets).step_by(step) {
            let groups = match held.buckets.remove(&number) {
                None => BTreeMap::new(),
                Some(bucket) => {
                    let path = bucket.path.clone();
                    let read = bucket.groups();
                    read.map_err(Failure::io(path))?
                }
            };
            let (path, info) = write(&self.process, number, &groups, &self.metadata)?;
            written.insert(path, info);
        }
        Ok(written)
    }
}

/// Writes a part; its path.
fn write(
    process: &Process,
    number: u64,
    groups: &BTreeMap<String, GroupSums>,
    metadata: &FileMetadata,
) -> Result<(String, PartInfo), Failure> {
    let output = &process.output;
    let temporary = output.temporary_path(&format!("{}-{number:05}", GroupTopicRow::SPEC.name));
    let rows = groups.iter().flat_map(|(name, sums)| {
        let mut topics: Vec<(u16, i64)> = sums.topics.iter().map(|(&k, &m)| (k, m)).collect();
        topics.sort_by_key(|&(_, mass)| std::cmp::Reverse(mass));
        (1..)
            .zip(topics)
            .map(move |(rank, (topic, mass))| GroupTopicRow {
                group_id: name,
                topic: topic.into(),
                weight: (mass as f64 / FIXED_POINT / sums.tokens as f64) as f32,
                rank,
                tokens: sums.tokens,
                documents: sums.documents,
            })
    });
    let info = write_part(&temporary, metadata, rows)?;
    let path = part_path(GroupTopicRow::SPEC.name, number as usize);
    output.publish(&temporary, &path)?;
    Ok((path, info))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two groups, one of them with more topics than a piece has.
    fn groups() -> BTreeMap<String, GroupSums> {
        let sums = |topics: u16, mass: i64| GroupSums {
            documents: 3,
            tokens: mass * i64::from(topics),
            topics: (0..topics).map(|topic| (topic, mass)).collect(),
        };
        let most = TOPICS_A_PIECE as u16 + 5;
        BTreeMap::from([
            ("größe".to_owned(), sums(most, 7)),
            (String::new(), GroupSums::default()),
            ("small".to_owned(), sums(2, 1 << 40)),
        ])
    }

    #[test]
    fn a_bucket_adds_up_what_came_in_memory_and_in_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bucket");
        let mut held = Held::default();
        let (mut pieces, copies) = (0, 5);
        for _ in 0..copies {
            for (name, sums) in groups() {
                sums.pack(&name, |message| {
                    pieces += 1;
                    let words = [&[4, message.len() as u64], &message[..]].concat();
                    held.receive(&words, |_| path.clone());
                });
            }
        }
        assert_eq!(pieces, copies * 4);
        let bucket = held.buckets.remove(&4).unwrap();
        assert!(path.exists() && !bucket.words.is_empty() && held.error.is_none());
        let mut expected = groups();
        for sums in expected.values_mut() {
            sums.documents *= 5;
            sums.tokens *= 5;
            sums.topics.values_mut().for_each(|mass| *mass *= 5);
        }
        assert!(bucket.groups().unwrap() == expected && !path.exists());
    }

    #[test]
    fn a_file_that_cannot_be_written_is_an_error() {
        let mut held = Held::default();
        let words = vec![1; WORDS_A_BUCKET];
        let message = [&[0, words.len() as u64], &words[..]].concat();
        held.receive(&message, |_| "/nowhere/bucket".into());
        let (path, error) = held.error.unwrap();
        assert_eq!(path, PathBuf::from("/nowhere/bucket"));
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
