//! What a process is doing at one moment. Every screen shows it, and each process writes it into one small file,
//! rewritten every few seconds, so that any host that sees the output folder can show the progress of a run.
//!
//! A file is complete or absent (it is renamed to its name), but not synced: it describes a living process, and
//! is worthless after a power loss.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::{figures, machine};
use lda::train::RoundSeconds;

/// How often a process writes its status.
pub(crate) const STATUS_EVERY: Duration = Duration::from_secs(2);
/// How often the status is copied into an object store.
pub(crate) const SHARE_EVERY: Duration = Duration::from_secs(10);
/// Number of evaluations that are kept.
const MOST_EVALUATIONS: usize = 12;

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
    /// The current phase.
    #[serde(flatten)]
    pub(crate) now: PhaseProgress,
    #[serde(flatten)]
    pub(crate) training: TrainingProgress,
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
    /// Documents and tokens that it has processed in each stage; in the metrics only.
    #[serde(skip)]
    pub(crate) worked: [Work; WorkStage::NAMED.len()],
    /// Whether it has joined the others, so that it may write into the output folder.
    #[serde(skip)]
    pub(crate) has_joined: bool,
}

/// A phase and how far it is, in one process or in all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct PhaseProgress {
    /// The phase: "ingest", "train", …; empty before the first.
    pub(crate) phase: String,
    /// How much of it is done, in `unit`s; never falls within a phase.
    pub(crate) done: u64,
    /// The total, if it is known. Rounds count for the whole run; bytes and documents are the process's share.
    pub(crate) total: Option<u64>,
    /// The unit of the counts: "documents", "rounds", …
    pub(crate) unit: String,
    /// Further information, such as the latest held-out log-likelihood; may be empty.
    pub(crate) note: String,
    /// Units per second over the last seconds.
    pub(crate) per_second: f64,
    /// Seconds since the phase began.
    pub(crate) phase_seconds: f64,
    /// Estimated seconds until the phase ends, at its pace since it began, if they are known.
    pub(crate) left_seconds: Option<f64>,
    /// How much of `done` is of an earlier run.
    #[serde(skip)]
    pub(crate) before: u64,
}

/// The state of training, as a process sees it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct TrainingProgress {
    /// Rounds done, including those before a resume.
    pub(crate) rounds: u64,
    /// The latest evaluations, oldest first. At most `MOST_EVALUATIONS`.
    pub(crate) heldout: Vec<HeldOutScore>,
    /// The newest checkpoint that this run has written.
    pub(crate) checkpoint: Option<CheckpointStatus>,
    /// Time that the process's first worker spent on each part of this run's rounds; in the metrics only.
    #[serde(skip)]
    pub(crate) spent: RoundSeconds,
}

/// A stage that processes documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkStage {
    /// Reading the input.
    Ingest,
    /// Training; a document counts each time it is sampled.
    Train,
    /// Inferring every document's topics.
    Project,
}

impl WorkStage {
    /// All stages and their names, in order.
    pub(crate) const NAMED: [(WorkStage, &'static str); 3] =
        [(Self::Ingest, "ingest"), (Self::Train, "train"), (Self::Project, "project")];
}

/// The work of a process in a stage, in this run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    pub(crate) documents: u64,
    /// Tokens: in ingest all that were found, later those in the vocabulary.
    pub(crate) tokens: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct HeldOutScore {
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

impl PhaseProgress {
    /// Whether another is of the same phase, and counts the same.
    pub(crate) fn is_of(&self, other: &Self) -> bool {
        (&self.phase, &self.unit) == (&other.phase, &other.unit)
    }

    /// Returns the units per second since the phase began; 0 in its first moment.
    pub(crate) fn pace(&self) -> f64 {
        let done = self.done.saturating_sub(self.before) as f64;
        if self.phase_seconds > 0.0 { done / self.phase_seconds } else { 0.0 }
    }

    /// Returns the seconds left at this pace, if there is a total and a pace.
    pub(crate) fn left(&self) -> Option<f64> {
        let rest = self.total?.saturating_sub(self.done);
        Some(rest as f64 / self.pace()).filter(|left| left.is_finite())
    }

    /// Formats it: "train: 120 of 411 rounds (29 %), 14.2 rounds/s, 20 s left".
    pub(crate) fn line(&self) -> String {
        let amount = figures::amount(self.done, self.total, &self.unit);
        let total = self.total.filter(|&total| total > 0);
        let percent = total.map_or_else(String::new, |total| figures::percent(self.done, total));
        self.with_remarks(&format!("{}: {amount}{percent}", self.phase), ", ")
    }

    /// Appends what is known about it: "…, 3,210 documents/s, 12 s left, held-out −7.61".
    pub(crate) fn with_remarks(&self, text: &str, separator: &str) -> String {
        let mut parts = figures::rate_and_left(self.per_second, &self.unit, self.left_seconds);
        parts.extend((!self.note.is_empty()).then(|| self.note.clone()));
        if parts.is_empty() {
            text.to_owned()
        } else {
            format!("{text}{separator}{}", parts.join(", "))
        }
    }
}

impl TrainingProgress {
    /// Adds an evaluation after this many rounds.
    pub(crate) fn evaluated(&mut self, round: u64, loglik_per_token: f64) {
        if self.heldout.len() == MOST_EVALUATIONS {
            self.heldout.remove(0);
        }
        self.heldout.push(HeldOutScore { round, loglik_per_token });
    }
}

impl ProcessStatus {
    /// Returns the part that never changes.
    pub(crate) fn identity(job: String, process: usize, processes: usize, threads: usize) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            job,
            run: std::env::var(mesh::Names::get().variables.run).unwrap_or_default(),
            process,
            processes,
            threads,
            host: machine::host(),
            pid: std::process::id(),
            started_unix_ms: unix_millis(SystemTime::now()),
            ..Self::default()
        }
    }

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
            now: PhaseProgress { total: Some(7), per_second: 1.5, ..Default::default() },
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

    #[test]
    fn the_latest_evaluations_are_kept() {
        let mut training = TrainingProgress::default();
        for round in 1..=20 {
            training.evaluated(round, -8.0);
        }
        assert_eq!(training.heldout.len(), MOST_EVALUATIONS);
        let last = training.heldout.last().unwrap();
        assert_eq!((last.round, last.loglik_per_token), (20, -8.0));
    }

    #[test]
    fn a_resumed_phase_has_the_pace_of_what_is_new() {
        let mut now = PhaseProgress {
            done: 40_000,
            total: Some(50_000),
            before: 40_000,
            ..PhaseProgress::default()
        };
        assert_eq!((now.pace(), now.left()), (0.0, None));
        (now.done, now.phase_seconds) = (44_000, 4.0);
        assert_eq!((now.pace(), now.left()), (1_000.0, Some(6.0)));
    }
}
