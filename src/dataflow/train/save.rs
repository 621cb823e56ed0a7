//! Checkpoints of training: writing them, and resuming from one.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::recall::forget;
use super::{TrainPlan, TrainWorker};
use crate::assignments::Assignments;
use crate::checkpoint::assignments::{file_name, write};
use crate::checkpoint::{self, Header};
use crate::config::state::{CHECKPOINT_FOLDER, checkpoint_file};
use crate::dataflow::process::{Process, interrupted};
use crate::dataflow::process_model::ProcessModel;
use crate::failure::Failure;
use crate::observe::status::{CheckpointStatus, unix_millis};
use corpus::minibatches::Minibatches;
use lda::model::parameters::Parameters;
use lda::train::Exchange;
use lda::train::schedule::{Action, Position};

impl TrainWorker<'_> {
    /// Returns everything about the model except its numbers per term.
    pub(super) fn header(&self) -> Header {
        let (plan, progress) = (self.steps.plan, self.steps.progress.clone());
        Header {
            settings_hash: plan.settings_hash.clone(),
            vocabulary_hash: plan.vocabulary_hash.clone(),
            topic_count: progress.priors.topic_count(),
            vocabulary_size: plan.model.vocabulary_size(),
            priors: progress.priors,
            published_eta: None,
            scale: plan.model.read_published()[0].scale(),
            rounds: progress.rounds,
            next: progress.next,
            averaged: progress.averaged,
            stop: progress.stop,
            log: self.steps.log.clone(),
        }
    }

    /// Writes a checkpoint if one is due, while all wait. Only worker 0 looks at the clock.
    pub(super) fn checkpoint_if_due(&mut self, last: Position) -> Result<(), Failure> {
        let plan = self.steps.plan;
        let minutes = plan.process.job.train.checkpoint_minutes;
        let mut is_due = plan.schedule.checkpoints_after(last);
        if !is_due && minutes > 0.0 {
            let is_long = self.checkpointed.elapsed().as_secs_f64() / 60.0 >= minutes;
            let is_told = self.worker.index() == 0 && is_long;
            is_due = self.sum(&[i64::from(is_told)])[0] > 0;
        }
        if is_due { self.checkpoint() } else { Ok(()) }
    }

    /// If the run was told to stop, writes a checkpoint and ends the run, on all workers after the same round.
    pub(super) fn end_if_interrupted(&mut self) -> Result<(), Failure> {
        if !self.steps.is_interrupted {
            return Ok(());
        }
        self.checkpoint()?;
        let rounds = self.steps.progress.rounds;
        Err(interrupted(&format!("training, after round {rounds}")))
    }

    /// Waits until every worker has called it.
    fn barrier(&mut self) {
        self.sum(&[0]);
    }

    /// Writes assignments, then the model that they belong to; then removes older ones of both. The
    /// previous checkpoint is kept; an existing checkpoint is not written again.
    fn checkpoint(&mut self) -> Result<(), Failure> {
        let (rounds, is_first) = (self.steps.progress.rounds, self.steps.part == 0);
        if self.rounds_saved == Some(rounds) {
            return Ok(());
        }
        let TrainPlan { process, model, sample, assignments, .. } = self.steps.plan;
        let (begun, mut bytes) = (Instant::now(), 0);
        if let Some(assignments) = assignments
            && is_first
        {
            bytes += save_assignments(process, rounds, &sample.training, assignments)?;
        }
        self.barrier();
        if self.worker.index() == 0 {
            let temporary = write_model(process, model, &self.header())?.0;
            bytes += length(&temporary);
            process.output.publish(&temporary, &checkpoint_file(rounds))?;
        }
        self.checkpointed = Instant::now();
        self.barrier();
        if is_first {
            let kept = [self.rounds_saved.unwrap_or(rounds), rounds];
            forget(process, |round| kept.contains(&round))?;
        }
        self.rounds_saved = Some(rounds);
        if is_first {
            self.report_checkpoint(bytes, begun.elapsed());
        }
        Ok(())
    }

    /// After a checkpoint in Gibbs sampling, the counts are those of its assignments, which
    /// have already been recalled.
    pub(super) fn recall(&mut self) -> Result<(), Failure> {
        let schedule = &self.steps.plan.schedule;
        let sampled =
            |next: &Position| matches!(schedule.action(*next), Action::Gibbs | Action::Estimate);
        let Some(next) = self.steps.progress.next.filter(sampled) else {
            return Ok(());
        };
        let first = Position { taken: 0, is_estimate: false, ..next };
        self.steps.is_recalling = true;
        if schedule.is_partial() {
            // The counts that documents had in the model from which training started are withdrawn again.
            self.take_again(Position { round: 0, ..first })?;
        }
        // The round that counts, even if a run began with random topics.
        let passes_before = next.passes_before.max(1);
        self.take_again(Position { passes_before, ..first })?;
        self.steps.is_recalling = false;
        if schedule.unassigns_documents() {
            self.forget_first_weights();
        }
        Ok(())
    }

    /// Runs a round again, without a report.
    fn take_again(&mut self, position: Position) -> Result<(), Failure> {
        self.rounds.run(self.worker, &mut self.steps, [position], 0)?;
        self.steps.unreported = None;
        Ok(())
    }

    /// Reports a checkpoint, of which this process wrote `bytes` bytes in the time `took`.
    fn report_checkpoint(&self, bytes: u64, took: Duration) {
        let (rounds, seconds) = (self.steps.progress.rounds, took.as_secs_f64());
        tracing::info!(rounds, bytes, seconds, "checkpoint written");
        let written_unix_ms = unix_millis(SystemTime::now());
        self.steps.plan.process.progress.train(|training| {
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
