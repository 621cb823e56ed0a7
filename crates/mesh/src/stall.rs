//! Ends a run when one of its workers hangs while the process lives.
//!
//! Heartbeats come from separate threads and continue if a worker is stuck in a loop, a deadlock
//! or a read that never returns; the other workers would wait for it forever. Each process
//! therefore watches the signs of life of its own workers (`liveness`) and ends the run (`guard`)
//! when a worker shows none for too long. A worker that steps timely ticks through an operator; a
//! worker that waits for others never counts as stalled. Workers that all wait for each other are
//! not detected.
//!
//! Time is counted in checks, so the time during which the whole process is stopped does not count.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use timely::dataflow::operators::generic::builder_raw::OperatorBuilder;
use timely::worker::Worker;

use super::guard::{self, Failure, REMEDY};
use super::names::SettingNames;
use crate::Exit;
use liveness::Liveness;

/// The number of checks within the time after which a worker counts as stalled.
const LOOKS: u32 = 20;
/// The longest time between two ticks of a worker that steps timely.
const LONGEST_PULSE: Duration = Duration::from_secs(1);

/// The workers of this process, watched as long as the value lives.
pub(super) struct Workers {
    process: usize,
    timeout: Option<Duration>,
    watched: Mutex<Vec<WatchedWorker>>,
}

/// A worker, and what was seen of it.
struct WatchedWorker {
    worker: usize,
    liveness: Weak<Liveness>,
    ticks: u64,
    silent_looks: u32,
}

impl Workers {
    /// Starts watching the workers that will [`enter`](Self::enter), unless `timeout` is `None`.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(super) fn watch(process: usize, timeout: Option<Duration>) -> std::io::Result<Arc<Self>> {
        let workers = Arc::new(Self { process, timeout, watched: Mutex::default() });
        if let Some(timeout) = timeout {
            let watched = Arc::downgrade(&workers);
            std::thread::Builder::new()
                .name("cluster:stall".to_owned())
                .spawn(move || watch(&watched, timeout))?;
        }
        Ok(workers)
    }

    /// Enters the calling thread's worker. Returns the index of the dataflow that ticks while the worker
    /// steps; the worker must drop it at its end.
    pub(super) fn enter(&self, worker: &mut Worker) -> usize {
        let watched = WatchedWorker {
            worker: worker.index(),
            liveness: Liveness::enroll(),
            ticks: 0,
            silent_looks: 0,
        };
        self.watched.lock().push(watched);
        let of_timeout = self.timeout.map(|timeout| timeout / (LOOKS / 2));
        let pause = of_timeout.map_or(LONGEST_PULSE, |pause| pause.min(LONGEST_PULSE));
        let dataflow = worker.next_dataflow_index();
        worker.dataflow_named::<u64, _, _>("pulse", |scope| {
            let builder = OperatorBuilder::new("pulse".to_owned(), scope);
            let activator = scope.activator_for(builder.operator_info().address);
            builder.build(move |_| {
                liveness::tick();
                activator.activate_after(pause);
                true
            });
        });
        dataflow
    }

    /// Checks every worker once; describes those that have stalled, and in which stage.
    fn look(&self) -> Vec<String> {
        let mut stalled = Vec::new();
        for worker in self.watched.lock().iter_mut() {
            if let Some(stage) = worker.look() {
                let (worker, process) = (worker.worker, self.process);
                stalled.push(format!("worker {worker} of process {process} stalled {stage}"));
            }
        }
        stalled
    }
}

impl WatchedWorker {
    /// Checks the worker; returns its stage if it has been silent for too long and has not ended.
    fn look(&mut self) -> Option<String> {
        let liveness = self.liveness.upgrade()?;
        let ticks = liveness.ticks();
        if liveness.is_waiting() || ticks != self.ticks {
            self.ticks = ticks;
            self.silent_looks = 0;
            return None;
        }
        self.silent_looks += 1;
        (self.silent_looks >= LOOKS).then(|| match liveness.stage() {
            "" => "before its first stage".to_owned(),
            stage => format!("in {stage}"),
        })
    }
}

/// Checks the workers until they are dropped or one has stalled, which ends the process.
fn watch(workers: &Weak<Workers>, timeout: Duration) {
    loop {
        std::thread::sleep(timeout / LOOKS);
        let Some(workers) = workers.upgrade() else {
            return;
        };
        let stalled = workers.look();
        if !stalled.is_empty() {
            guard::fail(Failure {
                exit: Exit::Unavailable,
                message: format!(
                    "{}: no progress for {} s; {REMEDY}; if it stalls there again, report it or \
                     raise {}",
                    stalled.join(", "),
                    timeout.as_secs(),
                    SettingNames::get().stall_timeout
                ),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched() -> (WatchedWorker, Arc<Liveness>) {
        let liveness = Liveness::enroll();
        let own = liveness.upgrade().unwrap();
        let watched = WatchedWorker { worker: 3, liveness, ticks: 0, silent_looks: 0 };
        (watched, own)
    }

    #[test]
    fn a_worker_has_stalled_after_so_many_silent_looks() {
        let (mut watched, _own) = watched();
        liveness::stage("train");
        let mut looks = 0;
        let stage = loop {
            looks += 1;
            if let Some(stage) = watched.look() {
                break stage;
            }
        };
        // The first check sees the tick of the stage.
        assert_eq!((looks, stage.as_str()), (LOOKS + 1, "in train"));
    }

    #[test]
    fn who_ticks_or_waits_or_has_ended_has_not_stalled() {
        let (mut watched, own) = watched();
        for _ in 0..3 * LOOKS {
            liveness::tick();
            assert_eq!(watched.look(), None);
        }
        liveness::waiting(|| {
            for _ in 0..3 * LOOKS {
                assert_eq!(watched.look(), None);
            }
        });
        for _ in 0..LOOKS {
            assert_eq!(watched.look(), None);
        }
        drop(own);
        watched.liveness = std::thread::spawn(Liveness::enroll).join().unwrap();
        for _ in 0..3 * LOOKS {
            assert_eq!(watched.look(), None);
        }
    }
}
