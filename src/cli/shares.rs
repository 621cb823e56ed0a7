//! The progress of a whole run, as its first process shows it: its own share, and those that the other
//! processes last wrote beside their logs.
//!
//! Processes whose logs cannot be seen from here, as with an output in an object store, are not counted, and
//! the progress says so.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use parking_lot::Mutex;

use crate::job::ProgressSnapshot;
use crate::job::process_status::{ProcessStatus, STATUS_EVERY};

/// The shares of the processes of a run.
pub(super) struct Shares {
    logs: PathBuf,
    processes: usize,
    seen: Mutex<Seen>,
}

/// The latest shares of the other processes.
#[derive(Default)]
struct Seen {
    at: Option<Instant>,
    phase: &'static str,
    unit: &'static str,
    /// Done and total in this phase, by process.
    shares: BTreeMap<usize, (u64, Option<u64>)>,
}

impl Shares {
    /// Creates the shares of a run of `processes` processes that write their statuses to `logs`.
    pub(super) fn new(logs: PathBuf, processes: usize) -> Self {
        Self { logs, processes, seen: Mutex::default() }
    }

    /// Returns the progress of all processes; `own` is that of the first.
    pub(super) fn whole(&self, own: ProgressSnapshot) -> ProgressSnapshot {
        // Rounds count for the whole run, and the first process alone generates a corpus.
        let is_whole = own.unit == "rounds" || ["", "join", "synth"].contains(&own.phase);
        if self.processes == 1 || is_whole {
            return own;
        }
        let mut seen = self.seen.lock();
        if seen.is_due() {
            seen.at = Some(Instant::now());
            seen.take(&own, &ProcessStatus::read_all(&self.logs));
        }
        seen.add(own, self.processes - 1)
    }
}

impl Seen {
    fn is_due(&self) -> bool {
        self.at.is_none_or(|at| at.elapsed() >= STATUS_EVERY)
    }

    /// Updates the shares of the others in the phase of `own`. A process that has left the phase has done its
    /// share.
    fn take(&mut self, own: &ProgressSnapshot, statuses: &[ProcessStatus]) {
        if (self.phase, self.unit) != (own.phase, own.unit) {
            (self.phase, self.unit) = (own.phase, own.unit);
            self.shares.clear();
        }
        for status in statuses.iter().filter(|status| status.process > 0) {
            let is_in_phase = status.phase == own.phase && status.unit == own.unit;
            let share = self.shares.entry(status.process);
            match (is_in_phase, share) {
                (true, share) => *share.or_default() = (status.done, status.total),
                (false, share) => {
                    share
                        .and_modify(|(done, total)| *done = total.unwrap_or(0).max(*done))
                        .or_default();
                }
            }
        }
    }

    /// Adds `own` and the shares. A process that is not in the phase yet is expected to have as much to do as
    /// the first.
    fn add(&self, own: ProgressSnapshot, others: usize) -> ProgressSnapshot {
        let is_same = (self.phase, self.unit) == (own.phase, own.unit);
        let shares = self.shares.values().filter(|_| is_same);
        let count = shares.clone().count();
        if is_same && count < others {
            let note = format!("{} of {} processes", count + 1, others + 1);
            let notes = [own.note.as_str(), &note].into_iter().filter(|note| !note.is_empty());
            let note = notes.collect::<Vec<_>>().join(", ");
            return ProgressSnapshot { note, ..own };
        }
        let total = |own: u64| {
            let expected = |(_, total): &(u64, Option<u64>)| total.unwrap_or(own);
            let known: u64 = shares.clone().map(expected).sum();
            own + known + own * (others - count) as u64
        };
        ProgressSnapshot {
            done: own.done + shares.clone().map(|(done, _)| done).sum::<u64>(),
            total: own.total.map(total),
            ..own
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(phase: &'static str, done: u64) -> ProgressSnapshot {
        ProgressSnapshot {
            phase,
            done,
            total: Some(100),
            unit: if phase == "train" { "rounds" } else { "documents" },
            note: String::new(),
        }
    }

    fn status(process: usize, phase: &str, done: u64, total: u64) -> ProcessStatus {
        ProcessStatus {
            process,
            phase: phase.to_owned(),
            unit: "documents".to_owned(),
            done,
            total: Some(total),
            ..ProcessStatus::default()
        }
    }

    #[test]
    fn a_process_without_anything_to_do_counts_as_such() {
        let mut seen = Seen::default();
        let mine = own("project", 40);
        seen.take(&mine, &[status(1, "project", 0, 0)]);
        let whole = seen.add(mine, 1);
        assert_eq!((whole.done, whole.total), (40, Some(100)));
    }

    #[test]
    fn shares_are_added_and_never_fall() {
        let mut seen = Seen::default();
        let mut whole = |done, statuses: &[ProcessStatus]| {
            let own = own("project", done);
            seen.take(&own, statuses);
            let whole = seen.add(own, 2);
            (whole.done, whole.total)
        };
        let early =
            [status(0, "project", 9, 9), status(1, "train", 7, 7), status(2, "project", 5, 60)];
        assert_eq!(whole(10, &early), (15, Some(260)));
        let later = [status(1, "project", 20, 80), status(2, "finish", 1, 1)];
        assert_eq!(whole(30, &later), (110, Some(240)));
    }

    #[test]
    fn others_that_are_not_seen_are_not_counted() {
        let mut seen = Seen::default();
        let own = own("ingest", 40);
        seen.take(&own, &[status(1, "ingest", 3, 50)]);
        let whole = seen.add(own, 2);
        assert_eq!((whole.done, whole.total), (40, Some(100)));
        assert_eq!(whole.note, "2 of 3 processes");
    }

    #[test]
    fn rounds_and_single_processes_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        status(1, "ingest", 30, 50).write(folder.path()).unwrap();
        let shares = |processes| Shares::new(folder.path().to_owned(), processes);
        assert_eq!(shares(1).whole(own("ingest", 4)).done, 4);
        assert_eq!(shares(2).whole(own("train", 4)).done, 4);
        let whole = shares(2).whole(own("ingest", 4));
        assert_eq!((whole.done, whole.total), (34, Some(150)));
    }
}
