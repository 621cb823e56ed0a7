//! Progress display: a thread polls the progress of the job and shows it.
//!
//! On a terminal, a bar with rate and time left; elsewhere, plain lines at phase changes and every
//! few seconds; for programs, one JSON object per line. Control characters are written only to a
//! terminal.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::pace::Pace;
use super::screen::{self, Display, Screen};
use crate::job::ProgressSnapshot;

/// How often the job's progress is polled.
const POLL: Duration = Duration::from_millis(100);

/// The thread that shows progress. When this is dropped, it shows the last state, clears the bar and ends.
#[derive(Debug)]
pub(crate) struct Renderer(Option<(Sender<()>, JoinHandle<()>)>);

impl Renderer {
    /// Starts to show what `poll` returns, ten times a second.
    pub(crate) fn start(
        display: Display,
        poll: impl Fn() -> ProgressSnapshot + Send + 'static,
    ) -> Self {
        Self(screen::of(display).map(|screen| {
            let (stop, stopped) = channel();
            (stop, thread::spawn(move || watch(&stopped, screen, poll)))
        }))
    }
}

impl Drop for Renderer {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            drop(stop);
            // A display that panicked has already reported it; the job's result does not depend on it.
            let _ = thread.join();
        }
    }
}

/// Shows what `poll` returns until the sender of `stopped` is dropped.
fn watch(
    stopped: &Receiver<()>,
    mut screen: Box<dyn Screen + Send>,
    poll: impl Fn() -> ProgressSnapshot,
) {
    let start = Instant::now();
    let mut pace: Option<Pace> = None;
    loop {
        let is_over = stopped.recv_timeout(POLL) != Err(RecvTimeoutError::Timeout);
        step(&mut *screen, &mut pace, poll(), start.elapsed());
        if is_over {
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
        Some(current) if current.is_of(&snapshot) => {
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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn the_thread_ends_when_told() {
        let polled = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&polled);
        let (stop, stopped) = channel();
        let poll = move || {
            count.fetch_add(1, Ordering::Relaxed);
            ProgressSnapshot { phase: "ingest", done: 1, ..Default::default() }
        };
        let thread = thread::spawn(move || watch(&stopped, Box::new(Silent), poll));
        drop(Renderer(Some((stop, thread))));
        assert!(polled.load(Ordering::Relaxed) >= 1);
    }

    /// A screen that shows nothing.
    struct Silent;

    impl Screen for Silent {
        fn open(&mut self, _: &Pace) {}
        fn show(&mut self, _: &Pace) {}
        fn close(&mut self, _: &Pace) {}
    }
}
