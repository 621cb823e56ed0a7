//! The progress of this process: read by displays, never by a computation.
//!
//! Each count is a sign of life of the worker that makes it (`liveness`). Phases are also sent to
//! the log, as events with their seconds and counts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::job::{ProgressSnapshot, TrainingSnapshot, Work, WorkStage};

/// How far this process is.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    phase: Mutex<Phase>,
    training: Mutex<TrainingSnapshot>,
    /// Documents and tokens of each stage, by [`WorkStage`].
    work: [[AtomicU64; 2]; WorkStage::ALL.len()],
}

/// The current phase.
#[derive(Debug, Default)]
struct Phase {
    snapshot: ProgressSnapshot,
    begun: Option<Instant>,
}

impl Progress {
    /// Begins a phase, with `total` units if that is known. The first worker that comes
    /// begins it, the others find it begun.
    pub fn begin(&self, phase: &'static str, unit: &'static str, total: Option<u64>) {
        liveness::stage(phase);
        let mut current = lock(&self.phase);
        let is_begun = current.begun.is_some()
            && (current.snapshot.phase, current.snapshot.unit) == (phase, unit);
        if is_begun {
            return;
        }
        self.tell_end(&current);
        current.snapshot = ProgressSnapshot {
            phase,
            done: 0,
            total,
            unit,
            note: String::new(),
        };
        current.begun = Some(Instant::now());
        self.done.store(0, Ordering::Relaxed);
        tracing::info!(phase, unit, total, "phase begins");
    }

    /// Ends the last phase.
    pub fn end(&self) {
        let mut current = lock(&self.phase);
        self.tell_end(&current);
        current.begun = None;
    }

    fn tell_end(&self, phase: &Phase) {
        let Some(begun) = phase.begun else {
            return;
        };
        let ProgressSnapshot { phase, unit, .. } = phase.snapshot;
        let seconds = begun.elapsed().as_secs_f64();
        let done = self.done.load(Ordering::Relaxed);
        tracing::info!(phase, done, unit, seconds, "phase ends");
    }

    /// Counts work that is done.
    pub fn add(&self, count: u64) {
        liveness::tick();
        self.done.fetch_add(count, Ordering::Relaxed);
    }

    /// Sets how much is done.
    pub fn set(&self, count: u64) {
        liveness::tick();
        self.done.store(count, Ordering::Relaxed);
    }

    /// Remarks something.
    pub fn note(&self, note: String) {
        lock(&self.phase).snapshot.note = note;
    }

    /// What is being done, and how much of it is done.
    pub fn snapshot(&self) -> ProgressSnapshot {
        let snapshot = lock(&self.phase).snapshot.clone();
        ProgressSnapshot {
            done: self.done.load(Ordering::Relaxed),
            ..snapshot
        }
    }

    /// Counts documents and tokens that this process has processed in a stage.
    pub fn work(&self, stage: WorkStage, documents: u64, tokens: u64) {
        liveness::tick();
        let counts = &self.work[stage as usize];
        counts[0].fetch_add(documents, Ordering::Relaxed);
        counts[1].fetch_add(tokens, Ordering::Relaxed);
    }

    /// What this process has processed in each stage, in the order of [`WorkStage::ALL`].
    pub fn worked(&self) -> [Work; WorkStage::ALL.len()] {
        WorkStage::ALL.map(|stage| {
            let [documents, tokens] = &self.work[stage as usize];
            Work {
                documents: documents.load(Ordering::Relaxed),
                tokens: tokens.load(Ordering::Relaxed),
            }
        })
    }

    /// Changes what is known about training.
    pub fn train(&self, change: impl FnOnce(&mut TrainingSnapshot)) {
        change(&mut lock(&self.training));
    }

    /// What is known of training.
    pub fn training(&self) -> TrainingSnapshot {
        lock(&self.training).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_that_goes_on_is_not_begun_again() {
        let progress = Progress::default();
        progress.begin("sample", "documents", Some(10));
        progress.add(4);
        progress.begin("sample", "documents", Some(10));
        assert_eq!(progress.snapshot().done, 4);
        progress.begin("train", "rounds", None);
        let snapshot = progress.snapshot();
        assert_eq!((snapshot.phase, snapshot.done), ("train", 0));
    }

    #[test]
    fn work_is_counted_by_stage() {
        let progress = Progress::default();
        progress.work(WorkStage::Train, 2, 50);
        progress.work(WorkStage::Train, 3, 60);
        let [ingest, train, project] = progress.worked();
        assert_eq!((ingest, project), (Work::default(), Work::default()));
        assert_eq!((train.documents, train.tokens), (5, 110));
    }
}
