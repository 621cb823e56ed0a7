//! The state of the set-up: which processes are connected, and what is wrong with the others.

use std::collections::VecDeque;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::channel::Channel;
use super::hello::Hello;
use super::names::VariableNames;
use super::secret::Secret;
use super::tls::Tls;
use super::{ClusterError, ClusterSettings, Placement, UsageError};

/// How often the connections so far are checked.
const TICK: Duration = Duration::from_millis(100);

/// The state that the threads of one set-up share.
pub(super) struct Setup {
    /// Our greeting, except for the nonce.
    pub(super) mine: Hello,
    /// Our number.
    pub(super) process: usize,
    /// The address of each process.
    pub(super) addresses: Vec<String>,
    /// The secret that a process must prove to have.
    pub(super) secret: Option<Secret>,
    /// Our certificates.
    pub(super) tls: Option<Tls>,
    /// Callers that have not yet proved the secret.
    pub(super) callers: Callers,
    /// The deadline of the set-up.
    pub(super) ends: Instant,
    /// Whether this process listens on all addresses, because its own cannot be bound, or others cannot reach it there.
    pub(super) listens_everywhere: AtomicBool,
    progress: Mutex<SetupProgress>,
    changed: Condvar,
}

/// The progress of the set-up.
struct SetupProgress {
    /// The connection with each process.
    channels: Vec<Option<Channel>>,
    trouble: Vec<Trouble>,
    /// Why the set-up must end.
    failure: Option<ClusterError>,
    /// Whether the set-up is over.
    is_over: bool,
}

/// Why a handshake did not lead to a connection.
pub(super) enum Unmet {
    /// No process answers, or not the right one: try again.
    Absent(String),
    /// Only one of the two sides has a secret.
    OneSidedSecret,
    /// The other side has not proved our secret, or rejects our proof.
    OtherSecret,
    /// The process belongs to another attempt.
    OtherAttempt,
    /// The process has the secret, but cannot work with this one.
    Unfit(String),
}

impl From<io::Error> for Unmet {
    fn from(error: io::Error) -> Unmet {
        Unmet::Absent(error.to_string())
    }
}

/// The trouble with a process that is not connected yet.
#[derive(Clone, Default)]
struct Trouble {
    /// The latest likely cause, from a failed handshake.
    accusation: Option<String>,
    /// The latest other event.
    last: String,
}

impl Setup {
    /// Creates the state of this process of `placement`, without connections.
    pub(super) fn new(placement: &Placement, settings: &ClusterSettings) -> Setup {
        let addresses = &placement.addresses;
        Setup {
            mine: Hello::new(placement, settings),
            process: placement.process,
            addresses: addresses.clone(),
            secret: settings.secret.clone(),
            tls: settings.tls.clone(),
            callers: Callers::default(),
            ends: Instant::now() + settings.deadline,
            listens_everywhere: AtomicBool::new(false),
            progress: Mutex::new(SetupProgress {
                channels: addresses.iter().map(|_| None).collect(),
                trouble: vec![Trouble::default(); addresses.len()],
                failure: None,
                is_over: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Returns whether the set-up is over.
    pub(super) fn is_over(&self) -> bool {
        let progress = self.progress.lock();
        Instant::now() >= self.ends || progress.is_over || progress.failure.is_some()
    }

    /// Ends the set-up with `error`, unless it has already failed.
    fn fail(&self, error: ClusterError) {
        self.progress.lock().failure.get_or_insert(error);
        self.changed.notify_all();
    }

    /// Records that a handshake with a process has failed, or ends the set-up if another attempt cannot help.
    pub(super) fn note(&self, process: usize, unmet: Unmet) {
        let names = VariableNames::get();
        let accusation = match unmet {
            Unmet::Absent(reason) => {
                if let Some(trouble) = self.progress.lock().trouble.get_mut(process) {
                    trouble.last = reason;
                }
                return;
            }
            Unmet::Unfit(difference) => return self.fail(self.mismatch(process, &difference)),
            // The side without a secret believes the other; the side with it waits for a process that can prove it.
            Unmet::OneSidedSecret if self.secret.is_none() => {
                let secret = names.secret;
                let difference = format!("was started with a secret ({secret}), this one without");
                return self.fail(self.mismatch(process, &difference));
            }
            Unmet::OneSidedSecret => "was started without a secret".to_owned(),
            Unmet::OtherSecret => {
                format!("has a different secret: give all processes the same {}", names.secret)
            }
            Unmet::OtherAttempt => format!(
                "belongs to another attempt ({} differs): it may be left over from an earlier run",
                names.run
            ),
        };
        if let Some(trouble) = self.progress.lock().trouble.get_mut(process) {
            trouble.accusation = Some(accusation);
        }
    }

    /// Ends the set-up because a process rejects our proof.
    pub(super) fn refused(&self, process: usize) {
        self.fail(ClusterError::Usage(UsageError(format!(
            "process {process} ({}) has a different secret; give all processes the same {}",
            self.addresses[process],
            VariableNames::get().secret
        ))));
    }

    /// Returns the error for a process that differs from this one.
    fn mismatch(&self, process: usize, difference: &str) -> ClusterError {
        let address = self.addresses.get(process).map(String::as_str);
        let address = address.unwrap_or("no such process in the host file");
        ClusterError::Usage(UsageError(format!(
            "process {process} ({address}) {difference}; start all processes with the same program and settings"
        )))
    }

    /// Returns whether a process is connected and has not hung up.
    pub(super) fn has(&self, process: usize) -> bool {
        self.progress.lock().has(process)
    }

    /// Keeps a connection, unless the process already has a live one.
    pub(super) fn keep(&self, process: usize, channel: Channel) {
        let mut progress = self.progress.lock();
        let has = progress.has(process);
        // Once the set-up is over, there is no place for it.
        if let Some(place) = progress.channels.get_mut(process)
            && !has
            && channel.socket.set_nonblocking(true).is_ok()
        {
            *place = Some(channel);
        }
        drop(progress);
        self.changed.notify_all();
    }

    /// Waits until all connections are established, and ends the set-up.
    pub(super) fn wait(&self, deadline: Duration) -> Result<Vec<Option<Channel>>, ClusterError> {
        let mut progress = self.progress.lock();
        let outcome = loop {
            if let Some(error) = progress.failure.take().or_else(|| self.left(&mut progress)) {
                break Err(error);
            }
            let missing = self.missing(&progress);
            if missing.is_empty() {
                break Ok(std::mem::take(&mut progress.channels));
            }
            if Instant::now() >= self.ends {
                break Err(ClusterError::Unavailable(format!(
                    "not all processes joined within {} s; missing: {}; start them, or check the host file and the \
                     firewall{}",
                    deadline.as_secs(),
                    missing.join("; "),
                    self.remark()
                )));
            }
            self.changed.wait_for(&mut progress, TICK);
        };
        progress.is_over = true;
        outcome
    }

    /// Drops connections of callers that have hung up; returns an error if a process that we called has.
    fn left(&self, progress: &mut SetupProgress) -> Option<ClusterError> {
        for process in 0..self.addresses.len() {
            if progress.channels[process].is_none() || progress.has(process) {
                continue;
            }
            if process < self.process {
                return Some(ClusterError::Unavailable(format!(
                    "process {process} ({}) left while the run was being set up; see its own messages for the cause",
                    self.addresses[process]
                )));
            }
            progress.channels[process] = None;
            progress.trouble[process].last = "it joined and left again".to_owned();
        }
        None
    }

    /// Returns a possible cause in this process, for people, if others are missing.
    fn remark(&self) -> String {
        let address = &self.addresses[self.process];
        if self.listens_everywhere.load(Ordering::SeqCst) {
            format!(
                " (this process, {}, listens on all addresses of this machine, because {address} is not one that others can reach; check that this is intended)",
                self.process
            )
        } else {
            String::new()
        }
    }

    /// Describes the processes without a connection.
    fn missing(&self, progress: &SetupProgress) -> Vec<String> {
        let absent =
            |&process: &usize| process != self.process && progress.channels[process].is_none();
        let describe = |process: usize| {
            let address = &self.addresses[process];
            let trouble = &progress.trouble[process];
            match trouble.accusation.as_ref().unwrap_or(&trouble.last) {
                none if none.is_empty() => format!("process {process} ({address})"),
                reason => format!("process {process} ({address}: {reason})"),
            }
        };
        (0..self.addresses.len()).filter(absent).map(describe).collect()
    }
}

impl SetupProgress {
    /// Returns whether the connection with `process` exists and the other side has not closed it. `process` comes from
    /// the other side, so it may not exist.
    fn has(&self, process: usize) -> bool {
        let channel = self.channels.get(process).and_then(Option::as_ref);
        channel.is_some_and(|channel| match channel.socket.peek(&mut [0]) {
            Ok(bytes) => bytes > 0,
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        })
    }
}

/// Maximum number of callers at a time.
const MOST_CALLERS: usize = 64;

/// The callers that have not yet proved the secret, oldest first. If there are too many, the oldest is disconnected: a
/// crowd of silent callers can fill all places, but cannot keep out a process that completes its handshake.
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
