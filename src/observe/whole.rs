//! The progress of a whole run: the shares of its processes, added up.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use super::status::{PhaseProgress, ProcessStatus, STATUS_EVERY};

/// The other processes of a run, as its first process sees them: as they last wrote beside their logs.
///
/// Processes whose logs cannot be seen from here, as with an output in an object store, are not counted, and
/// the progress says so.
pub(crate) struct Others {
    logs: PathBuf,
    processes: usize,
    read: Option<Instant>,
    statuses: Vec<ProcessStatus>,
    shares: Shares,
}

/// The latest shares of processes in a phase, by process.
#[derive(Default)]
pub(crate) struct Shares {
    now: PhaseProgress,
    shares: BTreeMap<usize, PhaseProgress>,
}

impl Others {
    /// Creates the others of a run of `processes` processes that write their statuses to `logs`.
    pub(crate) fn new(logs: PathBuf, processes: usize) -> Self {
        Self { logs, processes, read: None, statuses: Vec::new(), shares: Shares::default() }
    }

    /// Returns the progress of all processes; `own` is that of the first.
    pub(super) fn whole(&mut self, own: PhaseProgress) -> PhaseProgress {
        // The first process alone generates a corpus.
        if self.processes == 1 || ["", "join", "synth"].contains(&&*own.phase) {
            return own;
        }
        if self.read.is_none_or(|at| at.elapsed() >= STATUS_EVERY) {
            self.statuses = ProcessStatus::read_all(&self.logs);
            self.read = Some(Instant::now());
        }
        self.shares.add(0, own, &self.statuses, self.processes)
    }
}

impl Shares {
    /// Adds the shares of all processes to that of process `first`. Rounds count for the whole run, and the slowest
    /// process determines the time left. A process that has left the phase has done its share; one that is not in it
    /// yet is expected to have as much to do as the first.
    pub(crate) fn add(
        &mut self,
        first: usize,
        own: PhaseProgress,
        statuses: &[ProcessStatus],
        processes: usize,
    ) -> PhaseProgress {
        if !self.now.is_of(&own) {
            self.shares.clear();
        }
        self.now = own.clone();
        for status in statuses.iter().filter(|status| status.process != first) {
            let share = self.shares.entry(status.process).or_default();
            if status.now.is_of(&own) {
                *share = status.now.clone();
            } else {
                share.done = share.total.unwrap_or(0).max(share.done);
                (share.per_second, share.left_seconds) = (0.0, None);
            }
        }
        let shares = self.shares.values();
        let left_seconds = shares.clone().filter_map(|s| s.left_seconds).chain(own.left_seconds);
        let left_seconds = left_seconds.reduce(f64::max);
        if own.unit == "rounds" {
            return PhaseProgress { left_seconds, ..own };
        }
        let seen = 1 + shares.len();
        if seen < processes {
            let note = format!("{seen} of {processes} processes");
            let notes = [own.note.as_str(), &note].into_iter().filter(|note| !note.is_empty());
            let note = notes.collect::<Vec<_>>().join(", ");
            return PhaseProgress { note, ..own };
        }
        let total = |own: u64| own + shares.clone().map(|s| s.total.unwrap_or(own)).sum::<u64>();
        PhaseProgress {
            done: own.done + shares.clone().map(|share| share.done).sum::<u64>(),
            total: own.total.map(total),
            per_second: own.per_second + shares.clone().map(|s| s.per_second).sum::<f64>(),
            left_seconds,
            ..own
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(phase: &str, done: u64, total: u64) -> PhaseProgress {
        PhaseProgress {
            phase: phase.to_owned(),
            done,
            total: Some(total),
            unit: if phase == "train" { "rounds" } else { "documents" }.to_owned(),
            per_second: 10.0,
            left_seconds: Some(total as f64),
            ..PhaseProgress::default()
        }
    }

    fn status(process: usize, phase: &str, done: u64, total: u64) -> ProcessStatus {
        ProcessStatus { process, now: now(phase, done, total), ..ProcessStatus::default() }
    }

    #[test]
    fn a_process_without_anything_to_do_counts_as_such() {
        let others = [status(1, "project", 0, 0)];
        let whole = Shares::default().add(0, now("project", 40, 100), &others, 2);
        assert_eq!((whole.done, whole.total), (40, Some(100)));
    }

    #[test]
    fn shares_are_added_and_never_fall() {
        let mut shares = Shares::default();
        let mut whole = |done, statuses: &[ProcessStatus]| {
            let whole = shares.add(0, now("project", done, 100), statuses, 3);
            (whole.done, whole.total, whole.per_second, whole.left_seconds)
        };
        let early =
            [status(0, "project", 9, 9), status(1, "train", 7, 7), status(2, "project", 5, 160)];
        assert_eq!(whole(10, &early), (15, Some(360), 20.0, Some(160.0)));
        let later = [status(1, "project", 20, 80), status(2, "finish", 1, 1)];
        assert_eq!(whole(30, &later), (210, Some(340), 20.0, Some(100.0)));
    }

    #[test]
    fn others_that_are_not_seen_are_not_counted() {
        let others = [status(1, "ingest", 3, 50)];
        let whole = Shares::default().add(0, now("ingest", 40, 100), &others, 3);
        assert_eq!((whole.done, whole.total), (40, Some(100)));
        assert_eq!(whole.note, "2 of 3 processes");
    }

    #[test]
    fn rounds_and_single_processes_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        status(1, "ingest", 30, 50).write(folder.path()).unwrap();
        let of = |processes, now| Others::new(folder.path().to_owned(), processes).whole(now);
        assert_eq!(of(1, now("ingest", 4, 100)).done, 4);
        assert_eq!(of(2, now("train", 4, 100)).done, 4);
        let whole = of(2, now("ingest", 4, 100));
        assert_eq!((whole.done, whole.total), (34, Some(150)));
    }
}
