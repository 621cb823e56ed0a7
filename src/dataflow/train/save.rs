//! Checkpoints of training: writing them, and going on from one.

use std::path::Path;
use std::path::PathBuf;
use std::time::Instant;

use timely::worker::Worker;

use super::Trainer;
use super::recall::{assigned_round, forget_assignments};
use crate::checkpoint::assignments::{file_name, write};
use crate::checkpoint::{self, Header};
use crate::corpus::sample::Bags;
use crate::dataflow::error::RunError;
use crate::dataflow::gather::barrier;
use crate::dataflow::process::Process;
use crate::dataflow::process_model::ProcessModel;
use crate::infer::Bag;
use crate::job::state::{CHECKPOINT_FILE, CHECKPOINT_FOLDER, PREVIOUS_CHECKPOINT_FILE};
use crate::model::parameters::Parameters;
use crate::train::assignments::Assignments;
use crate::train::schedule::{Phase, Position};

impl Trainer<'_> {
    /// Everything about the model but its numbers per term.
    pub(super) fn header(&self) -> Header {
        Header {
            settings_hash: self.plan.settings_hash.to_owned(),
            vocabulary_hash: self.plan.vocabulary_hash.to_owned(),
            topic_count: self.priors.topic_count(),
            vocabulary_size: self.plan.model.vocabulary_size(),
            priors: self.priors.clone(),
            published_eta: None,
            scale: self.plan.model.read_published()[0].scale(),
            rounds: self.rounds_taken,
            next: self.next,
            averaged: self.averaged,
            stop: self.stop,
            log: self.log.clone(),
        }
    }

    /// Now and then a checkpoint is written, while all wait. Worker 0 alone looks at the clock.
    pub(super) fn checkpoint_if_due(
        &mut self,
        worker: &mut Worker,
        position: Position,
    ) -> Result<(), RunError> {
        if !self.schedule.allows_checkpoint_after(position) {
            return Ok(());
        }
        let settings = &self.plan.process.job.train;
        let is_refining = self.next.is_some_and(|next| next.phase == Phase::Refine);
        let by_clock = settings.checkpoint_minutes > 0.0;
        let by_rounds = self.schedule.checkpoints_after(position);
        // Assignments are written by every process: all must agree, and the clock is one's own.
        let is_due = by_rounds || (by_clock && self.agree_on_clock(worker, is_refining));
        if !is_due {
            return Ok(());
        }
        self.checkpoint(worker, is_refining)
    }

    /// Where the run was asked to leave, and can be gone on from: a checkpoint, then the end, for
    /// all workers after the same round.
    pub(super) fn leave_if_asked(
        &mut self,
        worker: &mut Worker,
        position: Position,
    ) -> Result<(), RunError> {
        if !self.is_leaving || !self.schedule.may_leave_after(position) {
            return Ok(());
        }
        let is_refining = self.next.is_some_and(|next| next.phase == Phase::Refine);
        self.checkpoint(worker, is_refining)?;
        barrier(worker);
        let rounds = self.rounds_taken;
        Err(RunError::Left(format!("training, after round {rounds}")))
    }

    /// Whether worker 0 finds that it has been long since the last checkpoint. Online the workers
    /// of its process alone need to know.
    fn agree_on_clock(&self, worker: &mut Worker, is_refining: bool) -> bool {
        let (process, model) = (self.plan.process, self.plan.model);
        let minutes = process.job.train.checkpoint_minutes;
        let is_long =
            self.index == 0 && self.checkpointed.elapsed().as_secs_f64() / 60.0 >= minutes;
        if is_refining {
            return super::sum(worker, &[i64::from(is_long)])[0] > 0;
        }
        if self.index == 0 {
            model.set_checkpoint_due(is_long);
        }
        process.meet();
        let is_due = model.is_checkpoint_due();
        process.meet();
        is_due
    }

    /// Assignments first, then the checkpoint that names them, then older assignments go. The
    /// checkpoint before it is kept, with its assignments; so one that stands is not written again.
    fn checkpoint(&mut self, worker: &mut Worker, is_refining: bool) -> Result<(), RunError> {
        if self.rounds_saved == Some(self.rounds_taken) {
            return Ok(());
        }
        let (process, model) = (self.plan.process, self.plan.model);
        let (begun, mut bytes) = (Instant::now(), 0);
        let assignments = self
            .plan
            .assignments
            .filter(|_| is_refining && self.is_assigned());
        if let Some(assignments) = assignments {
            if self.part == 0 {
                let bags = self.plan.sample.training;
                bytes += save_assignments(process, self.rounds_taken, bags, assignments)?;
            }
            barrier(worker);
        }
        if self.index == 0 {
            save_newest(process, model, &self.header())?;
            bytes += length(&process.output.path(CHECKPOINT_FILE));
        }
        self.checkpointed = Instant::now();
        match assignments {
            Some(_) => barrier(worker),
            None => process.meet(),
        }
        if self.part == 0 && assignments.is_some() {
            let before = self.rounds_saved.unwrap_or(self.rounds_taken);
            forget_assignments(process, &[before, self.rounds_taken])?;
        }
        self.rounds_saved = Some(self.rounds_taken);
        if self.part == 0 {
            self.report_checkpoint(bytes, begun.elapsed());
        }
        Ok(())
    }

    /// True once documents have assignments: not yet where refining is only about to begin.
    fn is_assigned(&self) -> bool {
        self.next.is_some_and(|next| next.taken > 0)
    }

    /// Goes on from a checkpoint: in refining, the counts are those of its assignments, which have
    /// been recalled already.
    pub(super) fn recall(&mut self, worker: &mut Worker, header: &Header) -> Result<(), RunError> {
        let (Some(_), Some(assignments)) = (assigned_round(header), self.plan.assignments) else {
            return Ok(());
        };
        let (process, training) = (self.plan.process, self.plan.sample.training);
        let mut remembered = Vec::new();
        for index in (self.part..training.len()).step_by(process.placement.threads) {
            let (terms, counts) = training.bag(index);
            assignments
                .read(index, &mut remembered)
                .map_err(|source| RunError::Io {
                    path: process.assignments_path(),
                    source,
                })?;
            self.local.recount(Bag { terms, counts }, &remembered);
        }
        let mut entries = vec![Vec::new(); process.placement.workers()];
        self.local
            .finish(|entry| entries[self.rounds.owner(entry.term)].push(entry.word()));
        let merged = self.rounds.exchange(worker, entries, false);
        let blocks = &merged.blocks;
        self.plan.model.replace(process, self.part, blocks, true);
        Ok(())
    }
}

/// Writes the process's assignments under their final name; gives their bytes.
fn save_assignments(
    process: &Process,
    round: u64,
    bags: &Bags,
    assignments: &Assignments,
) -> Result<u64, RunError> {
    let name = file_name(round, process.placement.process);
    let temporary = process.output.temporary_path(&name);
    write(&temporary, round, bags, assignments)?;
    let bytes = length(&temporary);
    let relative = format!("{CHECKPOINT_FOLDER}/{name}");
    process.output.publish(&temporary, &relative)?;
    Ok(bytes)
}

/// Bytes of a file, for the log; 0 if it cannot be asked.
fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Writes the newest checkpoint, and keeps the one that was it until now under another name. At
/// every moment one of the two names bears a complete one.
fn save_newest(process: &Process, model: &ProcessModel, header: &Header) -> Result<(), RunError> {
    let output = &process.output;
    let temporary = write_model(process, model, header)?.0;
    if output.is_published(CHECKPOINT_FILE)? {
        output.rename(CHECKPOINT_FILE, PREVIOUS_CHECKPOINT_FILE)?;
    }
    Ok(output.publish(&temporary, CHECKPOINT_FILE)?)
}

/// Writes what the process's model would publish under its final name; gives the hash that names
/// it.
///
/// # Errors
/// The file system refuses.
pub fn save(
    process: &Process,
    model: &ProcessModel,
    header: &Header,
    relative: &str,
) -> Result<String, RunError> {
    let (temporary, hash) = write_model(process, model, header)?;
    process.output.publish(&temporary, relative)?;
    Ok(hash)
}

/// Writes what the process's model would publish; gives the file, and the hash that names it.
fn write_model(
    process: &Process,
    model: &ProcessModel,
    header: &Header,
) -> Result<(PathBuf, String), RunError> {
    let temporary = process.output.temporary_path("model");
    let guards = model.read_published();
    let parts: Vec<&Parameters> = guards.iter().map(|part| &**part).collect();
    let hash = checkpoint::write(&temporary, header, &parts)?;
    Ok((temporary, hash))
}
