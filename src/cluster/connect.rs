//! Bringing the processes of a run together over TCP.
//!
//! Every process listens at its own address and dials those of lower number, so that each pair has
//! one connection, on which they greet each other as in `handshake`. Whatever else knocks (a port
//! scan, a health check, a browser, a silent client) is dropped, each in a thread of its own, and
//! keeps nobody waiting.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::handshake::{dial, greet};
use super::hello::Hello;
use super::{ClusterError, Placement};

/// How long a port may stay taken, by a run that is just ending.
const BIND_LIMIT: Duration = Duration::from_secs(5);
/// Callers that are listened to at the same time; more are dropped.
const MOST_CALLERS: usize = 64;
/// How often the connections so far are looked at.
const TICK: Duration = Duration::from_millis(100);
/// How often new callers are looked for.
const ACCEPT_TICK: Duration = Duration::from_millis(10);

/// Connects this process with all others: one socket for each process, none for itself, blocking
/// and without time limits.
///
/// # Errors
/// The own address is taken, a process did not appear within `deadline`, left again, or differs in
/// what must be equal.
pub(super) fn connect(
    placement: &Placement,
    settings_hash: [u8; 32],
    deadline: Duration,
) -> Result<Vec<Option<TcpStream>>, ClusterError> {
    let started = Instant::now();
    let setup = Arc::new(Setup {
        mine: Hello::new(placement, settings_hash),
        process: placement.process,
        addresses: placement.addresses.clone(),
        ends: started + deadline,
        callers: AtomicUsize::new(0),
        state: Mutex::new(State {
            sockets: placement.addresses.iter().map(|_| None).collect(),
            trouble: vec![String::new(); placement.addresses.len()],
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
    let sockets = setup.wait(deadline)?;
    for socket in sockets.iter().flatten() {
        settle(socket).map_err(|error| ClusterError::Start(error.to_string()))?;
    }
    Ok(sockets)
}

/// What the threads of one set-up share.
pub(super) struct Setup {
    /// Our greeting.
    pub(super) mine: Hello,
    /// Our number.
    pub(super) process: usize,
    /// Where each process listens.
    pub(super) addresses: Vec<String>,
    ends: Instant,
    callers: AtomicUsize,
    state: Mutex<State>,
    changed: Condvar,
}

/// How far the set-up has come.
struct State {
    /// The connection with each process.
    sockets: Vec<Option<TcpStream>>,
    /// The last thing that went wrong with each process.
    trouble: Vec<String>,
    /// Why the set-up must end.
    failure: Option<ClusterError>,
    /// True when nobody waits any more.
    over: bool,
}

impl Setup {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True when nobody waits for connections any more.
    pub(super) fn over(&self) -> bool {
        Instant::now() >= self.ends || self.lock().over
    }

    /// Ends the set-up.
    pub(super) fn fail(&self, error: ClusterError) {
        self.lock().failure.get_or_insert(error);
        self.changed.notify_all();
    }

    /// Notes why a process is not connected yet.
    pub(super) fn trouble(&self, process: usize, reason: String) {
        self.lock().trouble[process] = reason;
    }

    /// The error for a process that does not fit.
    pub(super) fn mismatch(&self, process: usize, difference: String) -> ClusterError {
        let address = self.addresses.get(process);
        ClusterError::Mismatch {
            process,
            address: address
                .cloned()
                .unwrap_or_else(|| "no such process here".to_owned()),
            difference,
        }
    }

    /// True when a process is connected and has not hung up.
    pub(super) fn has(&self, process: usize) -> bool {
        self.lock().has(process)
    }

    /// Keeps a connection, unless the process has a living one.
    pub(super) fn keep(&self, process: usize, stream: TcpStream) {
        let mut state = self.lock();
        if !state.has(process) && stream.set_nonblocking(true).is_ok() {
            state.sockets[process] = Some(stream);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until all connections stand, and ends the set-up.
    fn wait(&self, deadline: Duration) -> Result<Vec<Option<TcpStream>>, ClusterError> {
        let mut state = self.lock();
        let outcome = loop {
            if let Some(error) = state.failure.take().or_else(|| self.left(&mut state)) {
                break Err(error);
            }
            let missing = self.missing(&state);
            if missing.is_empty() {
                break Ok(std::mem::take(&mut state.sockets));
            }
            if Instant::now() >= self.ends {
                break Err(ClusterError::Missing {
                    seconds: deadline.as_secs(),
                    missing,
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
            if state.sockets[process].is_none() || state.has(process) {
                continue;
            }
            if process < self.process {
                return Some(ClusterError::Left {
                    process,
                    address: self.addresses[process].clone(),
                });
            }
            state.sockets[process] = None;
            state.trouble[process] = "it was here and left".to_owned();
        }
        None
    }

    /// The processes without a connection, in words.
    fn missing(&self, state: &State) -> Vec<String> {
        let absent = |&process: &usize| process != self.process && state.sockets[process].is_none();
        let describe = |process: usize| {
            let address = &self.addresses[process];
            match state.trouble[process].as_str() {
                "" => format!("process {process} ({address})"),
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
    /// True when the connection with `process` stands and the other side has not closed it.
    fn has(&self, process: usize) -> bool {
        self.sockets[process]
            .as_ref()
            .is_some_and(|stream| match stream.peek(&mut [0]) {
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

/// Makes a socket of the set-up one for timely.
fn settle(socket: &TcpStream) -> io::Result<()> {
    socket.set_nonblocking(false)?;
    socket.set_read_timeout(None)?;
    socket.set_write_timeout(None)?;
    socket.set_nodelay(true)
}

/// Listens at the own address, or at its port everywhere when the address is another machine's
/// view of this one.
fn listen(setup: &Setup) -> Result<TcpListener, ClusterError> {
    let address = &setup.addresses[setup.process];
    let ends = setup.ends.min(Instant::now() + BIND_LIMIT);
    loop {
        let bound = match TcpListener::bind(address) {
            Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                let port = address.rsplit_once(':').map_or("", |(_, port)| port);
                TcpListener::bind(format!("0.0.0.0:{port}"))
            }
            bound => bound,
        };
        let result = bound.and_then(|listener| {
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
        if setup.callers.fetch_add(1, Ordering::SeqCst) >= MOST_CALLERS {
            setup.callers.fetch_sub(1, Ordering::SeqCst);
            continue;
        }
        let greeting = Arc::clone(setup);
        let started = start("cluster:greet", move || {
            // A caller that breaks off or talks nonsense is no concern of ours.
            let _ = greet(&greeting, stream);
            greeting.callers.fetch_sub(1, Ordering::SeqCst);
        });
        if started.is_err() {
            setup.callers.fetch_sub(1, Ordering::SeqCst);
        }
    }
}
