//! Sums in numbered slots, which the workers of a process share; at the end, those of a slot are added up in one
//! process.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use timely::worker::Worker;

use crate::cluster::Placement;
use crate::dataflow::outbox::Outbox;
use crate::dataflow::process::Process;

/// Integer sums that can be sent to another process and added to those that it has.
pub(super) trait Sums: Default + Send + 'static {
    /// Hands over all that was added, in pieces of some thousand words, and is empty then.
    fn take(&mut self, send: impl FnMut(&[u64]));
    /// Adds a piece of another's sums.
    fn add_piece(&mut self, piece: &[u64]);
}

/// The slots of a process.
#[derive(Debug)]
pub(super) struct Slots<S>(Arc<Vec<Mutex<S>>>);

impl<S: Sums> Slots<S> {
    /// As many slots, without sums.
    pub(super) fn new(count: usize) -> Self {
        Self(Arc::new((0..count).map(|_| Mutex::default()).collect()))
    }

    /// The sums of a slot, for this worker alone.
    pub(super) fn lock(&self, slot: usize) -> MutexGuard<'_, S> {
        lock(&self.0[slot])
    }

    /// Adds up what all processes have: the slots of [`owned`](Self::owned) then have all of it, the others nothing. Every
    /// worker must call it, and no longer add anything.
    pub(super) fn add_up(&self, worker: &mut Worker, process: &Process, name: &str) {
        let received = Arc::clone(&self.0);
        let receive = move |words: &[u64]| {
            let mut rest = words;
            while let [slot, length, others @ ..] = rest {
                let (piece, others) = others.split_at(*length as usize);
                lock(&received[*slot as usize]).add_piece(piece);
                rest = others;
            }
        };
        let mut outbox = Outbox::new(worker, name, receive);
        process.meet();
        let placement = &process.placement;
        let thread = worker.index() % placement.threads;
        for (slot, sums) in self.0.iter().enumerate() {
            let [owner, its_thread] = owner(slot, placement);
            if its_thread != thread || owner == placement.process {
                continue;
            }
            let target = owner * placement.threads + thread;
            std::mem::take(&mut *lock(sums)).take(|piece| {
                let head = [slot as u64, piece.len() as u64];
                outbox.send(target, head.into_iter().chain(piece.iter().copied()));
            });
            worker.step();
        }
        outbox.finish(worker);
    }

    /// The slots that this worker is to read, once all is added up.
    pub(super) fn owned<'p>(
        &self,
        worker: &Worker,
        placement: &'p Placement,
    ) -> impl Iterator<Item = usize> + use<'p, S> {
        let mine = [placement.process, worker.index() % placement.threads];
        (0..self.0.len()).filter(move |&slot| owner(slot, placement) == mine)
    }
}

fn lock<S>(sums: &Mutex<S>) -> MutexGuard<'_, S> {
    sums.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The process of a slot, and the thread there.
fn owner(slot: usize, placement: &Placement) -> [usize; 2] {
    let processes = placement.processes();
    [slot % processes, slot / processes % placement.threads]
}
