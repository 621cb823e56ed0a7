//! The links of a run: their traffic, and the last message of a process, from which every other process learns which
//! one failed, to end with the same message.
//!
//! The first process to notice tells all others; each of them tells all but the sender, so that the
//! message gets through even if some links are cut. No process sends a second message. This takes at
//! most a second, whatever the state of the links.

use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::frame::{Farewell, Kind};
use super::guard::{self, FAREWELL_LIMIT};
use super::link::Link;
use super::traffic::PeerTraffic;

/// How often the links are checked meanwhile.
const TICK: Duration = Duration::from_millis(2);

/// The links of the current run, or of the last one.
static LINKS: Mutex<Vec<Arc<Link>>> = Mutex::new(Vec::new());

/// Begins a run on these links: from now on, a failure is reported on them.
pub(super) fn begin(links: Vec<Arc<Link>>) {
    *LINKS.lock() = links;
    guard::set_last_words(say);
}

/// Returns the traffic with every other process of the run, in order; empty for a run of one process.
pub fn traffic() -> Vec<PeerTraffic> {
    let links = LINKS.lock();
    let figures = links.iter().map(|link| link.traffic.figures());
    figures.collect()
}

/// Tells every process except `teller`, which knows, and waits until all have closed the connection
/// or the time is up. Never panics.
fn say(farewell: &Farewell, teller: Option<usize>) {
    let ends = Instant::now() + FAREWELL_LIMIT;
    let bytes: Arc<[u8]> = farewell.encode().into();
    let saying = Arc::new(AtomicUsize::new(0));
    let links = LINKS.lock().clone();
    for link in &links {
        if teller == Some(link.process) {
            // The teller waits only for this.
            let _ = link.socket.shutdown(Shutdown::Write);
            continue;
        }
        saying.fetch_add(1, Ordering::SeqCst);
        let (link, bytes, done) = (Arc::clone(link), Arc::clone(&bytes), Arc::clone(&saying));
        let told = std::thread::Builder::new().spawn(move || {
            tell(&link, &bytes);
            done.fetch_sub(1, Ordering::SeqCst);
        });
        if told.is_err() {
            saying.fetch_sub(1, Ordering::SeqCst);
        }
    }
    let have_hung_up = || links.iter().all(|link| link.is_closed.load(Ordering::SeqCst));
    while Instant::now() < ends && !(saying.load(Ordering::SeqCst) == 0 && have_hung_up()) {
        std::thread::sleep(TICK);
    }
}

/// Sends the farewell on one link, after any write in progress.
fn tell(link: &Link, bytes: &[u8]) {
    let mut sender = link.sender.lock();
    if sender.is_closed {
        return;
    }
    // A process that cannot be told will see the connection break.
    let _ = sender.frame(link, Kind::Farewell, bytes);
    sender.is_closed = true;
    let _ = link.socket.shutdown(Shutdown::Write);
}
