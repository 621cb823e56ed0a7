//! Projection, distributed over workers: every document of the collection, alone, against the
//! frozen model.
//!
//! ```text
//!    ┌───────────── feedback: a part is written, another may follow ──────────────┐
//!    ▼                                                                            │
//! parts ───a number──▶ infer ──some documents at a time──▶ write ─────────────────┘
//!                        └─sums──by owner──▶ reduce ──counts of groups──▶ reduce ──rows──▶ first worker
//! ```
//!
//! Each worker has one message in the loop, and this message carries its only capability there: at most one part per
//! worker is open, and two batches of its documents are in memory. When no message finds another part, the frontier is
//! empty, and all sums are complete.
//!
//! A part is some consecutive shards (`shares`). It goes to any idle worker of its process: they take numbers from one
//! counter. If one worker assigned parts, its messages would have to wait until it has inferred its own batch. Process p
//! of P takes every P-th part, because it has the documents in memory that were inferred together.
//!
//! It becomes a file of `documents`, one of `document_topics`, and a note beside the checkpoints (`notes`), published
//! last: a killed run resumes with the parts that have no note, and counts the others again. Where documents have been
//! added, the sums over all of them are kept too (`stored`), and an addition counts only its own.

mod counters;
mod inference;
mod keyed;
mod labels;
mod notes;
mod operators;
mod parts;
mod stored;
mod values;

use std::cell::RefCell;
use std::collections::BTreeMap;
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
use super::shares::Shares;
use crate::checkpoint::classifier::ClassifierHeader;
use crate::failure::Failure;
use crate::tables::drift::{Drift, DriftRow};
use crate::tables::tally::Tally;
use crate::tables::{FileMetadata, PartInfo};
use corpus::collection::Collection;
use corpus::sample::SampleRule;
use counters::Counters;
pub(crate) use counters::SharedSums;
use inference::PartInference;
use lda::evaluate::drift::{DriftSums, TermSet};
use lda::infer::labels::LabelModel;
use lda::infer::maxent::Classifier;
use lda::infer::mean_field::TermTopics;
use lda::infer::settings::InferSettings;
use lda::infer::summary::{Listing, Projection};
use lda::infer::{Bag, ImpossibleDraw, Inferred, Inferrer, Target};
use lda::math::random::{Stage, Stream};
use lda::model::published::PublishedTopic;
pub(crate) use notes::are_complete;
use operators::{ProjectionState, infer, parts, reduce, write};
use parts::PartWriter;
pub(crate) use stored::{StoredSums, stored_sums};
pub(crate) use values::{Trends, trend_columns};

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
    pub(crate) classifier: Option<Arc<(ClassifierHeader, Classifier)>>,
    /// The label model.
    pub(crate) labels: Arc<LabelModel>,
    /// The documents that were inferred together, if the method does so.
    pub(crate) together: Option<Together>,
    /// The sums over the documents that the model was trained on, if these are of another result.
    pub(crate) trained: Option<Arc<DriftSums>>,
    /// The terms that the collection lacked on which the model was trained, if this one has changed since.
    pub(crate) unknown: Arc<TermSet>,
    /// Which parts there are, and which are the process's.
    pub(crate) shares: Arc<Shares>,
    /// Numbers the process's parts as they are taken.
    pub(crate) parts: Arc<Tickets>,
    /// The trends that are requested.
    pub(crate) trends: Trends,
    /// The sums over the first documents, which need not be counted again.
    pub(crate) stored: Option<StoredSums>,
    /// The sums of the process's workers.
    pub(crate) sums: Arc<SharedSums>,
    /// The metadata of every part; parts of another model are recognised by its model hash.
    pub(crate) metadata: FileMetadata,
}

impl ProjectPlan {
    /// K.
    fn topic_count(&self) -> usize {
        self.metadata.topic_count.unwrap_or(0)
    }

    /// Returns the drift of no document.
    fn drift(&self) -> Drift {
        let (collection, topics) = (&self.collection, &self.published);
        let (kept, all) = (collection.terms_kept as usize, collection.terms_total as usize);
        let mut known = TermSet::new(kept);
        // Under a tree, the terms of its structures are listed even in topics without them.
        let weights = topics.iter().flat_map(|topic| topic.weights.iter().zip(&topic.counts));
        let seen = weights.filter(|&(_, &count)| count > 0.0);
        seen.for_each(|(&(term, _), _)| known.insert(term));
        let trained = self.trained.as_deref().cloned();
        Drift { known, sizes: [topics.len(), kept, all], trained }
    }

    /// Whether the sums are to be kept: documents have come or left before, so more may follow.
    fn keeps_sums(&self) -> bool {
        !self.collection.generations.is_empty()
    }

    /// Returns the tally of no document.
    fn tally(&self) -> Tally {
        Tally::new(self.topic_count(), self.collection.labels.len())
    }
}

/// The result of projection.
#[derive(Debug)]
pub(crate) struct Projected {
    /// The tally of all documents.
    pub(crate) tally: Tally,
    /// The drift of the new ones.
    pub(crate) drift: DriftRow,
    /// The numbers of their groups, and of those to be trained on; `None` if there are too many for one row each.
    pub(crate) groups: Option<[usize; 2]>,
    /// The sums over the documents trained on.
    pub(crate) trained: DriftSums,
    /// The parts of the tables of documents, and of those that are summed over documents, by path.
    pub(crate) written: BTreeMap<String, PartInfo>,
}

/// Projects the collection. All workers must call this. Returns the result on the first one.
///
/// # Errors
/// A file cannot be read or written, or a draw cannot be made.
pub(crate) fn project(
    worker: &mut Worker,
    plan: ProjectPlan,
) -> Result<Option<Projected>, Failure> {
    let index = worker.index();
    let (plan, state) = (Rc::new(plan), Rc::<RefCell<ProjectionState>>::default());
    let counters = Rc::new(RefCell::new(Counters::new(&plan, index)?));
    let inference = PartInference::new(&plan, &counters);
    let (kept, probe) = (Rc::clone(&counters), ProbeHandle::new());
    let dataflow = worker.next_dataflow_index();
    worker.dataflow_named::<u64, _, _>("project", |scope| {
        let (feedback, written) = scope.feedback(1);
        let numbers = parts(written, &plan);
        let (documents, sums) = infer(numbers, inference, &state);
        write(documents, PartWriter::new(&plan, &counters), &state).connect_loop(feedback);
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
    (index == 0).then(|| counters.borrow_mut().finish()).transpose()
}

/// What documents are projected onto, and how.
#[derive(Clone, Copy)]
pub(crate) struct Projecting<'a> {
    /// The model.
    pub(crate) target: Target<'a>,
    /// How topics are inferred.
    pub(crate) infer: &'a InferSettings,
    /// The seed of the random streams, which are keyed by the numbers of documents.
    pub(crate) seed: u64,
    /// Which topics are listed.
    pub(crate) listing: Listing,
}

/// Projects a document; `known` are its proportions if it was inferred together with others.
///
/// # Errors
/// A draw cannot be made.
pub(crate) fn project_document<'s>(
    (number, bag): (u64, Bag<'_>),
    onto: Projecting<'s>,
    known: Option<&'s [f32]>,
    inferrer: &'s mut dyn Inferrer,
) -> Result<(Inferred<'s>, Projection), ImpossibleDraw> {
    let Projecting { target, infer, seed, listing } = onto;
    let inferred = match known {
        Some(proportions) => Inferred { proportions, alpha: &target.table.smoothing().alpha },
        None => {
            let mut stream = Stream::keyed(seed, Stage::Project, 0, number);
            inferrer.infer(bag, target, infer, &mut stream)?
        }
    };
    let mut projection = Projection::default();
    projection.describe(inferred.proportions, bag, target.table, listing);
    Ok((inferred, projection))
}
