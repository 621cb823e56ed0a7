//! A connection while two processes greet each other: every message has a deadline.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustls::Connection;

use super::tls;

/// A connection, in the clear or encrypted.
pub(super) struct Channel {
    /// What carries the bytes.
    pub(super) socket: TcpStream,
    /// The state of the encryption, if there is one.
    pub(super) tls: Option<Connection>,
}

impl Channel {
    /// A connection in the clear.
    pub(super) fn plain(socket: TcpStream) -> io::Result<Channel> {
        socket.set_nonblocking(false)?;
        socket.set_nodelay(true)?;
        Ok(Channel { socket, tls: None })
    }

    /// Encrypts what follows, and holds the other side to a certificate for `host`. Gives back a
    /// value that only the two ends know.
    pub(super) fn encrypt(
        &mut self,
        mut connection: Connection,
        host: &str,
        limit: Duration,
    ) -> io::Result<[u8; tls::BINDING_BYTES]> {
        let mut until = Until::new(&self.socket, limit);
        while connection.is_handshaking() {
            if connection.complete_io(&mut until)? == (0, 0) {
                return Err(closed());
            }
        }
        tls::check_peer(&connection, host).map_err(io::Error::other)?;
        let binding = tls::binding(&connection).map_err(io::Error::other)?;
        connection.set_buffer_limit(None);
        self.tls = Some(connection);
        Ok(binding)
    }

    /// Sends all of `bytes` within `limit`.
    pub(super) fn send(&mut self, bytes: &[u8], limit: Duration) -> io::Result<()> {
        let mut until = Until::new(&self.socket, limit);
        let Some(connection) = &mut self.tls else {
            return until.write_all(bytes);
        };
        connection.writer().write_all(bytes)?;
        while connection.wants_write() {
            connection.write_tls(&mut until)?;
        }
        Ok(())
    }

    /// Fills `buffer` within `limit`, however slowly the bytes drip.
    pub(super) fn receive(&mut self, buffer: &mut [u8], limit: Duration) -> io::Result<()> {
        let mut until = Until::new(&self.socket, limit);
        let mut filled = 0;
        while filled < buffer.len() {
            match read_some(&mut self.tls, &mut until, &mut buffer[filled..])? {
                0 => return Err(closed()),
                bytes => filled += bytes,
            }
        }
        Ok(())
    }
}

/// Reads what has come, or waits for something to come; 0 at the end.
fn read_some(
    tls: &mut Option<Connection>,
    until: &mut Until<'_>,
    buffer: &mut [u8],
) -> io::Result<usize> {
    let Some(connection) = tls else {
        return until.read(buffer);
    };
    loop {
        match connection.reader().read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            result => return result,
        }
        if connection.read_tls(until)? == 0 {
            return Ok(0);
        }
        connection.process_new_packets().map_err(io::Error::other)?;
    }
}

fn closed() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "it closed the connection")
}

/// A socket until a moment.
struct Until<'a> {
    socket: &'a TcpStream,
    ends: Instant,
}

impl Until<'_> {
    fn new(socket: &TcpStream, limit: Duration) -> Until<'_> {
        let ends = Instant::now() + limit;
        Until { socket, ends }
    }

    /// The time that is left.
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.ends.saturating_duration_since(Instant::now());
        match left.is_zero() {
            true => Err(late()),
            false => Ok(Some(left)),
        }
    }
}

fn late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "it does not respond")
}

/// A wait that was cut short by its limit is no "try again".
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
