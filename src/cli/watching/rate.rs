//! The current speed of a process: the pace of its phase, and its rate over the last seconds.

use std::collections::VecDeque;
use std::time::Duration;

use crate::cli::pace::Pace;
use crate::job::ProgressSnapshot;
use crate::job::process_status::ProcessStatus;

/// The time over which the current rate is measured.
const WINDOW: Duration = Duration::from_secs(10);

/// The current phase, and its progress over the last seconds.
#[derive(Debug, Default)]
pub(super) struct Gauge {
    pace: Option<Pace>,
    seen: VecDeque<(Duration, u64)>,
}

impl Gauge {
    /// Adds a snapshot, taken at `now` since the start of the process.
    pub(super) fn see(&mut self, snapshot: ProgressSnapshot, now: Duration) {
        if snapshot.phase.is_empty() {
            return;
        }
        match &mut self.pace {
            Some(pace) if is_same(&pace.latest, &snapshot) => {
                pace.latest = snapshot;
                pace.now = now;
            }
            pace => {
                *pace = Some(Pace::new(snapshot, now));
                self.seen.clear();
            }
        }
        let done = self.pace.as_ref().map_or(0, |pace| pace.latest.done);
        self.seen.push_back((now, done));
        // One older snapshot stays, so that the window is full.
        while self.seen.get(1).is_some_and(|(then, _)| now.saturating_sub(*then) >= WINDOW) {
            self.seen.pop_front();
        }
    }

    /// Sets the phase, its progress and its rate in `status`.
    pub(super) fn describe(&self, status: &mut ProcessStatus) {
        let Some(pace) = &self.pace else {
            return;
        };
        let ProgressSnapshot { phase, done, total, unit, .. } = &pace.latest;
        status.phase = (*phase).to_owned();
        status.unit = (*unit).to_owned();
        status.done = *done;
        status.total = *total;
        status.phase_seconds = pace.elapsed().as_secs_f64();
        status.left_seconds = pace.left().map(|left| left.as_secs_f64());
        status.per_second = self.per_second();
    }

    /// Returns the units per second over the window; 0 in a phase's first moment.
    fn per_second(&self) -> f64 {
        let (Some((first, before)), Some((last, done))) = (self.seen.front(), self.seen.back())
        else {
            return 0.0;
        };
        let seconds = last.saturating_sub(*first).as_secs_f64();
        match seconds > 0.0 {
            true => done.saturating_sub(*before) as f64 / seconds,
            false => 0.0,
        }
    }
}

fn is_same(one: &ProgressSnapshot, other: &ProgressSnapshot) -> bool {
    (one.phase, one.unit) == (other.phase, other.unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(done: u64) -> ProgressSnapshot {
        ProgressSnapshot {
            phase: "train",
            unit: "rounds",
            done,
            total: Some(100),
            ..Default::default()
        }
    }

    #[test]
    fn the_rate_is_that_of_the_last_seconds() {
        let mut gauge = Gauge::default();
        let mut status = ProcessStatus::default();
        gauge.describe(&mut status);
        assert_eq!(status, ProcessStatus::default());
        // Ten per second for four seconds, then one per second.
        for second in 0..=24 {
            let done = if second < 4 { 10 * second } else { 36 + second };
            gauge.see(at(done), Duration::from_secs(100 + second));
        }
        gauge.describe(&mut status);
        assert_eq!(status.per_second, 1.0);
        assert_eq!((status.done, status.phase_seconds), (60, 24.0));
        assert_eq!(status.left_seconds, Some(16.0));
        gauge.see(ProgressSnapshot { phase: "coherence", ..at(0) }, Duration::from_secs(200));
        gauge.describe(&mut status);
        assert_eq!((status.per_second, status.left_seconds), (0.0, None));
    }
}
