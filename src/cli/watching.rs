//! Watching a run: the log, the status file and the metrics of a process.
//!
//! One thread polls the process a few times a second, as the display does; computation does not know about
//! it. If something cannot be written, the run continues.

mod journal;
mod metrics;
mod rate;

use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::{Condvar, Mutex};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

use self::journal::Journal;
use self::metrics::Figures;
use self::rate::Gauge;
use super::machine;
use crate::dataflow::process::Process;
use crate::job::Stages;
use crate::job::process_status::{ExitStatus, ProcessStatus, STATUS_EVERY, replace, unix_millis};

/// How often the process is polled.
const POLL: Duration = Duration::from_millis(200);
/// Time between two log lines about the progress of a phase.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// How long a process that ends waits for its log.
const FLUSH_LIMIT: Duration = Duration::from_millis(500);

/// How often the status is copied into an object store.
pub(super) const SHARE_EVERY: Duration = Duration::from_secs(10);

/// The watched process, so that any thread can report its end.
static CURRENT: OnceLock<Arc<Watched>> = OnceLock::new();

/// The watching thread, from [`start`](Self::start) to [`end`](Self::end).
pub(super) struct Watch {
    watched: Arc<Watched>,
    thread: Option<JoinHandle<()>>,
}

struct Watched {
    process: Arc<Process>,
    /// None if its thread could not be started.
    journal: Option<Journal>,
    /// The part of the status that never changes.
    identity: ProcessStatus,
    started: Instant,
    gauge: Mutex<Gauge>,
    is_ended: Mutex<bool>,
    ending: Condvar,
}

impl Watch {
    /// Starts logging and reporting on `process`, which must have opened the output as its own: process 0 holds
    /// its lock.
    pub(super) fn start(process: &Arc<Process>, stages: Stages) -> Self {
        let leads = process.placement.process == 0;
        if leads {
            ProcessStatus::clear(&process.output.logs());
            process.set_joined();
        }
        let watched = Arc::new(Watched {
            process: Arc::clone(process),
            journal: start_log(),
            identity: identity(process),
            started: Instant::now(),
            gauge: Mutex::default(),
            is_ended: Mutex::new(false),
            ending: Condvar::new(),
        });
        let _ = CURRENT.set(Arc::clone(&watched));
        watched.say_start(stages);
        let looking = Arc::clone(&watched);
        let thread =
            thread::Builder::new().name("watch".to_owned()).spawn(move || looking.look()).ok();
        Self { watched, thread }
    }

    /// Writes the last log line, status and metrics of a process that ends here with this exit code; `reason` says
    /// why if that is not 0.
    pub(super) fn end(mut self, code: u8, reason: &str) {
        self.watched.end(code, reason);
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has ended the process already.
            let _ = thread.join();
        }
    }
}

/// Logs the end of the watched process, if there is one, for exits that do not return to the caller.
pub(super) fn end_current(code: u8, reason: &str) {
    if let Some(watched) = CURRENT.get() {
        watched.end(code, reason);
    }
}

/// Starts the log, and sends it all events of this program and of `mesh`, and the warnings of other crates.
fn start_log() -> Option<Journal> {
    let journal = Journal::start(super::warn).ok()?;
    let ours = Targets::new()
        .with_target("topicmill", LevelFilter::INFO)
        .with_target("mesh", LevelFilter::INFO)
        .with_default(LevelFilter::WARN);
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_ansi(false)
        .with_writer(journal.clone())
        .with_filter(ours);
    tracing_subscriber::registry().with(lines).try_init().ok()?;
    Some(journal)
}

fn identity(process: &Process) -> ProcessStatus {
    let placement = &process.placement;
    ProcessStatus {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        job: process.job.id(),
        run: std::env::var(super::NAMES.variables.run).unwrap_or_default(),
        process: placement.process,
        processes: placement.processes(),
        threads: placement.threads,
        host: machine::host(),
        pid: std::process::id(),
        started_unix_ms: unix_millis(SystemTime::now()),
        ..ProcessStatus::default()
    }
}

impl Watched {
    fn say_start(&self, stages: Stages) {
        let who = &self.identity;
        tracing::info!(
            version = who.version,
            job = who.job,
            run = who.run,
            process = who.process,
            processes = who.processes,
            threads = who.threads,
            host = who.host,
            pid = who.pid,
            stages = %stages,
            "process starts"
        );
    }

    /// Polls the process until it ends.
    fn look(&self) {
        let (mut is_open, mut phase) = (false, String::new());
        let (mut written, mut said) = (None::<Instant>, Instant::now());
        let mut shared = None::<Instant>;
        loop {
            let now = Instant::now();
            let snapshot = self.process.progress.snapshot();
            let is_new = snapshot.phase != phase;
            phase = snapshot.phase.to_owned();
            self.gauge.lock().see(snapshot, self.started.elapsed());
            if !is_open && self.process.is_joined() {
                self.open_log();
                is_open = true;
            }
            let is_due = written.is_none_or(|last| now - last >= STATUS_EVERY);
            if is_open && (is_new || is_due) {
                self.write_status();
                written = Some(now);
            }
            if is_open && (is_new || shared.is_none_or(|last| now - last >= SHARE_EVERY)) {
                self.share_status();
                shared = Some(now);
            }
            if is_new || now - said >= LINE_EVERY {
                if !is_new {
                    self.say_progress();
                }
                said = now;
            }
            let mut is_ended = self.is_ended.lock();
            self.ending.wait_while_for(&mut is_ended, |ended| !*ended, POLL);
            if *is_ended {
                return;
            }
        }
    }

    /// Writes the status and the metrics, unless the last ones have been written.
    fn write_status(&self) {
        let status = self.status(None);
        // Held while writing, so that nothing follows the last ones.
        let is_ended = self.is_ended.lock();
        if !*is_ended {
            self.write(status);
        }
    }

    /// Writes the files that show the current state.
    fn write(&self, status: ProcessStatus) {
        let logs = self.process.output.logs();
        // If this fails, readers see the age of the previous file, and the next write may succeed.
        let _ = status.write(&logs);
        let training = self.process.progress.training();
        let figures = Figures {
            status,
            spent: training.spent,
            worked: self.process.progress.worked(),
            traffic: mesh::traffic(),
        };
        let name = metrics::file_name(self.identity.process);
        let _ = replace(&logs.join(name), metrics::render(&figures).as_bytes());
    }

    /// Copies the status to where hosts that do not see this disk can read it.
    fn share_status(&self) {
        let name = ProcessStatus::file_name(self.identity.process);
        // As above.
        let _ = self.process.output.share_log(&name);
    }

    fn log_name(&self) -> String {
        format!("process-{:05}.jsonl", self.identity.process)
    }

    fn open_log(&self) {
        if let Some(journal) = &self.journal {
            journal.open(self.process.output.logs().join(self.log_name()));
        }
    }

    fn say_progress(&self) {
        let status = self.status(None);
        if status.phase.is_empty() {
            return;
        }
        tracing::info!(
            phase = status.phase,
            done = status.done,
            total = status.total,
            unit = status.unit,
            per_second = status.per_second,
            rounds = status.rounds,
            bytes_sent = status.bytes_sent,
            memory_bytes = status.memory_bytes,
            "phase continues"
        );
    }

    /// Writes the last log line and the last status; only the first call does.
    fn end(&self, code: u8, reason: &str) {
        if std::mem::replace(&mut *self.is_ended.lock(), true) {
            return;
        }
        self.ending.notify_all();
        let seconds = self.started.elapsed().as_secs_f64();
        let peak_memory_bytes = machine::peak_resident_bytes();
        let lines_dropped = self.journal.as_ref().map_or(0, Journal::dropped);
        if code == 0 {
            tracing::info!(code, seconds, peak_memory_bytes, lines_dropped, "process ends");
        } else {
            tracing::error!(
                code,
                reason,
                seconds,
                peak_memory_bytes,
                lines_dropped,
                "process ends"
            );
        }
        // Until this process has met the others, the output may be that of another run.
        if !self.process.is_joined() {
            return;
        }
        self.open_log();
        if let Some(journal) = &self.journal {
            journal.flush(FLUSH_LIMIT);
        }
        let reason = reason.to_owned();
        let status = self.status(Some(ExitStatus { code, reason }));
        self.write(status);
        // The log has the reason too, and the working folder keeps a copy of what a store refuses.
        self.share_status();
        let _ = self.process.output.share_log(&self.log_name());
    }

    fn status(&self, exit: Option<ExitStatus>) -> ProcessStatus {
        let training = self.process.progress.training();
        let mut status = ProcessStatus {
            written_unix_ms: unix_millis(SystemTime::now()),
            rounds: training.rounds,
            heldout: training.heldout,
            checkpoint: training.checkpoint,
            bytes_sent: mesh::bytes_sent(),
            memory_bytes: machine::resident_bytes(),
            peak_memory_bytes: machine::peak_resident_bytes(),
            peers_lost: mesh::guard::lost_peers(),
            exit,
            ..self.identity.clone()
        };
        self.gauge.lock().describe(&mut status);
        status
    }
}
