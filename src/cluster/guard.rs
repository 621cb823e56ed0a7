//! One thread's misfortune ends the whole process, at once and with a code.
//!
//! timely has no recovery: when one worker stops, the others wait for its messages for ever. So a
//! panic in any thread, an error in a worker and a lost peer all end here: the first is reported
//! through the hook that the command line supplied, and the process exits. Peers see the closed
//! connection and end in the same way. Nothing is cleaned up: what was complete stands under its
//! final name already, the rest is temporary.

use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Exit code when another process of the run is not there or was lost (EX_UNAVAILABLE).
pub const EXIT_UNAVAILABLE: u8 = 69;
/// Exit code of a bug in this program: a panic (EX_SOFTWARE).
pub const EXIT_INTERNAL: u8 = 70;

/// How long the report may take before the process exits without it.
const REPORT_LIMIT: Duration = Duration::from_secs(2);

/// Why a process ends before its time, and with which exit code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The exit code of the process.
    pub code: u8,
    /// What happened and what to do, for a person.
    pub message: String,
}

type Report = Box<dyn Fn(&Failure) + Send + Sync>;

/// How the command line wants to be told; set once.
static REPORT: OnceLock<Report> = OnceLock::new();
/// True from the moment on at which the end was decided.
static ENDING: AtomicBool = AtomicBool::new(false);
/// Addresses of the processes of this run, to name a lost one.
static PEERS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Makes every panic of this process, in whatever thread, end it: with code 69 when the connection
/// to a peer was lost, else with code 70. `report` shows the failure to the user; it must not
/// panic, and when it blocks the process exits without it after two seconds.
///
/// Call it once, before the first thread; further calls change nothing.
pub fn install(report: impl Fn(&Failure) + Send + Sync + 'static) {
    if REPORT.set(Box::new(report)).is_ok() {
        std::panic::set_hook(Box::new(|info| fail(explain(info))));
    }
}

/// Ends the process with `failure`. Only the first caller is heard, the others wait for the end.
///
/// Without [`install`] the process exits just as fast, but the message is lost.
pub fn fail(failure: Failure) -> ! {
    if ENDING.swap(true, Ordering::SeqCst) {
        loop {
            std::thread::park();
        }
    }
    let code = i32::from(failure.code);
    // The report may need a lock that a stopped thread holds.
    let _ = std::thread::Builder::new()
        .name("exit".to_owned())
        .spawn(move || {
            std::thread::sleep(REPORT_LIMIT);
            std::process::exit(code);
        });
    if let Some(report) = REPORT.get() {
        report(&failure);
    }
    std::process::exit(code)
}

/// Ends the process when the thread that owns this value panics, hook or no hook.
pub(super) struct EndOnPanic;

impl EndOnPanic {
    /// A guard, except for a worker that nobody waits for.
    pub(super) fn unless(alone: bool) -> Option<EndOnPanic> {
        (!alone).then_some(EndOnPanic)
    }
}

impl Drop for EndOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            fail(Failure {
                code: EXIT_INTERNAL,
                message: "a worker panicked".to_owned(),
            });
        }
    }
}

/// Remembers where the processes of this run are.
pub(super) fn remember_peers(addresses: &[String]) {
    *PEERS.lock().unwrap_or_else(PoisonError::into_inner) = addresses.to_vec();
}

/// Turns a panic into words and a code.
fn explain(info: &PanicHookInfo<'_>) -> Failure {
    let payload = info.payload();
    let message = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned());
    let thread = std::thread::current();
    let thread = thread.name().unwrap_or("unnamed").to_owned();
    // Whoever asks for the address must not wait for a thread that died with the lock.
    let peers = PEERS
        .try_lock()
        .map(|peers| peers.clone())
        .unwrap_or_default();
    if let Some(failure) = lost_peer(&message, &thread, &peers) {
        return failure;
    }
    let location = info.location().map_or(String::new(), |at| {
        format!(" at {}:{}", at.file(), at.line())
    });
    let mut text = format!(
        "internal error: {message}{location} (thread {thread}, topicmill {}); this is a bug, please report it",
        env!("CARGO_PKG_VERSION")
    );
    let backtrace = std::backtrace::Backtrace::capture();
    if backtrace.status() == std::backtrace::BacktraceStatus::Captured {
        text = format!("{text}\n{backtrace}");
    }
    Failure {
        code: EXIT_INTERNAL,
        message: text,
    }
}

/// Recognises what timely's network threads, named `timely:recv-I` and `timely:send-I` for the
/// remote process I, say when the other side is gone, and what workers say that notice it first.
fn lost_peer(message: &str, thread: &str, peers: &[String]) -> Option<Failure> {
    let cause = if let Some(cause) = message.strip_prefix("timely communication error: ") {
        cause
    } else if message.starts_with("MergeQueue poisoned") {
        "its connection broke down"
    } else {
        return None;
    };
    let process: Option<usize> = thread
        .rsplit_once('-')
        .filter(|(name, _)| *name == "timely:recv" || *name == "timely:send")
        .and_then(|(_, number)| number.parse().ok());
    let who = match process.map(|process| (process, peers.get(process))) {
        Some((process, Some(address))) => format!("process {process} ({address})"),
        Some((process, None)) => format!("process {process}"),
        None => "a process of this run".to_owned(),
    };
    Some(Failure {
        code: EXIT_UNAVAILABLE,
        message: format!(
            "lost {who}: {cause}; its own messages say why, and the run can be started again"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_peer_is_told_from_a_bug() {
        let peers = ["here:1".to_owned(), "there:1".to_owned()];
        let message = "timely communication error: reading data: socket closed";
        let failure = lost_peer(message, "timely:recv-1", &peers).unwrap();
        assert_eq!(failure.code, EXIT_UNAVAILABLE);
        assert!(
            failure
                .message
                .starts_with("lost process 1 (there:1): reading data")
        );
        let failure = lost_peer(message, "timely:send-7", &peers).unwrap();
        assert!(failure.message.starts_with("lost process 7: "));
        let failure = lost_peer("MergeQueue poisoned.", "timely:work-0", &peers).unwrap();
        assert!(failure.message.starts_with("lost a process of this run"));
        assert_eq!(
            lost_peer("index out of bounds", "timely:recv-1", &peers),
            None
        );
    }
}
