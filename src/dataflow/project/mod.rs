//! Projection, distributed over workers: every document of the collection, alone, against the
//! frozen model. Only sums are exchanged: those of groups on the way, all others at the end.
//!
//! A shard of the corpus becomes a part of `documents` and one of `document_topics`, and a note
//! beside the checkpoints (`tally`), published last: a run that was killed resumes with the shards
//! that have no note.

mod drift;
mod labels;
mod rollups;
mod shard;
mod tally;

use std::sync::atomic::{AtomicUsize, Ordering};

use timely::worker::Worker;

use super::error::RunError;
use super::gather::{PARK, all_gather};
use super::joint::Together;
use super::process::{Process, Tickets};
use super::process_model::ProcessModel;
use super::sum::sum;
use crate::cluster::interrupt::{self, Deferral};
use crate::corpus::collection::Collection;
use crate::corpus::sample::SampleRule;
use crate::liveness;
use crate::tables::FileMetadata;
pub use drift::{Drift, DriftCounter, DriftLine, Listed};
pub use labels::{LabelSums, SCORES};
use lda::infer::labels::LabelModel;
use lda::infer::maxent::Classifier;
use lda::infer::settings::InferSettings;
use lda::infer::term_topics::TermTopics;
use lda::model::published::PublishedTopic;
use rollups::RollUps;
pub use rollups::{CorrelationLine, RollUpShared, RolledUp, TrendColumn, TrendLine, count_values};
use shard::ShardProjector;
pub use tally::{BestDocuments, FIXED_POINT, Tally, fixed, part_path, parts, written_parts};

/// What is projected, on what, and how it is written.
#[derive(Clone, Copy)]
pub struct ProjectPlan<'a> {
    /// The process.
    pub process: &'a Process,
    /// Its model, with the factors of all terms prepared.
    pub model: &'a ProcessModel,
    /// Its topics, published.
    pub published: &'a [PublishedTopic],
    /// The collection.
    pub collection: &'a Collection,
    /// Which documents were trained on.
    pub rule: &'a SampleRule,
    /// How topics are inferred.
    pub infer: &'a InferSettings,
    /// Its factors without small entries, if the method uses those.
    pub topics: &'a TermTopics,
    /// What the methods start from that need it.
    pub classifier: Option<&'a Classifier>,
    /// What is known of labels.
    pub labels: &'a LabelModel,
    /// The documents that were inferred together, if the method is such.
    pub together: Option<Together<'a>>,
    /// Where sums over documents are shared.
    pub rollups: &'a RollUpShared,
    /// What every part says about itself; its model hash tells parts of another model apart.
    pub metadata: &'a FileMetadata,
}

/// What projection leaves besides the tables that it has written.
#[derive(Debug)]
pub struct Projected {
    /// The tally of all documents, the same on every worker.
    pub tally: Tally,
    /// How far the new ones have moved, the same on every worker.
    pub drift: Drift,
    /// What is summed up over documents, if the job wants that.
    pub rolled_up: Option<RolledUp>,
}

/// Hands out the shards of a process, and counts the workers that have one.
#[derive(Debug, Default)]
pub struct Shards {
    tickets: Tickets,
    at_work: AtomicUsize,
}

impl Shards {
    /// Begins work; the count is read only after all workers of the process have begun.
    fn begin(&self, process: &Process) -> AtWork<'_> {
        self.at_work.fetch_add(1, Ordering::SeqCst);
        process.meet();
        AtWork {
            count: &self.at_work,
            _deferral: Deferral::begin(),
        }
    }

    /// Ends work because of a signal, when the other workers of the process have ended theirs.
    fn leave(&self, mine: AtWork<'_>) -> RunError {
        let _deferral = Deferral::begin();
        drop(mine);
        liveness::waiting(|| {
            while self.at_work.load(Ordering::SeqCst) > 0 {
                std::thread::sleep(PARK);
            }
        });
        RunError::Left("projection, between two shards".to_owned())
    }
}

/// A worker with a shard, which it finishes before a signal ends the run.
struct AtWork<'a> {
    count: &'a AtomicUsize,
    _deferral: Deferral,
}

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Projects this worker's share of the shards.
///
/// # Errors
/// Files that cannot be read or written, a draw that cannot be made; that the run was asked to
/// leave, once the current shards are complete.
pub fn project(
    worker: &mut Worker,
    plan: ProjectPlan<'_>,
    shards: &Shards,
) -> Result<Projected, RunError> {
    let process = plan.process;
    let (first, step) = (process.placement.process, process.placement.processes());
    let settings = &process.job.project;
    let topics = plan.metadata.topic_count.unwrap_or(0);
    let labels = plan.collection.labels.len();
    let mut mine = Tally {
        labels: LabelSums::none(labels),
        ..Tally::new(topics, settings.documents_per_topic)
    };
    let drift = DriftCounter::new(worker, plan.collection, plan.published);
    let rollups = settings.rollups.then(|| RollUps::new(worker, plan));
    let mut projector = ShardProjector::new(plan, drift, rollups);
    let at_work = shards.begin(process);
    loop {
        if interrupt::is_wanted() {
            return Err(shards.leave(at_work));
        }
        let number = first + shards.tickets.take() * step;
        if number >= plan.collection.shards.len() {
            break;
        }
        let tally = match tally::read(process, number, parts(plan.collection), plan.metadata)? {
            Some(done) => {
                projector.recount(number)?;
                done
            }
            None => {
                let tally = projector.project(number)?;
                tally::publish(process, number, &tally)?;
                tally
            }
        };
        mine.merge(&tally);
        worker.step();
    }
    drop(at_work);
    let (drift, rollups) = projector.into_counters();
    let finish = |it: RollUps<'_>| it.finish(worker, plan.metadata);
    Ok(Projected {
        rolled_up: rollups.map(finish).transpose()?,
        drift: drift.finish(worker),
        tally: add_up(worker, &mine),
    })
}

/// The tallies of all workers, merged.
fn add_up(worker: &mut Worker, mine: &Tally) -> Tally {
    let sums = sum(worker, &mine.sums());
    let best = serde_json::to_vec(&mine.best).expect("numbers and texts are JSON");
    let mut all = Tally::from_sums(&sums, mine);
    for bytes in all_gather(worker, &best) {
        let best: BestDocuments = serde_json::from_slice(&bytes).expect("written by a peer");
        all.best.merge(&best);
    }
    all
}
