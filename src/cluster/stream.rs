//! A TCP connection that counts what is sent over it.
//!
//! timely writes whole buffers of 64 KiB, so that a counter a write costs nothing. Only bytes
//! between processes are counted; workers of one process share memory.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};

use timely::communication::allocator::zero_copy::stream::Stream;

/// Bytes that this process has sent to others.
static SENT: AtomicU64 = AtomicU64::new(0);

/// Bytes that this process has sent to other processes so far, over all runs and connections.
pub fn bytes_sent() -> u64 {
    SENT.load(Ordering::Relaxed)
}

/// A connection to another process.
pub(super) struct Counted(pub(super) TcpStream);

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Counted {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.0.write(buffer)?;
        SENT.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Stream for Counted {
    fn try_clone(&self) -> io::Result<Counted> {
        self.0.try_clone().map(Counted)
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.0.set_nonblocking(nonblocking)
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.0.shutdown(how)
    }
}
