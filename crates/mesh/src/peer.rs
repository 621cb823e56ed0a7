//! Another process of the run, and the connection to it, which both halves of a link share.
//!
//! Any failure of it ends the run through `guard`.

use std::io;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::frame::Farewell;
use super::guard::{self, Failure, REMEDY};
use super::tls::Session;
use super::traffic::Traffic;
use crate::exit::Exit;

/// How long a writer that finds the connection broken waits for the reader to receive the reason.
const REASON_LIMIT: Duration = Duration::from_millis(500);

/// One other process of the run, and the connection to it.
pub(super) struct Peer {
    /// Its number.
    pub(super) process: usize,
    /// Its address, for messages.
    pub(super) address: String,
    /// How long it may send nothing.
    pub(super) timeout: Duration,
    /// The bytes in both directions, and the times of the last ones.
    pub(super) traffic: Traffic,
    pub(super) socket: TcpStream,
    /// The state of its encryption, if it is encrypted.
    pub(super) tls: Option<Mutex<Session>>,
    /// Whether nothing more will be received.
    pub(super) is_closed: AtomicBool,
    /// Whether the process has reported that it has done its work.
    pub(super) has_ended: AtomicBool,
}

impl Peer {
    /// Ends the run because this process is lost.
    pub(super) fn lose(&self, reason: &str) -> ! {
        self.is_closed.store(true, Ordering::SeqCst);
        let (process, address) = (self.process, &self.address);
        let farewell = Farewell {
            exit: Exit::Unavailable,
            culprit: process,
            text: format!("lost process {process} ({address}): {reason}; {REMEDY}"),
        };
        let failure = Failure { exit: Exit::Unavailable, message: farewell.text.clone() };
        guard::note_lost(process, address);
        // It may only be suspended, and should receive the farewell when it continues.
        guard::end(&failure, &farewell, None)
    }

    /// Ends the run because this process has sent a farewell.
    pub(super) fn hear(&self, mut farewell: Farewell) -> ! {
        self.is_closed.store(true, Ordering::SeqCst);
        if farewell.exit != Exit::Interrupted {
            farewell.exit = Exit::Unavailable;
        }
        let failure = Failure { exit: farewell.exit, message: self.in_words(&farewell) };
        guard::end(&failure, &farewell, Some(self.process))
    }

    /// Turns a farewell that this process has sent into our own message.
    fn in_words(&self, farewell: &Farewell) -> String {
        let (process, address, text) = (self.process, &self.address, &farewell.text);
        match guard::own_number() == Some(farewell.culprit) {
            true => format!("process {process} ({address}) reports this process as lost: {text}"),
            false => text.clone(),
        }
    }

    /// Ends the run if nothing has been received for too long.
    pub(super) fn expect_life(&self) {
        if self.traffic.silence() >= self.timeout {
            let seconds = self.timeout.as_secs_f64();
            self.lose(&format!("nothing received for {seconds} s"));
        }
    }

    /// Ends the run because writing failed; first gives the reader time to receive the reason.
    pub(super) fn fail_to_write(&self, error: &io::Error) -> ! {
        std::thread::sleep(REASON_LIMIT);
        self.lose(&format!("it accepts no more data ({error})"))
    }
}
