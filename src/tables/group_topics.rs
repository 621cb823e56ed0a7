//! The topics of each volume. Buckets of volumes are the parts of the table.

use std::collections::BTreeMap;

use super::rollup::{ListedDocument, RollUp, RollUpContext, StartRollUp, Sums, check_rows};
use super::records::table;
use super::check::{Known, SHARES_WITHIN, VerifyReport};
use crate::failure::Failure;
use lda::math::FIXED_POINT;

/// Approximate number of documents whose groups are summed together, for a part.
pub(super) const TOPIC_BUCKET: u64 = 1 << 18;
/// Approximate bytes of a volume's sum for a topic: its place in an ordered map, or its row.
const SUM_BYTES: u64 = 32;

/// Returns about the bytes that each thread takes for a bucket of volumes, if `listed(n)` rows of topics are in n
/// documents, and there are `most` pairs of volumes and topics.
pub(crate) fn bucket_bytes(documents: u64, most: u64, listed: impl Fn(u64) -> u64) -> u64 {
    listed(documents.min(TOPIC_BUCKET)).min(most) * SUM_BYTES
}

table! {
    /// The topics of each volume, summed over its sections. One row per volume and topic that is listed in a
    /// section.
    "group_topics", sorted_by [group_id, rank], looked_up_by [group_id], checked_by check;
    pub(crate) struct GroupTopicRow {
        group_id: String, /// The volume.
        topic: i32,        /// The topic, from 0.
        weight: f32,       /// Σ_d θ_dk N_d / Σ_d N_d over its sections d, with θ as listed in `document_topics`.
        rank: i32,         /// 1 for the volume's largest weight, the lower topic first among equals.
        tokens: i64,       /// Σ_d N_d: tokens in the vocabulary.
        documents: i64,    /// Sections with such tokens.
    }
}

/// Starts the roll-up.
pub(super) fn roll_up(_: &RollUpContext, start: &mut impl StartRollUp) {
    start.start(GroupTopics);
}

/// The sums of each volume.
struct GroupTopics;

/// Sums over some documents, such as the sections of a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GroupSums {
    pub(super) documents: i64,
    pub(super) tokens: i64,
    /// Σ θ_dk N_d, in fixed point.
    pub(super) topics: BTreeMap<u64, i64>,
}

impl GroupSums {
    /// Adds a document.
    pub(super) fn count(&mut self, document: &ListedDocument<'_>) {
        self.documents += 1;
        self.tokens += document.read.tokens_in_vocabulary() as i64;
        for (topic, mass) in document.masses() {
            *self.topics.entry(topic).or_default() += mass;
        }
    }
}

/// The places of documents and tokens among those of topics.
const DOCUMENTS: u64 = u64::MAX;
const TOKENS: u64 = u64::MAX - 1;

impl Sums for GroupSums {
    type Part = (u64, i64);

    fn take(&mut self, send: &mut dyn FnMut((u64, i64))) {
        let Self { documents, tokens, topics } = std::mem::take(self);
        send((DOCUMENTS, documents));
        send((TOKENS, tokens));
        topics.into_iter().for_each(send);
    }

    fn add(&mut self, (place, value): (u64, i64)) {
        match place {
            DOCUMENTS => self.documents += value,
            TOKENS => self.tokens += value,
            topic => *self.topics.entry(topic).or_default() += value,
        }
    }
}

impl RollUp for GroupTopics {
    type Key = str;
    type Sums = GroupSums;
    type Whole = ();
    type Line = GroupTopicRow;
    type Row = GroupTopicRow;

    const IS_IN_PARTS: bool = true;

    fn buckets(&self, documents: u64) -> u64 {
        documents.div_ceil(TOPIC_BUCKET).max(1)
    }

    fn empty(&self) -> GroupSums {
        GroupSums::default()
    }

    fn whole(&self) {}

    fn add(
        &mut self,
        document: &ListedDocument<'_>,
        (): &mut (),
        each: &mut dyn FnMut(&str, &mut dyn FnMut(&mut GroupSums)),
    ) {
        let Some(group) = &document.read.group else {
            return;
        };
        each(group, &mut |sums| sums.count(document));
    }

    fn lines(&self, key: String, sums: GroupSums, (): &(), lines: &mut Vec<GroupTopicRow>) {
        let mut topics: Vec<(u64, i64)> = sums.topics.into_iter().collect();
        topics.sort_by_key(|&(_, mass)| std::cmp::Reverse(mass));
        lines.extend((1..).zip(topics).map(|(rank, (topic, mass))| GroupTopicRow {
            group_id: key.clone(),
            topic: topic as i32,
            weight: (mass as f64 / FIXED_POINT / sums.tokens as f64) as f32,
            rank,
            tokens: sums.tokens,
            documents: sums.documents,
        }));
    }

    fn rows(&self, lines: Vec<GroupTopicRow>, (): &()) -> Vec<GroupTopicRow> {
        lines
    }
}

fn check(known: &Known<'_>, report: &mut VerifyReport) -> Result<(), Failure> {
    let mut sum = 0.0;
    check_rows(known, report, |last: Option<&GroupTopicRow>, row| {
        let last = last.filter(|last| last.group_id == row.group_id);
        sum = last.map_or(0.0, |_| sum) + f64::from(row.weight);
        row.rank == last.map_or(0, |last| last.rank) + 1
            && (0.0..=last.map_or(f32::INFINITY, |last| last.weight)).contains(&row.weight)
            && sum <= 1.0 + SHARES_WITHIN
            && (0..known.topic_count() as i32).contains(&row.topic)
            && (1..=known.totals.documents).contains(&row.documents)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_travel_in_parts() {
        let topics = (0..9).map(|topic| (topic, -7)).collect();
        let mut sums = GroupSums { documents: 3, tokens: 1 << 40, topics };
        let (expected, mut added) = (sums.clone(), GroupSums::default());
        sums.take(&mut |part| added.add(part));
        assert_eq!((sums, added), (GroupSums::default(), expected));
    }
}
