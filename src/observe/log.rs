//! The log of a process: its start, its phases and its end, and all events of the program.
//!
//! A log must never end or stall a run. Callers only pass a line to a thread, which writes the file. If the thread is
//! stuck (a disk that hangs), further lines are dropped; if the disk refuses a line, logging stops with one warning.
//! Lines are kept in memory until the file may be opened.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::Duration;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

use super::status::{ExitStatus, ProcessStatus};
use super::{Moment, StatusSink};

/// Time between two lines about the progress of a phase.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// How long a process that ends waits for its log.
const FLUSH_LIMIT: Duration = Duration::from_millis(500);

/// Maximum number of lines that wait for the thread.
const MOST_WAITING: usize = 1024;
/// Maximum number of bytes kept before the file is open.
const MOST_HELD: usize = 1 << 20;
/// The log of a watched process.
pub(super) struct Log {
    logs: PathBuf,
    /// None if its thread could not be started.
    journal: Option<Journal>,
    is_open: bool,
}

/// Returns the name of the file, in the folder of logs, that is the log of process `process`.
pub(super) fn file_name(process: usize) -> String {
    format!("process-{process:05}.jsonl")
}

impl Log {
    /// Starts the log, and sends it all events of this program and of `mesh`, and the warnings of other crates.
    pub(super) fn start(logs: PathBuf, who: &ProcessStatus, stages: &str, warn: fn(&str)) -> Self {
        let journal = Journal::start(warn).ok().filter(|journal| {
            let journal = journal.clone();
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
                .with_writer(move || journal.clone())
                .with_filter(ours);
            tracing_subscriber::registry().with(lines).try_init().is_ok()
        });
        tracing::info!(
            version = who.version,
            job = who.job,
            run = who.run,
            process = who.process,
            processes = who.processes,
            threads = who.threads,
            host = who.host,
            pid = who.pid,
            stages,
            "process starts"
        );
        Self { logs, journal, is_open: false }
    }

    fn say_progress(status: &ProcessStatus) {
        tracing::info!(
            phase = status.now.phase,
            done = status.now.done,
            total = status.now.total,
            unit = status.now.unit,
            per_second = status.now.per_second,
            rounds = status.training.rounds,
            bytes_sent = status.bytes_sent,
            memory_bytes = status.memory_bytes,
            "phase continues"
        );
    }

    fn say_end(&self, status: &ProcessStatus) {
        let ran = status.written_unix_ms.saturating_sub(status.started_unix_ms);
        let (seconds, peak_memory_bytes) = (ran as f64 / 1000.0, status.peak_memory_bytes);
        let lines_dropped = self.journal.as_ref().map_or(0, Journal::dropped);
        match &status.exit {
            Some(ExitStatus { code, reason }) if *code != 0 => tracing::error!(
                code,
                reason,
                seconds,
                peak_memory_bytes,
                lines_dropped,
                "process ends"
            ),
            _ => {
                tracing::info!(code = 0, seconds, peak_memory_bytes, lines_dropped, "process ends")
            }
        }
    }
}

impl StatusSink for Log {
    fn every(&self) -> Duration {
        LINE_EVERY
    }

    fn take(&mut self, moment: Moment, status: &ProcessStatus) {
        match moment {
            Moment::Within => Self::say_progress(status),
            Moment::Exit => self.say_end(status),
            _ => {}
        }
        // Until this process has met the others, the output may be that of another run.
        let Some(journal) = self.journal.as_ref().filter(|_| status.has_joined) else {
            return;
        };
        if !self.is_open {
            journal.open(self.logs.join(file_name(status.process)));
            self.is_open = true;
        }
        if moment == Moment::Exit {
            journal.flush(FLUSH_LIMIT);
        }
    }
}

/// A handle to the thread that writes; lines are whole JSON objects.
#[derive(Clone, Debug)]
struct Journal {
    sender: SyncSender<Message>,
    dropped: Arc<AtomicU64>,
}

enum Message {
    Line(Vec<u8>),
    Open(PathBuf),
    /// A request to reply when everything before has been written.
    Flush(SyncSender<()>),
}

impl Journal {
    /// Starts the thread. If logging has to stop, `give_up` receives the reason.
    fn start(give_up: fn(&str)) -> io::Result<Self> {
        let (sender, receiver) = sync_channel(MOST_WAITING);
        let dropped = Arc::<AtomicU64>::default();
        let counted = Arc::clone(&dropped);
        thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || keep(&receiver, &counted, give_up))?;
        Ok(Self { sender, dropped })
    }

    /// Opens the file for appending, and writes the lines kept so far.
    fn open(&self, path: PathBuf) {
        // Fails only if the thread is stuck or gone: then there is no log.
        let _ = self.sender.try_send(Message::Open(path));
    }

    /// Waits until everything is written, but no longer than `limit`.
    fn flush(&self, limit: Duration) {
        let (done, is_done) = sync_channel(1);
        if self.sender.try_send(Message::Flush(done)).is_ok() {
            // Lines that are not written by then are lost.
            let _ = is_done.recv_timeout(limit);
        }
    }

    /// Returns the number of lines that were lost: the thread was stuck, or opened the file too late.
    fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

/// Each call is one line.
impl Write for Journal {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Err(TrySendError::Full(_)) = self.sender.try_send(Message::Line(line.to_vec())) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Where lines go.
enum LogTarget {
    Held(Vec<u8>),
    Open(PathBuf, File),
    Nowhere,
}

fn keep(receiver: &Receiver<Message>, dropped: &AtomicU64, give_up: fn(&str)) {
    let mut target = LogTarget::Held(Vec::new());
    for message in receiver {
        let done = match (message, &mut target) {
            (Message::Line(line), LogTarget::Held(held)) if held.len() < MOST_HELD => {
                held.extend(line);
                Ok(())
            }
            (Message::Line(_), LogTarget::Held(_)) => {
                dropped.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            (Message::Line(line), LogTarget::Open(path, file)) => {
                file.write_all(&line).map_err(|error| (path.clone(), error))
            }
            (Message::Open(path), LogTarget::Held(held)) => {
                let opened = open(&path).and_then(|mut file| file.write_all(held).map(|()| file));
                match opened {
                    Ok(file) => {
                        target = LogTarget::Open(path, file);
                        Ok(())
                    }
                    Err(error) => Err((path, error)),
                }
            }
            (Message::Flush(done), _) => {
                // If the caller no longer waits, nobody needs the reply.
                let _ = done.try_send(());
                Ok(())
            }
            _ => Ok(()),
        };
        if let Err((path, error)) = done {
            give_up(&format!("logging stopped: {}: {error}; the run continues", path.display()));
            target = LogTarget::Nowhere;
        }
    }
}

/// Opens a log for appending.
fn open(path: &Path) -> io::Result<File> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
    OpenOptions::new().create(true).append(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal() -> Journal {
        Journal::start(|_| {}).unwrap()
    }

    #[test]
    fn what_was_said_before_the_file_was_opened_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs/process-00000.jsonl");
        let mut log = journal();
        log.write_all(b"{\"n\":1}\n").unwrap();
        log.open(path.clone());
        log.write_all(b"{\"n\":2}\n").unwrap();
        Journal::flush(&log, Duration::from_secs(10));
        assert_eq!(fs::read_to_string(path).unwrap(), "{\"n\":1}\n{\"n\":2}\n");
        assert_eq!(log.dropped(), 0);
    }

    #[test]
    fn lines_that_cannot_be_kept_are_counted() {
        let mut log = journal();
        for _ in 0..3 {
            log.write_all(&[b' '; MOST_HELD]).unwrap();
        }
        Journal::flush(&log, Duration::from_secs(10));
        assert_eq!(log.dropped(), 2);
    }

    #[test]
    fn a_disk_that_refuses_is_told_of_once() {
        static TOLD: AtomicU64 = AtomicU64::new(0);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let mut log = Journal::start(|_| {
            TOLD.fetch_add(1, Ordering::SeqCst);
        })
        .unwrap();
        // A file cannot be a folder.
        log.open(file.join("process-00000.jsonl"));
        for _ in 0..3 {
            log.write_all(b"{}\n").unwrap();
        }
        Journal::flush(&log, Duration::from_secs(10));
        assert_eq!(TOLD.load(Ordering::SeqCst), 1);
    }
}
