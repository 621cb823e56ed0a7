//! SIGTERM and SIGINT: leave, but not in the middle of something that can be kept.
//!
//! The first signal is a wish: while a [`Deferral`] lives its owner grants it, at the next place
//! from which the run can go on; otherwise the process ends at once. A second signal ends it
//! wherever it is. The exit code is [`EXIT_SIGNALLED`] for both signals.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::guard::{self, Failure};

/// Exit code of a process that a signal has asked to leave: 128 + 15, as a shell has it for SIGTERM.
pub const EXIT_SIGNALLED: u8 = 143;

/// How often it is looked whether a wish is still deferred.
const TICK: Duration = Duration::from_millis(20);

/// True once a signal has come.
static WANTED: AtomicBool = AtomicBool::new(false);
/// Deferrals that live.
static DEFERRED: AtomicUsize = AtomicUsize::new(0);

/// Handles both signals from now on. `notice` is told, once, of a signal that has to wait.
///
/// # Errors
/// The system refuses the handler or the thread.
pub fn install(notice: impl Fn(&str) + Send + 'static) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    let watch = move || {
        let Some(first) = signals.forever().next() else {
            return;
        };
        let name = name(first);
        WANTED.store(true, Ordering::SeqCst);
        if DEFERRED.load(Ordering::SeqCst) > 0 {
            notice(&format!(
                "{name}: ending at the next place to go on from; once more to end at once"
            ));
        }
        while DEFERRED.load(Ordering::SeqCst) > 0 {
            if signals.pending().next().is_some() {
                std::process::exit(EXIT_SIGNALLED.into());
            }
            std::thread::sleep(TICK);
        }
        guard::fail(Failure {
            code: EXIT_SIGNALLED,
            message: format!("ended by {name}; the same command goes on from what is complete"),
        })
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(watch)
        .map(drop)
}

/// True once a signal has asked this process to leave.
pub fn is_wanted() -> bool {
    WANTED.load(Ordering::SeqCst)
}

/// While it lives, its owner looks at [`is_wanted`] and ends the run itself.
#[derive(Debug)]
pub struct Deferral(());

impl Deferral {
    /// Takes over the duty to end.
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

fn name(signal: i32) -> &'static str {
    match signal {
        SIGINT => "SIGINT",
        _ => "SIGTERM",
    }
}
