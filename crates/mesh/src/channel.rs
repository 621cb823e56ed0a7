//! A connection during the handshake: every message has a deadline.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::tls::{BINDING_BYTES, Session};

/// A connection, unencrypted or encrypted.
pub(super) struct Channel {
    pub(super) socket: TcpStream,
    /// The state of the encryption, if it is encrypted.
    pub(super) tls: Option<Session>,
}

impl Channel {
    /// Creates an unencrypted connection.
    pub(super) fn plain(socket: TcpStream) -> io::Result<Channel> {
        socket.set_nonblocking(false)?;
        socket.set_nodelay(true)?;
        Ok(Channel { socket, tls: None })
    }

    /// Encrypts everything that follows, and requires a certificate for `host` from the other side.
    /// Returns a value that only the two ends know.
    pub(super) fn encrypt(
        &mut self,
        mut session: Session,
        host: &str,
        limit: Duration,
    ) -> io::Result<[u8; BINDING_BYTES]> {
        let mut until = Until::new(&self.socket, limit);
        let binding = session.begin(&mut until, host)?;
        self.tls = Some(session);
        Ok(binding)
    }

    /// Sends all of `bytes` within `limit`.
    pub(super) fn send(&mut self, bytes: &[u8], limit: Duration) -> io::Result<()> {
        let mut until = Until::new(&self.socket, limit);
        let Some(session) = &mut self.tls else {
            return until.write_all(bytes);
        };
        let mut sealed = Vec::new();
        session.seal(&[bytes], &mut sealed)?;
        until.write_all(&sealed)
    }

    /// Fills `buffer` within `limit`, however slowly single bytes arrive.
    pub(super) fn receive(&mut self, buffer: &mut [u8], limit: Duration) -> io::Result<()> {
        let mut until = Until::new(&self.socket, limit);
        let mut filled = 0;
        while filled < buffer.len() {
            let target = &mut buffer[filled..];
            let received = match &mut self.tls {
                None => until.read(target)?,
                Some(session) => match session.open(target)? {
                    None if session.take(&mut until)? > 0 => continue,
                    opened => opened.unwrap_or(0),
                },
            };
            if received == 0 {
                let closed = "it closed the connection";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, closed));
            }
            filled += received;
        }
        Ok(())
    }
}

/// A socket with a deadline.
struct Until<'a> {
    socket: &'a TcpStream,
    ends: Instant,
}

impl Until<'_> {
    fn new(socket: &TcpStream, limit: Duration) -> Until<'_> {
        let ends = Instant::now() + limit;
        Until { socket, ends }
    }

    /// Returns the time left, or an error if there is none.
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.ends.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(late()) } else { Ok(Some(left)) }
    }
}

fn late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "it does not respond")
}

/// Turns the error of a socket timeout, which is "try again", into one of lateness.
fn in_time(result: io::Result<usize>) -> io::Result<usize> {
    result.map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => late(),
        _ => error,
    })
}

impl Read for Until<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(self.left()?)?;
        in_time(self.socket.read(buffer))
    }
}

impl Write for Until<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(self.left()?)?;
        in_time(self.socket.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
