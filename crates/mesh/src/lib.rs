#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! A run is P processes of T threads each; a worker is a thread. [`execute`] connects the processes
//! (`connect`, `setup`, `handshake`, `hello`), authenticates them (`proof`, [`secret`], [`tls`]), starts
//! timely on the links between them (`link`, `frame`) and waits. [`hosts`]
//! reads the host file, [`environment`] the variables of schedulers; [`spawn`] starts all processes
//! on this machine, [`launch`] on many hosts, and [`family`] watches them. [`guard`], `link`
//! and `stall` make sure that no process waits forever when something breaks, and that
//! every process knows the cause; [`interrupt`] stops at a point from which the run can resume.

mod channel;
mod connect;
pub mod environment;
pub mod family;
#[doc(hidden)]
pub mod frame;
pub mod guard;
mod handshake;
#[doc(hidden)]
pub mod hello;
pub mod hosts;
pub mod interrupt;
pub mod launch;
mod link;
pub mod names;
#[doc(hidden)]
pub mod proof;
pub mod secret;
mod setup;
pub mod spawn;
mod stall;
pub mod tls;

use std::io::ErrorKind;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use timely::WorkerConfig;
use timely::communication::allocator::zero_copy::initialize::initialize_networking_from_sockets;
use timely::communication::allocator::{AllocatorBuilder, ProcessBuilder};
use timely::communication::{Hooks, WorkerGuards};
use timely::worker::Worker;

pub use guard::Failure;
pub use link::{PeerTraffic, bytes_sent, traffic};
pub use names::Names;

use channel::Channel;
use link::{Link, Wire};
use names::SettingNames;
use secret::Secret;
use stall::Workers;
use tls::Tls;

/// The longest time that a worker without work sleeps.
const PARK: Duration = Duration::from_millis(100);

/// The workers of a run, and which of them belong to this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The worker threads of each process, at least 1.
    pub threads: usize,
    /// The number of this process, from 0.
    pub process: usize,
    /// `host:port` of each process, in order, as [`hosts`] reads and checks them; empty if this is the only process.
    pub addresses: Vec<String>,
}

impl Placement {
    /// Places `threads` workers in one process.
    pub fn single(threads: usize) -> Placement {
        Placement { threads, process: 0, addresses: Vec::new() }
    }

    /// Returns the number of processes of the run.
    pub fn processes(&self) -> usize {
        self.addresses.len().max(1)
    }

    /// Returns the number of workers of the run, over all processes.
    pub fn workers(&self) -> usize {
        self.processes() * self.threads
    }
}

/// How the processes of a run join and stay connected. For a run of one process, only the stall
/// timeout matters.
#[derive(Clone, Debug)]
pub struct ClusterSettings {
    /// Identifies the build of the program by its first 16 bytes; processes of another build are refused.
    pub build: &'static str,
    /// Identifies everything that must be equal in all processes; those with another hash are
    /// refused.
    pub hash: [u8; 32],
    /// A name that all processes of one attempt share, so that those of an earlier attempt are
    /// refused; may be empty.
    pub run: String,
    /// The time within which all processes must join.
    pub deadline: Duration,
    /// How long a process may send nothing before it counts as lost.
    pub peer_timeout: Duration,
    /// How long a worker of this process may show no sign of life before the run ends; `None` for no limit. A worker
    /// shows one when it steps timely or calls `tick` of the crate `topicmill-liveness`, as long computations should.
    pub stall_timeout: Option<Duration>,
    /// The secret by which a process proves that it may join; needed unless all addresses are loopback addresses.
    pub secret: Option<Secret>,
    /// Certificates, if connections are to be encrypted.
    pub tls: Option<Tls>,
    /// Whether to compress the traffic between processes; must be equal in all.
    pub compress: bool,
}

impl Default for ClusterSettings {
    /// No name, no secret, no encryption, no compression, and timeouts of 60 s, 30 s and 30 min.
    fn default() -> ClusterSettings {
        ClusterSettings {
            build: "",
            hash: [0; 32],
            run: String::new(),
            deadline: Duration::from_secs(60),
            peer_timeout: Duration::from_secs(30),
            // Long, because a false alarm would recur at every restart, and a hang costs this time only once.
            stall_timeout: Some(Duration::from_secs(1800)),
            secret: None,
            tls: None,
            compress: false,
        }
    }
}

/// How an unsuccessful process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The command line or the settings are wrong; nothing was done (EX_USAGE).
    Usage = 64,
    /// The input or a stored result is wrong (EX_DATAERR).
    Data = 65,
    /// Another process or host cannot be reached, or was lost; a worker stalled (EX_UNAVAILABLE).
    Unavailable = 69,
    /// A bug in the program (EX_SOFTWARE).
    Internal = 70,
    /// Reading or writing failed (EX_IOERR).
    Io = 74,
    /// A temporary failure: the same command may succeed later (EX_TEMPFAIL).
    Temporary = 75,
    /// A process was killed, by SIGKILL or any other signal except SIGTERM (128 + SIGKILL).
    Killed = 137,
    /// Stopped by SIGTERM, SIGINT or SIGHUP (128 + SIGTERM).
    Interrupted = 143,
}

impl Exit {
    /// Returns how a process with this exit code ended; `code` is not 0, and above 128 for a signal.
    pub fn of(code: u8) -> Self {
        use Exit::{Data, Internal, Interrupted, Io, Killed, Temporary, Unavailable, Usage};
        let known = [Usage, Data, Unavailable, Io, Temporary, Interrupted];
        let other = if code > 128 { Killed } else { Internal };
        known.into_iter().find(|exit| *exit as u8 == code).unwrap_or(other)
    }
}

/// Why a run cannot start as it is described by flags, files and the environment, and the remedy: [`Exit::Usage`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why the processes of a run could not start, or how one of them failed.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The run is described wrongly, or the processes do not match.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// This process cannot listen at its address.
    #[error(
        "cannot listen on {address}: {source}; {}", match source.kind() {
            ErrorKind::PermissionDenied => "choose a port above 1023",
            ErrorKind::AddrInUse => "another program uses the port: run again later, or choose another port",
            _ => "check that the host file has the right address for this process",
        }
    )]
    Listen {
        /// The address from the host file.
        address: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// Another process did not join in time, or left during the set-up.
    #[error("{0}")]
    Unavailable(String),
    /// The system refused a thread, or an option of a connection.
    #[error("cannot start the workers: {0}")]
    Start(String),
    /// A process could not be started, or the secret could not be read or made.
    #[error("cannot {action}: {source}")]
    Action {
        /// The action that failed.
        action: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// The only worker of the run failed.
    #[error(transparent)]
    Worker(#[from] Failure),
}

impl ClusterError {
    /// Turns a system error into one that names the failed action.
    pub(crate) fn failed_to(action: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let action = action.into();
        move |source| Self::Action { action, source }
    }

    /// Returns how the process ends, which tells a scheduler what to do; for a worker's failure, the worker's exit.
    pub fn exit(&self) -> Exit {
        match self {
            ClusterError::Usage(_) => Exit::Usage,
            ClusterError::Unavailable(_) => Exit::Unavailable,
            ClusterError::Start(_) => Exit::Temporary,
            ClusterError::Action { source, .. } | ClusterError::Listen { source, .. } => {
                match source.kind() {
                    ErrorKind::AddrInUse | ErrorKind::WouldBlock => Exit::Temporary,
                    ErrorKind::AddrNotAvailable | ErrorKind::InvalidInput => Exit::Usage,
                    ErrorKind::NotFound | ErrorKind::PermissionDenied => Exit::Usage,
                    _ => Exit::Io,
                }
            }
            ClusterError::Worker(failure) => failure.exit,
        }
    }
}

/// Runs `func` on every worker of `placement` that belongs to this process, together with the other
/// processes of the run, and returns the results in the order of the workers.
///
/// `settings` defines what must be equal in all processes, which processes may join, and the
/// timeouts; for a run of one process only the stall timeout matters.
///
/// A worker that returns an error or panics ends the process through [`guard::fail`], because the
/// other workers would wait for it forever; call [`guard::install`] first, or the message is lost. Only a run of a
/// single worker returns its error. The dataflows that `func` leaves behind are run to completion first.
///
/// While `func` runs, its worker also has a dataflow that shows that it is alive: to wait for others, step until a
/// probe is done; `has_dataflows()` stays true.
///
/// # Errors
/// The processes could not connect, or the single worker failed.
pub fn execute<T, E, F>(
    placement: &Placement,
    settings: &ClusterSettings,
    func: F,
) -> Result<Vec<T>, ClusterError>
where
    T: Send + 'static,
    E: Into<Failure>,
    F: Fn(&mut Worker) -> Result<T, E> + Send + Sync + 'static,
{
    if placement.threads == 0 || placement.process >= placement.processes() {
        let SettingNames { process, processes, .. } = SettingNames::get();
        return Err(ClusterError::Usage(UsageError(format!(
            "{} threads in process {} of {}: at least one thread is needed, and {process} must be from 0 to \
             {processes} minus 1",
            placement.threads,
            placement.process,
            placement.processes()
        ))));
    }
    let alone = placement.workers() == 1;
    let workers = Workers::watch(placement.process, settings.stall_timeout)
        .map_err(|error| ClusterError::Start(error.to_string()))?;
    let logic = move |worker: &mut Worker| -> Result<T, Failure> {
        let _end_on_panic = (!alone).then_some(guard::EndOnPanic);
        let pulse = workers.enter(worker);
        let result = func(worker);
        worker.drop_dataflow(pulse);
        match result {
            Ok(value) => {
                while worker.has_dataflows() {
                    worker.step_or_park(Some(PARK));
                    liveness::tick();
                }
                Ok(value)
            }
            Err(error) if alone => Err(error.into()),
            Err(error) => guard::fail(error.into()),
        }
    };
    let guards = if placement.processes() > 1 {
        start_cluster(placement, settings, logic)?
    } else {
        let config = match placement.threads {
            1 => timely::Config::thread(),
            threads => timely::Config::process(threads),
        };
        timely::execute(config, logic).map_err(ClusterError::Start)?
    };
    let mut values = Vec::with_capacity(placement.threads);
    for result in guards.join() {
        let panicked =
            |_| Failure { exit: Exit::Internal, message: "the worker panicked".to_owned() };
        values.push(result.map_err(panicked)??);
    }
    Ok(values)
}

/// Connects the processes and starts timely's workers on the connections.
fn start_cluster<T, F>(
    placement: &Placement,
    settings: &ClusterSettings,
    logic: F,
) -> Result<WorkerGuards<T>, ClusterError>
where
    T: Send + 'static,
    F: Fn(&mut Worker) -> T + Send + Sync + 'static,
{
    let begun = Instant::now();
    let channels = connect::connect(placement, settings)?;
    guard::introduce(placement);
    let (peers, seconds) = (&placement.addresses, begun.elapsed().as_secs_f64());
    tracing::info!(processes = peers.len(), ?peers, seconds, "peers connected");
    let sockets = link_all(placement, settings, channels)
        .map_err(|error| ClusterError::Start(error.to_string()))?;
    let hooks = Hooks::default();
    let inner = ProcessBuilder::new_typed_vector(placement.threads, hooks.refill.clone(), None);
    let (builders, others) = initialize_networking_from_sockets(
        inner,
        sockets,
        placement.process,
        placement.threads,
        hooks,
    )
    .map_err(|error| ClusterError::Start(error.to_string()))?;
    let builders = builders.into_iter().map(AllocatorBuilder::Tcp).collect();
    timely::execute::execute_from(builders, Box::new(others), WorkerConfig::default(), logic)
        .map_err(ClusterError::Start)
}

/// Creates links from the connections, and starts their heartbeats.
fn link_all(
    placement: &Placement,
    settings: &ClusterSettings,
    channels: Vec<Option<Channel>>,
) -> std::io::Result<Vec<Option<Wire>>> {
    let mut wires = Vec::new();
    for (process, channel) in channels.into_iter().enumerate() {
        let address = &placement.addresses[process];
        let link = channel.map(|channel| Link::new(process, address, channel, settings));
        wires.push(link.transpose()?.map(|link| Wire(Arc::new(link))));
    }
    let links: Vec<_> = wires.iter().flatten().map(|wire| Arc::clone(&wire.0)).collect();
    links.iter().try_for_each(Link::start_heartbeat)?;
    link::begin(links);
    Ok(wires)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_worker_hands_its_error_back() {
        let failure = Failure { exit: Exit::Data, message: "bad data".to_owned() };
        let expected = failure.clone();
        let error = execute(&Placement::single(1), &ClusterSettings::default(), move |_| {
            Err::<(), _>(failure.clone())
        })
        .unwrap_err();
        assert_eq!(error.exit(), Exit::Data);
        assert_eq!(error.to_string(), expected.message);
    }

    #[test]
    fn values_come_in_the_order_of_the_workers() {
        let values = execute(&Placement::single(3), &ClusterSettings::default(), |worker| {
            Ok::<_, Failure>(worker.index())
        })
        .unwrap();
        assert_eq!(values, [0, 1, 2]);
    }

    #[test]
    fn impossible_placements_are_refused() {
        let mut placement = Placement::single(0);
        for process in [0, 5] {
            placement.process = process;
            let error = execute(&placement, &ClusterSettings::default(), |_| Ok::<_, Failure>(()));
            assert_eq!(error.unwrap_err().exit(), Exit::Usage);
            placement.threads = 1;
        }
    }
}
