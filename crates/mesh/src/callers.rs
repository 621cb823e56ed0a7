//! Callers that have not yet proved the secret: a bounded number at a time.
//!
//! If there are too many, the oldest is disconnected. A crowd of silent callers can therefore fill
//! all places, but cannot keep out a process that completes its handshake.

use std::collections::VecDeque;
use std::io;
use std::net::{Shutdown, TcpStream};

use parking_lot::Mutex;

/// Maximum number of callers at a time.
const MOST_CALLERS: usize = 64;

/// The callers, oldest first.
#[derive(Default)]
pub(super) struct Callers(Mutex<Places>);

#[derive(Default)]
struct Places {
    next: u64,
    taken: VecDeque<(u64, TcpStream)>,
}

impl Callers {
    /// Assigns a caller a place; returns its number.
    ///
    /// # Errors
    /// The system has no more file handles.
    pub(super) fn admit(&self, caller: &TcpStream) -> io::Result<u64> {
        let caller = caller.try_clone()?;
        let mut places = self.0.lock();
        if places.taken.len() >= MOST_CALLERS
            && let Some((_, oldest)) = places.taken.pop_front()
        {
            // The thread that serves it sees the connection end.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        let number = places.next;
        places.next += 1;
        places.taken.push_back((number, caller));
        Ok(number)
    }

    /// Frees a place. Returns false if its caller has been cut off.
    pub(super) fn leave(&self, number: u64) -> bool {
        let mut places = self.0.lock();
        let at = places.taken.iter().position(|(other, _)| *other == number);
        at.and_then(|at| places.taken.remove(at)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_longest_here_makes_room_for_the_newest() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let callers = Callers::default();
        let mut ends: Vec<(TcpStream, u64)> = Vec::new();
        for _ in 0..=MOST_CALLERS {
            let far = TcpStream::connect(address).unwrap();
            let (near, _) = listener.accept().unwrap();
            ends.push((far, callers.admit(&near).unwrap()));
        }
        assert_eq!(ends[0].0.read(&mut [0]).unwrap(), 0, "it was cut off");
        assert!(!callers.leave(ends[0].1));
        assert!(callers.leave(ends[1].1));
        assert!(!callers.leave(ends[1].1));
        assert!(callers.leave(ends[MOST_CALLERS].1));
    }
}
