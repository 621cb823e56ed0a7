//! Checkpoints of training: writing them, and going on from one.

use std::path::Path;
use std::time::Instant;

use timely::worker::Worker;

use super::Trainer;
use crate::checkpoint::assignments::{file_name, read, round_of, write};
use crate::checkpoint::{self, CheckpointError, Header};
use crate::corpus::sample::Bags;
use crate::dataflow::error::RunError;
use crate::dataflow::gather::barrier;
use crate::dataflow::process::Process;
use crate::dataflow::process_model::ProcessModel;
use crate::infer::Bag;
use crate::job::state::{CHECKPOINT_FILE, CHECKPOINT_FOLDER};
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

    /// Assignments first, then the checkpoint that names them, then older assignments go.
    fn checkpoint(&mut self, worker: &mut Worker, is_refining: bool) -> Result<(), RunError> {
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
            save(process, model, &self.header(), CHECKPOINT_FILE)?;
            bytes += length(&process.output.path(CHECKPOINT_FILE));
        }
        self.checkpointed = Instant::now();
        match assignments {
            Some(_) => barrier(worker),
            None => process.meet(),
        }
        if self.part == 0 && assignments.is_some() {
            forget_assignments(process, self.rounds_taken)?;
        }
        if self.part == 0 {
            self.report_checkpoint(bytes, begun.elapsed());
        }
        Ok(())
    }

    /// True once documents have assignments: not yet where refining is only about to begin.
    fn is_assigned(&self) -> bool {
        self.next.is_some_and(|next| next.taken > 0)
    }

    /// Goes on from a checkpoint: in refining, the counts are those of the saved assignments.
    pub(super) fn recall(&mut self, worker: &mut Worker, header: &Header) -> Result<(), RunError> {
        let next = header
            .next
            .filter(|n| n.phase == Phase::Refine && n.taken > 0);
        let (Some(next), Some(assignments)) = (next, self.plan.assignments) else {
            return Ok(());
        };
        let (process, training) = (self.plan.process, self.plan.sample.training);
        if self.part == 0 {
            recall_assignments(
                process,
                next.round,
                header.topic_count,
                training,
                assignments,
            )?;
        }
        process.meet();
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

/// Files with assignments, and the rounds they belong to.
fn assignment_files(process: &Process) -> Result<Vec<(std::path::PathBuf, u64)>, RunError> {
    let folder = process.output.path(CHECKPOINT_FOLDER);
    let io = |source| RunError::Io {
        path: folder.clone(),
        source,
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        if let Some(round) = round_of(&entry.file_name().to_string_lossy()) {
            files.push((entry.path(), round));
        }
    }
    files.sort();
    Ok(files)
}

/// Removes the process's assignments of other rounds; of processes that are no more, too.
fn forget_assignments(process: &Process, round: u64) -> Result<(), RunError> {
    let own = file_name(0, process.placement.process);
    let suffix = own.rsplit('-').next().unwrap_or_default();
    for (path, other) in assignment_files(process)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_mine = name.ends_with(suffix) || process.placement.process == 0;
        if other != round && is_mine {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(RunError::Io {
                        path,
                        source: error,
                    });
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Reads the assignments of this process's documents, whoever wrote them.
fn recall_assignments(
    process: &Process,
    round: u64,
    topic_count: usize,
    bags: &Bags,
    assignments: &Assignments,
) -> Result<(), RunError> {
    let mut found = vec![false; bags.len()];
    for (path, of) in assignment_files(process)? {
        if of != round {
            continue;
        }
        read(&path, round, topic_count, |document, topics| {
            let Ok(index) = bags.find(document) else {
                return Ok(());
            };
            if assignments.token_count(index) != topics.len() {
                let reason = "a document has another number of tokens";
                return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, reason));
            }
            found[index] = true;
            assignments.write(index, topics)
        })?;
    }
    match found.iter().all(|&f| f) {
        true => Ok(()),
        false => Err(lost_assignments(&process.output.path(CHECKPOINT_FILE))),
    }
}

fn lost_assignments(checkpoint: &Path) -> RunError {
    RunError::Checkpoint(CheckpointError::Damaged {
        path: checkpoint.to_path_buf(),
        reason: "assignments that belong to it are missing".to_owned(),
    })
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
    let temporary = process.output.temporary_path("model");
    let guards = model.read_published();
    let parts: Vec<&Parameters> = guards.iter().map(|part| &**part).collect();
    let hash = checkpoint::write(&temporary, header, &parts)?;
    process.output.publish(&temporary, relative)?;
    Ok(hash)
}
