//! The rounds of training, on one worker: the local step, over its documents of the minibatch, and
//! the global step, for its part of the model.

use std::ops::Range;
use std::time::Instant;

use super::TrainPlan;
use crate::dataflow::process::{ASSIGNMENTS_FILE, TRAINING_FILE};
use crate::dataflow::rounds::{Merged, RoundSteps};
use crate::failure::Failure;
use crate::observe::WorkStage;
use corpus::minibatches::Minibatch;
use lda::math::random::Stage;
use lda::model::factors::FactorTable;
use lda::model::statistics::Assigned;
use lda::train::schedule::{Action, Position};
use lda::train::step::{StreamKey, Visit};
use lda::train::visitor::Visitor;
use lda::train::{RoundReport, RoundSeconds, TrainingProgress};
use mesh::bytes_sent;

/// A worker's state in training: its sampler, documents and reports.
pub(super) struct TrainSteps<'a> {
    pub(super) plan: &'a TrainPlan,
    pub(super) progress: TrainingProgress,
    /// One report per round, on worker 0; empty on the others.
    pub(super) log: Vec<RoundReport>,
    /// Documents and tokens of each minibatch, over all processes.
    pub(super) lengths: Vec<[i64; 2]>,
    /// Those of the documents that were drawn for the round.
    pub(super) drawn_length: [u64; 2],
    /// True while the model of a checkpoint is rebuilt: documents keep the assignments that they have.
    pub(super) is_recalling: bool,
    /// True once a process has received a signal: training ends at the next point from which it can
    /// resume.
    pub(super) is_interrupted: bool,
    /// Documents and tokens sampled so far, and the seconds that this took.
    pub(super) seen: [u64; 2],
    pub(super) seconds: f64,
    pub(super) visitor: Visitor,
    /// The numbers remembered of the document that is visited.
    remembered: Vec<u16>,
    /// The documents that are being sampled, and the minibatches to come in this round.
    minibatch: Option<Minibatch>,
    to_come: Range<u64>,
    /// The round that has begun but has not been reported yet, and Σ_k α_k in it.
    pub(super) unreported: Option<Position>,
    alpha_sum: f64,
    spent: RoundSeconds,
    /// When the worker last changed its activity.
    since: Instant,
    /// The bytes that the process had sent when the round began.
    sent: u64,
    index: usize,
    pub(super) part: usize,
    preparations: u64,
}

impl<'a> TrainSteps<'a> {
    /// Creates the state of worker `index`, after the rounds in `log`.
    pub(super) fn new(
        index: usize,
        plan: &'a TrainPlan,
        progress: TrainingProgress,
        log: Vec<RoundReport>,
    ) -> Self {
        let settings = &plan.process.job.train;
        let size = [plan.model.row_count(), progress.priors.topic_count()];
        let last = log.last();
        Self {
            plan,
            progress,
            seen: last.map_or([0; 2], |last| [last.documents_seen, last.tokens_seen]),
            seconds: last.map_or(0.0, |last| last.seconds),
            log,
            lengths: Vec::new(),
            drawn_length: [0; 2],
            is_interrupted: false,
            is_recalling: false,
            visitor: Visitor::new(settings.method, settings.sweeps(), size),
            remembered: Vec::new(),
            minibatch: None,
            to_come: 0..0,
            unreported: None,
            alpha_sum: 0.0,
            spent: RoundSeconds::default(),
            since: Instant::now(),
            sent: 0,
            index,
            part: index % plan.process.placement.threads,
            preparations: 0,
        }
    }

    /// Returns a number with which factors have not been prepared before.
    pub(super) fn next_preparation(&mut self) -> u64 {
        self.preparations += 1;
        self.preparations
    }

    /// Ends the round that began last, once the model is what the next one needs.
    pub(super) fn end_round(&mut self) {
        self.spent.updating += lap(&mut self.since);
        let Some(position) = self.unreported.take() else {
            return;
        };
        let [documents, tokens] = self.length(position);
        self.seen = [self.seen[0] + documents, self.seen[1] + tokens];
        self.seconds += self.spent.sum();
        if self.index == 0 {
            let schedule = &self.plan.schedule;
            self.log.push(RoundReport {
                round: position.round,
                pass: schedule.pass(position),
                phase: position.phase,
                documents_seen: self.seen[0],
                tokens_seen: self.seen[1],
                step_size: schedule.step_size(position, documents),
                alpha_sum: self.alpha_sum,
                heldout: None,
                coherence: None,
                nonzero_share: self.nonzero_share(),
                seconds: self.seconds,
                spent: self.spent,
                bytes_exchanged: bytes_sent() - self.sent,
            });
        }
        self.report_round(position);
    }

    /// Reports a completed round; the process's first worker reports for all.
    fn report_round(&self, position: Position) {
        let progress = &self.plan.process.progress;
        let rounds = position.round + 1;
        progress.set(rounds);
        if self.part > 0 {
            return;
        }
        let drawn = self.plan.schedule.drawn(position).unwrap_or_default();
        let [documents, tokens] = match &self.plan.active {
            Some(active) if !drawn.is_empty() => active.length(),
            _ => self.plan.sample.training.share(drawn),
        };
        progress.work(WorkStage::Train, documents, tokens);
        progress.train(|training| {
            training.rounds = rounds;
            training.spent += self.spent;
        });
    }

    /// Returns the share of all cells of the model that contain a count.
    fn nonzero_share(&self) -> f64 {
        let parts = self.plan.model.read_parts();
        let nonzero: u64 = parts.iter().map(|p| p.nonzero_count()).sum();
        let cells = self.plan.model.row_count() * self.progress.priors.topic_count();
        nonzero as f64 / (cells as f64).max(1.0)
    }

    /// Returns the documents and tokens that a round draws, over all processes.
    fn length(&self, position: Position) -> [u64; 2] {
        let drawn = self.plan.schedule.drawn(position).unwrap_or_default();
        if self.plan.active.is_some() && !drawn.is_empty() {
            return self.drawn_length;
        }
        let lengths = &self.lengths[drawn.start as usize..drawn.end as usize];
        let sum = |place: usize| lengths.iter().map(|length| length[place] as u64).sum();
        [sum(0), sum(1)]
    }

    /// Loads the next documents of the round, and prepares the factors of their terms; returns false if
    /// there are none.
    fn next_minibatch(&mut self, position: Position) -> Result<bool, Failure> {
        let plan = self.plan;
        if self.to_come.is_empty() {
            self.minibatch = None;
            return Ok(false);
        }
        let minibatch = match &plan.active {
            Some(active) if plan.schedule.drawn(position).is_some() => {
                self.to_come = 0..0;
                active.minibatch()
            }
            _ => {
                let loaded = plan.sample.training.load(&mut self.to_come);
                loaded.map_err(|e| plan.process.scratch_error(TRAINING_FILE, e))?
            }
        };
        let priors = plan.schedule.round_priors(position, &self.progress.priors);
        let number = self.next_preparation();
        let terms = minibatch.terms();
        (plan.model).prepare_for(&plan.process, self.part, terms, &priors, (number, false));
        self.minibatch = Some(minibatch);
        self.spent.preparing += lap(&mut self.since);
        Ok(true)
    }

    /// Visits a document as the round requires, and remembers its assignments, and what the schedule
    /// that draws it needs.
    fn visit(
        &mut self,
        position: Position,
        (minibatch, index): (&Minibatch, usize),
        table: FactorTable<'_>,
    ) -> Result<(), Failure> {
        let TrainPlan { process, schedule, assignments, active, .. } = self.plan;
        let place = minibatch.position(index);
        let refuse = |source| process.scratch_error(ASSIGNMENTS_FILE, source);
        self.remembered.clear();
        if let Some(assignments) = assignments
            && schedule.recalls(position)
        {
            assignments.read(place, &mut self.remembered).map_err(refuse)?;
        }
        let mut influence = active.as_ref().map(|active| active.influences.get(place));
        let weight = match active {
            Some(active) if schedule.action(position) == Action::Online => active.weight(place),
            _ => 1,
        };
        let key = StreamKey {
            seed: process.job.model.seed,
            stage: Stage::Train,
            round: position.round,
            document: minibatch.document(index),
        };
        let (bag, labels) = (minibatch.bag(index), minibatch.labels(index));
        let visit = Visit { key, bag, labels, table, weight };
        let drawn = active.as_ref().map(|active| &active.schedule).zip(influence.as_mut());
        self.visitor.visit_in((schedule, position), visit, &mut self.remembered, drawn)?;
        if let (Some(active), Some(influence)) = (active, influence) {
            active.influences.set(place, influence);
        }
        match assignments {
            Some(assignments) if !self.is_recalling => {
                assignments.write(place, &self.remembered).map_err(refuse)
            }
            _ => Ok(()),
        }
    }
}

impl RoundSteps for TrainSteps<'_> {
    type Round = Position;

    fn begin(&mut self, position: Position) -> Result<(), Failure> {
        match self.unreported {
            Some(_) => self.end_round(),
            // Other work may have been done since: evaluation, checkpoints.
            None => self.since = Instant::now(),
        }
        self.spent = RoundSeconds::default();
        self.sent = bytes_sent();
        self.alpha_sum = self.progress.priors.alpha_sum();
        self.unreported = Some(position);
        self.to_come = self.plan.schedule.minibatches(position);
        self.next_minibatch(position)?;
        Ok(())
    }

    fn sample(&mut self, position: Position) -> Result<bool, Failure> {
        let Some(minibatch) = self.minibatch.clone() else {
            return Ok(false);
        };
        let model = &self.plan.model;
        let has_more = model.for_some_documents(minibatch.len(), |index, table| {
            self.visit(position, (&minibatch, index), table)
        })?;
        self.spent.sampling += lap(&mut self.since);
        Ok(has_more || self.next_minibatch(position)?)
    }

    fn statistics(&mut self, emit: impl FnMut(Assigned)) {
        self.visitor.finish(emit);
        self.spent.aggregating = lap(&mut self.since);
    }

    fn update(&mut self, position: Position, merged: &Merged) {
        self.spent.exchanging += lap(&mut self.since);
        self.is_interrupted |= merged.is_interrupted;
        let TrainPlan { process, model, schedule, changed_rows, .. } = self.plan;
        let changes = schedule.changes(position, self.length(position)[0]);
        // While a model is rebuilt, what a round withdraws is not counted again.
        for change in changes.into_iter().take(if self.is_recalling { 1 } else { usize::MAX }) {
            model.change(process, self.part, change, merged, changed_rows);
        }
        self.spent.updating += lap(&mut self.since);
    }
}

/// Returns the seconds since `since`, which becomes now.
fn lap(since: &mut Instant) -> f64 {
    let now = Instant::now();
    let seconds = now.duration_since(*since).as_secs_f64();
    *since = now;
    seconds
}
