//! Documents sampled together, distributed over workers: the same rounds as
//! `train::joint::sample_together`, and the same bytes.
//!
//! Each process holds the documents of the shards that it will write, so that only changes of
//! counts are exchanged (`rounds`), and θ is where it is needed. The result does not depend on
//! which process holds a document: its draws and its round depend on its number, and counts are
//! integers.
//!
//! Nothing is saved on the way. A run that was stopped samples again from the trained model, and
//! ends with the same bytes; once every shard is written there is nothing left to sample for.

mod load;

use std::sync::{Mutex, PoisonError};

use timely::worker::Worker;

use super::error::RunError;
use super::process::{Once, Process, Tickets};
use super::process_model::{ProcessModel, Purpose};
use super::project::written_parts;
use super::rounds::Rounds;
use super::sum::sum;
use crate::assignments::Assignments;
use crate::corpus::collection::Collection;
use crate::corpus::sample::SampleRule;
use crate::tables::FileMetadata;
use lda::bags::Bags;
use lda::infer::Bag;
use lda::infer::settings::{InferSettings, Method};
use lda::model::Priors;
use lda::train::joint::sums::TopicSums;
use lda::train::joint::{Passes, Visitor, sampled_with};
use lda::train::publish::published;
use load::load;

/// What is sampled, and against what.
#[derive(Clone, Copy)]
pub struct JointPlan<'a> {
    /// The process.
    pub process: &'a Process,
    /// Its trained model.
    pub trained: &'a ProcessModel,
    /// The priors of training.
    pub priors: &'a Priors,
    /// The η that φ is published with.
    pub published_eta: f64,
    /// The collection.
    pub collection: &'a Collection,
    /// Which documents were trained on.
    pub rule: &'a SampleRule,
    /// How topics are inferred: the method is a joint one.
    pub infer: &'a InferSettings,
    /// What tells whether shards are written already.
    pub metadata: &'a FileMetadata,
}

/// What the workers of a process share while documents are sampled together, and afterwards.
#[derive(Default)]
pub struct JointShared {
    shards: Tickets,
    received: Mutex<Bags>,
    documents: Once<Documents>,
    models: Once<Models>,
}

/// A process's documents, and what is known of them.
struct Documents {
    bags: Bags,
    assignments: Assignments,
    /// Each is changed by the thread that samples its document.
    sums: Vec<Mutex<TopicSums>>,
}

/// The counts of all documents' assignments, and their sum with those that stay.
struct Models {
    counts: ProcessModel,
    whole: ProcessModel,
    /// Counts that stay where none do.
    nothing: ProcessModel,
}

/// The proportions of a process's documents that were sampled together.
#[derive(Clone, Copy)]
pub struct Together<'a> {
    documents: &'a Documents,
    alpha: &'a [f64],
}

impl Together<'_> {
    /// θ_d of a document for each topic, into `proportions`; false if it was not among them.
    pub fn proportions(&self, document: u64, proportions: &mut Vec<f32>) -> bool {
        let Ok(index) = self.documents.bags.find(document) else {
            return false;
        };
        let tokens = self.documents.assignments.token_count(index);
        lock(&self.documents.sums[index]).proportions(tokens, self.alpha, proportions);
        true
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Samples documents together: for [`Method::GibbsJoint`] those that were not trained on, for
/// [`Method::Retrain`] all. All workers must call it. Gives nothing if all shards are written.
///
/// # Errors
/// Files that cannot be read or written; a draw that cannot be made.
pub fn sample_together<'a>(
    worker: &mut Worker,
    plan: JointPlan<'a>,
    shared: &'a JointShared,
) -> Result<Option<Together<'a>>, RunError> {
    if is_written(worker, plan)? {
        return Ok(None);
    }
    let documents = load(worker, plan, shared)?;
    let models = models(plan, shared)?;
    let mut sampling = Sampling::new(worker, plan, documents, models);
    sampling.assign(worker)?;
    for pass in 0..sampling.passes.count() {
        sampling.take_pass(worker, pass)?;
    }
    Ok(Some(Together {
        documents,
        alpha: &plan.priors.alpha,
    }))
}

/// Whether every shard's part already exists.
fn is_written(worker: &mut Worker, plan: JointPlan<'_>) -> Result<bool, RunError> {
    let mut missing = 0;
    if worker.index() == 0 {
        let written = written_parts(plan.process, plan.collection, plan.metadata)?;
        missing = 2 * plan.collection.shards.len() - written.len();
    }
    Ok(sum(worker, &[missing as i64])[0] == 0)
}

fn models<'a>(plan: JointPlan<'_>, shared: &'a JointShared) -> Result<&'a Models, RunError> {
    let (topics, terms) = (plan.priors.topic_count(), plan.trained.vocabulary_size());
    let empty = || ProcessModel::new(topics, terms, plan.process.placement.threads, None);
    shared.models.get(|| {
        Ok(Models {
            counts: empty(),
            whole: empty(),
            nothing: empty(),
        })
    })
}

/// One worker's state between rounds.
struct Sampling<'a> {
    plan: JointPlan<'a>,
    documents: &'a Documents,
    models: &'a Models,
    /// The counts that stay.
    fixed: &'a ProcessModel,
    passes: Passes,
    priors: Priors,
    rounds: Rounds,
    visitor: Visitor,
    part: usize,
}

impl<'a> Sampling<'a> {
    fn new(
        worker: &mut Worker,
        plan: JointPlan<'a>,
        documents: &'a Documents,
        models: &'a Models,
    ) -> Self {
        let job = &plan.process.job;
        let (topics, terms) = (plan.priors.topic_count(), plan.trained.vocabulary_size());
        let passes = Passes::new(plan.infer, job.model.seed);
        let fixed = match plan.infer.method {
            Method::Retrain => &models.nothing,
            _ => plan.trained,
        };
        let progress = &plan.process.progress;
        progress.begin("joint", "passes", Some(1 + passes.count()));
        Self {
            plan,
            documents,
            models,
            fixed,
            passes,
            priors: sampled_with(plan.infer.method, plan.priors, plan.published_eta),
            rounds: Rounds::new(worker, terms, topics),
            visitor: Visitor::new(terms, topics),
            part: worker.index() % plan.process.placement.threads,
        }
    }

    /// Assigns every document against the trained model.
    fn assign(&mut self, worker: &mut Worker) -> Result<(), RunError> {
        let (process, trained) = (self.plan.process, self.plan.trained);
        let priors = published(self.plan.priors, self.plan.published_eta);
        trained.prepare_all(process, self.part, &priors);
        let (documents, visitor, passes) = (self.documents, &mut self.visitor, self.passes);
        trained.for_my_documents(documents.bags.len(), |index, table| {
            let key = passes.key(0, documents.bags.document(index));
            let drawn = visitor.assign(key, documents.bag(index), table)?;
            documents.remember(process, index, drawn)
        })?;
        self.replace(worker, true);
        process.progress.set(1);
        Ok(())
    }

    /// Draws the assignments of every document again.
    fn take_pass(&mut self, worker: &mut Worker, pass: u64) -> Result<(), RunError> {
        let (process, documents) = (self.plan.process, self.documents);
        let bags = &documents.bags;
        let numbers = (0..bags.len()).map(|index| bags.document(index));
        for (minibatch, dealt) in (0..).zip(self.passes.deal(pass, numbers)) {
            let round = self.passes.round(pass, minibatch);
            let whole = &self.models.whole;
            let purpose = Purpose::Train(round);
            let terms = dealt.iter().map(|&index| bags.bag(index as usize).0);
            whole.prepare_for(process, self.part, terms, &self.priors, purpose);
            let (visitor, passes) = (&mut self.visitor, self.passes);
            let mut own = Vec::new();
            whole.for_my_documents(dealt.len(), |place, table| {
                let index = dealt[place] as usize;
                documents.recall(process, index, &mut own)?;
                let key = passes.key(round, bags.document(index));
                let mut sums = lock(&documents.sums[index]);
                let kept = passes
                    .is_kept(pass)
                    .then_some((passes.estimator, &mut *sums));
                let drawn = visitor.resample(key, documents.bag(index), table, &own, kept)?;
                documents.remember(process, index, drawn)
            })?;
            self.replace(worker, false);
        }
        process.progress.set(2 + pass);
        Ok(())
    }

    /// Changes counts by what all workers have found in a round.
    fn replace(&mut self, worker: &mut Worker, is_new: bool) {
        let mut entries = vec![Vec::new(); self.plan.process.placement.workers()];
        let rounds = &self.rounds;
        self.visitor
            .finish(|entry| entries[rounds.owner(entry.term)].push(entry.word()));
        let merged = self.rounds.exchange(worker, entries);
        let (process, models) = (self.plan.process, self.models);
        models.counts.replace(process, self.part, &merged, is_new);
        let changed = (!is_new).then_some(&merged.blocks[..]);
        let sum = [self.fixed, &models.counts];
        models.whole.set_sum(self.part, sum, changed);
    }
}

impl Documents {
    fn bag(&self, index: usize) -> Bag<'_> {
        let (terms, counts) = self.bags.bag(index);
        Bag { terms, counts }
    }

    fn recall(&self, process: &Process, index: usize, own: &mut Vec<u16>) -> Result<(), RunError> {
        let read = self.assignments.read(index, own);
        read.map_err(|source| refuse(process, source))
    }

    fn remember(&self, process: &Process, index: usize, drawn: &[u16]) -> Result<(), RunError> {
        let written = self.assignments.write(index, drawn);
        written.map_err(|source| refuse(process, source))
    }
}

/// Where a process keeps the assignments that memory has no room for.
fn assignments_path(process: &Process) -> std::path::PathBuf {
    let name = format!("assignments-together-{}", process.placement.process);
    process.output.temporary_path(&name)
}

fn refuse(process: &Process, source: std::io::Error) -> RunError {
    RunError::Io {
        path: assignments_path(process),
        source,
    }
}
