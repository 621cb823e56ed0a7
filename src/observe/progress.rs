//! The counters of this process: incremented by computation, read by watchers only.
//!
//! Each count is a sign of life of the worker that makes it (`liveness`). Phases are also sent to
//! the log, as events with their seconds and counts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime};

use parking_lot::Mutex;

use super::machine;
use super::status::{PhaseProgress, ProcessStatus, TrainingProgress, Work, WorkStage, unix_millis};

/// The progress of this process.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    done: AtomicU64,
    phase: Mutex<CurrentPhase>,
    training: Mutex<TrainingProgress>,
    /// Documents and tokens of each stage, by [`WorkStage`].
    work: [[AtomicU64; 2]; WorkStage::NAMED.len()],
}

/// The current phase.
#[derive(Debug, Default)]
struct CurrentPhase {
    name: &'static str,
    unit: &'static str,
    total: Option<u64>,
    /// How much of it an earlier run has done.
    before: u64,
    note: String,
    begun: Option<Instant>,
    /// False once the run has left it.
    is_current: bool,
}

impl Progress {
    /// Begins a phase, with `total` units if that is known. The first worker to call this
    /// begins it; the others find it begun.
    pub(crate) fn begin(&self, phase: &'static str, unit: &'static str, total: Option<u64>) {
        liveness::stage(phase);
        let mut current = self.phase.lock();
        if current.is_current && (current.name, current.unit) == (phase, unit) {
            return;
        }
        self.tell_end(&current);
        let begun = Some(Instant::now());
        *current = CurrentPhase {
            name: phase,
            unit,
            total,
            begun,
            is_current: true,
            ..CurrentPhase::default()
        };
        self.done.store(0, Ordering::Relaxed);
        tracing::info!(phase, unit, total, "phase begins");
    }

    /// Sets how much of the current phase an earlier run has done.
    pub(crate) fn resume(&self, count: u64) {
        self.phase.lock().before = count;
        self.done.fetch_max(count, Ordering::Relaxed);
    }

    /// Ends the last phase.
    pub(crate) fn end(&self) {
        let mut current = self.phase.lock();
        self.tell_end(&current);
        current.is_current = false;
    }

    fn tell_end(&self, current: &CurrentPhase) {
        if let Some(begun) = current.begun.filter(|_| current.is_current) {
            let CurrentPhase { name: phase, unit, .. } = current;
            let seconds = begun.elapsed().as_secs_f64();
            let done = self.done.load(Ordering::Relaxed);
            tracing::info!(phase, done, unit, seconds, "phase ends");
        }
    }

    /// Adds to the total of the current phase.
    pub(crate) fn extend(&self, more: u64) {
        if let Some(total) = &mut self.phase.lock().total {
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
        self.phase.lock().note = note;
    }

    /// Returns the current phase and its progress; its rate is not known here.
    pub(crate) fn now(&self) -> PhaseProgress {
        // The lock is held until the count is read: the next phase sets it to 0.
        let phase = self.phase.lock();
        let seconds = phase.begun.map_or(0.0, |begun| begun.elapsed().as_secs_f64());
        let mut now = PhaseProgress {
            phase: phase.name.to_owned(),
            done: self.done.load(Ordering::Relaxed),
            total: phase.total,
            unit: phase.unit.to_owned(),
            note: phase.note.clone(),
            phase_seconds: (1000.0 * seconds).round() / 1000.0,
            before: phase.before,
            ..PhaseProgress::default()
        };
        now.left_seconds = now.left();
        now
    }

    /// Counts documents and tokens that this process has processed in a stage.
    pub(crate) fn work(&self, stage: WorkStage, documents: u64, tokens: u64) {
        liveness::tick();
        let counts = &self.work[stage as usize];
        counts[0].fetch_add(documents, Ordering::Relaxed);
        counts[1].fetch_add(tokens, Ordering::Relaxed);
    }

    /// Returns the work that this process has done in each stage.
    pub(crate) fn worked(&self) -> [Work; WorkStage::NAMED.len()] {
        WorkStage::NAMED.map(|(stage, _)| {
            let [documents, tokens] = &self.work[stage as usize];
            Work {
                documents: documents.load(Ordering::Relaxed),
                tokens: tokens.load(Ordering::Relaxed),
            }
        })
    }

    /// Returns the status of this process at this moment, given what never changes.
    pub(crate) fn status(&self, identity: &ProcessStatus, has_joined: bool) -> ProcessStatus {
        ProcessStatus {
            written_unix_ms: unix_millis(SystemTime::now()),
            now: self.now(),
            training: self.training.lock().clone(),
            bytes_sent: mesh::bytes_sent(),
            memory_bytes: machine::resident_bytes(),
            peak_memory_bytes: machine::peak_resident_bytes(),
            peers_lost: mesh::guard::lost_peers(),
            worked: self.worked(),
            has_joined,
            ..identity.clone()
        }
    }

    /// Updates the progress of training.
    pub(crate) fn train(&self, change: impl FnOnce(&mut TrainingProgress)) {
        change(&mut self.training.lock());
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
        assert_eq!(progress.now().done, 4);
        progress.begin("train", "rounds", None);
        let now = progress.now();
        assert_eq!((&*now.phase, now.done), ("train", 0));
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
