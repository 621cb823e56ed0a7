//! The state of connecting the processes of a run: which are there, and what is wrong with the others.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::callers::Callers;
use super::channel::Channel;
use super::hello::Hello;
use super::secret::Secret;
use super::tls::Tls;
use super::{ClusterError, ClusterSettings, Placement};

/// How often the connections so far are looked at.
const TICK: Duration = Duration::from_millis(100);

/// The state that the threads of one set-up share.
pub(super) struct Setup {
    /// Our greeting, except for the nonce.
    pub(super) mine: Hello,
    /// Our number.
    pub(super) process: usize,
    /// Where each process listens.
    pub(super) addresses: Vec<String>,
    /// The secret that a process must prove to have.
    pub(super) secret: Option<Secret>,
    /// Our certificates.
    pub(super) tls: Option<Tls>,
    /// Callers that have not proved the secret yet.
    pub(super) callers: Callers,
    /// When it must be over.
    pub(super) ends: Instant,
    /// True when this process's address does not belong to this machine, or not where others can reach it.
    pub(super) listens_everywhere: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

/// How far the set-up has come.
struct State {
    /// The connection with each process.
    channels: Vec<Option<Channel>>,
    /// The trouble with each process.
    trouble: Vec<Trouble>,
    /// Why the set-up must end.
    failure: Option<ClusterError>,
    /// True when the set-up is over.
    over: bool,
}

/// The trouble with a process that is not connected yet.
#[derive(Clone, Default)]
struct Trouble {
    /// The failure of a caller in its name: the likely cause.
    accusation: Option<String>,
    /// The latest event.
    last: String,
}

impl Setup {
    /// Of the process of `placement` that is here; nothing is connected.
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

    /// True when the set-up is over.
    pub(super) fn over(&self) -> bool {
        Instant::now() >= self.ends || self.state.lock().over
    }

    /// Ends the set-up.
    pub(super) fn fail(&self, error: ClusterError) {
        self.state.lock().failure.get_or_insert(error);
        self.changed.notify_all();
    }

    /// Notes what happened last to a process that is not connected yet.
    pub(super) fn trouble(&self, process: usize, reason: String) {
        if let Some(trouble) = self.state.lock().trouble.get_mut(process) {
            trouble.last = reason;
        }
    }

    /// Notes the probable reason why a process is not connected; later events do not change it.
    pub(super) fn accuse(&self, process: usize, reason: String) {
        if let Some(trouble) = self.state.lock().trouble.get_mut(process) {
            trouble.accusation = Some(reason);
        }
    }

    /// Handles the case that only one of two sides has a secret: the one without it believes the
    /// other, and ends; the one with it waits for a process that can prove it.
    pub(super) fn one_sided_secret(&self, process: usize) {
        match self.secret {
            Some(_) => self.accuse(process, "was started without a secret".to_owned()),
            None => {
                let difference =
                    "was started with a secret (TOPICMILL_SECRET), this one without".to_owned();
                self.fail(self.mismatch(process, difference));
            }
        }
    }

    /// The error for a process that does not take our proof.
    pub(super) fn other_secret(&self, process: usize) -> ClusterError {
        ClusterError::OtherSecret {
            process,
            address: self.addresses[process].clone(),
        }
    }

    /// The error for a process that does not fit.
    pub(super) fn mismatch(&self, process: usize, difference: String) -> ClusterError {
        let address = self.addresses.get(process);
        ClusterError::Mismatch {
            process,
            address: address
                .cloned()
                .unwrap_or_else(|| "no such process in the host file".to_owned()),
            difference,
        }
    }

    /// True when a process is connected and has not hung up.
    pub(super) fn has(&self, process: usize) -> bool {
        self.state.lock().has(process)
    }

    /// Keeps a connection, unless the process has a living one.
    pub(super) fn keep(&self, process: usize, channel: Channel) {
        let mut state = self.state.lock();
        let has = state.has(process);
        // There is no place for it once the set-up is over.
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
                break Err(ClusterError::Missing {
                    seconds: deadline.as_secs(),
                    missing,
                    remark: self.remark(),
                });
            }
            self.changed.wait_for(&mut state, TICK);
        };
        state.over = true;
        outcome
    }

    /// Forgets the callers that hung up, and reports a host that did.
    fn left(&self, state: &mut State) -> Option<ClusterError> {
        for process in 0..self.addresses.len() {
            if state.channels[process].is_none() || state.has(process) {
                continue;
            }
            if process < self.process {
                return Some(ClusterError::Left {
                    process,
                    address: self.addresses[process].clone(),
                });
            }
            state.channels[process] = None;
            state.trouble[process].last = "it joined and left again".to_owned();
        }
        None
    }

    /// A possible fault of this process, for people, when others are missing.
    fn remark(&self) -> String {
        let address = &self.addresses[self.process];
        match self.listens_everywhere.load(Ordering::SeqCst) {
            true => format!(
                " (this process, {}, listens on all addresses of this machine, because {address} is not one that others can reach; check that this is intended)",
                self.process
            ),
            false => String::new(),
        }
    }

    /// The processes without a connection, as text.
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
        (0..self.addresses.len())
            .filter(absent)
            .map(describe)
            .collect()
    }
}

impl State {
    /// True when the connection with `process` is established and the other side has not closed it. A caller may
    /// give a number that no process has.
    fn has(&self, process: usize) -> bool {
        let channel = self.channels.get(process).and_then(Option::as_ref);
        channel.is_some_and(|channel| match channel.socket.peek(&mut [0]) {
            Ok(bytes) => bytes > 0,
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        })
    }
}
