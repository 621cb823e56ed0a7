//! Checkpoints of training: writing them, and resuming from one.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};

use timely::worker::Worker;

use super::Trainer;
use super::recall::forget;
use crate::assignments::Assignments;
use crate::checkpoint::assignments::{file_name, write};
use crate::checkpoint::{self, Header};
use crate::dataflow::process::{Process, interrupted};
use crate::dataflow::process_model::ProcessModel;
use crate::failure::Failure;
use crate::job::state::{CHECKPOINT_FOLDER, checkpoint_file};
use crate::observe::status::{CheckpointStatus, unix_millis};
use corpus::minibatches::Minibatches;
use lda::model::Priors;
use lda::model::parameters::Parameters;
use lda::train::schedule::{Action, Position};

impl Trainer {
    /// Returns the priors, with α as learnt so far.
    pub(super) fn priors(&self) -> Priors {
        self.rounds.sampling().priors.clone()
    }

    /// Returns everything about the model except its numbers per term.
    pub(super) fn header(&self) -> Header {
        let priors = self.priors();
        Header {
            settings_hash: self.plan.settings_hash.clone(),
            vocabulary_hash: self.plan.vocabulary_hash.clone(),
            topic_count: priors.topic_count(),
            vocabulary_size: self.plan.model.vocabulary_size(),
            priors,
            published_eta: None,
            scale: self.plan.model.read_published()[0].scale(),
            rounds: self.rounds_taken,
            next: self.next,
            averaged: self.averaged,
            stop: self.stop,
            log: self.rounds.sampling().log.clone(),
        }
    }

    /// Writes a checkpoint if one is due, while all wait. Only worker 0 looks at the clock.
    pub(super) fn checkpoint_if_due(
        &mut self,
        worker: &mut Worker,
        position: Position,
    ) -> Result<(), Failure> {
        if !self.plan.schedule.allows_checkpoint_after(position) {
            return Ok(());
        }
        let by_clock = self.plan.process.job.train.checkpoint_minutes > 0.0;
        let by_rounds = self.plan.schedule.checkpoints_after(position);
        if by_rounds || (by_clock && self.agree_on_clock(worker)?) {
            self.checkpoint(worker)?;
        }
        Ok(())
    }

    /// If the run was told to stop, and can resume from here, writes a checkpoint and ends the run, on
    /// all workers after the same round.
    pub(super) fn end_if_interrupted(
        &mut self,
        worker: &mut Worker,
        position: Position,
    ) -> Result<(), Failure> {
        let is_interrupted = self.rounds.sampling().is_interrupted;
        if !is_interrupted || !self.plan.schedule.allows_checkpoint_after(position) {
            return Ok(());
        }
        self.checkpoint(worker)?;
        let rounds = self.rounds_taken;
        Err(interrupted(&format!("training, after round {rounds}")))
    }

    /// Whether a checkpoint is due by worker 0's clock.
    fn agree_on_clock(&mut self, worker: &mut Worker) -> Result<bool, Failure> {
        let minutes = self.plan.process.job.train.checkpoint_minutes;
        let is_long =
            self.index == 0 && self.checkpointed.elapsed().as_secs_f64() / 60.0 >= minutes;
        Ok(self.rounds.sum(worker, &[i64::from(is_long)])?[0] > 0)
    }

    /// Waits until every worker has called it.
    fn barrier(&mut self, worker: &mut Worker) -> Result<(), Failure> {
        self.rounds.sum(worker, &[0]).map(drop)
    }

    /// Writes assignments, then the model that they belong to; then removes older ones of both. The
    /// previous checkpoint is kept; an existing checkpoint is not written again.
    fn checkpoint(&mut self, worker: &mut Worker) -> Result<(), Failure> {
        if self.rounds_saved == Some(self.rounds_taken) {
            return Ok(());
        }
        let plan = Rc::clone(&self.plan);
        let (process, model) = (&plan.process, &plan.model);
        let (begun, mut bytes) = (Instant::now(), 0);
        if let Some(assignments) = &plan.assignments
            && self.part == 0
        {
            let documents = &plan.sample.training;
            bytes += save_assignments(process, self.rounds_taken, documents, assignments)?;
        }
        self.barrier(worker)?;
        if self.index == 0 {
            let temporary = write_model(process, model, &self.header())?.0;
            bytes += length(&temporary);
            process.output.publish(&temporary, &checkpoint_file(self.rounds_taken))?;
        }
        self.checkpointed = Instant::now();
        self.barrier(worker)?;
        if self.part == 0 {
            let kept = [self.rounds_saved.unwrap_or(self.rounds_taken), self.rounds_taken];
            forget(process, |round| kept.contains(&round))?;
        }
        self.rounds_saved = Some(self.rounds_taken);
        if self.part == 0 {
            self.report_checkpoint(bytes, begun.elapsed());
        }
        Ok(())
    }

    /// Resumes from a checkpoint: in Gibbs sampling, the counts are those of its assignments, which
    /// have already been recalled.
    pub(super) fn recall(&mut self, worker: &mut Worker, header: &Header) -> Result<(), Failure> {
        let schedule = &self.plan.schedule;
        let sampled = header
            .next
            .filter(|&next| matches!(schedule.action(next), Action::Gibbs | Action::Estimate));
        if let Some(next) = sampled {
            let first = Position { taken: 0, is_estimate: false, ..next };
            self.rounds.sampling().is_recalling = true;
            if schedule.is_partial() {
                // The counts that documents had in the model from which training started are withdrawn again.
                self.take_again(worker, Position { round: 0, ..first })?;
            }
            // The round that counts, even if a run began with random topics.
            let passes_before = next.passes_before.max(1);
            self.take_again(worker, Position { passes_before, ..first })?;
            self.rounds.sampling().is_recalling = false;
            let plan = &self.plan;
            if plan.schedule.unassigns_documents() {
                (plan.model).change(&plan.process, self.part, |parameters| {
                    parameters.round_rows(&plan.changed_rows);
                });
            }
        }
        Ok(())
    }

    /// Runs a round again, without a report.
    fn take_again(&mut self, worker: &mut Worker, position: Position) -> Result<(), Failure> {
        self.rounds.run(worker, VecDeque::from([position]), 0)?;
        self.rounds.sampling().forget_round();
        Ok(())
    }

    /// Reports a checkpoint, of which this process wrote `bytes` bytes in the time `took`.
    fn report_checkpoint(&self, bytes: u64, took: Duration) {
        let (rounds, seconds) = (self.rounds_taken, took.as_secs_f64());
        tracing::info!(rounds, bytes, seconds, "checkpoint written");
        let written_unix_ms = unix_millis(SystemTime::now());
        self.plan.process.progress.train(|training| {
            training.checkpoint =
                Some(CheckpointStatus { round: rounds, written_unix_ms, seconds, bytes });
        });
    }
}

/// Writes the process's assignments under their final name; returns their bytes.
fn save_assignments(
    process: &Process,
    round: u64,
    documents: &Minibatches,
    assignments: &Assignments,
) -> Result<u64, Failure> {
    let name = file_name(round, process.placement.process);
    let temporary = process.output.temporary_path(&name);
    write(&temporary, round, documents, assignments)?;
    let bytes = length(&temporary);
    let relative = format!("{CHECKPOINT_FOLDER}/{name}");
    process.output.publish(&temporary, &relative)?;
    Ok(bytes)
}

/// Returns the bytes of a file, for the log; 0 if they are unknown.
fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Writes what the process's model would publish under its final name; returns the hash that names
/// it.
///
/// # Errors
/// The file cannot be written.
pub fn save(
    process: &Process,
    model: &ProcessModel,
    header: &Header,
    relative: &str,
) -> Result<String, Failure> {
    let (temporary, hash) = write_model(process, model, header)?;
    process.output.publish(&temporary, relative)?;
    Ok(hash)
}

/// Writes what the process's model would publish; returns the file, and the hash that names it.
fn write_model(
    process: &Process,
    model: &ProcessModel,
    header: &Header,
) -> Result<(PathBuf, String), Failure> {
    let temporary = process.output.temporary_path("model");
    let guards = model.read_published();
    let parts: Vec<&Parameters> = guards.iter().map(|part| &**part).collect();
    let hash = checkpoint::write(&temporary, header, &parts)?;
    Ok((temporary, hash))
}
