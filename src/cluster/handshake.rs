//! How two processes greet each other on a fresh connection.
//!
//! The dialler sends its greeting, the listener answers with its own, and the dialler's `READY`
//! settles it. Either side finds what differs in the other's greeting, so both can say it.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use super::ClusterError;
use super::connect::Setup;
use super::hello::{HELLO_BYTES, Hello, READY, Verdict};

/// How long a caller may take for its greeting.
const GREETING_LIMIT: Duration = Duration::from_secs(2);
/// How long one attempt to reach a host may take.
const DIAL_LIMIT: Duration = Duration::from_secs(3);
/// How long a listener may take to answer our greeting.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// Longest pause between two attempts to reach a host.
const LONGEST_PAUSE: Duration = Duration::from_millis(400);

/// Listens to one caller, and keeps the connection if it is a process that belongs here.
pub(super) fn greet(setup: &Setup, mut stream: TcpStream) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(GREETING_LIMIT))?;
    let Some(hello) = read_hello(&mut stream, GREETING_LIMIT)? else {
        return Ok(());
    };
    let process = hello.process as usize;
    let difference = setup.mine.difference(&hello).or_else(|| {
        let expected = setup.process + 1..setup.addresses.len();
        let same = process == setup.process;
        (!expected.contains(&process) && !same)
            .then(|| "calls a process of higher number: the host files differ".to_owned())
    });
    if let Some(difference) = difference {
        // The caller finds the difference in our greeting.
        let answered = stream.write_all(&setup.mine.encode());
        setup.fail(setup.mismatch(process, difference));
        return answered;
    }
    if process == setup.process || setup.has(process) {
        return stream.write_all(&setup.mine.with_verdict(Verdict::Taken).encode());
    }
    stream.write_all(&setup.mine.encode())?;
    let mut ready = [0; READY.len()];
    read_within(&mut stream, &mut ready, ANSWER_LIMIT)?;
    if ready == READY {
        setup.keep(process, stream);
    }
    Ok(())
}

/// Calls the process of lower number until it answers or the set-up is over.
pub(super) fn dial(setup: &Setup, process: usize) {
    let mut pause = Duration::from_millis(25);
    while !setup.over() {
        match call(setup, process) {
            Ok(stream) => return setup.keep(process, stream),
            Err(Unanswered::Refused(error)) => return setup.fail(error),
            Err(Unanswered::Absent(reason)) => setup.trouble(process, reason),
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Why a call did not lead to a connection.
enum Unanswered {
    /// Nobody there, or not the one we look for: try again.
    Absent(String),
    /// The right one, who cannot work with us.
    Refused(ClusterError),
}

impl From<io::Error> for Unanswered {
    fn from(error: io::Error) -> Unanswered {
        Unanswered::Absent(error.to_string())
    }
}

/// One attempt to reach a process and to be accepted by it.
fn call(setup: &Setup, process: usize) -> Result<TcpStream, Unanswered> {
    let mut stream = reach(&setup.addresses[process])?;
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(ANSWER_LIMIT))?;
    stream.write_all(&setup.mine.encode())?;
    let answer = read_hello(&mut stream, ANSWER_LIMIT)?;
    let hello =
        answer.ok_or_else(|| Unanswered::Absent("another program answers there".to_owned()))?;
    let refused = |difference| Unanswered::Refused(setup.mismatch(process, difference));
    if let Some(difference) = setup.mine.difference(&hello) {
        return Err(refused(difference));
    }
    if hello.process as usize != process {
        return Err(refused(format!(
            "calls itself process {}: the host files differ",
            hello.process
        )));
    }
    if hello.verdict == Verdict::Taken {
        return Err(refused(format!(
            "has a process {} already: it was started twice",
            setup.process
        )));
    }
    stream.write_all(&READY)?;
    Ok(stream)
}

/// Opens a connection to the first address behind a name that takes one.
fn reach(address: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for target in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&target, DIAL_LIMIT) {
            Ok(stream) if talks_to_itself(&stream, target) => {
                last = io::Error::new(io::ErrorKind::ConnectionRefused, "connection refused");
            }
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// True when the system gave our end the very port that we called, which happens on a port that
/// nobody listens at.
fn talks_to_itself(stream: &TcpStream, target: SocketAddr) -> bool {
    stream.local_addr().is_ok_and(|local| local == target)
}

/// Reads a greeting: `None` when something else was said. Judges by the first bytes already.
fn read_hello(stream: &mut TcpStream, limit: Duration) -> io::Result<Option<Hello>> {
    let mut bytes = [0; HELLO_BYTES];
    read_within(stream, &mut bytes[..8], limit)?;
    if !Hello::begins(&bytes) {
        return Ok(None);
    }
    read_within(stream, &mut bytes[8..], limit)?;
    Ok(Hello::decode(&bytes))
}

/// Fills `buffer` within `limit`, however slowly the bytes drip.
fn read_within(stream: &mut TcpStream, buffer: &mut [u8], limit: Duration) -> io::Result<()> {
    let ends = Instant::now() + limit;
    let mut filled = 0;
    while filled < buffer.len() {
        let left = ends.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it says nothing"));
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer[filled..]) {
            Ok(0) => {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "it closed the connection",
                ));
            }
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The clock decides at the top of the loop.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
