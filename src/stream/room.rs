//! Bounds the bytes of lines in flight.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};

/// Room for a number of bytes, or for one larger item.
#[derive(Debug)]
pub(crate) struct Room {
    limit: u64,
    taken: Mutex<u64>,
    freed: Condvar,
}

impl Room {
    /// Room for `limit` bytes.
    pub(crate) fn new(limit: u64) -> Arc<Self> {
        Arc::new(Self { limit, taken: Mutex::new(0), freed: Condvar::new() })
    }

    /// Waits until there is room for `bytes`, or nothing else is in flight, and takes it.
    pub(crate) fn take(self: &Arc<Self>, bytes: u64) -> Taken {
        let mut taken = self.taken.lock();
        while *taken > 0 && taken.saturating_add(bytes) > self.limit {
            self.freed.wait(&mut taken);
        }
        *taken = taken.saturating_add(bytes);
        Taken { room: Arc::clone(self), bytes }
    }
}

/// Room that is taken until this is dropped.
#[derive(Debug)]
pub(crate) struct Taken {
    room: Arc<Room>,
    bytes: u64,
}

impl Drop for Taken {
    fn drop(&mut self) {
        *self.room.taken.lock() -= self.bytes;
        self.room.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn what_does_not_fit_waits_and_what_never_fits_goes_alone() {
        let room = Room::new(10);
        let small = [room.take(4), room.take(6)];
        let (sender, receiver) = mpsc::channel();
        let theirs = Arc::clone(&room);
        let waiting = std::thread::spawn(move || {
            let large = theirs.take(50);
            sender.send(()).unwrap();
            drop(large);
        });
        let [first, second] = small;
        drop(first);
        assert!(receiver.try_recv().is_err());
        drop(second);
        receiver.recv().unwrap();
        waiting.join().unwrap();
        assert_eq!(*room.taken.lock(), 0);
    }
}
