//! `group_topics`: the sums of each volume. Their buckets become the parts of the table.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::dataflow::outbox::Outbox;
use crate::dataflow::process::Process;
use crate::dataflow::project::ProjectPlan;
use crate::dataflow::project::groups::{Groups, Sums};
use crate::dataflow::project::kinds::GROUP_TOPICS;
use crate::dataflow::project::tally::{FIXED_POINT, fixed, part_path};
use crate::failure::Failure;
use crate::tables::rows::{GroupTopicRow, TOPIC_BUCKET};
use crate::tables::{FileMetadata, PartInfo, Row, write_part};
use corpus::ShardDocument;

/// The most topics in a piece.
const TOPICS_A_PIECE: usize = 8 * 1024;

/// Sums over the sections of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct GroupSums {
    documents: i64,
    tokens: i64,
    /// Σ θ_dk N_d, in fixed point.
    topics: BTreeMap<u16, i64>,
}

impl Sums for GroupSums {
    fn take(&mut self, mut send: impl FnMut(&[u64])) {
        let sums = std::mem::take(self);
        let topics: Vec<[u64; 2]> =
            (sums.topics.iter()).map(|(&topic, &mass)| [topic.into(), mass as u64]).collect();
        let mut sizes = [sums.documents, sums.tokens].map(|n| n as u64);
        let mut rest = &topics[..];
        loop {
            let (first, others) = rest.split_at(rest.len().min(TOPICS_A_PIECE));
            send(&[&sizes, first.as_flattened()].concat());
            (rest, sizes) = (others, [0; 2]);
            if rest.is_empty() {
                return;
            }
        }
    }

    fn add_piece(&mut self, piece: &[u64]) {
        self.documents += piece[0] as i64;
        self.tokens += piece[1] as i64;
        for pair in piece[2..].chunks_exact(2) {
            *self.topics.entry(pair[0] as u16).or_default() += pair[1] as i64;
        }
    }
}

/// A worker's sums.
pub(crate) struct GroupTopics {
    process: Arc<Process>,
    metadata: FileMetadata,
    groups: Groups<GroupSums>,
}

impl GroupTopics {
    /// Creates sums for the groups of the plan's collection.
    pub(crate) fn new(plan: &ProjectPlan, worker: usize) -> Self {
        let empty = GroupSums::default();
        Self {
            process: Arc::clone(&plan.process),
            metadata: plan.metadata.clone(),
            groups: Groups::new((plan, worker), GROUP_TOPICS, TOPIC_BUCKET, empty),
        }
    }

    /// Adds a document with terms that lists these topics, if it belongs to a group.
    pub(crate) fn add(
        &mut self,
        document: &ShardDocument,
        topics: &[(f32, u16)],
        outbox: &mut Outbox,
    ) {
        let Some(group) = &document.group else {
            return;
        };
        self.groups.add(group, outbox, |sums| {
            let tokens = document.tokens_in_vocabulary();
            sums.documents += 1;
            sums.tokens += tokens as i64;
            for &(weight, topic) in topics {
                let mass = fixed(f64::from(weight) * tokens as f64);
                *sums.topics.entry(topic).or_default() += mass;
            }
        });
    }

    /// Sends what has not been sent yet.
    pub(crate) fn send(&mut self, outbox: &mut Outbox) {
        self.groups.send(outbox);
    }

    /// Returns how many groups this worker has sent.
    pub(crate) fn sent(&self) -> i64 {
        self.groups.sent
    }

    /// Keeps messages for this worker.
    pub(crate) fn receive(&mut self, words: &[u64]) {
        self.groups.receive(words, |_| ());
    }

    /// Writes the parts of this worker's buckets; returns them by path. There are none if no worker has sent a group.
    pub(crate) fn write(&mut self, sent: i64) -> Result<BTreeMap<String, PartInfo>, Failure> {
        let mut written = BTreeMap::new();
        if sent == 0 {
            return Ok(written);
        }
        for bucket in self.groups.buckets() {
            let mut groups = BTreeMap::new();
            let keep = |name, sums| _ = groups.insert(name, sums);
            self.groups.each(bucket, keep)?;
            let (path, info) = write(&self.process, bucket, &groups, &self.metadata)?;
            written.insert(path, info);
        }
        Ok(written)
    }
}

/// Writes a part; returns its path.
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
        (1..).zip(topics).map(move |(rank, (topic, mass))| GroupTopicRow {
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

    #[test]
    fn more_topics_than_a_piece_has_travel_in_two() {
        let sums = |topics: u16| GroupSums {
            documents: 3,
            tokens: 1 << 40,
            topics: (0..topics).map(|topic| (topic, -7)).collect(),
        };
        let most = TOPICS_A_PIECE as u16;
        for (topics, pieces) in [(0, 1), (2, 1), (most, 1), (most + 5, 2)] {
            let (mut sent, mut added) = (0, GroupSums::default());
            sums(topics).take(|piece| {
                sent += 1;
                added.add_piece(piece);
            });
            assert_eq!((sent, added), (pieces, sums(topics)));
        }
    }
}
