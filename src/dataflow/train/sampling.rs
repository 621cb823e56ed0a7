//! The rounds of training, on one worker: the local step, over its documents of the minibatch, and
//! the global step, for its part of the model.

use std::ops::Range;
use std::rc::Rc;
use std::time::Instant;

use super::TrainPlan;
use super::spent::{Seen, add, lap};
use crate::dataflow::process::{ASSIGNMENTS_FILE, TRAINING_FILE};
use crate::dataflow::process_model::Purpose;
use crate::dataflow::rounds::{Merged, Sampling};
use crate::failure::Failure;
use crate::observe::WorkStage;
use corpus::minibatches::Minibatch;
use lda::math::random::Stage;
use lda::model::Priors;
use lda::model::factors::FactorTable;
use lda::model::statistics::Assigned;
use lda::train::active::Comparison;
use lda::train::schedule::{Action, Position};
use lda::train::step::{self, StreamKey, Visit};
use lda::train::{RoundReport, RoundSeconds, round_priors};
use mesh::bytes_sent;

/// A worker's samplers, documents and part of the model.
pub(crate) struct TrainSampling {
    pub(super) plan: Rc<TrainPlan>,
    /// α as learnt so far, and η.
    pub(super) priors: Priors,
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
    pub(super) seen: Seen,
    pub(super) spent: RoundSeconds,
    visitor: Visitor,
    /// The documents that are being sampled, and the minibatches to come in this round.
    minibatch: Option<Minibatch>,
    to_come: Range<u64>,
    /// The round that has begun but has not been reported yet, and Σ_k α_k in it.
    unreported: Option<Position>,
    alpha_sum: f64,
    /// When the worker last changed its activity.
    since: Instant,
    /// The bytes that the process had sent when the round began.
    sent: u64,
    index: usize,
    pub(super) part: usize,
    purpose: u64,
}

impl TrainSampling {
    /// Creates the state of worker `index`, after the rounds in `log`.
    pub(super) fn new(
        index: usize,
        plan: Rc<TrainPlan>,
        priors: Priors,
        log: Vec<RoundReport>,
    ) -> Self {
        let part = index % plan.process.placement.threads;
        let visitor = Visitor::new(&plan, priors.topic_count());
        Self {
            plan,
            priors,
            seen: Seen::after(&log),
            log,
            lengths: Vec::new(),
            drawn_length: [0; 2],
            is_interrupted: false,
            is_recalling: false,
            spent: RoundSeconds::default(),
            visitor,
            minibatch: None,
            to_come: 0..0,
            unreported: None,
            alpha_sum: 0.0,
            since: Instant::now(),
            sent: 0,
            index,
            part,
            purpose: 0,
        }
    }

    /// Returns a purpose for which factors have not been prepared before.
    pub(super) fn next_purpose(&mut self) -> u64 {
        self.purpose += 1;
        self.purpose
    }

    /// Takes the evidence for α of this worker's documents since the last call.
    pub(super) fn take_evidence(&mut self) -> Vec<i64> {
        self.visitor.local.take_histograms().evidence(&self.priors.alpha)
    }

    /// Leaves the round that began last out of the log.
    pub(super) fn forget_round(&mut self) {
        self.unreported = None;
    }

    /// Ends the round that began last, once the model is what the next one needs.
    pub(super) fn end_round(&mut self) {
        self.spent.updating += lap(&mut self.since);
        let Some(position) = self.unreported.take() else {
            return;
        };
        let [documents, tokens] = self.length(position);
        self.seen.add([documents, tokens], self.spent);
        if self.index == 0 {
            let schedule = &self.plan.schedule;
            self.log.push(RoundReport {
                round: position.round,
                pass: schedule.pass(position),
                phase: position.phase,
                documents_seen: self.seen.documents,
                tokens_seen: self.seen.tokens,
                step_size: schedule.step_size(position, documents),
                alpha_sum: self.alpha_sum,
                heldout: None,
                nonzero_share: self.nonzero_share(),
                seconds: self.seen.seconds,
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
            add(&mut training.spent, self.spent);
        });
    }

    /// Returns the share of all cells of the model that contain a count.
    fn nonzero_share(&self) -> f64 {
        let parts = self.plan.model.read_parts();
        let nonzero: u64 = parts.iter().map(|p| p.nonzero_count()).sum();
        let cells = self.plan.model.row_count() * self.priors.topic_count();
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
        let plan = Rc::clone(&self.plan);
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
        let priors = round_priors(&self.priors, plan.schedule.action(position));
        let purpose = Purpose::Train(self.next_purpose());
        let terms = minibatch.terms();
        (plan.model).prepare_for(&plan.process, self.part, terms, &priors, purpose);
        self.minibatch = Some(minibatch);
        self.spent.preparing += lap(&mut self.since);
        Ok(true)
    }
}

impl Sampling for TrainSampling {
    type Round = Position;

    fn begin(&mut self, position: Position) -> Result<(), Failure> {
        match self.unreported {
            Some(_) => self.end_round(),
            // Other work may have been done since: evaluation, checkpoints.
            None => self.since = Instant::now(),
        }
        self.spent = RoundSeconds::default();
        self.sent = bytes_sent();
        self.alpha_sum = self.priors.alpha_sum();
        self.unreported = Some(position);
        self.to_come = self.plan.schedule.minibatches(position);
        self.next_minibatch(position)?;
        Ok(())
    }

    fn sample(&mut self, position: Position) -> Result<bool, Failure> {
        let Some(minibatch) = self.minibatch.clone() else {
            return Ok(false);
        };
        let plan = Rc::clone(&self.plan);
        let keeps = !self.is_recalling;
        let gathers = plan.schedule.learns_alpha_in(position);
        let visitor = &mut self.visitor;
        let has_more = plan.model.for_some_documents(minibatch.len(), |index, table| {
            let document = minibatch.position(index);
            let visit = visit(&plan, position, (&minibatch, index), table);
            visitor.visit(&plan, (position, keeps), document, visit)?;
            if gathers {
                visitor.local.add_to_histograms();
            }
            Ok::<_, Failure>(())
        })?;
        self.spent.sampling += lap(&mut self.since);
        Ok(has_more || self.next_minibatch(position)?)
    }

    fn statistics(&mut self, emit: impl FnMut(Assigned)) {
        self.visitor.local.finish(emit);
        self.spent.aggregating = lap(&mut self.since);
    }

    fn update(&mut self, position: Position, merged: &Merged) {
        self.spent.exchanging += lap(&mut self.since);
        self.is_interrupted |= merged.is_interrupted;
        let (plan, part) = (&self.plan, self.part);
        let (process, model) = (&plan.process, &plan.model);
        match plan.schedule.action(position) {
            Action::Online if plan.schedule.adds_counts() => {
                model.replace(process, part, merged, false);
            }
            Action::Online => {
                let [documents, _] = self.length(position);
                if documents > 0 {
                    let step = plan.schedule.step(position, documents);
                    let prune = process.job.train.prune;
                    model.global_step(process, part, step, merged, prune);
                }
            }
            Action::Gibbs => model.replace(process, part, merged, false),
            Action::Scatter | Action::Assign => model.replace(process, part, merged, true),
            Action::Count => {
                let is_new = !plan.schedule.is_partial();
                model.replace(process, part, merged, is_new);
            }
            Action::Withdraw => {
                model.withdraw(process, part, merged, &plan.changed_rows);
                if !(self.is_recalling || plan.schedule.unassigns_documents()) {
                    model.replace(process, part, merged, false);
                }
            }
            Action::Estimate => {
                let step = plan.schedule.step(position, 0);
                model.average_step(process, part, step, merged);
            }
        }
        self.spent.updating += lap(&mut self.since);
    }
}

/// Returns the visit of a document in a round.
fn visit<'a>(
    plan: &TrainPlan,
    position: Position,
    (minibatch, index): (&'a Minibatch, usize),
    table: FactorTable<'a>,
) -> Visit<'a> {
    let key = StreamKey {
        seed: plan.process.job.model.seed,
        stage: Stage::Train,
        round: position.round,
        document: minibatch.document(index),
    };
    let weight = match &plan.active {
        Some(active) if plan.schedule.action(position) == Action::Online => {
            active.weight(minibatch.position(index))
        }
        _ => 1,
    };
    Visit { key, bag: minibatch.bag(index), labels: minibatch.labels(index), table, weight }
}

/// Visits documents one after another.
struct Visitor {
    local: step::Visitor,
    remembered: Vec<u16>,
    comparison: Comparison,
}

impl Visitor {
    fn new(plan: &TrainPlan, topic_count: usize) -> Self {
        let settings = &plan.process.job.train;
        let size = [plan.model.row_count(), topic_count];
        Self {
            local: step::Visitor::new(settings.method, settings.sweeps(), size),
            remembered: Vec::new(),
            comparison: Comparison::new(topic_count),
        }
    }

    /// Visits a document as the round requires, and remembers its assignments, and what the schedule
    /// that draws it needs.
    fn visit(
        &mut self,
        plan: &TrainPlan,
        (position, keeps): (Position, bool),
        index: usize,
        visit: Visit<'_>,
    ) -> Result<(), Failure> {
        let action = plan.schedule.action(position);
        let refuse = |source| plan.process.scratch_error(ASSIGNMENTS_FILE, source);
        let (active, remembered) = (plan.active.as_deref(), &mut self.remembered);
        let is_first = active.is_some_and(|active| active.influence(index).is_unvisited());
        let is_updated = plan.process.job.train.method.always_remembers();
        if let Some(assignments) = &plan.assignments
            && (active.is_some() || is_updated || action.needs_assignments())
        {
            assignments.read(index, remembered).map_err(refuse)?;
        }
        if is_first || plan.schedule.visits_unassigned(position) {
            remembered.clear();
        }
        let drawn = self.local.visit(action, visit, remembered)?;
        if let Some(active) = active
            && (is_first || !action.keeps_assignments())
        {
            active.visited(index, self.comparison.change(remembered, drawn));
        }
        match &plan.assignments {
            Some(assignments) if keeps => assignments.write(index, drawn).map_err(refuse),
            _ => Ok(()),
        }
    }
}
