//! Connecting the processes of a run over TCP.
//!
//! Every process listens on its own address and dials those with lower numbers, so that each pair
//! has one connection, on which they greet each other as in `handshake`. Any other caller (a port
//! scan, a health check, a browser, a silent client) is handled in its own thread, dropped, and
//! delays no process. Once all processes have joined, the port is closed: none can join later.

use std::io;
use std::net::{TcpListener, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::callers::Callers;
use super::channel::Channel;
use super::handshake::{dial, greet};
use super::hello::Hello;
use super::secret::Secret;
use super::tls::Tls;
use super::{ClusterError, ClusterSettings, Placement};

/// How long a port may stay taken, by a run that is just ending.
const BIND_LIMIT: Duration = Duration::from_secs(5);
/// How often the connections so far are looked at.
const TICK: Duration = Duration::from_millis(100);
/// How often new callers are looked for.
const ACCEPT_TICK: Duration = Duration::from_millis(10);

/// Connects this process with all others: one connection for each process, none for itself.
///
/// # Errors
/// There is no secret and a process is not on this machine; the own address is taken; a process
/// did not appear in time, left again, or differs in what must be equal.
pub(super) fn connect(
    placement: &Placement,
    settings: &ClusterSettings,
) -> Result<Vec<Option<Channel>>, ClusterError> {
    if settings.secret.is_none() {
        stay_on_this_machine(&placement.addresses)?;
    }
    let setup = Arc::new(Setup {
        mine: Hello::new(placement, settings),
        process: placement.process,
        addresses: placement.addresses.clone(),
        secret: settings.secret.clone(),
        tls: settings.tls.clone(),
        ends: Instant::now() + settings.deadline,
        callers: Callers::default(),
        listens_everywhere: AtomicBool::new(false),
        state: Mutex::new(State {
            channels: placement.addresses.iter().map(|_| None).collect(),
            trouble: vec![Trouble::default(); placement.addresses.len()],
            failure: None,
            over: false,
        }),
        changed: Condvar::new(),
    });
    let listener = listen(&setup)?;
    let accepting = Arc::clone(&setup);
    start("cluster:accept", move || accept(&accepting, &listener))?;
    for process in 0..placement.process {
        let dialling = Arc::clone(&setup);
        start("cluster:dial", move || dial(&dialling, process))?;
    }
    setup.wait(settings.deadline)
}

/// Refuses addresses that other machines can reach: without a secret anyone could join.
fn stay_on_this_machine(addresses: &[String]) -> Result<(), ClusterError> {
    let is_local = |address: &String| {
        let mut targets = address.to_socket_addrs().ok()?;
        Some(targets.all(|target| target.ip().is_loopback()))
    };
    let open = addresses.iter().find(|a| is_local(a) != Some(true));
    open.map_or(Ok(()), |address| {
        Err(ClusterError::NoSecret {
            address: address.clone(),
        })
    })
}

/// What the threads of one set-up share.
pub(super) struct Setup {
    /// Our greeting, except for the nonce.
    pub(super) mine: Hello,
    /// Our number.
    pub(super) process: usize,
    /// Where each process listens.
    pub(super) addresses: Vec<String>,
    /// What a process must prove.
    pub(super) secret: Option<Secret>,
    /// Our certificates.
    pub(super) tls: Option<Tls>,
    /// Callers that have not proved the secret yet.
    pub(super) callers: Callers,
    ends: Instant,
    /// True when this process's address does not belong to this machine.
    listens_everywhere: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

/// How far the set-up has come.
struct State {
    /// The connection with each process.
    channels: Vec<Option<Channel>>,
    /// What went wrong with each process.
    trouble: Vec<Trouble>,
    /// Why the set-up must end.
    failure: Option<ClusterError>,
    /// True when the set-up is over.
    over: bool,
}

/// What went wrong with a process that is not connected yet.
#[derive(Clone, Default)]
struct Trouble {
    /// What a caller in its name could not do: the likely cause.
    accusation: Option<String>,
    /// What happened last.
    last: String,
}

impl Setup {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True when the set-up is over.
    pub(super) fn over(&self) -> bool {
        Instant::now() >= self.ends || self.lock().over
    }

    /// Ends the set-up.
    pub(super) fn fail(&self, error: ClusterError) {
        self.lock().failure.get_or_insert(error);
        self.changed.notify_all();
    }

    /// Notes what happened last to a process that is not connected yet.
    pub(super) fn trouble(&self, process: usize, reason: String) {
        if let Some(trouble) = self.lock().trouble.get_mut(process) {
            trouble.last = reason;
        }
    }

    /// Notes the probable reason why a process is not connected; later events do not change it.
    pub(super) fn accuse(&self, process: usize, reason: String) {
        if let Some(trouble) = self.lock().trouble.get_mut(process) {
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
        self.lock().has(process)
    }

    /// Keeps a connection, unless the process has a living one.
    pub(super) fn keep(&self, process: usize, channel: Channel) {
        let mut state = self.lock();
        if !state.has(process) && channel.socket.set_nonblocking(true).is_ok() {
            state.channels[process] = Some(channel);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until all connections are established, and ends the set-up.
    fn wait(&self, deadline: Duration) -> Result<Vec<Option<Channel>>, ClusterError> {
        let mut state = self.lock();
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
            let waited = self.changed.wait_timeout(state, TICK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
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

    /// What a person should know of this process when others are missing.
    fn remark(&self) -> String {
        let address = &self.addresses[self.process];
        match self.listens_everywhere.load(Ordering::SeqCst) {
            true => format!(
                " (this process, {}, listens on all addresses of this machine, because {address} is not one of them; check that this is intended)",
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
    /// True when the connection with `process` is established and the other side has not closed it.
    fn has(&self, process: usize) -> bool {
        self.channels[process]
            .as_ref()
            .is_some_and(|channel| match channel.socket.peek(&mut [0]) {
                Ok(bytes) => bytes > 0,
                Err(error) => error.kind() == io::ErrorKind::WouldBlock,
            })
    }
}

/// Starts a thread of the set-up.
fn start(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), ClusterError> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(body)
        .map(drop)
        .map_err(|error| ClusterError::Start(error.to_string()))
}

/// Listens on this process's address, or on its port everywhere if the address is another machine's
/// view of this one; the latter only with a secret.
fn listen(setup: &Setup) -> Result<TcpListener, ClusterError> {
    let address = &setup.addresses[setup.process];
    let ends = setup.ends.min(Instant::now() + BIND_LIMIT);
    let bind = || match TcpListener::bind(address) {
        Err(error) if error.kind() != io::ErrorKind::AddrInUse && setup.secret.is_some() => {
            let port = address.rsplit_once(':').map_or("", |(_, port)| port);
            let everywhere = TcpListener::bind(format!("0.0.0.0:{port}"))?;
            setup.listens_everywhere.store(true, Ordering::SeqCst);
            Ok(everywhere)
        }
        bound => bound,
    };
    loop {
        let result = bind().and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        match result {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < ends => {
                std::thread::sleep(TICK);
            }
            result => {
                return result.map_err(|source| ClusterError::Listen {
                    address: address.clone(),
                    source,
                });
            }
        }
    }
}

/// Takes callers until the set-up is over.
fn accept(setup: &Arc<Setup>, listener: &TcpListener) {
    while !setup.over() {
        let Ok((stream, _)) = listener.accept() else {
            std::thread::sleep(ACCEPT_TICK);
            continue;
        };
        let Ok(place) = setup.callers.admit(&stream) else {
            continue;
        };
        let greeting = Arc::clone(setup);
        let started = start("cluster:greet", move || {
            // A caller that breaks off or sends garbage does not concern the run.
            let _ = greet(&greeting, stream, place);
            greeting.callers.leave(place);
        });
        if started.is_err() {
            setup.callers.leave(place);
        }
    }
}
