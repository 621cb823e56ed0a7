//! What the workers of one process share: the job, its output, and the places where they meet.
//!
//! Threads of a process share memory: one model, one sample, one queue of work from which whoever
//! is free takes the next piece. None of that shows in a result: pieces are numbered by the input.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, OnceLock, PoisonError};

use sha2::{Digest, Sha256};

use crate::cluster::Placement;
use crate::job::{Job, ProgressSnapshot, Stages};
use crate::tables::output::Output;

/// The ground that all stages of a run stand on, in one process.
pub struct Process {
    /// The job.
    pub job: Job,
    /// Where the result goes.
    pub output: Output,
    /// Which workers there are.
    pub placement: Placement,
    /// How far the stage in hand is.
    pub progress: Progress,
    barrier: Barrier,
}

impl Process {
    /// For the workers of `placement` that are in this process.
    pub fn new(job: Job, output: Output, placement: Placement) -> Self {
        let barrier = Barrier::new(placement.threads);
        Self {
            job,
            output,
            placement,
            progress: Progress::default(),
            barrier,
        }
    }

    /// What all processes of a run must have in common, as the greeting compares it.
    pub fn hash(&self, stages: Stages) -> [u8; 32] {
        let job = &self.job;
        let text = format!("{} {} {}", job.train_hash(), job.project_hash(), stages);
        Sha256::digest(text).into()
    }

    /// Where the process keeps the assignments that memory has no room for.
    pub fn assignments_path(&self) -> std::path::PathBuf {
        let name = format!("assignments-{}", self.placement.process);
        self.output.temporary_path(&name)
    }

    /// Waits for the other workers of this process. They all must come: a worker that fails ends
    /// the process, so none waits for ever.
    pub fn meet(&self) {
        self.barrier.wait();
    }
}

/// A value that the first worker to come makes and all workers of the process share.
#[derive(Debug)]
pub struct Once<T>(OnceLock<T>, Mutex<()>);

impl<T> Default for Once<T> {
    fn default() -> Self {
        Self(OnceLock::new(), Mutex::new(()))
    }
}

impl<T> Once<T> {
    /// The value; made by `make` if this is the first call. An error is the caller's alone.
    pub fn get<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        let _making = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        match self.0.get() {
            Some(value) => Ok(value),
            None => {
                let value = make()?;
                Ok(self.0.get_or_init(|| value))
            }
        }
    }
}

/// Numbers 0, 1, 2, …, each handed to one worker: who is free takes the next piece of work.
#[derive(Debug, Default)]
pub struct Tickets(AtomicUsize);

impl Tickets {
    /// The next number.
    pub fn take(&self) -> usize {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    /// Starts again from 0. Only while nobody takes.
    pub fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// How far this process is: read by whoever shows it, never by a computation.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    phase: Mutex<ProgressSnapshot>,
}

impl Progress {
    /// Begins a phase, of so many units in all if that is known.
    pub fn begin(&self, phase: &'static str, unit: &'static str, total: Option<u64>) {
        let phase = ProgressSnapshot {
            phase,
            done: 0,
            total,
            unit,
            note: String::new(),
        };
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = phase;
        self.done.store(0, Ordering::Relaxed);
    }

    /// Counts work that is done.
    pub fn add(&self, count: u64) {
        self.done.fetch_add(count, Ordering::Relaxed);
    }

    /// Sets how much is done.
    pub fn set(&self, count: u64) {
        self.done.store(count, Ordering::Relaxed);
    }

    /// Remarks something.
    pub fn note(&self, note: String) {
        self.phase
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .note = note;
    }

    /// What is being done, and how much of it is done.
    pub fn snapshot(&self) -> ProgressSnapshot {
        let phase = self
            .phase
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        ProgressSnapshot {
            done: self.done.load(Ordering::Relaxed),
            ..phase
        }
    }
}
