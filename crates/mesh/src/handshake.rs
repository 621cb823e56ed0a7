//! The handshake of two processes on a new connection: they exchange greetings and authenticate.
//!
//! ```text
//! dialler                         listener
//! greeting               ──▶
//!                        ◀──      greeting
//! (TLS, if both have certificates)
//! proof of the secret    ──▶
//!                        ◀──      verdict, proof of the secret
//! READY                  ──▶
//! ```
//!
//! A caller receives only a greeting before its proof. With a secret, no greeting is trusted until
//! it is proved; then both sides compare settings, so that both can report a difference. A caller
//! with a wrong proof is refused and dropped, and the reason is kept for the message at the deadline.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use super::channel::Channel;
use super::hello::{FRAME_BYTES, Hello};
use super::hosts::host_of;
use super::names::VariableNames;
use super::proof::{
    ANSWER_BYTES, PROOF_BYTES, READY, Role, Transcript, Verdict, decode_answer, encode_answer,
};
use super::setup::Setup;

/// Returns the message about a process of another attempt.
fn other_attempt() -> String {
    let variable = VariableNames::get().run;
    format!(
        "belongs to another attempt ({variable} differs): it may be left over from an earlier run"
    )
}

/// The time limit for a caller's greeting.
const GREETING_LIMIT: Duration = Duration::from_secs(2);
/// The time limit for one attempt to reach a host.
const DIAL_LIMIT: Duration = Duration::from_secs(3);
/// The time limit for each later message of the other side.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);
/// The longest pause between two attempts to reach a host.
const LONGEST_PAUSE: Duration = Duration::from_millis(400);
/// How long a listener must refuse our proof before we believe it: a refusal proves nothing, and a
/// stranger that has taken a port for a moment must not end a run.
const REFUSED_LIMIT: Duration = Duration::from_secs(3);

/// Returns the message about a process with a different secret.
fn other_secret() -> String {
    format!("has a different secret: give all processes the same {}", VariableNames::get().secret)
}

/// Handles the caller at `place` among the callers, and keeps the connection if it belongs to the
/// run.
pub(super) fn greet(setup: &Setup, stream: TcpStream, place: u64) -> io::Result<()> {
    let mut channel = Channel::plain(stream)?;
    let Some((theirs, dialler)) = read_hello(&mut channel, GREETING_LIMIT)? else {
        return Ok(());
    };
    let process = theirs.process as usize;
    let mine = setup.mine.fresh()?;
    let listener = mine.encode();
    channel.send(&listener, ANSWER_LIMIT)?;
    if mine.has_secret != theirs.has_secret {
        // Neither can convince the other.
        setup.one_sided_secret(process);
        return Ok(());
    }
    let mut said = Transcript { dialler, listener, binding: Vec::new() };
    if let Some(tls) = setup.tls.as_ref().filter(|_| theirs.has_tls) {
        let host = setup.addresses.get(process).map_or("", |a| host_of(a));
        let answer = tls.answer().map_err(io::Error::other)?;
        let encrypted = channel.encrypt(answer, host, ANSWER_LIMIT);
        let binding = encrypted.inspect_err(|error| setup.trouble(process, tls_trouble(error)))?;
        said.binding = binding.to_vec();
    }
    let mut proof = [0; PROOF_BYTES];
    channel.receive(&mut proof, ANSWER_LIMIT)?;
    let secret = setup.secret.as_ref();
    if !said.is_proved(secret, Role::Dialler, &proof) {
        setup.accuse(process, other_secret());
        let refused = encode_answer(Verdict::Refused, &[0; PROOF_BYTES]);
        return channel.send(&refused, ANSWER_LIMIT);
    }
    if !setup.callers.leave(place) {
        return Ok(());
    }
    let is_taken = process == setup.process || setup.has(process);
    let verdict = if is_taken { Verdict::Taken } else { Verdict::Welcome };
    let proof = said.prove(secret, Role::Listener(verdict));
    // The caller finds differences in our greeting, which it trusts now.
    channel.send(&encode_answer(verdict, &proof), ANSWER_LIMIT)?;
    if setup.mine.is_left_over(&theirs) {
        setup.accuse(process, other_attempt());
        return Ok(());
    }
    if let Some(difference) = difference_of_caller(setup, &theirs) {
        setup.fail(setup.mismatch(process, &difference));
        return Ok(());
    }
    let mut ready = [0; READY.len()];
    channel.receive(&mut ready, ANSWER_LIMIT)?;
    if ready == READY && !is_taken {
        setup.keep(process, channel);
    }
    Ok(())
}

/// Returns the difference of a caller that has proved the secret, if there is one.
fn difference_of_caller(setup: &Setup, theirs: &Hello) -> Option<String> {
    let process = theirs.process as usize;
    setup.mine.difference(theirs).or_else(|| {
        let expected = setup.process..setup.addresses.len();
        (!expected.contains(&process))
            .then(|| "calls a process with a higher number: the host files differ".to_owned())
    })
}

/// Calls a process with a lower number until it accepts or the set-up is over.
pub(super) fn dial(setup: &Setup, process: usize) {
    let mut pause = Duration::from_millis(25);
    let mut refused: Option<Instant> = None;
    while !setup.over() {
        match call(setup, process) {
            Ok(channel) => return setup.keep(process, channel),
            Err(Unanswered::Unfit(difference)) => {
                return setup.fail(setup.mismatch(process, &difference));
            }
            Err(Unanswered::Absent(reason)) => setup.trouble(process, reason),
            Err(Unanswered::Refused) => {
                setup.accuse(process, other_secret());
                let since = *refused.get_or_insert_with(Instant::now);
                if since.elapsed() >= REFUSED_LIMIT {
                    return setup.fail(setup.other_secret(process));
                }
            }
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Why a call did not lead to a connection.
enum Unanswered {
    /// No process answers, or not the right one: try again.
    Absent(String),
    /// The other side rejects our proof.
    Refused,
    /// The process has the secret, but cannot work with us.
    Unfit(String),
}

impl From<io::Error> for Unanswered {
    fn from(error: io::Error) -> Unanswered {
        Unanswered::Absent(error.to_string())
    }
}

/// Tries once to reach a process and to be accepted by it.
fn call(setup: &Setup, process: usize) -> Result<Channel, Unanswered> {
    let address = &setup.addresses[process];
    let mut channel = Channel::plain(reach(address)?)?;
    let mine = setup.mine.fresh()?;
    let dialler = mine.encode();
    channel.send(&dialler, ANSWER_LIMIT)?;
    let absent = |reason: &str| Unanswered::Absent(reason.to_owned());
    let (theirs, listener) = read_hello(&mut channel, ANSWER_LIMIT)?
        .ok_or_else(|| absent("another program listens there"))?;
    if mine.has_secret != theirs.has_secret {
        setup.one_sided_secret(process);
        return Err(absent("it has no secret, or this process has none"));
    }
    let mut said = Transcript { dialler, listener, binding: Vec::new() };
    if let Some(tls) = setup.tls.as_ref().filter(|_| theirs.has_tls) {
        let host = host_of(address);
        let encrypted = tls
            .call(host)
            .map_err(io::Error::other)
            .and_then(|call| channel.encrypt(call, host, ANSWER_LIMIT));
        let binding = encrypted.map_err(|error| Unanswered::Absent(tls_trouble(&error)))?;
        said.binding = binding.to_vec();
    }
    let secret = setup.secret.as_ref();
    channel.send(&said.prove(secret, Role::Dialler), ANSWER_LIMIT)?;
    let mut answer = [0; ANSWER_BYTES];
    let answered = channel.receive(&mut answer, ANSWER_LIMIT);
    answered.map_err(|error| match channel.tls {
        Some(_) => Unanswered::Absent(tls_trouble(&error)),
        None => error.into(),
    })?;
    let (verdict, proof) = decode_answer(&answer);
    let verdict = verdict.ok_or_else(|| absent("another program listens there"))?;
    if verdict == Verdict::Refused {
        return Err(Unanswered::Refused);
    }
    if !said.is_proved(secret, Role::Listener(verdict), proof) {
        return Err(absent("the program that listens there does not have the secret"));
    }
    if mine.is_left_over(&theirs) {
        setup.accuse(process, other_attempt());
        return Err(absent(&other_attempt()));
    }
    match difference_of_listener(setup, process, &theirs, verdict) {
        Some(difference) => Err(Unanswered::Unfit(difference)),
        None => {
            channel.send(&READY, ANSWER_LIMIT)?;
            Ok(channel)
        }
    }
}

/// Returns the difference of a listener that has proved the secret, if there is one.
fn difference_of_listener(
    setup: &Setup,
    process: usize,
    theirs: &Hello,
    verdict: Verdict,
) -> Option<String> {
    if let Some(difference) = setup.mine.difference(theirs) {
        return Some(difference);
    }
    if theirs.process as usize != process {
        return Some(format!("calls itself process {}: the host files differ", theirs.process));
    }
    (verdict == Verdict::Taken)
        .then(|| format!("already has a process {}: it was started twice", setup.process))
}

/// Describes why a connection could not be encrypted.
fn tls_trouble(error: &io::Error) -> String {
    format!("cannot encrypt the connection: {error}")
}

/// Opens a connection to the first address of a name that accepts one.
fn reach(address: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host name has no address");
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

/// Returns whether the system assigned our end the port that we called, which can happen if nothing
/// listens there.
fn talks_to_itself(stream: &TcpStream, target: SocketAddr) -> bool {
    stream.local_addr().is_ok_and(|local| local == target)
}

/// Reads a greeting, and returns it with its bytes; `None` if the other side sends something else.
fn read_hello(channel: &mut Channel, limit: Duration) -> io::Result<Option<(Hello, Vec<u8>)>> {
    let ends = Instant::now() + limit;
    let mut bytes = vec![0; FRAME_BYTES];
    // A different beginning is rejected without waiting for the rest.
    channel.receive(&mut bytes[..8], limit)?;
    if !Hello::begins(&bytes) {
        return Ok(None);
    }
    let left = || ends.saturating_duration_since(Instant::now());
    channel.receive(&mut bytes[8..], left())?;
    let Some(rest) = bytes.first_chunk().and_then(Hello::rest) else {
        return Ok(None);
    };
    bytes.resize(FRAME_BYTES + rest, 0);
    channel.receive(&mut bytes[FRAME_BYTES..], left())?;
    Ok(Hello::decode(&bytes).map(|hello| (hello, bytes)))
}
