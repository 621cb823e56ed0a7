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
mod recall;
mod sampling;
pub mod save;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use timely::worker::Worker;

use super::coherence::count;
use super::process::{HELD_OUT_FILE, Process};
use super::process_model::ProcessModel;
use super::rounds::Rounds;
use super::sample::Sample;
use crate::assignments::Assignments;
use crate::checkpoint::{Header, Saved};
use crate::failure::Failure;
pub use active::ActiveDocuments;
use lda::evaluate::coherence::CoherenceCounter;
use lda::evaluate::completion::{Completer, Completion};
use lda::model::Priors;
use lda::model::factors::FactorTable;
use lda::model::parameters::TermRow;
use lda::train::active::InfluenceSums;
use lda::train::schedule::{LAG, Position, Schedule};
use lda::train::{Exchange, StopRule, TrainError, TrainingProgress, publish, run, spare};
pub use recall::recall_assignments;
pub(crate) use recall::{Wanted, choose};
use sampling::TrainSteps;
pub use save::save;

/// The result of training.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingOutcome {
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
    pub changed_rows: Vec<TermRow>,
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
    plan: &TrainPlan,
    priors: Priors,
    saved: Option<&Saved>,
) -> Result<TrainingOutcome, Failure> {
    let process = &plan.process;
    let mut workers = TrainWorker::new(worker, plan, priors, saved);
    process.progress.begin("train", "rounds", Some(plan.schedule.round_count()));
    let rounds = workers.steps.progress.rounds;
    if rounds > 0 {
        process.progress.resume(rounds);
        process.progress.note(format!("resumed after round {rounds}"));
    }
    workers.recall()?;
    let stopped_early = run(&plan.schedule, &process.job.train, &mut workers)?;
    plan.model.settle(process, workers.steps.part);
    workers.report_rounded_counts();
    workers.forget_spare_topics();
    if let Some(alpha) = &plan.inference_alpha {
        workers.steps.progress.priors.alpha.clone_from(alpha);
    }
    let (published_eta, heldout) = workers.publish()?;
    let header = Header { published_eta: Some(published_eta), ..workers.header() };
    Ok(TrainingOutcome { header, heldout, stopped_early })
}

/// A worker that trains with all others.
struct TrainWorker<'a> {
    worker: &'a mut Worker,
    rounds: Rounds,
    steps: TrainSteps<'a>,
    /// When the last checkpoint was written, and the rounds taken by then, if there is one.
    checkpointed: Instant,
    rounds_saved: Option<u64>,
}

impl<'a> TrainWorker<'a> {
    fn new(
        worker: &'a mut Worker,
        plan: &'a TrainPlan,
        priors: Priors,
        saved: Option<&Saved>,
    ) -> Self {
        let (index, size) = (worker.index(), [plan.model.row_count(), priors.topic_count()]);
        let start = TrainingProgress {
            priors,
            next: plan.schedule.start(),
            rounds: 0,
            averaged: 0,
            stop: StopRule::default(),
        };
        let (progress, log) = saved.map_or((start, Vec::new()), |Saved { header, .. }| {
            let progress = TrainingProgress {
                priors: header.priors.clone(),
                next: header.next,
                rounds: header.rounds,
                averaged: header.averaged,
                stop: header.stop,
            };
            (progress, header.log.clone())
        });
        let mut steps = TrainSteps::new(index, plan, progress, log);
        let mut rounds = Rounds::new(worker, plan.process.placement.threads, size);
        // Documents and tokens of each minibatch; the first worker of a process counts for all.
        let training = &plan.sample.training;
        let share = |minibatch| match steps.part {
            0 => training.share(minibatch..minibatch + 1).map(|n| n as i64),
            _ => [0; 2],
        };
        let mine: Vec<[i64; 2]> = (0..training.count()).map(share).collect();
        let all = rounds.sum(worker, bytemuck::cast_slice(&mine));
        steps.lengths = bytemuck::pod_collect_to_vec(&all);
        let rounds_saved = saved.map(|saved| saved.header.rounds);
        Self { worker, rounds, steps, checkpointed: Instant::now(), rounds_saved }
    }

    /// Sums all workers' `values`, place by place.
    fn sum(&mut self, values: &[i64]) -> Vec<i64> {
        self.rounds.sum(self.worker, values)
    }

    /// Draws the documents of a round, if it draws any.
    fn draw(&mut self, position: Position) {
        let TrainPlan { process, sample, schedule, active, .. } = self.steps.plan;
        let Some(active) = active.as_ref().filter(|_| schedule.drawn(position).is_some()) else {
            return;
        };
        // The first worker of a process counts all its documents.
        let speaks = self.steps.part == 0;
        let mine = if speaks { active.sums() } else { InfluenceSums::default() };
        let sums = InfluenceSums::from_words(&self.sum(&mine.to_words()));
        let draw = active.schedule.draw(&sums, schedule.expected_length(position));
        let seed = process.job.model.seed;
        let mine =
            if speaks { active.draw(draw, seed, position.round, &sample.training) } else { [0; 2] };
        // This also waits until the documents of every process are drawn.
        let all = self.sum(&mine.map(|n| n as i64));
        self.steps.drawn_length = [all[0] as u64, all[1] as u64];
    }

    /// Chooses the η that φ is published with, and scores the model with it.
    fn publish(&mut self) -> Result<(f64, Completion), Failure> {
        let plan = self.steps.plan;
        let asked = plan.process.job.model.published_eta;
        let priors = self.steps.progress.priors.clone();
        if plan.sample.held_out_documents == 0 {
            let fallback = asked.unwrap_or(publish::provisional_eta(&priors));
            return Ok((fallback, Completion::default()));
        }
        match asked {
            Some(eta) => Ok((eta, self.score(eta)?)),
            None => publish::choose(&priors, |eta| self.score(eta)),
        }
    }

    /// Returns the held-out score of the model with φ published with `eta`.
    fn score(&mut self, eta: f64) -> Result<Completion, Failure> {
        let TrainPlan { process, model, sample, .. } = self.steps.plan;
        let (seed, held_out) = (process.job.sample_seed(), &sample.held_out);
        let priors = publish::published_priors(&self.steps.progress.priors, eta);
        let (mut completer, mut mine) = (Completer::default(), Completion::default());
        for number in 0..held_out.count() {
            let documents = held_out.load(&mut (number..number + 1));
            let documents = documents.map_err(|e| process.scratch_error(HELD_OUT_FILE, e))?;
            let number = self.steps.next_preparation();
            model.prepare_for(process, self.steps.part, documents.terms(), &priors, (number, true));
            let mut score = |index, table: FactorTable<'_>| {
                let (document, bag) = (documents.document(index), documents.bag(index));
                let scored = completer.score(seed, document, bag, table);
                let error = |source| TrainError::Draw { document, source };
                mine.merge(scored.map_err(error)?);
                Ok::<_, TrainError>(())
            };
            while model.for_some_documents(documents.len(), &mut score)? {}
        }
        let all = self.sum(bytemuck::cast_slice(&[mine]));
        Ok(*bytemuck::from_bytes(bytemuck::cast_slice(&all)))
    }

    /// Reports a score of the held-out documents.
    fn report_evaluation(&mut self, position: Position, loglik_per_token: f64) {
        let TrainSteps { plan, log, seen, seconds, part, progress, .. } = &mut self.steps;
        if let Some(round) = log.last_mut() {
            round.heldout = Some(loglik_per_token);
        }
        let (phase, rounds) = (position.phase.name(), progress.rounds);
        let progress = &plan.process.progress;
        progress.note(format!("{phase}, held-out {loglik_per_token:.3} nats per token"));
        if *part == 0 {
            progress.train(|training| training.evaluated(rounds, loglik_per_token));
            let documents = seen[0];
            tracing::info!(
                rounds,
                phase,
                loglik_per_token,
                documents,
                seconds = *seconds,
                "held-out evaluated"
            );
        }
    }

    /// Removes the topics that have been dissolved from the model.
    fn forget_spare_topics(&mut self) {
        let TrainPlan { process, model, schedule, .. } = self.steps.plan;
        if schedule.spare_topics == 0 {
            return;
        }
        let alpha = &mut self.steps.progress.priors.alpha;
        let (trained, kept) = (alpha.len(), spare::kept(alpha));
        model.keep_topics(process, self.steps.part, &kept);
        alpha.retain(|&alpha| alpha > 0.0);
        if self.steps.part == 0 {
            tracing::info!(trained, kept = kept.len(), "spare topics dissolved");
        }
    }

    /// Warns if a term has a topic more often than parameters count exactly.
    fn report_rounded_counts(&self) {
        let parts = self.steps.plan.model.read_parts();
        let counts = parts[self.steps.part].rounded_count();
        if counts > 0 {
            tracing::warn!(counts, "counts above 2^24 are rounded to 24 bits");
        }
    }
}

impl Exchange for TrainWorker<'_> {
    type Error = Failure;

    fn progress(&mut self) -> &mut TrainingProgress {
        &mut self.steps.progress
    }

    fn take(&mut self, rounds: VecDeque<Position>) -> Result<(), Failure> {
        if let Some(&first) = rounds.front() {
            self.draw(first);
        }
        self.rounds.run(self.worker, &mut self.steps, rounds, LAG)
    }

    fn forget_first_weights(&mut self) {
        let TrainPlan { process, model, changed_rows, .. } = self.steps.plan;
        model.round_rows(process, self.steps.part, changed_rows);
    }

    fn evidence(&mut self) -> Vec<i64> {
        let histograms = self.steps.visitor.take_histograms();
        self.sum(&histograms.evidence(&self.steps.progress.priors.alpha))
    }

    fn coherence(&mut self) -> Result<CoherenceCounter, Failure> {
        let TrainPlan { process, model, sample, .. } = self.steps.plan;
        let mut counter = {
            let guards = model.read_published();
            let parts: Vec<_> = guards.iter().map(|part| &**part).collect();
            spare::counter(&parts)
        };
        let threads = process.placement.threads;
        for number in (self.steps.part as u64..sample.training.count()).step_by(threads) {
            count(process, &sample.training, number, &mut counter)?;
            liveness::tick();
        }
        counter.replace_counts(|mine| self.sum(mine));
        if let Some(round) = self.steps.log.last_mut() {
            let alpha = &self.steps.progress.priors.alpha;
            round.coherence = spare::mean_coherence(&counter, alpha);
        }
        Ok(counter)
    }

    fn average(&mut self, weight: f64) {
        let TrainPlan { process, model, .. } = self.steps.plan;
        model.average(process, self.steps.part, weight);
    }

    fn end(&mut self, last: Position, is_scored: bool) -> Result<Option<f64>, Failure> {
        self.steps.end_round();
        if !is_scored || self.steps.plan.sample.held_out_documents == 0 {
            return Ok(None);
        }
        let eta = publish::provisional_eta(&self.steps.progress.priors);
        let heldout = self.score(eta)?.per_token();
        if let Some(value) = heldout {
            self.report_evaluation(last, value);
        }
        Ok(heldout)
    }

    fn save(&mut self, last: Position) -> Result<(), Failure> {
        if self.steps.plan.schedule.allows_checkpoint_after(last) {
            self.end_if_interrupted()?;
            self.checkpoint_if_due(last)?;
        }
        Ok(())
    }
}
