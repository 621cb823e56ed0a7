//! Documents sampled together, distributed over workers: the rounds of `train::joint`, with the same bytes on any
//! number of workers.
//!
//! Each process holds the documents of the shards that it will write, so that only changes of
//! counts are exchanged (`rounds`), and θ is where it is needed. The result does not depend on
//! which process holds a document: its draws and its round depend on its number, and counts are
//! integers.
//!
//! Nothing is saved in between. A stopped run samples again from the trained model, and ends with
//! the same bytes.

use std::sync::Arc;

use parking_lot::Mutex;
use timely::worker::Worker;

use super::process::{Once, Process, TOGETHER_FILE, Tickets};
use super::process_model::ProcessModel;
use super::rounds::{Merged, RoundSteps, Rounds};
use super::sample::for_each_document;
use crate::assignments::Assignments;
use crate::failure::Failure;
use corpus::collection::Collection;
use corpus::sample::{SampleRule, Split};
use corpus::shard::Columns;
use lda::bags::Bags;
use lda::infer::DocumentScope;
use lda::infer::settings::InferSettings;
use lda::model::Priors;
use lda::model::statistics::Assigned;
use lda::train::joint::{JointVisitor, Passes, TopicSums, sampled_with};
use lda::train::publish::published_priors;
use lda::train::schedule::ModelChange;

/// The documents to sample, and the model.
#[derive(Clone, Copy)]
pub(crate) struct JointPlan<'a> {
    /// The process.
    pub(crate) process: &'a Arc<Process>,
    /// Its trained model.
    pub(crate) trained: &'a Arc<ProcessModel>,
    /// The priors of training.
    pub(crate) priors: &'a Priors,
    /// The η that φ is published with.
    pub(crate) published_eta: f64,
    /// The collection.
    pub(crate) collection: &'a Collection,
    /// Which documents were trained on.
    pub(crate) rule: &'a SampleRule,
    /// How topics are inferred: the method is a joint one.
    pub(crate) infer: &'a InferSettings,
}

/// The state that the workers of a process share while documents are sampled together, and afterwards.
#[derive(Default)]
pub(crate) struct JointShared {
    shards: Tickets,
    received: Mutex<Bags>,
    documents: Once<Arc<Documents>>,
    models: Once<Models>,
}

/// A process's documents, and their state.
struct Documents {
    bags: Bags,
    assignments: Assignments,
    /// Each is changed by the thread that samples its document.
    sums: Vec<Mutex<TopicSums>>,
}

/// The counts of all documents' assignments, the counts that stay fixed, and their sum.
struct Models {
    counts: ProcessModel,
    fixed: Arc<ProcessModel>,
    whole: ProcessModel,
}

/// The proportions of a process's documents that were sampled together.
pub(crate) struct Together {
    documents: Arc<Documents>,
    alpha: Vec<f64>,
}

impl Together {
    /// Writes a document's θ_d into `proportions`; returns false if it was not among them.
    pub(crate) fn proportions(&self, document: u64, proportions: &mut Vec<f32>) -> bool {
        let Ok(index) = self.documents.bags.find(document) else {
            return false;
        };
        let tokens = self.documents.assignments.token_count(index);
        self.documents.sums[index].lock().proportions(tokens, &self.alpha, proportions);
        true
    }
}

/// Samples the documents of the method's [scope](DocumentScope) together. All workers must call this.
///
/// # Errors
/// A file cannot be read or written, or a draw cannot be made.
pub(crate) fn sample_together<'a>(
    worker: &mut Worker,
    plan: JointPlan<'a>,
    shared: &'a JointShared,
) -> Result<Together, Failure> {
    let documents = load(worker, plan, shared)?;
    let (topics, terms) = (plan.priors.topic_count(), plan.trained.vocabulary_size());
    let threads = plan.process.placement.threads;
    let passes = Passes::new(plan.infer, plan.process.job.model.seed);
    let mut steps = JointSteps {
        plan,
        models: models(plan, shared)?,
        documents,
        passes,
        published: published_priors(plan.priors, plan.published_eta),
        priors: sampled_with(plan.infer.method.scope, plan.priors, plan.published_eta),
        visitor: JointVisitor::new(terms, topics),
        dealt: Vec::new(),
        own: Vec::new(),
        part: worker.index() % threads,
    };
    let mut rounds = Rounds::new(worker, threads, [terms, topics]);
    let progress = &plan.process.progress;
    progress.begin("joint", "passes", Some(1 + passes.count()));
    rounds.run(worker, &mut steps, [JointRound::Assign], 0)?;
    progress.set(1);
    for pass in 0..passes.count() {
        let bags = &documents.bags;
        steps.dealt = passes.deal(pass, (0..bags.len()).map(|index| bags.document(index)));
        let minibatches = 0..steps.dealt.len();
        let resample = |minibatch| JointRound::Resample { pass, minibatch };
        rounds.run(worker, &mut steps, minibatches.map(resample), 0)?;
        progress.set(2 + pass);
    }
    Ok(Together { documents: Arc::clone(documents), alpha: plan.priors.alpha.clone() })
}

/// Loads this process's documents; its workers share them.
fn load<'a>(
    worker: &mut Worker,
    plan: JointPlan<'_>,
    shared: &'a JointShared,
) -> Result<&'a Arc<Documents>, Failure> {
    let process = plan.process;
    process.begin_documents("load", plan.collection);
    let takes_all = plan.infer.method.scope == DocumentScope::All;
    let mut mine = Bags::default();
    for_each_document(
        worker,
        process,
        &shared.shards,
        plan.collection,
        Columns::Counts,
        |number, document| {
            process.progress.add(1);
            let is_new = plan.rule.split_of(number, document, None) != Split::Sample;
            if document.status.has_terms() && (takes_all || is_new) {
                mine.push(number, &document.terms, &document.counts);
            }
            Ok(())
        },
    )?;
    shared.received.lock().append(&mine);
    drop(mine);
    process.meet();
    shared.documents.get(|| {
        let bags = std::mem::take(&mut *shared.received.lock()).sorted();
        let most_bytes = process.job.train.sample_bytes;
        let path = process.scratch_path(TOGETHER_FILE);
        let made = Assignments::new(bags.lengths(), most_bytes, &path);
        Ok(Arc::new(Documents {
            assignments: made.map_err(|source| process.scratch_error(TOGETHER_FILE, source))?,
            sums: (0..bags.len()).map(|_| Default::default()).collect(),
            bags,
        }))
    })
}

fn models<'a>(plan: JointPlan<'_>, shared: &'a JointShared) -> Result<&'a Models, Failure> {
    let terms = plan.trained.vocabulary_size();
    let threads = plan.process.placement.threads;
    let empty = || ProcessModel::new(plan.priors, terms, threads, None);
    shared.models.get(|| {
        let takes_all = plan.infer.method.scope == DocumentScope::All;
        let fixed = if takes_all { Arc::new(empty()) } else { Arc::clone(plan.trained) };
        Ok(Models { counts: empty(), fixed, whole: empty() })
    })
}

/// A round of joint sampling.
#[derive(Clone, Copy)]
enum JointRound {
    /// Every document is assigned against the trained model.
    Assign,
    /// The assignments of a minibatch are drawn again.
    Resample { pass: u64, minibatch: usize },
}

/// A worker's sampler and documents.
struct JointSteps<'a> {
    plan: JointPlan<'a>,
    models: &'a Models,
    documents: &'a Documents,
    passes: Passes,
    /// The priors of the trained model as it is published, and those of sampling.
    published: Priors,
    priors: Priors,
    visitor: JointVisitor,
    /// The documents of each minibatch of the pass.
    dealt: Vec<Vec<u32>>,
    own: Vec<u16>,
    part: usize,
}

impl JointSteps<'_> {
    fn assign_some(&mut self) -> Result<bool, Failure> {
        let (process, documents, passes) = (self.plan.process, self.documents, self.passes);
        let visitor = &mut self.visitor;
        let count = documents.bags.len();
        self.plan.trained.for_some_documents(count, |index, table| {
            let key = passes.key(0, documents.bags.document(index));
            let drawn = visitor.assign(key, documents.bags.bag(index), table)?;
            documents.remember(process, index, drawn)
        })
    }

    fn resample_some(&mut self, pass: u64, minibatch: usize) -> Result<bool, Failure> {
        let (process, documents, passes) = (self.plan.process, self.documents, self.passes);
        let (visitor, own, dealt) = (&mut self.visitor, &mut self.own, &self.dealt[minibatch]);
        let round = passes.round(pass, minibatch as u64);
        let whole = &self.models.whole;
        whole.for_some_documents(dealt.len(), |place, table| {
            let index = dealt[place] as usize;
            documents.recall(process, index, own)?;
            let key = passes.key(round, documents.bags.document(index));
            let mut sums = documents.sums[index].lock();
            let kept = passes.is_kept(pass).then_some((passes.estimator, &mut *sums));
            let drawn = visitor.resample(key, documents.bags.bag(index), table, own, kept)?;
            documents.remember(process, index, drawn)
        })
    }
}

impl RoundSteps for JointSteps<'_> {
    type Round = JointRound;

    fn begin(&mut self, round: JointRound) -> Result<(), Failure> {
        let (process, part) = (self.plan.process, self.part);
        match round {
            JointRound::Assign => self.plan.trained.prepare_all(process, part, &self.published),
            JointRound::Resample { pass, minibatch } => {
                let bags = &self.documents.bags;
                let dealt = self.dealt[minibatch].iter();
                let terms = dealt.map(|&index| bags.bag(index as usize).terms);
                let number = self.passes.round(pass, minibatch as u64);
                let whole = &self.models.whole;
                whole.prepare_for(process, part, terms, &self.priors, (number, false));
            }
        }
        Ok(())
    }

    fn sample(&mut self, round: JointRound) -> Result<bool, Failure> {
        match round {
            JointRound::Assign => self.assign_some(),
            JointRound::Resample { pass, minibatch } => self.resample_some(pass, minibatch),
        }
    }

    fn statistics(&mut self, emit: impl FnMut(Assigned)) {
        self.visitor.finish(emit);
    }

    fn update(&mut self, round: JointRound, merged: &Merged) {
        let is_new = matches!(round, JointRound::Assign);
        let Models { counts, fixed, whole } = self.models;
        let process = self.plan.process;
        counts.change(process, self.part, ModelChange::Counts { is_new }, merged, &[]);
        let changed = (!is_new).then_some(&merged.blocks[..]);
        whole.set_sum(self.part, [fixed, counts], changed);
        process.meet();
    }
}

impl Documents {
    fn recall(&self, process: &Process, index: usize, own: &mut Vec<u16>) -> Result<(), Failure> {
        let read = self.assignments.read(index, own);
        read.map_err(|source| process.scratch_error(TOGETHER_FILE, source))
    }

    fn remember(&self, process: &Process, index: usize, drawn: &[u16]) -> Result<(), Failure> {
        let written = self.assignments.write(index, drawn);
        written.map_err(|source| process.scratch_error(TOGETHER_FILE, source))
    }
}
