//! Progress display: a thread polls the progress of the job and shows it.
//!
//! On a terminal, a bar with rate and time left; elsewhere, plain lines at phase changes and every
//! few seconds; for programs, one JSON object per line. Control characters are written only to a
//! terminal.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::pace::Pace;
use super::screen::{self, Display, Screen};
use crate::job::ProgressSnapshot;

/// How often the job's progress is polled.
const POLL: Duration = Duration::from_millis(100);

/// The thread that shows progress, from [`start`](Self::start) to [`finish`](Self::finish).
#[derive(Debug)]
pub(crate) struct Renderer {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Renderer {
    /// Starts to show what `poll` returns, ten times a second.
    pub(crate) fn start(
        display: Display,
        poll: impl Fn() -> ProgressSnapshot + Send + 'static,
    ) -> Self {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let Some(screen) = screen::of(display) else {
            return Self { stop, thread: None };
        };
        let seen = Arc::clone(&stop);
        let thread = thread::spawn(move || watch(&seen, screen, poll));
        Self {
            stop,
            thread: Some(thread),
        }
    }

    /// Shows the last state and clears the bar.
    pub(crate) fn finish(self) {
        drop(self);
    }
}

impl Drop for Renderer {
    fn drop(&mut self) {
        let (stopped, woken) = &*self.stop;
        *stopped.lock() = true;
        woken.notify_all();
        if let Some(thread) = self.thread.take() {
            // A display that panicked has said so already; the job's result is not its affair.
            let _ = thread.join();
        }
    }
}

fn watch(
    stop: &(Mutex<bool>, Condvar),
    mut screen: Box<dyn Screen + Send>,
    poll: impl Fn() -> ProgressSnapshot,
) {
    let start = Instant::now();
    let mut pace: Option<Pace> = None;
    loop {
        let stopped = {
            let mut stopped = stop.0.lock();
            stop.1
                .wait_while_for(&mut stopped, |stopped| !*stopped, POLL);
            *stopped
        };
        step(&mut *screen, &mut pace, poll(), start.elapsed());
        if stopped {
            break;
        }
    }
    if let Some(pace) = &pace {
        screen.close(pace);
    }
    screen.end();
}

/// Shows one more snapshot; closes the previous phase if the snapshot belongs to another.
pub(super) fn step(
    screen: &mut dyn Screen,
    pace: &mut Option<Pace>,
    snapshot: ProgressSnapshot,
    now: Duration,
) {
    if snapshot.phase.is_empty() {
        return;
    }
    match pace {
        Some(current) if current.latest.phase == snapshot.phase => {
            current.latest = snapshot;
            current.now = now;
            screen.show(current);
        }
        _ => {
            if let Some(mut old) = pace.take() {
                old.now = now;
                screen.close(&old);
            }
            screen.open(pace.insert(Pace::new(snapshot, now)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_ends_when_told() {
        let polled = Arc::new(Mutex::new(0));
        let count = Arc::clone(&polled);
        let screen = Box::new(Silent);
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let seen = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            watch(&seen, screen, move || {
                *count.lock() += 1;
                ProgressSnapshot {
                    phase: "ingest",
                    done: 1,
                    ..Default::default()
                }
            });
        });
        Renderer {
            stop,
            thread: Some(thread),
        }
        .finish();
        assert!(*polled.lock() >= 1);
    }

    /// A screen without a viewer.
    struct Silent;

    impl Screen for Silent {
        fn open(&mut self, _: &Pace) {}
        fn show(&mut self, _: &Pace) {}
        fn close(&mut self, _: &Pace) {}
    }
}
