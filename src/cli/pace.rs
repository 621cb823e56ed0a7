//! The pace of a phase: its progress, its rate, and the time left.

use std::time::Duration;

use super::figures;
use crate::job::ProgressSnapshot;

/// A phase: when it began, and its progress then and now.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// The latest state.
    pub(super) latest: ProgressSnapshot,
    /// When the phase was first seen, from the start of the run.
    pub(super) since: Duration,
    /// How much was done then.
    pub(super) done_then: u64,
    /// When `latest` was seen.
    pub(super) now: Duration,
}

impl Pace {
    /// Starts a phase.
    pub(super) fn new(first: ProgressSnapshot, now: Duration) -> Self {
        Self { done_then: first.done, latest: first, since: now, now }
    }

    /// Whether a later snapshot is of the same phase, and counts the same.
    pub(super) fn is_of(&self, later: &ProgressSnapshot) -> bool {
        (self.latest.phase, self.latest.unit) == (later.phase, later.unit)
    }

    /// Returns the time since the phase began.
    pub(super) fn elapsed(&self) -> Duration {
        self.now.saturating_sub(self.since)
    }

    /// Returns the units per second since the phase began; 0 in its first moment.
    pub(super) fn per_second(&self) -> f64 {
        let seconds = self.elapsed().as_secs_f64();
        let done = self.latest.done.saturating_sub(self.done_then);
        if seconds > 0.0 { done as f64 / seconds } else { 0.0 }
    }

    /// Returns the time left at this pace, if there is a total and a pace.
    pub(super) fn left(&self) -> Option<Duration> {
        let rest = self.latest.total?.saturating_sub(self.latest.done);
        Duration::try_from_secs_f64(rest as f64 / self.per_second()).ok()
    }

    /// Formats what is known about it: "3,210 documents/s, 12 s left, held-out −7.61".
    pub(super) fn remarks(&self) -> String {
        let left = self.left().map(|left| left.as_secs_f64());
        let mut parts = figures::rate_and_left(self.per_second(), self.latest.unit, left);
        if !self.latest.note.is_empty() {
            parts.push(self.latest.note.clone());
        }
        parts.join(", ")
    }

    /// Formats its end: "ingest: done in 15.6 s (3,210 documents/s)".
    pub(super) fn closing(&self) -> String {
        let time = figures::duration(self.elapsed());
        let rate = match self.per_second() {
            0.0 => String::new(),
            rate => format!(" ({} {}/s)", figures::rate(rate), self.latest.unit),
        };
        format!("{}: done in {time}{rate}", self.latest.phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resumed_phase_has_the_pace_of_what_is_new() {
        let first = ProgressSnapshot { done: 40_000, total: Some(50_000), ..Default::default() };
        let mut pace = Pace::new(first, Duration::from_secs(5));
        assert_eq!((pace.per_second(), pace.left()), (0.0, None));
        pace.latest.done = 44_000;
        pace.now = Duration::from_secs(9);
        assert_eq!(pace.per_second(), 1_000.0);
        assert_eq!(pace.left(), Some(Duration::from_secs(6)));
    }
}
