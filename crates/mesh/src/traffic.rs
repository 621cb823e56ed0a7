//! Byte counts of this process's links, and the times of the last traffic.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The traffic between this process and another so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerTraffic {
    /// The number of the other process.
    pub process: usize,
    /// Bytes sent over the wire: compressed, encrypted, with frames and heartbeats.
    pub sent: u64,
    /// Bytes received over the wire.
    pub received: u64,
    /// Timely's bytes that were sent.
    pub payload_sent: u64,
}

/// The counts and times of one link.
pub(super) struct Traffic {
    process: usize,
    /// The origin of all times, which are in milliseconds.
    began: Instant,
    /// The time until which the first byte may be awaited.
    patience: u64,
    sent_at: AtomicU64,
    received_at: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
    payload_sent: AtomicU64,
}

impl Traffic {
    /// Creates the counts of a new link with a process that may wait for `patience` before its first byte.
    pub(super) fn new(process: usize, patience: Duration) -> Traffic {
        Traffic {
            process,
            began: Instant::now(),
            patience: milliseconds(patience),
            sent_at: AtomicU64::new(0),
            received_at: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            payload_sent: AtomicU64::new(0),
        }
    }

    /// Records bytes sent over the wire.
    pub(super) fn note_sent(&self, bytes: usize) {
        self.sent_at.store(self.now(), Ordering::Relaxed);
        self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Records bytes received over the wire.
    pub(super) fn note_received(&self, bytes: usize) {
        self.received_at.store(self.now(), Ordering::Relaxed);
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Records timely's bytes that were sent.
    pub(super) fn note_payload_sent(&self, bytes: usize) {
        self.payload_sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Returns the time since something was last sent.
    pub(super) fn idle(&self) -> Duration {
        self.since(&self.sent_at)
    }

    /// Returns the time since something was last received; zero as long as the first byte may be awaited.
    pub(super) fn silence(&self) -> Duration {
        let nothing_yet = self.received.load(Ordering::Relaxed) == 0;
        if nothing_yet && self.now() < self.patience {
            Duration::ZERO
        } else {
            self.since(&self.received_at)
        }
    }

    /// Returns the counts so far.
    pub(super) fn figures(&self) -> PeerTraffic {
        PeerTraffic {
            process: self.process,
            sent: self.sent.load(Ordering::Relaxed),
            received: self.received.load(Ordering::Relaxed),
            payload_sent: self.payload_sent.load(Ordering::Relaxed),
        }
    }

    fn since(&self, moment: &AtomicU64) -> Duration {
        Duration::from_millis(self.now().saturating_sub(moment.load(Ordering::Relaxed)))
    }

    fn now(&self) -> u64 {
        milliseconds(self.began.elapsed())
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_byte_may_be_waited_for() {
        let patient = Traffic::new(1, Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(patient.silence(), Duration::ZERO);
        patient.note_received(1);
        std::thread::sleep(Duration::from_millis(20));
        assert!(patient.silence() >= Duration::from_millis(19));
        let hasty = Traffic::new(1, Duration::from_millis(5));
        std::thread::sleep(Duration::from_millis(20));
        assert!(hasty.silence() >= Duration::from_millis(19));
    }

    #[test]
    fn wire_and_payload_are_counted_apart() {
        let traffic = Traffic::new(3, Duration::ZERO);
        traffic.note_sent(104);
        traffic.note_payload_sent(100);
        traffic.note_received(54);
        let figures = traffic.figures();
        assert_eq!(figures.process, 3);
        assert_eq!((figures.sent, figures.payload_sent), (104, 100));
        assert_eq!(figures.received, 54);
    }
}
