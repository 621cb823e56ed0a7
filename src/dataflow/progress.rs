//! The progress of this process: read by displays, never by a computation.
//!
//! Each count is a sign of life of the worker that makes it (`liveness`). Phases are also sent to
//! the log, as events with their seconds and counts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

use crate::job::{ProgressSnapshot, TrainingSnapshot, Work, WorkStage};

/// The progress of this process.
#[derive(Debug, Default)]
pub(crate) struct Progress {
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
    /// Begins a phase, with `total` units if that is known. The first worker to call this
    /// begins it; the others find it begun.
    pub(crate) fn begin(&self, phase: &'static str, unit: &'static str, total: Option<u64>) {
        liveness::stage(phase);
        let mut current = self.phase.lock();
        let is_begun = current.begun.is_some()
            && (current.snapshot.phase, current.snapshot.unit) == (phase, unit);
        if is_begun {
            return;
        }
        self.tell_end(&current);
        current.snapshot = ProgressSnapshot { phase, done: 0, total, unit, note: String::new() };
        current.begun = Some(Instant::now());
        self.done.store(0, Ordering::Relaxed);
        tracing::info!(phase, unit, total, "phase begins");
    }

    /// Ends the last phase.
    pub(crate) fn end(&self) {
        let mut current = self.phase.lock();
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

    /// Adds to the total of the current phase.
    pub(crate) fn extend(&self, more: u64) {
        if let Some(total) = &mut self.phase.lock().snapshot.total {
            *total += more;
        }
    }

    /// Counts completed work.
    pub(crate) fn add(&self, count: u64) {
        liveness::tick();
        self.done.fetch_add(count, Ordering::Relaxed);
    }

    /// Sets how much is done.
    pub(crate) fn set(&self, count: u64) {
        liveness::tick();
        self.done.store(count, Ordering::Relaxed);
    }

    /// Sets the phase's note.
    pub(crate) fn note(&self, note: String) {
        self.phase.lock().snapshot.note = note;
    }

    /// Returns the current phase and its progress.
    pub(crate) fn snapshot(&self) -> ProgressSnapshot {
        // The lock is held until the count is read: the next phase sets it to 0.
        let phase = self.phase.lock();
        ProgressSnapshot { done: self.done.load(Ordering::Relaxed), ..phase.snapshot.clone() }
    }

    /// Counts documents and tokens that this process has processed in a stage.
    pub(crate) fn work(&self, stage: WorkStage, documents: u64, tokens: u64) {
        liveness::tick();
        let counts = &self.work[stage as usize];
        counts[0].fetch_add(documents, Ordering::Relaxed);
        counts[1].fetch_add(tokens, Ordering::Relaxed);
    }

    /// Returns the work that this process has done in each stage, in the order of [`WorkStage::ALL`].
    pub(crate) fn worked(&self) -> [Work; WorkStage::ALL.len()] {
        WorkStage::ALL.map(|stage| {
            let [documents, tokens] = &self.work[stage as usize];
            Work {
                documents: documents.load(Ordering::Relaxed),
                tokens: tokens.load(Ordering::Relaxed),
            }
        })
    }

    /// Updates the progress of training.
    pub(crate) fn train(&self, change: impl FnOnce(&mut TrainingSnapshot)) {
        change(&mut self.training.lock());
    }

    /// Returns the progress of training.
    pub(crate) fn training(&self) -> TrainingSnapshot {
        self.training.lock().clone()
    }
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
