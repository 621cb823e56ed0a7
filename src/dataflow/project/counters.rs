//! A worker's counts of documents, the sums that it owns, and the first worker's results from them.
//!
//! While documents are inferred, sums that take much memory go to the workers that own them; when all documents are
//! inferred, the rest follows. Then owners report how many groups they have, turn their sums into rows, and send those
//! to the first worker.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::drift::{DriftCounter, DriftLine};
use super::kinds::{
    CELL_ROWS, CELLS, GROUP_TOPICS, GROUPED, OWNED, PAIR_ROWS, PAIRS, PRESENCE, TALLY,
};
use super::rollups::{Correlations, GroupTopics, RollUpShared, RolledUp, Trends};
use super::tally::BestDocuments;
use super::{Listed, ProjectPlan, Projected, Tally};
use crate::dataflow::block::Block;
use crate::dataflow::gather::{cut, join};
use crate::dataflow::merge::{KINDS, add_piece, give_vector};
use crate::dataflow::outbox::Outbox;
use crate::failure::Failure;
use crate::tables::PartInfo;
use corpus::ShardDocument;
use corpus::sample::Split;

/// Results of a worker: the best of its own documents, and the results of the groups that it owns.
#[derive(Serialize, Deserialize)]
struct Owned {
    best: BestDocuments,
    drift: Vec<DriftLine>,
    groups: BTreeMap<String, PartInfo>,
}

/// The counters of a worker.
pub(super) struct Counters {
    tally: Tally,
    drift: DriftCounter,
    groups: Option<GroupTopics>,
    trends: Option<Trends>,
    correlations: Option<Correlations>,
    /// Over all workers, the groups of drift that they own, and the groups of topics that they have sent.
    grouped: Vec<i64>,
    /// On the first worker: the sums of all tallies, and the blocks of each worker's [`Owned`].
    sums: Vec<i64>,
    owned: BTreeMap<usize, Vec<Block>>,
}

impl Counters {
    /// Creates the counters that the plan's job needs.
    pub(super) fn new(plan: &ProjectPlan, shared: &RollUpShared, worker: usize) -> Self {
        let rolled_up = plan.process.job.project.rollups.then_some(plan);
        Self {
            tally: plan.tally(),
            drift: DriftCounter::new(plan, worker),
            groups: rolled_up.map(|plan| GroupTopics::new(plan, worker)),
            trends: rolled_up.and_then(|plan| Trends::new(plan, shared, worker)),
            correlations: rolled_up.and_then(|plan| Correlations::new(plan, shared, worker)),
            grouped: Vec::new(),
            sums: Vec::new(),
            owned: BTreeMap::new(),
        }
    }

    /// Counts a document with terms.
    pub(super) fn add(
        &mut self,
        number: u64,
        (document, split): (&ShardDocument, Split),
        listed: Listed<'_>,
        outbox: &mut Outbox,
    ) {
        self.drift.add(document, split, listed, outbox);
        let (trends, correlations) = (self.trends.iter_mut(), self.correlations.iter_mut());
        let groups = self.groups.iter_mut();
        groups.for_each(|it| it.add(document, listed.topics, outbox));
        trends.for_each(|it| it.add(number, document, listed));
        correlations.for_each(|it| it.add(listed.topics));
    }

    /// Adds the tally of a shard whose documents are all counted.
    pub(super) fn end_shard(&mut self, tally: &Tally) {
        self.tally.merge(tally);
    }

    /// Sends what has not been sent yet, once the documents of all workers are counted.
    pub(super) fn send(&mut self, outbox: &mut Outbox) {
        self.drift.send(outbox);
        self.groups.iter_mut().for_each(|it| it.send(outbox));
        self.trends.iter().for_each(|it| it.send(outbox));
        self.correlations.iter().for_each(|it| it.send(outbox));
        let to_first = &mut |tag, words| outbox.send_block(tag, 0, words);
        give_vector(&self.tally.sums(), TALLY, to_first);
    }

    /// Sends the numbers of groups to all workers, once all sums have arrived.
    pub(super) fn send_counts(&mut self, outbox: &mut Outbox) -> Result<(), Failure> {
        let sent = self.groups.as_ref().map_or(0, GroupTopics::sent);
        let to_all = &mut |tag, words| outbox.send_all(tag, words);
        give_vector(&[self.drift.count(), sent], GROUPED, to_all);
        Ok(())
    }

    /// Takes a block that a worker has sent.
    pub(super) fn receive(&mut self, block: Block) {
        let (trends, correlations) = (&mut self.trends, &mut self.correlations);
        match (block.tag() % KINDS, trends, correlations) {
            (TALLY, ..) => add_piece(&mut self.sums, &block),
            (GROUPED, ..) => add_piece(&mut self.grouped, &block),
            (GROUP_TOPICS, ..) => {
                let groups = self.groups.iter_mut();
                groups.for_each(|it| it.receive(block.words()));
            }
            (CELLS | CELL_ROWS, Some(trends), _) => trends.cells.receive(&block),
            (PRESENCE, _, Some(correlations)) => add_piece(&mut correlations.all, &block),
            (PAIRS | PAIR_ROWS, _, Some(correlations)) => correlations.pairs.receive(&block),
            (OWNED, ..) => self.owned.entry(block.source()).or_default().push(block),
            (kind, ..) => self.drift.receive(kind, block.words()),
        }
    }

    /// Turns the sums that this worker owns into rows, once all counts have arrived, and writes or sends them.
    pub(super) fn send_owned(&mut self, outbox: &mut Outbox) -> Result<(), Failure> {
        self.trends.iter().for_each(|it| it.send_rows(outbox));
        self.correlations.iter().for_each(|it| it.send_rows(outbox));
        let owned = Owned {
            best: self.tally.best.clone(),
            drift: self.drift.owned(self.grouped[0])?,
            groups: match &mut self.groups {
                Some(groups) => groups.write(self.grouped[1])?,
                None => BTreeMap::new(),
            },
        };
        let json = serde_json::to_vec(&owned).expect("numbers and texts are JSON");
        for (piece, words) in (0..).zip(cut(&json)) {
            outbox.send_block(OWNED + KINDS * piece, 0, words);
        }
        Ok(())
    }

    /// Returns the result on the first worker, once everything has arrived.
    pub(super) fn finish(&mut self) -> Projected {
        let mut tally = Tally::from_sums(&self.sums, &self.tally);
        let (mut groups, mut drift) = (BTreeMap::new(), Vec::new());
        for mut blocks in std::mem::take(&mut self.owned).into_values() {
            blocks.sort_by_key(Block::tag);
            let owned: Owned = serde_json::from_slice(&join(&blocks)).expect("written by a worker");
            tally.best.merge(&owned.best);
            groups.extend(owned.groups);
            drift.extend(owned.drift);
        }
        let columns = (self.trends.iter()).flat_map(|it| it.columns.to_vec());
        let columns = columns.collect();
        let (trends, correlations) = (self.trends.iter_mut(), self.correlations.iter_mut());
        let rolled_up = RolledUp {
            groups,
            columns,
            trends: trends.flat_map(Trends::lines).collect(),
            correlations: correlations.flat_map(Correlations::lines).collect(),
        };
        Projected {
            tally,
            drift: self.drift.finish(self.grouped[0], drift),
            rolled_up: self.groups.is_some().then_some(rolled_up),
        }
    }
}
