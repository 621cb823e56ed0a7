//! Training, spread over workers: the same rounds as `train::train`, and the same bytes.
//!
//! A round, on every worker:
//!
//! 1. the workers of a process prepare the factors of their minibatch's terms, each those of its
//!    part of the model (`process_model`, `model::factors`);
//! 2. they sample the minibatch's documents, whoever is free the next ones (`train::round`);
//! 3. statistics are merged over all workers (`rounds`);
//! 4. each worker changes its part of the model (`model::parameters`): by a step online, by the
//!    changed counts in refining.
//!
//! Nothing else is exchanged but lengths of minibatches, scores of held-out documents, and the sums
//! that α is learnt from.

mod held_out;
mod recall;
mod report;
mod save;

use std::time::Instant;

use timely::worker::Worker;

use super::block::Block;
use super::error::RunError;
use super::process::Process;
use super::process_model::{ProcessModel, Purpose};
use super::rounds::{Merged, Rounds};
use super::sample::Sample;
use super::sum::sum;
use crate::checkpoint::{Header, Saved};
use crate::cluster::{bytes_sent, interrupt};
use crate::evaluate::completion::Completion;
use crate::infer::Bag;
use crate::math::random::Stage;
use crate::model::Priors;
use crate::model::factors::FactorTable;
use crate::train::assignments::Assignments;
use crate::train::round::{LocalStep, StreamKey};
use crate::train::schedule::{Action, Position, Schedule, StopRule};
use crate::train::{RoundReport, RoundSeconds, alpha, round_priors};
pub use recall::{Candidates, Wanted, choose, recall_assignments};
pub use save::save;

/// What training ended with.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    /// Everything about the model but its numbers per term; the log is worker 0's.
    pub header: Header,
    /// Score of the held-out documents with the φ that is published.
    pub heldout: Completion,
    /// True if training ended because quality had stopped improving.
    pub stopped_early: bool,
}

/// What is trained, and for whom.
#[derive(Clone, Copy)]
pub struct TrainPlan<'a> {
    /// The process.
    pub process: &'a Process,
    /// Its model.
    pub model: &'a ProcessModel,
    /// The documents.
    pub sample: Sample<'a>,
    /// The assignments of the process's documents; needed for refining.
    pub assignments: Option<&'a Assignments>,
    /// The priors to begin with.
    pub priors: &'a Priors,
    /// Hash of the settings the model depends on.
    pub settings_hash: &'a str,
    /// Fingerprint of the vocabulary.
    pub vocabulary_hash: &'a str,
}

/// Trains, from the start or from what was saved, and leaves the result in the process's model. The
/// assignments that belong to what was saved must have been recalled.
///
/// # Errors
/// A draw that cannot be made, or files that cannot be read or written; that the run was asked to
/// leave, once a checkpoint is written.
pub fn train(
    worker: &mut Worker,
    plan: TrainPlan<'_>,
    saved: Option<&Saved>,
) -> Result<Trained, RunError> {
    let mut trainer = Trainer::new(worker, plan, saved);
    let rounds = trainer.schedule.round_count();
    plan.process.progress.begin("train", "rounds", Some(rounds));
    if let Some(saved) = saved {
        trainer.recall(worker, &saved.header)?;
    }
    let mut stopped_early = false;
    while let Some(position) = trainer.next {
        let heldout = trainer.take_round(worker, position)?;
        let settings = &plan.process.job.train;
        let counts = trainer.schedule.may_settle_after(position);
        let has_settled =
            heldout.is_some_and(|value| counts && trainer.stop.observe(value, settings));
        trainer.next = trainer.schedule.next(position, has_settled);
        match trainer.next {
            None => stopped_early = has_settled,
            Some(next) if next.phase != position.phase => trainer.stop = StopRule::default(),
            Some(_) => {}
        }
        trainer.rounds_taken = position.round + 1;
        trainer.report_round(position, heldout);
        if trainer.next.is_some() {
            trainer.leave_if_asked(worker, position)?;
            trainer.checkpoint_if_due(worker, position)?;
        }
    }
    plan.model.settle(plan.process, trainer.part);
    let (published_eta, heldout) = trainer.publish(worker)?;
    let header = Header {
        published_eta: Some(published_eta),
        ..trainer.header()
    };
    Ok(Trained {
        header,
        heldout,
        stopped_early,
    })
}

/// One worker's state between rounds.
struct Trainer<'a> {
    plan: TrainPlan<'a>,
    priors: Priors,
    schedule: Schedule,
    rounds: Rounds,
    local: LocalStep,
    stop: StopRule,
    /// One report a round, on worker 0; empty on the others.
    log: Vec<RoundReport>,
    next: Option<Position>,
    rounds_taken: u64,
    /// Samples of counts in the average.
    averaged: u64,
    seen: Seen,
    spent: RoundSeconds,
    /// Minibatches of the pass in hand: this process's documents.
    dealt: Vec<Vec<u32>>,
    /// Documents and tokens of each minibatch, over all processes.
    lengths: Vec<[i64; 2]>,
    /// The same for this process alone; none on workers that do not lead it.
    shares: Vec<[i64; 2]>,
    /// This worker's number, and its part of its process's model.
    index: usize,
    part: usize,
    purpose: u64,
    /// True once a process was asked to leave: training ends at the next place to go on from.
    is_leaving: bool,
    /// When the last checkpoint was written, and the rounds taken by then, if there is one.
    checkpointed: Instant,
    rounds_saved: Option<u64>,
}

/// What the log adds up.
#[derive(Clone, Copy, Default)]
struct Seen {
    seconds: f64,
    documents: u64,
    tokens: u64,
}

impl<'a> Trainer<'a> {
    fn new(worker: &mut Worker, plan: TrainPlan<'a>, saved: Option<&Saved>) -> Self {
        let job = &plan.process.job;
        let (topics, terms) = (plan.priors.topic_count(), plan.model.vocabulary_size());
        let log = saved.map(|s| s.header.log.clone()).unwrap_or_default();
        let seen = log.last().map_or(Seen::default(), |last| Seen {
            seconds: last.seconds,
            documents: last.documents_seen,
            tokens: last.tokens_seen,
        });
        let schedule = Schedule::new(&job.train, job.model.seed, plan.sample.training_documents);
        Self {
            plan,
            priors: saved.map_or_else(|| plan.priors.clone(), |s| s.header.priors.clone()),
            rounds: Rounds::new(worker, terms, topics),
            local: LocalStep::new(terms, topics),
            stop: saved.map(|s| s.header.stop).unwrap_or_default(),
            next: saved.map_or_else(|| schedule.start(), |s| s.header.next),
            rounds_taken: saved.map_or(0, |s| s.header.rounds),
            averaged: saved.map_or(0, |s| s.header.averaged),
            schedule,
            seen,
            spent: RoundSeconds::default(),
            log,
            dealt: Vec::new(),
            lengths: Vec::new(),
            shares: Vec::new(),
            index: worker.index(),
            part: worker.index() % plan.process.placement.threads,
            purpose: 0,
            is_leaving: false,
            checkpointed: Instant::now(),
            rounds_saved: saved.map(|s| s.header.rounds),
        }
    }

    /// One round; gives the held-out log-likelihood per token where it is evaluated.
    fn take_round(
        &mut self,
        worker: &mut Worker,
        position: Position,
    ) -> Result<Option<f64>, RunError> {
        let started = Instant::now();
        let sent = bytes_sent();
        let alpha_sum = self.priors.alpha_sum();
        self.spent = RoundSeconds::default();
        self.deal_if_new_pass(worker, position);
        let batch = self.schedule.minibatch(position) as usize;
        let minibatch = std::mem::take(&mut self.dealt[batch]);
        self.prepare(position, &minibatch);
        let mut since = started;
        self.spent.preparing = lap(&mut since);
        let entries = self.local_step(position, &minibatch)?;
        since = Instant::now();
        let wish = interrupt::is_wanted();
        let Merged { blocks, leave } = self.rounds.exchange(worker, entries, wish);
        self.is_leaving |= leave;
        self.spent.exchanging = lap(&mut since);
        let [documents, tokens] = self.lengths[batch].map(|n| n as u64);
        let step_size = self.change_model(position, documents, &blocks);
        self.end_pass(worker, position);
        self.spent.updating = lap(&mut since);
        self.seen.documents += documents;
        self.seen.tokens += tokens;
        self.seen.seconds += started.elapsed().as_secs_f64();
        let bytes_exchanged = bytes_sent() - sent;
        let heldout = self.evaluate_if_due(worker, position)?;
        if self.index == 0 {
            self.log.push(RoundReport {
                round: position.round,
                pass: self.schedule.pass(position),
                phase: position.phase,
                documents_seen: self.seen.documents,
                tokens_seen: self.seen.tokens,
                step_size,
                alpha_sum,
                heldout,
                nonzero_share: self.nonzero_share(),
                seconds: self.seen.seconds,
                spent: self.spent,
                bytes_exchanged,
            });
        }
        Ok(heldout)
    }

    /// At the first round of a pass, and after a resume, the documents are dealt anew.
    fn deal_if_new_pass(&mut self, worker: &mut Worker, position: Position) {
        let starts = self.schedule.minibatch(position) == 0;
        if !starts && !self.dealt.is_empty() {
            return;
        }
        let training = self.plan.sample.training;
        let documents = (0..training.len()).map(|i| training.document(i));
        self.dealt = self.schedule.deal(position, documents);
        let length = |batch: &Vec<u32>| {
            let tokens = |&i: &u32| training.bag(i as usize).1.iter().map(|&n| i64::from(n));
            [batch.len() as i64, batch.iter().flat_map(tokens).sum()]
        };
        let mine: Vec<[i64; 2]> = match self.part {
            0 => self.dealt.iter().map(length).collect(),
            _ => vec![[0; 2]; self.dealt.len()],
        };
        self.lengths = bytemuck::pod_collect_to_vec(&sum(worker, bytemuck::cast_slice(&mine)));
        self.shares = mine;
    }

    /// Prepares the factors a round is sampled with: online those of the minibatch's terms; a
    /// refining round has nearly all terms.
    fn prepare(&mut self, position: Position, minibatch: &[u32]) {
        let action = self.schedule.action(position);
        let priors = round_priors(&self.priors, action);
        let (process, model) = (self.plan.process, self.plan.model);
        match action {
            Action::Online => {
                self.purpose += 1;
                let documents = (self.plan.sample.training, minibatch);
                let purpose = Purpose::Train(self.purpose);
                model.prepare_for(process, self.part, documents, &priors, purpose);
            }
            Action::Scatter | Action::Assign | Action::Refine => {
                model.prepare_all(process, self.part, &priors);
            }
        }
    }

    /// Samples documents of the minibatch; gives the entries for each owner.
    fn local_step(
        &mut self,
        position: Position,
        minibatch: &[u32],
    ) -> Result<Vec<Vec<u64>>, RunError> {
        let mut since = Instant::now();
        let action = self.schedule.action(position);
        let gathers = self.schedule.learns_alpha_in(position);
        let (plan, local) = (self.plan, &mut self.local);
        let mut remembered = Vec::new();
        plan.model.for_my_documents(minibatch, |index, table| {
            sample_document(plan, position, action, index, table, local, &mut remembered)?;
            if gathers {
                local.add_to_histograms();
            }
            Ok::<_, RunError>(())
        })?;
        self.spent.sampling = lap(&mut since);
        let mut entries = vec![Vec::new(); self.plan.process.placement.workers()];
        self.local
            .finish(|entry| entries[self.rounds.owner(entry.term)].push(entry.word()));
        self.spent.aggregating = lap(&mut since);
        Ok(entries)
    }

    /// Changes this worker's part of the model by what a round has found; gives the step size.
    fn change_model(&mut self, position: Position, documents: u64, merged: &[Block]) -> f64 {
        let (process, model, part) = (self.plan.process, self.plan.model, self.part);
        match self.schedule.action(position) {
            Action::Online => {
                let step = self.schedule.step(position, documents);
                if documents > 0 {
                    let prune = process.job.train.prune;
                    model.global_step(process, part, step, merged, prune);
                }
                step.step_size
            }
            action => {
                model.replace(process, part, merged, action != Action::Refine);
                1.0
            }
        }
    }

    /// Where a refining pass ends: learns α, and adds the counts to their average.
    fn end_pass(&mut self, worker: &mut Worker, position: Position) {
        if self.schedule.ends_pass(position) && self.schedule.learns_alpha_in(position) {
            let histograms = self.local.take_histograms();
            let evidence = sum(worker, &histograms.evidence(&self.priors.alpha));
            alpha::step(&mut self.priors.alpha, &evidence);
        }
        if let Some(weight) = self.schedule.average_after(position, self.averaged) {
            self.plan
                .model
                .average(self.plan.process, self.part, weight);
            self.averaged += 1;
        }
    }
}

/// Samples one document in the manner of the round, and remembers its assignments.
fn sample_document(
    plan: TrainPlan<'_>,
    position: Position,
    action: Action,
    index: usize,
    table: FactorTable<'_>,
    local: &mut LocalStep,
    remembered: &mut Vec<u16>,
) -> Result<(), RunError> {
    let job = &plan.process.job;
    let training = plan.sample.training;
    let (terms, counts) = training.bag(index);
    let bag = Bag { terms, counts };
    let key = StreamKey {
        seed: job.model.seed,
        stage: Stage::Train,
        round: position.round,
        document: training.document(index),
    };
    let Some(assignments) = plan.assignments.filter(|_| action != Action::Online) else {
        return Ok(local.sample(key, bag, table, &job.train)?);
    };
    let refuse = |source| RunError::Io {
        path: plan.process.assignments_path(),
        source,
    };
    let drawn = match action {
        Action::Refine => {
            assignments.read(index, remembered).map_err(refuse)?;
            local.resample(key, bag, table, remembered)?
        }
        Action::Scatter => local.scatter(key, bag, table),
        Action::Assign | Action::Online => {
            local.assign(key, bag, table, job.train.burn_in_sweeps)?
        }
    };
    assignments.write(index, drawn).map_err(refuse)
}

/// Seconds since `since`, which becomes now.
fn lap(since: &mut Instant) -> f64 {
    let now = Instant::now();
    let seconds = now.duration_since(*since).as_secs_f64();
    *since = now;
    seconds
}
