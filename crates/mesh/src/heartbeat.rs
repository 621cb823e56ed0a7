//! Heartbeats on otherwise silent links, from one thread per link.
//!
//! A write in progress counts as a heartbeat; a link that accepts no more data has bytes in flight.

use std::io;
use std::time::Duration;

use super::frame::Kind;
use super::guard;
use super::link::Link;

/// The number of heartbeats within the time after which a process counts as lost.
const BEATS: u32 = 6;
/// The longest time between two heartbeats.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Starts sending heartbeats on a link, until its sending half is closed.
///
/// # Errors
/// The thread cannot be started.
pub(super) fn start(link: &Link) -> io::Result<()> {
    let beating = link.clone();
    std::thread::Builder::new()
        .name(format!("cluster:beat-{}", link.peer.process))
        .spawn(move || beat(&beating))
        .map(drop)
}

fn beat(link: &Link) {
    let peer = &link.peer;
    // Limited because the other side may have a shorter timeout.
    let pause = (peer.timeout / BEATS).min(LONGEST_PAUSE);
    loop {
        guard::stay_silent_when_ending();
        let is_due = peer.traffic.idle() >= pause || peer.traffic.figures().sent == 0;
        let Some(mut sender) = link.sender.try_lock() else {
            std::thread::sleep(pause);
            continue;
        };
        if sender.is_closed {
            return;
        }
        let sent = match is_due {
            true => sender.frame(peer, Kind::Heartbeat, &[]),
            false => Ok(()),
        };
        drop(sender);
        if let Err(error) = sent {
            peer.fail_to_write(&error);
        }
        std::thread::sleep(pause);
    }
}
