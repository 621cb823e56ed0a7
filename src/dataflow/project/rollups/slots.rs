//! Sums in numbered slots, which the workers of a process share; at the end, each slot is summed in one process,
//! and becomes rows on the first worker.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::dataflow::block::Block;
use crate::dataflow::merge::KINDS;
use crate::dataflow::outbox::Outbox;
use crate::dataflow::process::Once;
use crate::dataflow::project::ProjectPlan;
use crate::dataflow::project::groups::Sums;

/// The slots of a process.
pub(super) type Shared<S> = Once<Arc<[Mutex<S>]>>;

/// The slots, as a worker sees them, and the rows of all slots, on the first worker.
pub(crate) struct Slots<S, const ROW: usize> {
    shared: Arc<[Mutex<S>]>,
    /// The kinds of its blocks: sums, and rows.
    kinds: [u64; 2],
    /// The number of this process, and of this thread in it.
    mine: [usize; 2],
    size: [usize; 2],
    rows: Vec<[u64; ROW]>,
}

impl<S: Sums + Default, const ROW: usize> Slots<S, ROW> {
    /// Creates `count` slots, without sums.
    pub(super) fn new(
        shared: &Shared<S>,
        count: usize,
        kinds: [u64; 2],
        (plan, worker): (&ProjectPlan, usize),
    ) -> Self {
        let placement = &plan.process.placement;
        let slots = || (0..count).map(|_| Mutex::default()).collect();
        Self {
            shared: Arc::clone(shared.make(slots)),
            kinds,
            mine: [placement.process, worker % placement.threads],
            size: [placement.processes(), placement.threads],
            rows: Vec::new(),
        }
    }

    /// Locks the sums of a slot.
    pub(super) fn lock(&self, slot: usize) -> MutexGuard<'_, S> {
        self.shared[slot].lock()
    }

    /// Returns the process that owns a slot, and the thread in it.
    fn owner(&self, slot: usize) -> [usize; 2] {
        [slot % self.size[0], slot / self.size[0] % self.size[1]]
    }

    /// Sends sums to their owners in other processes, once all workers of this process have added theirs. Every
    /// worker sends some of them.
    pub(super) fn send(&self, outbox: &mut Outbox) {
        for (slot, sums) in self.shared.iter().enumerate() {
            let [process, thread] = self.owner(slot);
            if thread != self.mine[1] || process == self.mine[0] {
                continue;
            }
            let target = process * self.size[1] + thread;
            std::mem::take(&mut *sums.lock()).take(|piece| {
                let head = [slot as u64, piece.len() as u64];
                let message = head.into_iter().chain(piece.iter().copied());
                outbox.send(self.kinds[0], target, message);
            });
        }
    }

    /// Adds what another process has sent, or keeps rows.
    pub(crate) fn receive(&mut self, block: &Block) {
        let mut rest = block.words();
        if block.tag() % KINDS == self.kinds[1] {
            return self.rows.extend_from_slice(rest.as_chunks().0);
        }
        while let [slot, length, others @ ..] = rest {
            let (piece, others) = others.split_at(*length as usize);
            self.lock(*slot as usize).add_piece(piece);
            rest = others;
        }
    }

    /// Sends the rows of this worker's slots, which now have the sums of all processes.
    pub(super) fn send_rows(
        &self,
        outbox: &mut Outbox,
        rows: impl Fn(usize, S, &mut dyn FnMut([u64; ROW])),
    ) {
        for (slot, sums) in self.shared.iter().enumerate() {
            if self.owner(slot) == self.mine {
                let sums = std::mem::take(&mut *sums.lock());
                rows(slot, sums, &mut |row| outbox.send(self.kinds[1], 0, row));
            }
        }
    }

    /// Takes the rows that have arrived.
    pub(super) fn take_rows(&mut self) -> impl Iterator<Item = [u64; ROW]> + use<S, ROW> {
        std::mem::take(&mut self.rows).into_iter()
    }
}
