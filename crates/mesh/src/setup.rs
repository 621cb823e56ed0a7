//! The state of the set-up: which processes are connected, and what is wrong with the others.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::callers::Callers;
use super::channel::Channel;
use super::exit::UsageError;
use super::hello::Hello;
use super::names::VariableNames;
use super::secret::Secret;
use super::tls::Tls;
use super::{ClusterError, ClusterSettings, Placement};

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
    state: Mutex<State>,
    changed: Condvar,
}

/// The progress of the set-up.
struct State {
    /// The connection with each process.
    channels: Vec<Option<Channel>>,
    trouble: Vec<Trouble>,
    /// Why the set-up must end.
    failure: Option<ClusterError>,
    /// Whether the set-up is over.
    over: bool,
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
            state: Mutex::new(State {
                channels: addresses.iter().map(|_| None).collect(),
                trouble: vec![Trouble::default(); addresses.len()],
                failure: None,
                over: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// Returns whether the set-up is over.
    pub(super) fn over(&self) -> bool {
        Instant::now() >= self.ends || self.state.lock().over
    }

    /// Ends the set-up with `error`, unless it has already failed.
    pub(super) fn fail(&self, error: ClusterError) {
        self.state.lock().failure.get_or_insert(error);
        self.changed.notify_all();
    }

    /// Records the last event of a process that is not connected yet.
    pub(super) fn trouble(&self, process: usize, reason: String) {
        if let Some(trouble) = self.state.lock().trouble.get_mut(process) {
            trouble.last = reason;
        }
    }

    /// Records the probable reason why a process is not connected; only a later accusation replaces it.
    pub(super) fn accuse(&self, process: usize, reason: String) {
        if let Some(trouble) = self.state.lock().trouble.get_mut(process) {
            trouble.accusation = Some(reason);
        }
    }

    /// Handles the case that only one of the two sides has a secret: the side without it believes the
    /// other, and ends; the side with it waits for a process that can prove it.
    pub(super) fn one_sided_secret(&self, process: usize) {
        match self.secret {
            Some(_) => self.accuse(process, "was started without a secret".to_owned()),
            None => {
                let variable = VariableNames::get().secret;
                let difference =
                    format!("was started with a secret ({variable}), this one without");
                self.fail(self.mismatch(process, &difference));
            }
        }
    }

    /// Returns the error for a process that rejects our proof.
    pub(super) fn other_secret(&self, process: usize) -> ClusterError {
        ClusterError::Usage(UsageError(format!(
            "process {process} ({}) has a different secret; give all processes the same {}",
            self.addresses[process],
            VariableNames::get().secret
        )))
    }

    /// Returns the error for a process that differs from this one.
    pub(super) fn mismatch(&self, process: usize, difference: &str) -> ClusterError {
        let address = self.addresses.get(process).map(String::as_str);
        let address = address.unwrap_or("no such process in the host file");
        ClusterError::Usage(UsageError(format!(
            "process {process} ({address}) {difference}; start all processes with the same program, job and options"
        )))
    }

    /// Returns whether a process is connected and has not hung up.
    pub(super) fn has(&self, process: usize) -> bool {
        self.state.lock().has(process)
    }

    /// Keeps a connection, unless the process already has a live one.
    pub(super) fn keep(&self, process: usize, channel: Channel) {
        let mut state = self.state.lock();
        let has = state.has(process);
        // Once the set-up is over, there is no place for it.
        if let Some(place) = state.channels.get_mut(process)
            && !has
            && channel.socket.set_nonblocking(true).is_ok()
        {
            *place = Some(channel);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until all connections are established, and ends the set-up.
    pub(super) fn wait(&self, deadline: Duration) -> Result<Vec<Option<Channel>>, ClusterError> {
        let mut state = self.state.lock();
        let outcome = loop {
            if let Some(error) = state.failure.take().or_else(|| self.left(&mut state)) {
                break Err(error);
            }
            let missing = self.missing(&state);
            if missing.is_empty() {
                break Ok(std::mem::take(&mut state.channels));
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
            self.changed.wait_for(&mut state, TICK);
        };
        state.over = true;
        outcome
    }

    /// Drops connections of callers that have hung up; returns an error if a process that we called has.
    fn left(&self, state: &mut State) -> Option<ClusterError> {
        for process in 0..self.addresses.len() {
            if state.channels[process].is_none() || state.has(process) {
                continue;
            }
            if process < self.process {
                return Some(ClusterError::Unavailable(format!(
                    "process {process} ({}) left while the run was being set up; see its own messages for the cause",
                    self.addresses[process]
                )));
            }
            state.channels[process] = None;
            state.trouble[process].last = "it joined and left again".to_owned();
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
    fn missing(&self, state: &State) -> Vec<String> {
        let absent =
            |&process: &usize| process != self.process && state.channels[process].is_none();
        let describe = |process: usize| {
            let address = &self.addresses[process];
            let trouble = &state.trouble[process];
            match trouble.accusation.as_ref().unwrap_or(&trouble.last) {
                none if none.is_empty() => format!("process {process} ({address})"),
                reason => format!("process {process} ({address}: {reason})"),
            }
        };
        (0..self.addresses.len()).filter(absent).map(describe).collect()
    }
}

impl State {
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
