//! Roll-ups: sums over the projected documents of each volume, of each value of metadata columns, and of each
//! pair of topics, taken while the documents are projected.
//!
//! All sums are integers. They are of proportions as `document_topics` lists them, so that a restart adds up what
//! an earlier run has written, and anyone can check them against the tables.

mod correlations;
mod groups;
mod slots;
mod trends;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use timely::worker::Worker;

use super::{Listed, ProjectPlan};
use crate::corpus::ShardDocument;
use crate::dataflow::error::RunError;
use crate::dataflow::outbox::Outbox;
use crate::dataflow::process::{Once, Tickets};
use crate::tables::{FileMetadata, PartInfo};
pub use correlations::CorrelationLine;
use correlations::{Correlations, Row};
use groups::Groups;
use slots::Slots;
use trends::{Cell, Trends};
pub use trends::{TrendColumn, TrendLine, count_values};

/// What the workers of a process share.
#[derive(Debug, Default)]
pub struct RollUpShared {
    shards: Tickets,
    columns: Once<Vec<TrendColumn>>,
    cells: Once<Slots<Cell>>,
    pairs: Once<Slots<Row>>,
}

/// What goes into the tables.
#[derive(Debug, Default)]
pub struct RolledUp {
    /// The parts of `group_topics`, written by their owners.
    pub groups: BTreeMap<String, PartInfo>,
    /// The columns that `trends` are of.
    pub columns: Vec<TrendColumn>,
    /// The rows of `topic_trends`, on the first worker.
    pub trends: Vec<TrendLine>,
    /// The rows of `topic_correlations`, on the first worker.
    pub correlations: Vec<CorrelationLine>,
}

/// What a worker adds documents to.
pub(super) struct RollUps<'a> {
    plan: ProjectPlan<'a>,
    groups: Groups<'a>,
    trends: Option<Trends<'a>>,
    correlations: Option<Correlations<'a>>,
}

impl<'a> RollUps<'a> {
    /// As the plan's job asks. Every worker makes one.
    pub(super) fn new(worker: &mut Worker, plan: ProjectPlan<'a>) -> Self {
        let topics = plan.metadata.topic_count.unwrap_or(0);
        Self {
            plan,
            groups: Groups::new(worker, plan.process, plan.collection),
            trends: Trends::new(plan.process.job.model.seed, plan.rollups),
            correlations: Correlations::new(topics, plan.rollups),
        }
    }

    /// Adds a document with terms.
    pub(super) fn add(&mut self, number: u64, document: &ShardDocument, listed: Listed<'_>) {
        self.groups.add(document, listed.topics);
        if let Some(trends) = &mut self.trends {
            trends.add(number, document, listed);
        }
        if let Some(correlations) = &mut self.correlations {
            correlations.add(listed.topics);
        }
    }

    /// The sums of all workers.
    ///
    /// # Errors
    /// A file of `group_topics`, or one for its sums, cannot be written.
    pub(super) fn finish(
        self,
        worker: &mut Worker,
        metadata: &FileMetadata,
    ) -> Result<RolledUp, RunError> {
        let process = self.plan.process;
        let columns = self.plan.rollups.columns.made();
        Ok(RolledUp {
            groups: self.groups.finish(worker, metadata)?,
            columns: columns.cloned().unwrap_or_default(),
            trends: (self.trends).map_or_else(Vec::new, |it| it.finish(worker, process)),
            correlations: (self.correlations)
                .map_or_else(Vec::new, |it| it.finish(worker, process)),
        })
    }
}

/// The rows of all workers, in any order, on the first one; none on the others.
fn to_first<const N: usize>(worker: &mut Worker, name: &str, rows: &[[u64; N]]) -> Vec<[u64; N]> {
    let received = Rc::new(RefCell::new(Vec::new()));
    let filled = Rc::clone(&received);
    let receive = move |words: &[u64]| filled.borrow_mut().extend_from_slice(words.as_chunks().0);
    let mut outbox = Outbox::new(worker, name, receive);
    for some in rows.chunks(1 << 16) {
        some.iter().for_each(|row| outbox.send(0, *row));
        worker.step();
    }
    outbox.finish(worker);
    received.take()
}
