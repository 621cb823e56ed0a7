//! Projection, distributed over workers: every document of the collection, alone, against the
//! frozen model.
//!
//! ```text
//!    ┌───────────── feedback: a shard is written, another may follow ─────────────┐
//!    ▼                                                                            │
//! shards ──a number──▶ infer ──some documents at a time──▶ write ─────────────────┘
//!                        └─sums──by owner──▶ reduce ──counts of groups──▶ reduce ──rows──▶ first worker
//! ```
//!
//! Each worker has one message in the loop, and this message carries its only capability there: at most one shard per
//! worker is open, and two batches of its documents are in memory. When no message finds another shard, the frontier is
//! empty, and all sums are complete.
//!
//! A shard goes to any idle worker of its process: they take numbers from one counter. If one worker assigned shards,
//! its messages would have to wait until it has inferred its own batch. Process p of P takes every P-th shard, because
//! it has the documents in memory that were inferred together.
//!
//! A shard of the corpus becomes a part of `documents` and one of `document_topics`, and a note
//! beside the checkpoints (`tally`), published last: a killed run resumes with the shards that have
//! no note, and counts the others again.

mod counters;
mod drift;
mod groups;
mod kinds;
mod labels;
mod operators;
mod parts;
mod rollups;
mod shard;
mod tally;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use timely::dataflow::ProbeHandle;
use timely::dataflow::operators::{ConnectLoop, Feedback, Probe};
use timely::worker::Worker;

use super::exchange::route;
use super::gather::{PARK, receive_all};
use super::joint::Together;
use super::process::{Process, Tickets};
use super::process_model::ProcessModel;
use crate::failure::Failure;
use crate::tables::FileMetadata;
use corpus::collection::Collection;
use corpus::sample::SampleRule;
use counters::Counters;
pub(crate) use drift::{Drift, DriftLine, Listed};
pub(crate) use labels::{LabelSums, SCORES};
use lda::evaluate::drift::DriftSums;
use lda::infer::labels::LabelModel;
use lda::infer::maxent::Classifier;
use lda::infer::settings::InferSettings;
use lda::infer::term_topics::TermTopics;
use lda::model::published::PublishedTopic;
use operators::{State, infer, reduce, shards, write};
use parts::PartWriter;
pub(crate) use rollups::{RollUpShared, RolledUp, count_values};
use shard::Inference;
pub(crate) use tally::{FIXED_POINT, Tally, fixed, written_parts};

/// A projection: its documents, its model, and how the result is written.
pub(crate) struct ProjectPlan {
    /// The process.
    pub(crate) process: Arc<Process>,
    /// Its model, with the factors of all terms prepared.
    pub(crate) model: Arc<ProcessModel>,
    /// Its topics, published.
    pub(crate) published: Arc<[PublishedTopic]>,
    /// The collection.
    pub(crate) collection: Arc<Collection>,
    /// Which documents were trained on.
    pub(crate) rule: SampleRule,
    /// How topics are inferred.
    pub(crate) infer: InferSettings,
    /// Its factors without small entries, if the method uses those.
    pub(crate) term_topics: Arc<TermTopics>,
    /// The classifier, if the method starts from one.
    pub(crate) classifier: Option<Arc<Classifier>>,
    /// The label model.
    pub(crate) labels: Arc<LabelModel>,
    /// The documents that were inferred together, if the method does so.
    pub(crate) together: Option<Together>,
    /// The sums over the documents that the model was trained on, if these are of another result.
    pub(crate) trained: Option<Arc<DriftSums>>,
    /// Numbers the process's shards as they are taken.
    pub(crate) shards: Arc<Tickets>,
    /// The metadata of every part; parts of another model are recognised by its model hash.
    pub(crate) metadata: FileMetadata,
}

impl ProjectPlan {
    /// K.
    fn topic_count(&self) -> usize {
        self.metadata.topic_count.unwrap_or(0)
    }

    /// Returns the tally of no document.
    fn tally(&self) -> Tally {
        Tally {
            labels: LabelSums::none(self.collection.labels.len()),
            model_hash: self.metadata.model_hash.clone(),
            settings_hash: self.metadata.settings_hash.clone(),
            ..Tally::new(self.topic_count(), self.process.job.project.documents_per_topic)
        }
    }
}

/// The result of projection besides the tables that it has written.
#[derive(Debug)]
pub(crate) struct Projected {
    /// The tally of all documents.
    pub(crate) tally: Tally,
    /// The drift of the new ones.
    pub(crate) drift: Drift,
    /// Sums over documents, if the job requests them.
    pub(crate) rolled_up: Option<RolledUp>,
}

/// Projects the collection. All workers must call this, those of one process with the same `shared`. Returns
/// the result on the first one.
///
/// # Errors
/// A file cannot be read or written, or a draw cannot be made; a signal was received, once the
/// current shards are complete.
pub(crate) fn project(
    worker: &mut Worker,
    plan: ProjectPlan,
    shared: &RollUpShared,
) -> Result<Option<Projected>, Failure> {
    let index = worker.index();
    let (plan, state) = (Rc::new(plan), State::new());
    let counters = Rc::new(RefCell::new(Counters::new(&plan, shared, index)));
    let inference = Inference::new(&plan, &counters);
    let (kept, probe) = (Rc::clone(&counters), ProbeHandle::new());
    let dataflow = worker.next_dataflow_index();
    worker.dataflow_named::<u64, _, _>("project", |scope| {
        let (feedback, written) = scope.feedback(1);
        let numbers = shards(written, &plan, &state);
        let (documents, sums) = infer(numbers, inference, &state);
        write(documents, PartWriter::new(&plan), &state).connect_loop(feedback);
        let counts = reduce(sums, &counters, &state, Counters::send_counts);
        let rows = reduce(counts, &counters, &state, Counters::send_owned);
        receive_all(rows, route(), move |block| kept.borrow_mut().receive(block))
            .probe_with(&probe);
    });
    while !probe.done() {
        worker.step_or_park(Some(PARK));
        let failure = state.borrow_mut().failure();
        if let Some(error) = failure {
            worker.drop_dataflow(dataflow);
            return Err(error);
        }
    }
    Ok((index == 0).then(|| counters.borrow_mut().finish()))
}
