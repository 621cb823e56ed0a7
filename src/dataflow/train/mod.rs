//! Training, distributed over workers: the same rounds as `train::train`, and the same bytes.
//!
//! A round, on every worker:
//!
//! 1. the workers of a process prepare the factors of their minibatch's terms, each those of its
//!    part of the model (`process_model`, `model::factors`);
//! 2. they sample the minibatch's documents; a free worker takes the next ones (`train::round`);
//! 3. statistics are sent to be merged over all workers (`rounds`); sampling continues with the
//!    next round meanwhile (`schedule::LAG`);
//! 4. each worker changes its part of the model (`model::parameters`) by the rounds that have come
//!    back: by a step online, by the changed counts in Gibbs sampling.
//!
//! The same dataflow exchanges lengths of minibatches, scores of held-out documents, and the sums
//! that α is learnt from, and nothing else.

mod held_out;
mod local_step;
mod recall;
mod report;
mod save;

use std::collections::VecDeque;
use std::time::Instant;

use timely::worker::Worker;

use super::error::RunError;
use super::process::Process;
use super::process_model::ProcessModel;
use super::rounds::{Merged, Rounds};
use super::sample::Sample;
use crate::assignments::Assignments;
use crate::checkpoint::{Header, Saved};
use crate::cluster::{bytes_sent, interrupt};
use crate::corpus::minibatches::Minibatches;
use lda::evaluate::completion::Completion;
use lda::model::Priors;
use lda::train::round::LocalStep;
use lda::train::schedule::{Action, Position, Schedule, StopRule};
use lda::train::{RoundReport, RoundSeconds, alpha};
pub use recall::{Candidates, Wanted, choose, recall_assignments};
use report::lap;
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
    /// How its rounds follow each other.
    pub schedule: &'a Schedule,
    /// The assignments of the process's documents, if the schedule remembers them.
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
    let rounds = plan.schedule.round_count();
    plan.process.progress.begin("train", "rounds", Some(rounds));
    if let Some(saved) = saved {
        trainer.recall(worker, &saved.header)?;
    }
    let mut stopped_early = false;
    while let Some(position) = trainer.next {
        let heldout = trainer.take_round(worker, position)?;
        let settings = &plan.process.job.train;
        let counts = plan.schedule.may_settle_after(position);
        let has_settled =
            heldout.is_some_and(|value| counts && trainer.stop.observe(value, settings));
        trainer.next = plan.schedule.next(position, has_settled);
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
    debug_assert!(
        trainer.outstanding.is_empty(),
        "the last round waits for all"
    );
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
    /// Documents and tokens of each minibatch, over all processes.
    lengths: Vec<[i64; 2]>,
    /// The rounds that were sent and have not changed the model yet, oldest first.
    outstanding: VecDeque<Position>,
    /// This worker's number, and its part of its process's model.
    index: usize,
    part: usize,
    purpose: u64,
    /// True once a process has received a signal: training ends at the next point from which it can
    /// resume.
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
        let (topics, terms) = (plan.priors.topic_count(), plan.model.vocabulary_size());
        let log = saved.map(|s| s.header.log.clone()).unwrap_or_default();
        let seen = log.last().map_or(Seen::default(), |last| Seen {
            seconds: last.seconds,
            documents: last.documents_seen,
            tokens: last.tokens_seen,
        });
        let mut rounds = Rounds::new(worker, terms, topics);
        let part = worker.index() % plan.process.placement.threads;
        let lengths = lengths(worker, &mut rounds, plan.sample.training, part);
        Self {
            plan,
            priors: saved.map_or_else(|| plan.priors.clone(), |s| s.header.priors.clone()),
            rounds,
            local: LocalStep::new(terms, topics),
            stop: saved.map(|s| s.header.stop).unwrap_or_default(),
            next: saved.map_or_else(|| plan.schedule.start(), |s| s.header.next),
            rounds_taken: saved.map_or(0, |s| s.header.rounds),
            averaged: saved.map_or(0, |s| s.header.averaged),
            seen,
            spent: RoundSeconds::default(),
            log,
            lengths,
            outstanding: VecDeque::new(),
            index: worker.index(),
            part,
            purpose: 0,
            is_leaving: false,
            checkpointed: Instant::now(),
            rounds_saved: saved.map(|s| s.header.rounds),
        }
    }

    /// One round; returns the held-out log-likelihood per token if it is evaluated.
    fn take_round(
        &mut self,
        worker: &mut Worker,
        position: Position,
    ) -> Result<Option<f64>, RunError> {
        let started = Instant::now();
        let sent = bytes_sent();
        let alpha_sum = self.priors.alpha_sum();
        self.spent = RoundSeconds::default();
        let action = self.plan.schedule.action(position);
        let entries = self.local_step(worker, position, action)?;
        let mut since = Instant::now();
        self.rounds.send(entries, interrupt::is_wanted());
        self.outstanding.push_back(position);
        let merged = self
            .rounds
            .receive(worker, self.plan.schedule.lag_after(position));
        self.spent.exchanging = lap(&mut since);
        for merged in merged {
            self.is_leaving |= merged.leave;
            if let Some(position) = self.outstanding.pop_front() {
                self.change_model(position, &merged);
            }
        }
        self.end_pass(worker, position);
        self.spent.updating = lap(&mut since);
        let [documents, tokens] = self.length(position);
        self.seen.documents += documents;
        self.seen.tokens += tokens;
        self.seen.seconds += started.elapsed().as_secs_f64();
        let bytes_exchanged = bytes_sent() - sent;
        let heldout = self.evaluate_if_due(worker, position)?;
        if self.index == 0 {
            self.log.push(RoundReport {
                round: position.round,
                pass: self.plan.schedule.pass(position),
                phase: position.phase,
                documents_seen: self.seen.documents,
                tokens_seen: self.seen.tokens,
                step_size: self.plan.schedule.step_size(position, documents),
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

    /// Documents and tokens that a round draws, over all processes.
    fn length(&self, position: Position) -> [u64; 2] {
        match self.plan.schedule.minibatch(position) {
            Some(batch) => self.lengths[batch as usize].map(|n| n as u64),
            None => [0; 2],
        }
    }

    /// Changes this worker's part of the model by what a round has found.
    fn change_model(&self, position: Position, merged: &Merged) {
        let (process, model, part) = (self.plan.process, self.plan.model, self.part);
        match self.plan.schedule.action(position) {
            Action::Online => {
                let [documents, _] = self.length(position);
                if documents > 0 {
                    let step = self.plan.schedule.step(position, documents);
                    let prune = process.job.train.prune;
                    model.global_step(process, part, step, merged, prune);
                }
            }
            action => model.replace(process, part, merged, action != Action::Gibbs),
        }
    }

    /// Where a Gibbs pass ends: learns α, and adds the counts to their average.
    fn end_pass(&mut self, worker: &mut Worker, position: Position) {
        let schedule = self.plan.schedule;
        if schedule.ends_pass(position) && schedule.learns_alpha_in(position) {
            let histograms = self.local.take_histograms();
            let evidence = histograms.evidence(&self.priors.alpha);
            let evidence = self.rounds.sum(worker, &evidence);
            alpha::step(&mut self.priors.alpha, &evidence);
        }
        if let Some(weight) = schedule.average_after(position, self.averaged) {
            self.plan
                .model
                .average(self.plan.process, self.part, weight);
            self.averaged += 1;
        }
    }
}

/// Documents and tokens of each minibatch, over all processes; `part` 0 speaks for its process.
fn lengths(
    worker: &mut Worker,
    rounds: &mut Rounds,
    training: &Minibatches,
    part: usize,
) -> Vec<[i64; 2]> {
    let share = |minibatch| match part {
        0 => training.share(minibatch).map(|n| n as i64),
        _ => [0; 2],
    };
    let mine: Vec<[i64; 2]> = (0..training.count()).map(share).collect();
    bytemuck::pod_collect_to_vec(&rounds.sum(worker, bytemuck::cast_slice(&mine)))
}
