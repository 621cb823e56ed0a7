//! The status that a process writes while it runs: one small file per process, rewritten every few seconds, so
//! that any host that sees the output folder can show the progress of a run.
//!
//! A file is complete or absent (it is renamed to its name), but not synced: it describes a living process, and
//! is worthless after a power loss.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// How often a process writes its status.
pub(crate) const STATUS_EVERY: Duration = Duration::from_secs(2);

/// A process at one moment. Times are milliseconds since 1970, by the clock of its host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessStatus {
    /// The version of the program.
    pub(crate) version: String,
    /// The job's id.
    pub(crate) job: String,
    /// The token of the attempt (`TOPICMILL_RUN`); empty if none was given.
    pub(crate) run: String,
    /// Its number, from 0.
    pub(crate) process: usize,
    /// Processes of the run.
    pub(crate) processes: usize,
    /// Its number of worker threads.
    pub(crate) threads: usize,
    /// The name of its host.
    pub(crate) host: String,
    /// Its process id on that host.
    pub(crate) pid: u32,
    /// When it started.
    pub(crate) started_unix_ms: u64,
    /// When this was written.
    pub(crate) written_unix_ms: u64,
    /// The current phase; empty before the first.
    pub(crate) phase: String,
    /// How much of it is done, in `unit`s.
    pub(crate) done: u64,
    /// The total for this process, if it is known.
    pub(crate) total: Option<u64>,
    /// The unit of the counts. Rounds count for the whole run, everything else is the process's share.
    pub(crate) unit: String,
    /// Units per second over the last seconds.
    pub(crate) per_second: f64,
    /// Seconds since the phase began.
    pub(crate) phase_seconds: f64,
    /// Estimated seconds until the phase ends, if they are known.
    pub(crate) left_seconds: Option<f64>,
    /// Training rounds done.
    pub(crate) rounds: u64,
    /// The latest evaluations, oldest first.
    pub(crate) heldout: Vec<Evaluation>,
    /// The newest checkpoint that was written.
    pub(crate) checkpoint: Option<CheckpointStatus>,
    /// Bytes sent to other processes.
    pub(crate) bytes_sent: u64,
    /// Bytes of memory in use, if the system reports them.
    pub(crate) memory_bytes: Option<u64>,
    /// The most bytes that were ever in use, if the system reports them.
    pub(crate) peak_memory_bytes: Option<u64>,
    /// Processes that this one has lost.
    pub(crate) peers_lost: Vec<usize>,
    /// How it ended; absent while it runs, and when it was killed.
    pub(crate) exit: Option<ExitStatus>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Evaluation {
    /// Rounds done then.
    pub(crate) round: u64,
    /// Log-likelihood per held-out token, in nats.
    pub(crate) loglik_per_token: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CheckpointStatus {
    /// Rounds done then.
    pub(crate) round: u64,
    /// When it was complete.
    pub(crate) written_unix_ms: u64,
    /// Seconds that it took.
    pub(crate) seconds: f64,
    /// Bytes of it that the process wrote.
    pub(crate) bytes: u64,
}

/// How a process ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ExitStatus {
    /// The exit code.
    pub(crate) code: u8,
    /// Why, if it is not 0.
    pub(crate) reason: String,
}

impl ProcessStatus {
    /// Returns the name of the file, in the folder of logs, to which process `process` writes its status.
    pub(crate) fn file_name(process: usize) -> String {
        format!("status-{process:05}.json")
    }

    /// Writes the status into the folder of logs, replacing the previous one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn write(&self, logs: &Path) -> io::Result<()> {
        let json = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        replace(&logs.join(Self::file_name(self.process)), &json)
    }

    /// Reads the statuses in a folder of logs, sorted by process. Leaves out files that are being replaced or are
    /// not statuses.
    pub(crate) fn read_all(logs: &Path) -> Vec<Self> {
        let mut all: Vec<Self> = files(logs, "status-", ".json")
            .filter_map(|path| fs::read(path).ok())
            .filter_map(|json| Self::from_json(&json))
            .collect();
        all.sort_by_key(|status| status.process);
        all
    }

    /// Parses a status; `None` if `json` is not one.
    pub fn from_json(json: &[u8]) -> Option<Self> {
        serde_json::from_slice(json).ok()
    }

    /// Removes the statuses and metrics of an earlier attempt.
    pub(crate) fn clear(logs: &Path) {
        for path in files(logs, "status-", ".json").chain(files(logs, "metrics-", ".prom")) {
            // One that cannot be removed is replaced, or shown with its age.
            let _ = fs::remove_file(path);
        }
    }

    /// Returns the time from its writing to `now`; zero if the writing host's clock is ahead.
    pub(crate) fn age(&self, now: SystemTime) -> Duration {
        since(self.written_unix_ms, now)
    }
}

/// Returns the time from a moment to `now`; zero if the moment is later.
pub(crate) fn since(unix_ms: u64, now: SystemTime) -> Duration {
    Duration::from_millis(unix_millis(now).saturating_sub(unix_ms))
}

/// Converts a moment to milliseconds since 1970.
pub(crate) fn unix_millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Replaces a file in the folder of logs, which is created if it is absent.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
    fs::write(&temporary, content)?;
    fs::rename(&temporary, path)
}

/// Lists the files in a folder of logs whose names begin and end like this.
fn files(logs: &Path, start: &str, end: &str) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(logs).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(move |path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(start) && name.ends_with(end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_read_as_they_were_written_and_others_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let logs = folder.path().join("logs");
        let status = |process| ProcessStatus {
            process,
            total: Some(7),
            per_second: 1.5,
            ..Default::default()
        };
        for process in [1, 0] {
            status(process).write(&logs).unwrap();
        }
        fs::write(logs.join("status-00002.json"), "{").unwrap();
        fs::write(logs.join("process-00000.jsonl"), "{}").unwrap();
        fs::write(logs.join("metrics-00000.prom"), "").unwrap();
        assert_eq!(ProcessStatus::read_all(&logs), [status(0), status(1)]);
        ProcessStatus::clear(&logs);
        assert_eq!(fs::read_dir(&logs).unwrap().count(), 1);
    }

    #[test]
    fn an_age_is_never_negative() {
        let status = ProcessStatus { written_unix_ms: 5_000, ..Default::default() };
        let at = |ms| UNIX_EPOCH + Duration::from_millis(ms);
        assert_eq!(status.age(at(7_500)), Duration::from_millis(2_500));
        assert_eq!(status.age(at(4_000)), Duration::ZERO);
    }
}
