//! Training, distributed over workers: the same rounds as `train::train`, and the same bytes.
//!
//! A round, on every worker (`sampling`):
//!
//! 1. the workers of a process prepare the factors of their minibatch's terms, each those of its
//!    part of the model (`process_model`, `model::factors`);
//! 2. they sample the minibatch's documents; an idle worker takes the next ones (`train::step`);
//! 3. statistics are merged over all workers (`rounds`); sampling continues with the next round
//!    meanwhile (`schedule::LAG`);
//! 4. each worker changes its part of the model (`model::parameters`) by the rounds that have come
//!    back: by a step online, by the changed counts in Gibbs sampling.
//!
//! Rounds run without interruption, in the loop of a dataflow, until one that waits for all: the end
//! of a pass, or an evaluation. There the model is scored and saved, and α is learnt.

mod active;
mod held_out;
mod recall;
mod sampling;
pub mod save;
mod spent;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use timely::worker::Worker;

use super::process::Process;
use super::process_model::ProcessModel;
use super::rounds::Rounds;
use super::sample::Sample;
use crate::assignments::Assignments;
use crate::checkpoint::{Header, Saved};
use crate::failure::Failure;
pub use active::ActiveDocuments;
use corpus::minibatches::Minibatches;
use lda::evaluate::completion::Completion;
use lda::model::Priors;
use lda::model::parameters::Row;
use lda::train::alpha;
use lda::train::schedule::{LAG, Position, Schedule};
use lda::train::stop::StopRule;
pub use recall::recall_assignments;
pub(crate) use recall::{Candidates, Wanted, choose};
use sampling::TrainSampling;
pub use save::save;

/// The result of training.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    /// Everything about the model except its numbers per term; only worker 0 has the log.
    pub header: Header,
    /// Score of the held-out documents with the φ that is published.
    pub(crate) heldout: Completion,
    /// True if training ended because quality had stopped improving.
    pub(crate) stopped_early: bool,
}

/// A training: its documents, its start, and the settings.
pub struct TrainPlan {
    /// The process.
    pub process: Arc<Process>,
    /// Its model.
    pub model: Arc<ProcessModel>,
    /// The documents.
    pub sample: Sample,
    /// The sequence of its rounds.
    pub schedule: Schedule,
    /// The assignments of the process's documents, if the schedule remembers them.
    pub assignments: Option<Arc<Assignments>>,
    /// The process's documents, if each round draws its own.
    pub active: Option<Arc<ActiveDocuments>>,
    /// After a warm start, the rows of the model that its prior over terms has changed, as they are once
    /// documents are withdrawn.
    pub changed_rows: Vec<Row>,
    /// The α that documents are inferred with, if it is not that of training: with labels.
    pub inference_alpha: Option<Vec<f64>>,
    /// Hash of the settings the model depends on.
    pub settings_hash: String,
    /// Fingerprint of the vocabulary.
    pub vocabulary_hash: String,
}

/// Trains, from the start with `priors` or from `saved`, and leaves the result in the process's
/// model. The assignments that belong to `saved` must have been recalled.
///
/// # Errors
/// A draw cannot be made, or a file cannot be read or written; a signal was received, once a
/// checkpoint is written.
pub fn train(
    worker: &mut Worker,
    plan: TrainPlan,
    priors: Priors,
    saved: Option<&Saved>,
) -> Result<Trained, Failure> {
    let plan = Rc::new(plan);
    let mut trainer = Trainer::new(worker, &plan, priors, saved)?;
    let rounds = plan.schedule.round_count();
    plan.process.progress.begin("train", "rounds", Some(rounds));
    plan.process.progress.resume(trainer.rounds_taken);
    if let Some(saved) = saved {
        trainer.recall(worker, &saved.header)?;
    }
    let mut stopped_early = false;
    while let Some(first) = trainer.next {
        trainer.draw(worker, first)?;
        let rounds = plan.schedule.until_all_wait(first);
        let position = *rounds.back().expect("the first one, if no other");
        trainer.rounds.run(worker, rounds, LAG)?;
        trainer.rounds_taken = position.round + 1;
        trainer.end_pass(worker, position)?;
        let heldout = trainer.evaluate_if_due(worker, position)?;
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
        if trainer.next.is_some() {
            trainer.end_if_interrupted(worker, position)?;
            trainer.checkpoint_if_due(worker, position)?;
        }
    }
    plan.model.settle(&plan.process, trainer.part);
    trainer.report_rounded_counts();
    if let Some(alpha) = &plan.inference_alpha {
        trainer.rounds.sampling().priors.alpha.clone_from(alpha);
    }
    let (published_eta, heldout) = trainer.publish(worker)?;
    let header = Header { published_eta: Some(published_eta), ..trainer.header() };
    Ok(Trained { header, heldout, stopped_early })
}

/// A worker's state between rounds that wait for all.
struct Trainer {
    plan: Rc<TrainPlan>,
    rounds: Rounds<TrainSampling>,
    stop: StopRule,
    next: Option<Position>,
    rounds_taken: u64,
    /// Samples of counts in the average.
    averaged: u64,
    /// This worker's number, and its part of its process's model.
    index: usize,
    part: usize,
    /// When the last checkpoint was written, and the rounds taken by then, if there is one.
    checkpointed: Instant,
    rounds_saved: Option<u64>,
}

impl Trainer {
    fn new(
        worker: &mut Worker,
        plan: &Rc<TrainPlan>,
        priors: Priors,
        saved: Option<&Saved>,
    ) -> Result<Self, Failure> {
        let size = [plan.model.row_count(), priors.topic_count()];
        let (index, threads) = (worker.index(), plan.process.placement.threads);
        let (priors, log) = match saved {
            Some(saved) => (saved.header.priors.clone(), saved.header.log.clone()),
            None => (priors, Vec::new()),
        };
        let sampling = TrainSampling::new(index, Rc::clone(plan), priors, log);
        let mut rounds = Rounds::new(worker, threads, size, sampling);
        let lengths = lengths(worker, &mut rounds, &plan.sample.training, index % threads)?;
        rounds.sampling().lengths = lengths;
        Ok(Self {
            plan: Rc::clone(plan),
            rounds,
            stop: saved.map(|s| s.header.stop).unwrap_or_default(),
            next: saved.map_or_else(|| plan.schedule.start(), |s| s.header.next),
            rounds_taken: saved.map_or(0, |s| s.header.rounds),
            averaged: saved.map_or(0, |s| s.header.averaged),
            index,
            part: index % threads,
            checkpointed: Instant::now(),
            rounds_saved: saved.map(|s| s.header.rounds),
        })
    }

    /// At the end of a Gibbs pass, learns α, and adds the counts to their average.
    fn end_pass(&mut self, worker: &mut Worker, position: Position) -> Result<(), Failure> {
        let schedule = &self.plan.schedule;
        if schedule.forgets_first_weights_after(position) {
            let (process, model) = (&self.plan.process, &self.plan.model);
            model.change(process, self.part, |parameters| {
                parameters.round_rows(&self.plan.changed_rows);
            });
        }
        if schedule.ends_pass(position) && schedule.learns_alpha_in(position) {
            let evidence = self.rounds.sampling().take_evidence();
            let evidence = self.rounds.sum(worker, &evidence)?;
            alpha::step(&mut self.rounds.sampling().priors.alpha, &evidence);
        }
        if let Some(weight) = schedule.average_after(position) {
            let (process, model) = (&self.plan.process, &self.plan.model);
            // The average already contains the estimate of this round.
            if !position.is_estimate {
                model.average(process, self.part, weight);
            }
            self.averaged += 1;
        }
        self.rounds.sampling().end_round();
        Ok(())
    }

    /// Warns if a term has a topic more often than parameters count exactly.
    fn report_rounded_counts(&self) {
        let parts = self.plan.model.read_parts();
        let counts = parts[self.part].rounded_count();
        if counts > 0 {
            tracing::warn!(counts, "counts above 2^24 are rounded to 24 bits");
        }
    }
}

/// Returns documents and tokens of each minibatch, over all processes; `part` 0 counts for its process.
fn lengths(
    worker: &mut Worker,
    rounds: &mut Rounds<TrainSampling>,
    training: &Minibatches,
    part: usize,
) -> Result<Vec<[i64; 2]>, Failure> {
    let share = |minibatch| match part {
        0 => training.share(minibatch..minibatch + 1).map(|n| n as i64),
        _ => [0; 2],
    };
    let mine: Vec<[i64; 2]> = (0..training.count()).map(share).collect();
    let all = rounds.sum(worker, bytemuck::cast_slice(&mine))?;
    Ok(bytemuck::pod_collect_to_vec(&all))
}
