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
use super::hello::{FRAME_BYTES, Hello, SECRET, TLS};
use super::hosts::host_of;
use super::proof::{
    ANSWER_BYTES, PROOF_BYTES, READY, Role, Transcript, Verdict, decode_answer, encode_answer,
};
use super::secret::Secret;
use super::setup::{Setup, Unmet};

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
/// What a listener is that does not know this protocol.
const OTHER_PROGRAM: &str = "another program listens there";

/// This process's side of a handshake.
#[derive(Clone, Copy)]
enum Side {
    /// It has called.
    Dialler,
    /// It was called, and the caller has this place among the callers.
    Listener { place: u64 },
}

/// Handles the caller at `place` among the callers, and keeps the connection if it belongs to the
/// run.
pub(super) fn answer(setup: &Setup, stream: TcpStream, place: u64) {
    let greeted = Channel::plain(stream).and_then(|mut channel| {
        let greeting = read_hello(&mut channel, GREETING_LIMIT)?;
        Ok(greeting.map(|greeting| (channel, greeting)))
    });
    // A caller that breaks off or sends garbage does not affect the run.
    let Ok(Some((mut channel, (theirs, dialler)))) = greeted else {
        return;
    };
    let process = theirs.process as usize;
    let met = greet(setup, &mut channel).and_then(|listener| {
        let said = Transcript { dialler, listener, binding: Vec::new() };
        agree(setup, &mut channel, Side::Listener { place }, process, &theirs, said)
    });
    match met {
        Ok(()) => setup.keep(process, channel),
        Err(unmet) => setup.note(process, unmet),
    }
}

/// Calls a process with a lower number until it accepts or the set-up is over.
pub(super) fn dial(setup: &Setup, process: usize) {
    let mut pause = Duration::from_millis(25);
    let mut refused: Option<Instant> = None;
    while !setup.is_over() {
        match call(setup, process) {
            Ok(channel) => return setup.keep(process, channel),
            Err(unmet) => {
                if matches!(unmet, Unmet::OtherSecret)
                    && refused.get_or_insert_with(Instant::now).elapsed() >= REFUSED_LIMIT
                {
                    return setup.refused(process);
                }
                setup.note(process, unmet);
            }
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Tries once to reach a process and to be accepted by it.
fn call(setup: &Setup, process: usize) -> Result<Channel, Unmet> {
    let mut channel = Channel::plain(reach(&setup.addresses[process])?)?;
    let dialler = greet(setup, &mut channel)?;
    let greeting = read_hello(&mut channel, ANSWER_LIMIT)?;
    let (theirs, listener) = greeting.ok_or_else(|| absent(OTHER_PROGRAM))?;
    let said = Transcript { dialler, listener, binding: Vec::new() };
    agree(setup, &mut channel, Side::Dialler, process, &theirs, said)?;
    Ok(channel)
}

/// Sends our greeting, and returns its bytes.
fn greet(setup: &Setup, channel: &mut Channel) -> Result<Vec<u8>, Unmet> {
    let greeting = setup.mine.fresh()?.encode();
    channel.send(&greeting, ANSWER_LIMIT)?;
    Ok(greeting)
}

/// Encrypts a connection after the greetings, and exchanges proofs; succeeds if both sides are processes of the run
/// that can work together.
fn agree(
    setup: &Setup,
    channel: &mut Channel,
    side: Side,
    process: usize,
    theirs: &Hello,
    mut said: Transcript,
) -> Result<(), Unmet> {
    let (mine, secret) = (&setup.mine, setup.secret.as_ref());
    if mine.has(SECRET) != theirs.has(SECRET) {
        // Neither can convince the other.
        return Err(Unmet::OneSidedSecret);
    }
    if let Some(tls) = setup.tls.as_ref().filter(|_| theirs.has(TLS)) {
        let host = setup.addresses.get(process).map_or("", |address| host_of(address));
        let session = match side {
            Side::Dialler => tls.call(host),
            Side::Listener { .. } => tls.answer(),
        };
        let encrypt = |session| channel.encrypt(session, host, ANSWER_LIMIT);
        let binding = session.map_err(io::Error::other).and_then(encrypt);
        said.binding = binding.map_err(not_encrypted)?.to_vec();
    }
    let verdict = match side {
        Side::Dialler => prove(channel, secret, &said)?,
        Side::Listener { place } => judge(setup, channel, &said, process, place)?,
    };
    if mine.is_left_over(theirs) {
        return Err(Unmet::OtherAttempt);
    }
    let misplaced = || misplacement(setup, side, process, theirs, verdict);
    if let Some(difference) = mine.difference(theirs).or_else(misplaced) {
        return Err(Unmet::Unfit(difference));
    }
    match side {
        Side::Dialler => channel.send(&READY, ANSWER_LIMIT)?,
        Side::Listener { .. } => {
            let mut ready = [0; READY.len()];
            channel.receive(&mut ready, ANSWER_LIMIT)?;
            if ready != READY || verdict == Verdict::Taken {
                return Err(absent("it was started twice"));
            }
        }
    }
    Ok(())
}

/// Proves the secret to a listener; returns its verdict, if it proves the secret too.
fn prove(
    channel: &mut Channel,
    secret: Option<&Secret>,
    said: &Transcript,
) -> Result<Verdict, Unmet> {
    channel.send(&said.prove(secret, Role::Dialler), ANSWER_LIMIT)?;
    let mut answer = [0; ANSWER_BYTES];
    if let Err(error) = channel.receive(&mut answer, ANSWER_LIMIT) {
        return Err(if channel.tls.is_some() { not_encrypted(error) } else { error.into() });
    }
    let (verdict, proof) = decode_answer(&answer);
    match verdict {
        None => Err(absent(OTHER_PROGRAM)),
        Some(Verdict::Refused) => Err(Unmet::OtherSecret),
        Some(verdict) if said.is_proved(secret, Role::Listener(verdict), proof) => Ok(verdict),
        Some(_) => Err(absent("the program that listens there does not have the secret")),
    }
}

/// Reads the proof of the caller at `place`, and sends our verdict, with our own proof if its proof is right.
fn judge(
    setup: &Setup,
    channel: &mut Channel,
    said: &Transcript,
    process: usize,
    place: u64,
) -> Result<Verdict, Unmet> {
    let secret = setup.secret.as_ref();
    let mut proof = [0; PROOF_BYTES];
    channel.receive(&mut proof, ANSWER_LIMIT)?;
    if !said.is_proved(secret, Role::Dialler, &proof) {
        // Whether this arrives or not, the caller is refused.
        let _ = channel.send(&encode_answer(Verdict::Refused, &[0; PROOF_BYTES]), ANSWER_LIMIT);
        return Err(Unmet::OtherSecret);
    }
    if !setup.callers.leave(place) {
        return Err(absent("too many others called at the same time"));
    }
    let is_taken = process == setup.process || setup.has(process);
    let verdict = if is_taken { Verdict::Taken } else { Verdict::Welcome };
    let proof = said.prove(secret, Role::Listener(verdict));
    // The caller finds differences in our greeting, which it trusts now.
    channel.send(&encode_answer(verdict, &proof), ANSWER_LIMIT)?;
    Ok(verdict)
}

/// Returns what is wrong with the numbers of two processes that have proved the secret and do not differ otherwise.
fn misplacement(
    setup: &Setup,
    side: Side,
    process: usize,
    theirs: &Hello,
    verdict: Verdict,
) -> Option<String> {
    let number = theirs.process;
    match side {
        Side::Dialler if number as usize != process => {
            Some(format!("calls itself process {number}: the host files differ"))
        }
        Side::Dialler => (verdict == Verdict::Taken)
            .then(|| format!("already has a process {}: it was started twice", setup.process)),
        Side::Listener { .. } => (!(setup.process..setup.addresses.len()).contains(&process))
            .then(|| "calls a process with a higher number: the host files differ".to_owned()),
    }
}

fn absent(reason: &str) -> Unmet {
    Unmet::Absent(reason.to_owned())
}

/// Returns the reason for a connection that could not be encrypted.
fn not_encrypted(error: io::Error) -> Unmet {
    Unmet::Absent(format!("cannot encrypt the connection: {error}"))
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
