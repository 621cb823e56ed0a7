//! SIGTERM, SIGINT and SIGHUP: stop, but not in the middle of work that can be saved.
//!
//! The first signal is a request: while a [`Deferral`] exists, its owner stops at the next point
//! from which the run can resume; otherwise the process ends immediately. A second signal ends it
//! anywhere. The exit code is [`Exit::Interrupted`] for all of them. A process that waits for
//! others forwards signals instead ([`Interrupts`]).

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::guard::{self, Failure};
use crate::Exit;

/// How long processes that were told to stop may take, by default.
pub const DEFAULT_STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// How often deferred signals are checked.
const TICK: Duration = Duration::from_millis(20);

/// The number of signals received.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// The number of active deferrals.
static DEFERRED: AtomicUsize = AtomicUsize::new(0);
/// Whether signals are forwarded to other processes, and do not affect this one.
static PASSED_ON: AtomicBool = AtomicBool::new(false);

/// The messages about a signal.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// Reported if the process continues for a while before it ends.
    pub deferred: &'static str,
    /// The remedy after the process has ended.
    pub ended: &'static str,
}

/// The messages of a process that can be run again.
const RERUN: Words = Words { deferred: "stopping soon", ended: "rerun the same command" };

/// The messages of this process; [`RERUN`] if none were set.
static WORDS: OnceLock<Words> = OnceLock::new();

/// Sets the messages of this process. The first call wins.
pub fn set_words(words: Words) {
    let _ = WORDS.set(words);
}

/// Handles the signals from now on, except SIGHUP if this process ignores it, as under `nohup`. Calls `notice` once
/// for a signal that is deferred.
///
/// # Errors
/// The system refuses the handler or the thread.
pub fn install(notice: impl Fn(&str) + Send + 'static) -> std::io::Result<()> {
    let signals = Signals::new([SIGTERM, SIGINT])?;
    if !ignores_hang_up() {
        signals.add_signal(SIGHUP)?;
    }
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || watch(signals, &notice))
        .map(drop)
}

/// Counts signals, and ends the process unless its owner does so.
fn watch(mut signals: Signals, notice: &dyn Fn(&str)) {
    let mut first = None;
    loop {
        let arrived: Vec<i32> = match first {
            None => signals.wait().collect(),
            Some(_) => signals.pending().collect(),
        };
        for signal in arrived {
            let before = COUNT.fetch_add(1, Ordering::SeqCst);
            let is_ours = !PASSED_ON.load(Ordering::SeqCst);
            if is_ours && before > 0 {
                std::process::exit(Exit::Interrupted as i32);
            }
            if is_ours && DEFERRED.load(Ordering::SeqCst) > 0 {
                let name = name(signal);
                let deferred = WORDS.get().unwrap_or(&RERUN).deferred;
                notice(&format!("{name}: {deferred}; a second signal stops at once"));
            }
            first.get_or_insert(signal);
        }
        let is_free = DEFERRED.load(Ordering::SeqCst) == 0 && !PASSED_ON.load(Ordering::SeqCst);
        match first {
            Some(signal) if is_free => guard::fail(Failure {
                exit: Exit::Interrupted,
                message: format!(
                    "interrupted by {}; {}",
                    name(signal),
                    WORDS.get().unwrap_or(&RERUN).ended
                ),
            }),
            Some(_) => std::thread::sleep(TICK),
            None => {}
        }
    }
}

/// Returns whether a signal has requested this process to stop.
pub fn is_wanted() -> bool {
    COUNT.load(Ordering::SeqCst) > 0
}

/// While this value exists, its owner checks [`is_wanted`] and ends the run itself.
#[derive(Debug)]
pub struct Deferral(());

impl Deferral {
    /// Makes the caller responsible for ending the run.
    pub fn begin() -> Self {
        DEFERRED.fetch_add(1, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Deferral {
    fn drop(&mut self) {
        DEFERRED.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Returns whether this process was started to ignore SIGHUP; true if the system does not say.
fn ignores_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_none_or(|mask| mask & 1 != 0)
}

fn name(signal: i32) -> &'static str {
    match signal {
        SIGINT => "SIGINT",
        SIGHUP => "SIGHUP",
        _ => "SIGTERM",
    }
}

/// The signals of a process that waits for others and forwards them.
#[derive(Debug, Default)]
pub struct Interrupts {
    seen: usize,
    is_listening: bool,
    /// How long the processes may take to stop.
    pub(super) patience: Duration,
}

impl Interrupts {
    /// From now on, signals are only counted here; the processes that this one waits for have `patience` to stop. This
    /// cannot be undone, so it is only for a process that only waits; [`install`] must have been called.
    pub fn take_over(patience: Duration) -> Interrupts {
        PASSED_ON.store(true, Ordering::SeqCst);
        Interrupts { seen: 0, is_listening: true, patience }
    }

    /// For tests: behaves as if `count` signals had come.
    #[cfg(test)]
    pub(super) fn of(count: usize) -> Self {
        Self {
            seen: COUNT.load(Ordering::SeqCst).wrapping_sub(count),
            is_listening: true,
            patience: Duration::from_secs(5),
        }
    }

    /// Returns how many signals came since the last call.
    pub(super) fn count(&mut self) -> usize {
        if !self.is_listening {
            return 0;
        }
        let count = COUNT.load(Ordering::SeqCst);
        count.wrapping_sub(std::mem::replace(&mut self.seen, count))
    }
}
