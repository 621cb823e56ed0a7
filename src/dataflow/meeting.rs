//! A barrier for the workers of a process. They spin briefly before they sleep, because waking many threads takes
//! longer than most waits.

use std::hint::spin_loop;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

use parking_lot::{Condvar, Mutex};

/// Spins before a worker sleeps: about 50 µs.
const SPINS: u32 = 1000;

/// A reusable barrier.
#[derive(Debug)]
pub(super) struct Meeting {
    workers: usize,
    /// 0 if this machine has more workers than cores: spinning would delay those still at work.
    spins: u32,
    arrived: AtomicUsize,
    /// How many times all have met.
    met: AtomicUsize,
    sleeping: Mutex<()>,
    wake: Condvar,
}

impl Meeting {
    /// Creates a barrier for `workers` threads in each of `processes` on this machine.
    pub(super) fn new(workers: usize, processes: usize) -> Self {
        let cores = available_parallelism().map_or(1, NonZeroUsize::get);
        Self {
            workers,
            spins: if workers * processes <= cores { SPINS } else { 0 },
            arrived: AtomicUsize::new(0),
            met: AtomicUsize::new(0),
            sleeping: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    /// Waits until all have arrived.
    pub(super) fn wait(&self) {
        let met = self.met.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.workers {
            self.arrived.store(0, Ordering::Relaxed);
            // With the lock, so that no worker falls asleep between its check and this.
            let sleeping = self.sleeping.lock();
            self.met.store(met.wrapping_add(1), Ordering::Release);
            drop(sleeping);
            self.wake.notify_all();
            return;
        }
        let has_met = || self.met.load(Ordering::Acquire) != met;
        for _ in 0..self.spins {
            if has_met() {
                return;
            }
            spin_loop();
        }
        let mut sleeping = self.sleeping.lock();
        while !has_met() {
            self.wake.wait(&mut sleeping);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts its rounds; returns whether all counts were equal at every meeting.
    fn meet_often(meeting: &Meeting, mine: usize, counts: &[AtomicUsize]) -> bool {
        let mut all_were_there = true;
        for round in 1..=2000 {
            counts[mine].store(round, Ordering::Relaxed);
            meeting.wait();
            all_were_there &= counts.iter().all(|n| n.load(Ordering::Relaxed) == round);
            meeting.wait();
        }
        all_were_there
    }

    #[test]
    fn nobody_spins_where_processes_share_too_few_cores() {
        assert_eq!(Meeting::new(1, 1).spins, SPINS);
        assert_eq!(Meeting::new(1, 1 << 20).spins, 0);
    }

    #[test]
    fn all_wait_for_all_every_time() {
        for spins in [0, SPINS] {
            let meeting = Meeting { spins, ..Meeting::new(4, 1) };
            let counts: [AtomicUsize; 4] = Default::default();
            let (meeting, counts) = (&meeting, &counts);
            std::thread::scope(|scope| {
                let meet = |mine| scope.spawn(move || meet_often(meeting, mine, counts));
                let all_were_there = [0, 1, 2, 3].map(meet).map(|thread| thread.join().unwrap());
                assert_eq!(all_were_there, [true; 4]);
            });
        }
    }
}
