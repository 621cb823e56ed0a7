//! The last message of a process: every other process learns which one failed, and ends with the
//! same message.
//!
//! The first process to notice tells all others; each of them tells all but the sender, so that the
//! message gets through even if some links are cut; no process sends a second message. This takes
//! at most a second, whatever the state of the links.

use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::frame::{Farewell, Header, Kind};
use super::guard::{self, Failure};
use super::link::Peer;
use super::traffic::links;
use crate::exit;

/// How long the last words may take, until the others have hung up as well.
pub(super) const FAREWELL_LIMIT: Duration = Duration::from_millis(800);
/// How often the others are looked at meanwhile.
const TICK: Duration = Duration::from_millis(2);

/// What to do after the loss of a process.
pub(super) const REMEDY: &str = "rerun the same command to resume";

/// True from the moment on at which the end of this process was decided.
pub(super) fn is_ending() -> bool {
    guard::is_ending()
}

/// Keeps a thread from sending anything when the last word is being said.
pub(super) fn stay_silent_when_ending() {
    while is_ending() {
        std::thread::park();
    }
}

/// Ends this process because another is lost.
pub(super) fn lost(peer: &Peer, reason: &str) -> ! {
    let farewell = Farewell {
        code: exit::UNAVAILABLE,
        culprit: peer.process,
        text: format!(
            "lost process {} ({}): {reason}; {REMEDY}",
            peer.process, peer.address
        ),
    };
    let failure = Failure {
        code: exit::UNAVAILABLE,
        message: farewell.text.clone(),
    };
    guard::note_lost(peer.process, &peer.address);
    // It may only be frozen, and should learn of it when it thaws.
    guard::end(&failure, &farewell, None)
}

/// Ends this process because another has said that the run ends.
pub(super) fn heard(peer: &Peer, mut farewell: Farewell) -> ! {
    if farewell.code != exit::INTERRUPTED {
        farewell.code = exit::UNAVAILABLE;
    }
    let failure = Failure {
        code: farewell.code,
        message: in_words(&farewell, peer, guard::own_number()),
    };
    guard::end(&failure, &farewell, Some(peer.process))
}

/// A farewell as process `own` tells it.
fn in_words(farewell: &Farewell, teller: &Peer, own: Option<usize>) -> String {
    if own == Some(farewell.culprit) {
        return format!(
            "process {} ({}) reports this process as lost: {}",
            teller.process, teller.address, farewell.text
        );
    }
    farewell.text.clone()
}

/// The message to the others when this process ends by itself.
pub(super) fn of_own_failure(failure: &Failure, process: usize, address: &str) -> Farewell {
    Farewell {
        code: match failure.code {
            exit::INTERRUPTED => exit::INTERRUPTED,
            _ => exit::UNAVAILABLE,
        },
        culprit: process,
        text: format!("process {process} ({address}) ended: {}", failure.message),
    }
}

/// Tells every process except `teller`, which knows, and waits until all have closed the connection
/// or the time is over. Never panics.
pub(super) fn say(farewell: &Farewell, teller: Option<usize>) {
    let ends = Instant::now() + FAREWELL_LIMIT;
    let bytes: Arc<[u8]> = farewell.encode().into();
    let saying = Arc::new(AtomicUsize::new(0));
    let links = links();
    for peer in &links {
        if teller == Some(peer.process) {
            // It waits for nothing else.
            let _ = peer.socket.shutdown(Shutdown::Write);
            continue;
        }
        saying.fetch_add(1, Ordering::SeqCst);
        let (peer, bytes, done) = (Arc::clone(peer), Arc::clone(&bytes), Arc::clone(&saying));
        let told = std::thread::Builder::new().spawn(move || {
            tell(&peer, &bytes);
            done.fetch_sub(1, Ordering::SeqCst);
        });
        if told.is_err() {
            saying.fetch_sub(1, Ordering::SeqCst);
        }
    }
    let have_hung_up = || links.iter().all(|p| p.is_closed.load(Ordering::SeqCst));
    while Instant::now() < ends && !(saying.load(Ordering::SeqCst) == 0 && have_hung_up()) {
        std::thread::sleep(TICK);
    }
}

/// Says the last word on one link, when what is being written there is through.
fn tell(peer: &Peer, bytes: &[u8]) {
    let mut sender = peer.lock_sender();
    if sender.is_closed() {
        return;
    }
    let header = Header {
        kind: Kind::Farewell,
        length: bytes.len(),
    };
    // A process that cannot be told sees the connection break.
    let _ = sender.control(peer, header, bytes);
    sender.close();
    let _ = peer.socket.shutdown(Shutdown::Write);
}
