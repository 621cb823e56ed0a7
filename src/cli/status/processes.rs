//! The statuses that the processes of a run have written, combined.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::cli::figures;
use crate::cli::pictures::table;
use crate::observe::status::{CheckpointStatus, ExitStatus, PhaseProgress, ProcessStatus, since};
use crate::observe::whole::Shares;

/// The processes of the latest attempt, at one moment.
pub(super) struct Processes<'a> {
    pub(super) all: &'a [ProcessStatus],
    pub(super) now: SystemTime,
    /// Whether the output's lock shows that the run continues.
    pub(super) is_locked: bool,
    /// The name of the host that this is asked on.
    pub(super) here: &'a str,
    /// A process that has not written its status for this long is reported: it has missed five updates.
    pub(super) silent_after: Duration,
}

impl Processes<'_> {
    /// Whether a process has written its status recently and has not ended.
    pub(super) fn are_alive(&self) -> bool {
        self.all.iter().any(|status| self.is_alive(status))
    }

    /// Returns the processes that have neither ended nor written their status recently.
    pub(super) fn silent(&self) -> Vec<usize> {
        let silent = |status: &&ProcessStatus| status.exit.is_none() && !self.is_alive(status);
        self.all.iter().filter(silent).map(|status| status.process).collect()
    }

    /// Returns the processes that others report as lost.
    pub(super) fn lost(&self) -> Vec<usize> {
        let mut lost: Vec<usize> = self.all.iter().flat_map(|s| s.peers_lost.clone()).collect();
        lost.sort_unstable();
        lost.dedup();
        lost
    }

    /// Returns how the first process that failed ended, if none has begun a phase.
    pub(super) fn refusal(&self) -> Option<&ExitStatus> {
        let has_begun = |status: &ProcessStatus| !["", "join"].contains(&&status.now.phase[..]);
        let mut ends = self.all.iter().filter_map(|status| status.exit.as_ref());
        let failed = ends.find(|exit| exit.code != 0);
        failed.filter(|_| !self.all.iter().any(has_begun))
    }

    /// Whether a process has written its status recently. If the lock is free, none is alive, provided that this
    /// is the host of the process that would hold it: elsewhere a file system may not show locks.
    fn is_alive(&self, status: &ProcessStatus) -> bool {
        let leader = self.all.iter().find(|status| status.process == 0);
        let is_over = !self.is_locked && leader.is_some_and(|leader| leader.host == self.here);
        status.exit.is_none() && !is_over && status.age(self.now) < self.silent_after
    }

    /// Returns the newest checkpoint that the processes have reported, with the bytes of all its parts.
    pub(super) fn checkpoint(&self) -> Option<CheckpointStatus> {
        let told = self.all.iter().filter_map(|one| one.training.checkpoint.as_ref());
        let newest = told.clone().max_by_key(|checkpoint| checkpoint.round)?;
        let parts = told.filter(|checkpoint| checkpoint.round == newest.round);
        Some(CheckpointStatus {
            bytes: parts.map(|checkpoint| checkpoint.bytes).sum(),
            ..newest.clone()
        })
    }

    /// Returns the time since a checkpoint was written.
    pub(super) fn age(&self, checkpoint: &CheckpointStatus) -> Duration {
        since(checkpoint.written_unix_ms, self.now)
    }

    /// Returns the progress of the run in the first process's phase; its note has rows of their own.
    pub(super) fn overall(&self) -> Option<PhaseProgress> {
        let first = self.all.iter().find(|status| !status.now.phase.is_empty())?;
        let own = PhaseProgress { note: String::new(), ..first.now.clone() };
        Some(Shares::default().add(first.process, own, self.all, first.processes))
    }

    /// Returns a table with a line per process.
    pub(super) fn table(&self) -> String {
        let mut table = table(">process|host|phase|>done|>now|>memory|last update");
        for status in self.all {
            table.add_row([
                status.process.to_string(),
                status.host.clone(),
                status.now.phase.clone(),
                match &status.exit {
                    // Its last phase may have ended early.
                    Some(exit) if exit.code == 0 => String::new(),
                    _ if status.now.phase.is_empty() => String::new(),
                    _ => figures::amount(status.now.done, status.now.total, &status.now.unit),
                },
                if self.is_alive(status) {
                    format!("{} {}/s", figures::rate(status.now.per_second), status.now.unit)
                } else {
                    String::new()
                },
                status.memory_bytes.map_or_else(String::new, figures::bytes),
                self.sign(status),
            ]);
        }
        format!("\n{}\n", table.trim_fmt())
    }

    /// Describes the last sign of a process.
    fn sign(&self, status: &ProcessStatus) -> String {
        let age = figures::duration(status.age(self.now));
        match &status.exit {
            Some(exit) if exit.code == 0 => "done".to_owned(),
            Some(exit) => format!("ended with {}: {}", exit.code, exit.reason),
            None if self.is_alive(status) => format!("{age} ago"),
            None if self.is_locked || self.are_alive() => format!("silent for {age}"),
            None => format!("ended without a message, {age} ago"),
        }
    }

    /// Returns the statuses, with their age at this moment.
    pub(super) fn json(&self) -> Vec<Value> {
        let one = |status: &ProcessStatus| {
            let mut object = serde_json::to_value(status).unwrap_or_default();
            object["age_seconds"] = json!(status.age(self.now).as_secs_f64());
            object
        };
        self.all.iter().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    fn status(process: usize, written: u64) -> ProcessStatus {
        ProcessStatus {
            process,
            now: PhaseProgress {
                phase: "project".to_owned(),
                unit: "documents".to_owned(),
                done: 30,
                total: Some(100),
                per_second: 10.0,
                left_seconds: Some(7.0 + process as f64),
                ..Default::default()
            },
            written_unix_ms: written,
            ..Default::default()
        }
    }

    fn at(all: &[ProcessStatus], second: u64) -> Processes<'_> {
        Processes {
            all,
            now: UNIX_EPOCH + Duration::from_secs(second),
            is_locked: false,
            here: "elsewhere",
            silent_after: Duration::from_secs(10),
        }
    }

    #[test]
    fn shares_are_added_up_and_the_slowest_decides() {
        let all = [status(0, 100_000), status(1, 100_000)];
        let overall = at(&all, 101).overall().unwrap();
        let expected = "project: 60 of 200 documents (30 %), 20.0 documents/s, 8 s left";
        assert_eq!(overall.line(), expected);
        let mut rounds = all;
        rounds.iter_mut().for_each(|status| status.now.unit = "rounds".to_owned());
        let overall = at(&rounds, 101).overall().unwrap();
        assert_eq!((overall.done, overall.total), (30, Some(100)));
        assert_eq!(at(&[], 101).overall(), None);
    }

    #[test]
    fn the_silent_and_the_lost_are_told() {
        let mut all = [status(0, 100_000), status(1, 61_000)];
        let alive = at(&all, 101);
        assert_eq!((alive.silent(), alive.lost()), (vec![1], vec![]));
        assert!(alive.table().contains("silent for 40.0 s"), "{}", alive.table());
        all[0].peers_lost = vec![1];
        all[0].exit = Some(ExitStatus { code: 69, reason: "lost process 1".to_owned() });
        assert!(at(&all, 101).table().contains("30 of 100"));
        let ended = at(&all, 101);
        assert_eq!((ended.silent(), ended.lost()), (vec![1], vec![1]));
        let table = ended.table();
        assert!(table.contains("ended with 69: lost process 1"), "{table}");
        assert!(table.contains("ended without a message, 40.0 s ago"), "{table}");
        let killed = [status(0, 100_000)];
        let asked_there = Processes { here: "", ..at(&killed, 101) };
        assert_eq!(asked_there.silent(), [0], "the lock is free");
    }
}
