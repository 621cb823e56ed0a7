//! Observing a run: what a process is doing, and everything that shows it.
//!
//! Computation only increments the counters of [`Progress`]. A thread looks at them ten times a second and passes a
//! [`ProcessStatus`] to its sinks: the screen ([`screen`]), or the files of the process ([`log`], [`metrics`], and the
//! status itself). A new screen or file is one [`StatusSink`], and one entry of the list that a [`Watch`] starts with. If
//! something cannot be written, the run continues.

pub(crate) mod figures;
mod log;
pub(crate) mod machine;
mod metrics;
pub(crate) mod progress;
pub(crate) mod screen;
pub mod status;
pub(crate) mod summary;
pub(crate) mod whole;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

pub(crate) use self::progress::Progress;
pub(crate) use self::status::{ExitStatus, ProcessStatus, WorkStage};

use self::log::Log;
use self::status::{SHARE_EVERY, STATUS_EVERY};
use self::whole::Others;

/// How often the process is looked at.
const POLL: Duration = Duration::from_millis(100);
/// The time over which the current rate is measured.
const WINDOW: Duration = Duration::from_secs(10);

/// The watched process, so that any thread can report its end.
static CURRENT: OnceLock<Arc<WatchedProcess>> = OnceLock::new();

/// Something that shows or records what a process is doing.
pub(crate) trait StatusSink: Send {
    /// The time between two statuses within a phase.
    fn every(&self) -> Duration;

    /// Takes the status at a moment.
    fn take(&mut self, moment: Moment, status: &ProcessStatus);
}

/// A moment at which sinks are given a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// No phase has begun.
    Before,
    /// A phase begins.
    Begin,
    /// A phase continues.
    Within,
    /// A phase has ended.
    End,
    /// Nothing more will come.
    Exit,
}

/// A thread that watches a process, until this is ended or dropped.
pub(crate) struct Watch {
    watched: Arc<WatchedProcess>,
    thread: Option<JoinHandle<()>>,
}

struct WatchedProcess {
    poller: Mutex<Poller>,
    ending: Condvar,
}

impl Watch {
    /// Passes what `look` returns to `sinks`; with `others`, as the progress of the whole run.
    pub(crate) fn start(
        look: impl Fn() -> ProcessStatus + Send + 'static,
        others: Option<Others>,
        sinks: Vec<Box<dyn StatusSink>>,
    ) -> Self {
        let watched = Arc::new(WatchedProcess {
            poller: Mutex::new(Poller::new(Box::new(look), others, sinks)),
            ending: Condvar::new(),
        });
        let polled = Arc::clone(&watched);
        let thread = thread::Builder::new().name("watch".to_owned()).spawn(move || polled.poll());
        Self { watched, thread: thread.ok() }
    }

    /// Writes the log, the status and the metrics of a process, whose log begins with its `stages`.
    pub(crate) fn of_process(process: Observed, stages: &str) -> Self {
        let Observed { logs, share, warn, look } = process;
        let files: Vec<Box<dyn StatusSink>> = vec![
            Box::new(Log::start(logs.clone(), &look(), stages, warn)),
            Box::new(StatusFile(logs.clone())),
            Box::new(metrics::MetricsFile(logs)),
            Box::new(SharedCopies(share)),
        ];
        let watch = Self::start(look, None, files);
        let _ = CURRENT.set(Arc::clone(&watch.watched));
        watch
    }

    /// Ends the watch of a process that ends like this.
    pub(crate) fn end(self, exit: ExitStatus) {
        self.watched.end(Some(exit));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.watched.end(None);
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has ended the process already.
            let _ = thread.join();
        }
    }
}

/// Reports the end of the watched process, if there is one, for exits that do not return to the caller.
pub(crate) fn end_current(exit: ExitStatus) {
    if let Some(watched) = CURRENT.get() {
        watched.end(Some(exit));
    }
}

/// A process whose files are written.
pub(crate) struct Observed {
    /// The folder of its log, its status and its metrics.
    pub(crate) logs: PathBuf,
    /// Copies a file of `logs` to where hosts that do not see this disk can read it.
    pub(crate) share: Box<dyn Fn(&str) + Send>,
    /// Prints a warning.
    pub(crate) warn: fn(&str),
    /// Returns its status.
    pub(crate) look: Box<dyn Fn() -> ProcessStatus + Send>,
}

/// The file that `topicmill status` reads.
struct StatusFile(PathBuf);

impl StatusSink for StatusFile {
    fn every(&self) -> Duration {
        STATUS_EVERY
    }

    fn take(&mut self, moment: Moment, status: &ProcessStatus) {
        if moment != Moment::End && status.has_joined {
            // If this fails, readers see the age of the previous file, and the next write may succeed.
            let _ = status.write(&self.0);
        }
    }
}

/// Copies of the status and, at the end, of the log.
struct SharedCopies(Box<dyn Fn(&str) + Send>);

impl StatusSink for SharedCopies {
    fn every(&self) -> Duration {
        SHARE_EVERY
    }

    fn take(&mut self, moment: Moment, status: &ProcessStatus) {
        if moment != Moment::End && status.has_joined {
            (self.0)(&ProcessStatus::file_name(status.process));
            if moment == Moment::Exit {
                (self.0)(&log::file_name(status.process));
            }
        }
    }
}

impl WatchedProcess {
    fn poll(&self) {
        let begun = Instant::now();
        let mut poller = self.poller.lock();
        while !poller.sinks.is_empty() {
            let status = (poller.look)();
            poller.step(status, begun.elapsed());
            self.ending.wait_for(&mut poller, POLL);
        }
    }

    /// Shows the last status; only the first call does.
    fn end(&self, exit: Option<ExitStatus>) {
        self.poller.lock().end(exit);
        self.ending.notify_all();
    }
}

/// What the thread remembers.
struct Poller {
    look: Box<dyn Fn() -> ProcessStatus + Send>,
    others: Option<Others>,
    /// The sinks, and when each was last given a status; none after the end.
    sinks: Vec<(Box<dyn StatusSink>, Duration)>,
    /// The latest status, and when it was seen.
    latest: Option<(ProcessStatus, Duration)>,
    /// What was done in the phase, over the last seconds.
    recent: VecDeque<(Duration, u64)>,
}

impl Poller {
    fn new(
        look: Box<dyn Fn() -> ProcessStatus + Send>,
        others: Option<Others>,
        sinks: Vec<Box<dyn StatusSink>>,
    ) -> Self {
        let sinks = sinks.into_iter().map(|sink| (sink, Duration::ZERO)).collect();
        Self { look, others, sinks, latest: None, recent: VecDeque::new() }
    }

    /// Passes a status, seen at `now` since the start, to the sinks for which it is time.
    fn step(&mut self, mut status: ProcessStatus, now: Duration) {
        let is_same = |(latest, _): &(ProcessStatus, Duration)| latest.now.is_of(&status.now);
        let continues = self.latest.as_ref().is_some_and(is_same);
        if !continues {
            self.close(now);
        }
        status.now.per_second = self.rate(status.now.done, now);
        if let Some(others) = &mut self.others {
            status.now = others.whole(status.now);
        }
        let moment = match continues {
            _ if status.now.phase.is_empty() => Moment::Before,
            true => Moment::Within,
            false => Moment::Begin,
        };
        for (sink, last) in &mut self.sinks {
            if !continues || now - *last >= sink.every() {
                sink.take(moment, &status);
                *last = now;
            }
        }
        self.latest = Some((status, now));
    }

    /// Returns the units per second over the window; 0 in a phase's first moment.
    fn rate(&mut self, done: u64, now: Duration) -> f64 {
        self.recent.push_back((now, done));
        // One older figure stays, so that the window is full.
        while self.recent.get(1).is_some_and(|(then, _)| now - *then >= WINDOW) {
            self.recent.pop_front();
        }
        let (first, before) = self.recent[0];
        let seconds = (now - first).as_secs_f64();
        if seconds > 0.0 { done.saturating_sub(before) as f64 / seconds } else { 0.0 }
    }

    /// Ends the latest phase.
    fn close(&mut self, now: Duration) {
        self.recent.clear();
        let Some((mut last, seen)) = self.latest.take() else {
            return;
        };
        last.now.phase_seconds += (now - seen).as_secs_f64();
        if !last.now.phase.is_empty() {
            self.sinks.iter_mut().for_each(|(sink, _)| sink.take(Moment::End, &last));
        }
    }

    /// Passes on the last status.
    fn end(&mut self, exit: Option<ExitStatus>) {
        if self.sinks.is_empty() {
            return;
        }
        let status = (self.look)();
        let now = self.latest.as_ref().map_or(Duration::ZERO, |(_, seen)| *seen);
        self.step(status, now);
        let mut last = self.latest.clone().map(|(status, _)| status).unwrap_or_default();
        self.close(now);
        last.exit = exit;
        for (mut sink, _) in self.sinks.drain(..) {
            sink.take(Moment::Exit, &last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use status::PhaseProgress;

    #[test]
    fn the_rate_is_that_of_the_last_seconds() {
        let mut poller = Poller::new(Box::new(ProcessStatus::default), None, Vec::new());
        let mut rate = |phase: &str, done, second| {
            let now = PhaseProgress { phase: phase.to_owned(), done, ..Default::default() };
            let status = ProcessStatus { now, ..Default::default() };
            poller.step(status, Duration::from_secs(second));
            poller.latest.as_ref().map(|(status, _)| status.now.per_second)
        };
        assert_eq!(rate("train", 0, 100), Some(0.0), "in its first moment");
        // Ten per second for four seconds, then one per second.
        for second in 1..24 {
            rate("train", if second < 4 { 10 * second } else { 36 + second }, 100 + second);
        }
        assert_eq!(rate("train", 60, 124), Some(1.0));
        assert_eq!(rate("coherence", 0, 200), Some(0.0));
    }
}
