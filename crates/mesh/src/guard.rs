//! A failure in any thread terminates the whole process, immediately and with an exit code.
//!
//! timely has no recovery: when one worker stops, the others wait for its messages forever. A
//! panic in any thread, an error in a worker, a stalled worker and a lost peer therefore all end
//! here: the other processes are told, so that they end in the same way (`farewell`, through a hook);
//! the first cause is reported through the hook that the program supplied; and the process exits.
//! Nothing is cleaned up: complete results are already stored under their final names, everything
//! else is temporary.

use std::panic::PanicHookInfo;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::Placement;
use super::frame::Farewell;
use crate::Exit;

/// How long the farewell may take, until the others have closed the connections too.
pub(super) const FAREWELL_LIMIT: Duration = Duration::from_millis(800);
/// The remedy for the loss of a process.
pub(super) const REMEDY: &str = "rerun the same command to resume";

/// How long the report may take before the process exits without it.
const REPORT_LIMIT: Duration = Duration::from_secs(2);

/// Why a process ends early, and how.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// How the process ends.
    pub exit: Exit,
    /// The event and its remedy, for people.
    pub message: String,
}

type Report = Box<dyn Fn(&Failure) + Send + Sync>;

/// Tells every process but one, which knows, that the run ends. Never panics, and takes no longer
/// than [`FAREWELL_LIMIT`].
type LastWords = fn(&Farewell, Option<usize>);

/// The hook that tells the other processes; set when there are any.
static LAST_WORDS: OnceLock<LastWords> = OnceLock::new();
/// The hook by which the command line reports a failure; set once.
static REPORT: OnceLock<Report> = OnceLock::new();
/// Whether the process has begun to end.
static ENDING: AtomicBool = AtomicBool::new(false);
/// The number and address of this process, for messages to the others; `None` while it is alone.
static OWN: Mutex<Option<(usize, String)>> = Mutex::new(None);
/// The processes of this run that were lost.
static LOST: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Makes a panic in any thread end this process with code 70, unless [`liveness::contained`] returns
/// it. `report` shows the failure to the user; it must not panic, and if it blocks, the process
/// exits without it after two seconds.
///
/// Call it once, before the first thread starts; further calls have no effect.
pub fn install(report: impl Fn(&Failure) + Send + Sync + 'static) {
    if REPORT.set(Box::new(report)).is_ok() {
        std::panic::set_hook(Box::new(|info| {
            if !liveness::is_contained() {
                fail(explain(info));
            }
        }));
    }
}

/// Sets the hook that tells the other processes that the run ends.
pub(super) fn set_last_words(say: LastWords) {
    // Every run of this process sets the same function.
    let _ = LAST_WORDS.set(say);
}

/// Ends the process with `failure`, after telling the other processes of the run. Only the first
/// call takes effect; further callers block until the end.
///
/// Without [`install`] the process exits just as fast, but the message is lost.
pub fn fail(failure: Failure) -> ! {
    let (process, address) = own().unwrap_or_default();
    let farewell = Farewell {
        exit: match failure.exit {
            Exit::Interrupted => Exit::Interrupted,
            _ => Exit::Unavailable,
        },
        culprit: process,
        text: format!("process {process} ({address}) ended: {}", failure.message),
    };
    end(&failure, &farewell, None)
}

/// Ends the process with `failure`, after sending the farewell to all but `teller`. Only the first
/// call takes effect.
pub(super) fn end(failure: &Failure, farewell: &Farewell, teller: Option<usize>) -> ! {
    if ENDING.swap(true, Ordering::SeqCst) {
        loop {
            std::thread::park();
        }
    }
    let code = i32::from(failure.exit as u8);
    // The report may need a lock that a stopped thread holds.
    let _ = std::thread::Builder::new().name("exit".to_owned()).spawn(move || {
        std::thread::sleep(FAREWELL_LIMIT + REPORT_LIMIT);
        std::process::exit(code);
    });
    if let Some(say) = LAST_WORDS.get() {
        say(farewell, teller);
    }
    if let Some(report) = REPORT.get() {
        report(failure);
    }
    std::process::exit(code)
}

/// Returns whether the process has begun to end.
pub(super) fn is_ending() -> bool {
    ENDING.load(Ordering::SeqCst)
}

/// Blocks the calling thread if the process is ending, so that it sends nothing after the farewell.
pub(super) fn stay_silent_when_ending() {
    while is_ending() {
        std::thread::park();
    }
}

/// Returns the number of this process in the run.
pub(super) fn own_number() -> Option<usize> {
    own().map(|(process, _)| process)
}

fn own() -> Option<(usize, String)> {
    OWN.lock().clone()
}

/// Stores this process's number and address in the run.
pub(super) fn introduce(placement: &Placement) {
    let address = placement.addresses.get(placement.process).cloned();
    let own = address.map(|address| (placement.process, address));
    *OWN.lock() = own;
}

/// Ends the process if the thread that owns this value panics, with or without the panic hook.
pub(super) struct EndOnPanic;

impl Drop for EndOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            fail(Failure { exit: Exit::Internal, message: "a worker panicked".to_owned() });
        }
    }
}

/// Returns the processes whose loss this one has noticed; the first is enough to end it.
pub fn lost_peers() -> Vec<usize> {
    let lost = LOST.try_lock();
    lost.map(|lost| lost.clone()).unwrap_or_default()
}

/// Records and logs that a process is lost.
pub(super) fn note_lost(process: usize, address: &str) {
    tracing::error!(process, address, "peer lost");
    if let Some(mut lost) = LOST.try_lock()
        && !lost.contains(&process)
    {
        lost.push(process);
    }
}

/// Turns a panic into a failure.
fn explain(info: &PanicHookInfo<'_>) -> Failure {
    let payload = info.payload();
    let message = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned());
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("unnamed").to_owned();
    let location =
        info.location().map_or(String::new(), |at| format!(" at {}:{}", at.file(), at.line()));
    let mut text = format!(
        "internal error: {message}{location} (thread {thread}); this is a bug, please report it"
    );
    let backtrace = std::backtrace::Backtrace::capture();
    if backtrace.status() == std::backtrace::BacktraceStatus::Captured {
        text = format!("{text}\n{backtrace}");
    }
    Failure { exit: Exit::Internal, message: text }
}
