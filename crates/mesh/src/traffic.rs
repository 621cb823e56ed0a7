//! Byte counts of the links of this process, and the time of the last traffic.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Bytes that this process has sent to others.
static SENT: AtomicU64 = AtomicU64::new(0);

/// Bytes that this process has sent to other processes so far, over all runs and links, as they
/// went over the wire. Workers of one process share memory.
pub fn bytes_sent() -> u64 {
    SENT.load(Ordering::Relaxed)
}

/// The traffic between this process and another so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerTraffic {
    /// Number of the other process.
    pub process: usize,
    /// Bytes sent, as they went over the wire: compressed, encrypted, with frames and heartbeats.
    pub sent: u64,
    /// Bytes received, in the same form.
    pub received: u64,
    /// Bytes of timely's that were sent.
    pub payload_sent: u64,
    /// Bytes of timely's that were received.
    pub payload_received: u64,
    /// Time since something last came from it.
    pub silence: Duration,
}

/// Counts and clocks of one link.
pub(super) struct Traffic {
    process: usize,
    /// Times are in milliseconds since then.
    began: Instant,
    /// Until when nothing need come at first.
    patience: u64,
    sent_at: AtomicU64,
    received_at: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
    payload_sent: AtomicU64,
    payload_received: AtomicU64,
}

impl Traffic {
    /// Of a new link with a process that may wait so long before its first byte.
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
            payload_received: AtomicU64::new(0),
        }
    }

    /// Notes bytes that the wire took.
    pub(super) fn note_sent(&self, bytes: usize) {
        self.sent_at.store(self.now(), Ordering::Relaxed);
        self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
        SENT.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Notes bytes that the wire brought.
    pub(super) fn note_received(&self, bytes: usize) {
        self.received_at.store(self.now(), Ordering::Relaxed);
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Notes timely's bytes, sent.
    pub(super) fn note_payload_sent(&self, bytes: usize) {
        self.payload_sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Notes timely's bytes, received.
    pub(super) fn note_payload_received(&self, bytes: usize) {
        self.payload_received
            .fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Time since the wire last took something.
    pub(super) fn idle(&self) -> Duration {
        self.since(&self.sent_at)
    }

    /// Time since something last came; zero as long as the first byte may be waited for.
    pub(super) fn silence(&self) -> Duration {
        let nothing_yet = self.received.load(Ordering::Relaxed) == 0;
        match nothing_yet && self.now() < self.patience {
            true => Duration::ZERO,
            false => self.since(&self.received_at),
        }
    }

    /// The counts so far.
    pub(super) fn figures(&self) -> PeerTraffic {
        PeerTraffic {
            process: self.process,
            sent: self.sent.load(Ordering::Relaxed),
            received: self.received.load(Ordering::Relaxed),
            payload_sent: self.payload_sent.load(Ordering::Relaxed),
            payload_received: self.payload_received.load(Ordering::Relaxed),
            silence: self.since(&self.received_at),
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
        traffic.note_payload_received(50);
        let figures = traffic.figures();
        assert_eq!(figures.process, 3);
        assert_eq!((figures.sent, figures.payload_sent), (104, 100));
        assert_eq!((figures.received, figures.payload_received), (54, 50));
    }
}
