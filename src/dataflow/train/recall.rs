//! Chooses the checkpoint that training resumes from: the newest sound one, the same for all
//! processes.
//!
//! Two are kept, with the assignments that belong to them. If the newest one or its assignments are
//! damaged, it is removed and the previous one is used: its rounds are run again, and end with the
//! same bytes. Before any process resumes, every process checks all that it would resume from, and
//! they compare their findings.

use std::collections::HashMap;

use timely::worker::Worker;

use crate::assignments::Assignments;
use crate::checkpoint::assignments::{file_name, read, round_of};
use crate::checkpoint::{self, Damage, Header, Saved};
use crate::config::state::{CHECKPOINT_FOLDER, checkpoint_file, checkpoint_rounds};
use crate::dataflow::gather::{all_gather, gather_records};
use crate::dataflow::process::{Once, Process, TRAINING_FILE};
use crate::failure::Failure;
use corpus::minibatches::Minibatches;

/// The candidates that the workers of a process share when they choose.
#[derive(Default)]
pub(crate) struct Candidates {
    /// Newest first: two, and a third if a run was killed before it removed the oldest.
    found: [Once<Looked>; 3],
}

/// The requirements on a checkpoint from which training would resume.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// The process.
    pub(crate) process: &'a Process,
    /// Fingerprint of the vocabulary.
    pub(crate) vocabulary_hash: &'a str,
    /// The process's documents to train on.
    pub(crate) training: &'a Minibatches,
    /// Room for their assignments, if they are remembered; afterwards contains those of the checkpoint.
    pub(crate) assignments: Option<&'a Assignments>,
}

/// A checkpoint as it was read, `None` if there is none; or how it is damaged.
type Looked = Result<Option<Saved>, String>;

/// Chooses the checkpoint to resume from; `None` if there is none. All workers must call this.
///
/// # Errors
/// All checkpoints are damaged; they have other settings; processes see different ones; a file
/// cannot be read or removed.
pub(crate) fn choose<'a>(
    worker: &mut Worker,
    wanted: Wanted<'_>,
    shared: &'a Candidates,
) -> Result<Option<&'a Saved>, Failure> {
    let mut damaged = Vec::new();
    for (rounds, once) in checkpoints(worker, wanted.process)?.into_iter().zip(&shared.found) {
        let found = once.get(|| wanted.look_at(&checkpoint_file(rounds)))?;
        match (agree(worker, found)?, found) {
            (Some(problem), _) => damaged.push(problem),
            (None, Ok(Some(saved))) => {
                if worker.index() == 0 {
                    if let Some(reason) = damaged.first() {
                        wanted.process.warn(format!(
                            "{reason}; training resumes from the previous checkpoint"
                        ));
                    }
                    forget(wanted.process, |round| round <= saved.header.rounds)?;
                }
                return Ok(Some(saved));
            }
            (None, _) => {}
        }
    }
    if damaged.is_empty() {
        return Ok(None);
    }
    Err(Failure::data(format!(
        "{}; no sound checkpoint is left: remove {} and rerun, which restarts training from the beginning",
        damaged.join("; "),
        wanted.process.output.path(CHECKPOINT_FOLDER).display()
    )))
}

/// Returns the rounds of the checkpoints that worker 0 sees, newest first: the same for all workers.
fn checkpoints(worker: &mut Worker, process: &Process) -> Result<Vec<u64>, Failure> {
    let mut mine = Vec::new();
    if worker.index() == 0 {
        mine = checkpoint_rounds(process.output.names(CHECKPOINT_FOLDER)?);
    }
    Ok(gather_records(worker, &mine))
}

/// Compares what the processes found under a name; returns what is wrong with it, if anything.
fn agree(worker: &mut Worker, found: &Looked) -> Result<Option<String>, Failure> {
    let mine = match found {
        Ok(None) => "absent".to_owned(),
        Ok(Some(saved)) => saved.hash.clone(),
        Err(reason) => format!("{DAMAGED}{reason}"),
    };
    let all = all_gather(worker, mine.as_bytes());
    let texts: Vec<_> = all.iter().map(|t| String::from_utf8_lossy(t)).collect();
    if let Some(reason) = texts.iter().find_map(|text| text.strip_prefix(DAMAGED)) {
        return Ok(Some(reason.to_owned()));
    }
    if texts.iter().all(|text| *text == texts[0]) {
        Ok(None)
    } else {
        Err(Failure::data(
            "processes see different checkpoints: all hosts must see the same output folder under \
             the same path",
        ))
    }
}

/// The first word of a message about a damaged checkpoint.
const DAMAGED: &str = "damaged ";

impl Wanted<'_> {
    /// Reads a checkpoint and the assignments that belong to it.
    fn look_at(&self, file: &str) -> Result<Looked, Failure> {
        let output = &self.process.output;
        if !output.is_published(file)? {
            return Ok(Ok(None));
        }
        let read = || -> Result<Saved, Failure> {
            let saved = checkpoint::read(&output.local(file)?)?;
            self.process.check_header(&saved.header, self.vocabulary_hash, output.path(file))?;
            if let Some(assignments) = self.assignments {
                recall_assignments(self.process, &saved.header, self.training, assignments)?;
            }
            Ok(saved)
        };
        match read() {
            Ok(saved) => Ok(Ok(Some(saved))),
            Err(failure) => match failure.cause::<Damage>() {
                Some(Damage(damage)) => Ok(Err(damage.clone())),
                None => Err(failure),
            },
        }
    }
}

/// Returns the round whose assignments belong to a checkpoint; `None` if training is complete.
pub(super) fn assigned_round(header: &Header) -> Option<u64> {
    header.next.map(|next| next.round)
}

/// Reads the assignments that belong to a checkpoint, those of this process's documents, from the
/// files of all processes.
///
/// # Errors
/// [`Damage`] if a file is damaged or documents are missing; a file cannot be read or written.
pub fn recall_assignments(
    process: &Process,
    header: &Header,
    documents: &Minibatches,
    assignments: &Assignments,
) -> Result<(), Failure> {
    let Some(round) = assigned_round(header) else {
        return Ok(());
    };
    let positions = positions(documents).map_err(|e| process.scratch_error(TRAINING_FILE, e))?;
    let mut found = vec![false; positions.len()];
    for (relative, of) in assignment_files(process)? {
        if of != round {
            continue;
        }
        let path = process.output.local(&relative)?;
        read(
            &path,
            round,
            process.job.train.method.remembers.bound(&header.priors),
            |document, topics, influence| {
                let Some(&index) = positions.get(&document) else {
                    return Ok(());
                };
                if assignments.token_count(index) != topics.len() {
                    let reason = "a document has another number of tokens";
                    return Err(std::io::Error::new(std::io::ErrorKind::InvalidData, reason));
                }
                let influences = assignments.influences();
                found[index] = influences.is_none() || influence.is_some();
                if let (Some(influences), Some(influence)) = (influences, influence) {
                    influences.set(index, influence);
                }
                assignments.write(index, topics)
            },
        )?;
    }
    if found.iter().all(|&f| f) {
        Ok(())
    } else {
        Err(Damage::of(
            &process.output.path(CHECKPOINT_FOLDER),
            format!("assignments of round {round} are missing"),
        ))
    }
}

/// Returns where each document, by its number, is among those of the process.
fn positions(documents: &Minibatches) -> std::io::Result<HashMap<u64, usize>> {
    let mut positions = HashMap::with_capacity(documents.document_count());
    documents.for_each(|position, document, _| {
        positions.insert(document, position);
        Ok(())
    })?;
    Ok(positions)
}

/// Returns the files with assignments, below the output's root, and the rounds they belong to.
fn assignment_files(process: &Process) -> Result<Vec<(String, u64)>, Failure> {
    let names = process.output.names(CHECKPOINT_FOLDER)?.into_iter();
    let with_round = |name: String| {
        let round = round_of(&name)?;
        Some((format!("{CHECKPOINT_FOLDER}/{name}"), round))
    };
    Ok(names.filter_map(with_round).collect())
}

/// Removes checkpoints that are not kept: each process removes its assignments, and process 0 also
/// the models, and the assignments of processes that no longer exist.
///
/// For rounds that are still to be run again, these are assignments of a run that was stopped before
/// its checkpoint was complete, and damaged checkpoints.
pub(super) fn forget(process: &Process, is_kept: impl Fn(u64) -> bool) -> Result<(), Failure> {
    let own = file_name(0, process.placement.process);
    let is_own = |name: &str| name.rsplit('-').next() == own.rsplit('-').next();
    let is_first = process.placement.process == 0;
    for (name, round) in assignment_files(process)? {
        if (is_first || is_own(&name)) && !is_kept(round) {
            process.output.remove(&name)?;
        }
    }
    let models = if is_first {
        checkpoint_rounds(process.output.names(CHECKPOINT_FOLDER)?)
    } else {
        Vec::new()
    };
    for rounds in models.into_iter().filter(|&rounds| !is_kept(rounds)) {
        process.output.remove(&checkpoint_file(rounds))?;
    }
    Ok(())
}
