//! Connecting the processes of a run over TCP.
//!
//! Every process listens on its own address and dials those with lower numbers, so that each pair
//! has one connection, on which they perform the `handshake`. Any other caller (a port scan, a health
//! check, a browser, a silent client) is handled in its own thread and dropped, and delays no
//! process. Once all processes have joined, the port is closed: none can join later.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use super::channel::Channel;
use super::handshake::{answer, dial};
use super::names::VariableNames;
use super::setup::Setup;
use super::{ClusterError, ClusterSettings, Placement, UsageError};

/// How long a port may stay taken, by a run that is ending.
const BIND_LIMIT: Duration = Duration::from_secs(5);
/// The pause before a taken port is tried again.
const TICK: Duration = Duration::from_millis(100);
/// The pause between checks for new callers.
const ACCEPT_TICK: Duration = Duration::from_millis(10);
/// Maximum number of callers that wait to be accepted.
const BACKLOG: i32 = 128;

/// Connects this process with all others; returns a connection for each process, none for itself.
///
/// # Errors
/// There is no secret and a process is not on this machine; this process's address is taken; a
/// process does not join in time, leaves again, or differs in what must be equal.
pub(super) fn connect(
    placement: &Placement,
    settings: &ClusterSettings,
) -> Result<Vec<Option<Channel>>, ClusterError> {
    if settings.secret.is_none() {
        stay_on_this_machine(&placement.addresses)?;
    }
    let setup = Arc::new(Setup::new(placement, settings));
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
    let Some(address) = addresses.iter().find(|address| !is_loopback(address)) else {
        return Ok(());
    };
    let VariableNames { secret, secret_file, .. } = VariableNames::get();
    Err(ClusterError::Usage(UsageError(format!(
        "{address} is not a loopback address, so the processes need a secret: give all of them the same {secret} or \
         {secret_file}; `openssl rand -hex 32` makes a secret"
    ))))
}

/// Returns whether only this machine can reach an address.
fn is_loopback(address: &String) -> bool {
    let targets = address.to_socket_addrs();
    targets.is_ok_and(|mut targets| targets.all(|target| target.ip().is_loopback()))
}

fn start(name: &str, body: impl FnOnce() + Send + 'static) -> Result<(), ClusterError> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(body)
        .map(drop)
        .map_err(|error| ClusterError::Start(error.to_string()))
}

/// Listens on this process's address. With a secret, listens on its port of all addresses if the address cannot be
/// bound, as behind NAT, or if it means loopback on this machine while other processes are elsewhere.
fn listen(setup: &Setup) -> Result<TcpListener, ClusterError> {
    let address = &setup.addresses[setup.process];
    let ends = setup.ends.min(Instant::now() + BIND_LIMIT);
    let is_unreachable = is_loopback(address) && !setup.addresses.iter().all(is_loopback);
    let bind = || match TcpListener::bind(address) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(error),
        bound if setup.secret.is_none() || bound.is_ok() && !is_unreachable => bound,
        bound => {
            drop(bound);
            let port = address.rsplit_once(':').map(|(_, port)| port.parse());
            let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
            let everywhere = listen_everywhere(port.and_then(Result::ok).ok_or_else(invalid)?)?;
            setup.listens_everywhere.store(true, Ordering::SeqCst);
            Ok(everywhere)
        }
    };
    loop {
        match bind().and_then(|listener| listener.set_nonblocking(true).map(|()| listener)) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < ends => {
                std::thread::sleep(TICK);
            }
            Err(source) => return Err(ClusterError::Listen { address: address.clone(), source }),
            Ok(listener) => return Ok(listener),
        }
    }
}

/// Listens on a port of all addresses of this machine: IPv6 and IPv4, or only IPv4 if the machine has no IPv6.
fn listen_everywhere(port: u16) -> io::Result<TcpListener> {
    let on_both = || -> io::Result<TcpListener> {
        let socket = Socket::new(Domain::IPV6, Type::STREAM, None)?;
        socket.set_only_v6(false)?;
        socket.set_reuse_address(true)?;
        socket.bind(&SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)).into())?;
        socket.listen(BACKLOG)?;
        Ok(socket.into())
    };
    match on_both() {
        Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))
        }
        bound => bound,
    }
}

/// Accepts callers until the set-up is over.
fn accept(setup: &Arc<Setup>, listener: &TcpListener) {
    while !setup.is_over() {
        let Ok((stream, _)) = listener.accept() else {
            std::thread::sleep(ACCEPT_TICK);
            continue;
        };
        let Ok(place) = setup.callers.admit(&stream) else {
            continue;
        };
        let greeting = Arc::clone(setup);
        let started = start("cluster:greet", move || {
            answer(&greeting, stream, place);
            greeting.callers.leave(place);
        });
        if started.is_err() {
            setup.callers.leave(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Exit;
    use crate::secret::Secret;
    use std::net::TcpStream;

    #[test]
    fn a_name_that_means_loopback_is_listened_to_everywhere_if_others_are_elsewhere() {
        let secret = Secret::new(b"the secret of this test", "test").ok();
        let listens = |other: &str, secret: &Option<Secret>| {
            let placement = Placement {
                threads: 1,
                process: 0,
                addresses: vec!["127.0.0.1:0".to_owned(), other.to_owned()],
            };
            let settings = ClusterSettings { secret: secret.clone(), ..ClusterSettings::default() };
            listen(&Setup::new(&placement, &settings)).unwrap()
        };
        let is_everywhere = |listener: &TcpListener| {
            let port = listener.local_addr().unwrap().port();
            let has_ipv6 = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
            assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok());
            TcpStream::connect((Ipv6Addr::LOCALHOST, port)).is_ok() == has_ipv6
                && listener.local_addr().unwrap().ip().is_unspecified()
        };
        // A documentation address (RFC 5737).
        assert!(is_everywhere(&listens("192.0.2.1:7101", &secret)));
        assert!(!is_everywhere(&listens("127.0.0.2:7101", &secret)));
        assert!(!is_everywhere(&listens("192.0.2.1:7101", &None)));
    }

    #[test]
    fn a_taken_port_and_a_refused_thread_are_worth_another_try() {
        let refused = |kind: io::ErrorKind| {
            let error = ClusterError::Listen { address: "host:80".to_owned(), source: kind.into() };
            (error.exit(), error.to_string())
        };
        assert_eq!(refused(io::ErrorKind::AddrInUse).0, Exit::Temporary);
        assert_eq!(refused(io::ErrorKind::AddrNotAvailable).0, Exit::Usage);
        let (exit, text) = refused(io::ErrorKind::PermissionDenied);
        assert_eq!(exit, Exit::Usage);
        assert!(text.ends_with("choose a port above 1023"), "{text}");
        let no_thread = ClusterError::Start("no thread".to_owned());
        assert_eq!(no_thread.exit(), Exit::Temporary);
    }
}
