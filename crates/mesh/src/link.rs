//! A link to another process: frames of timely's bytes, with heartbeats in between.
//!
//! Anything received shows that the peer is alive; if nothing arrives for the peer timeout, the
//! process is lost. `heartbeat` makes sure that something is sent. A process that ends early sends
//! the reason (`frame::Farewell`), and every process that receives it ends with the same message.
//! `read` and `write` never return an error to timely: they end the run through `guard`.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use socket2::{SockRef, TcpKeepalive};
use timely::communication::allocator::zero_copy::stream::Stream;

use super::ClusterSettings;
use super::channel::Channel;
use super::frame::Kind;
use super::guard;
use super::peer::Peer;
use super::receiver::Receiver;
use super::sender::Sender;
use super::traffic::Traffic;

/// The longest wait of a reader before it checks the clock.
const LONGEST_TICK: Duration = Duration::from_millis(500);
/// A link for timely; clones are the same link.
#[derive(Clone)]
pub(super) struct Link(Arc<Halves>);

/// Another process, and the two halves of the link to it.
pub(super) struct Halves {
    pub(super) peer: Peer,
    pub(super) sender: Mutex<Sender>,
    /// The receiving half; timely reads from one thread.
    receiver: Mutex<Receiver>,
}

impl Deref for Link {
    type Target = Halves;

    fn deref(&self) -> &Halves {
        &self.0
    }
}

impl Link {
    /// Creates a link from a connection after the handshake.
    ///
    /// # Errors
    /// The system refuses a socket option; the compressor cannot be created.
    pub(super) fn new(
        process: usize,
        address: &str,
        channel: Channel,
        settings: &ClusterSettings,
    ) -> io::Result<Link> {
        let timeout = settings.peer_timeout;
        let socket = channel.socket;
        socket.set_nonblocking(false)?;
        socket.set_write_timeout(Some(timeout))?;
        let tick = (timeout / 10).clamp(Duration::from_millis(10), LONGEST_TICK);
        socket.set_read_timeout(Some(tick))?;
        let options = SockRef::from(&socket);
        let idle = timeout.max(Duration::from_secs(1));
        options.set_tcp_keepalive(&TcpKeepalive::new().with_time(idle))?;
        // A backstop for a half that the other side does not read; it is longer because a slow link
        // may accept nothing for a while.
        #[cfg(target_os = "linux")]
        options.set_tcp_user_timeout(Some(timeout * 4))?;
        Ok(Link(Arc::new(Halves {
            peer: Peer {
                process,
                address: address.to_owned(),
                timeout,
                // The other side may still wait for a third process before it sends its first byte.
                traffic: Traffic::new(process, timeout + settings.deadline),
                socket,
                tls: channel.tls.map(Mutex::new),
                is_closed: AtomicBool::new(false),
                has_ended: AtomicBool::new(false),
            },
            sender: Mutex::new(Sender::new(settings.compress)?),
            receiver: Mutex::new(Receiver::new(settings.compress)?),
        })))
    }
}

impl Read for Link {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut receiver = self.receiver.lock();
        Ok(receiver.read(&self.peer, buffer))
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        guard::stay_silent_when_ending();
        let mut sender = self.sender.lock();
        match sender.payload(&self.peer, bytes) {
            Ok(written) => Ok(written),
            Err(error) => {
                drop(sender);
                self.peer.fail_to_write(&error)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for Link {
    fn try_clone(&self) -> io::Result<Link> {
        Ok(self.clone())
    }

    /// Does nothing: links block, with their own timeouts.
    fn set_nonblocking(&self, _nonblocking: bool) -> io::Result<()> {
        Ok(())
    }

    /// Tells the other side that the work is done. The receiving half stays open.
    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        if how != Shutdown::Write {
            return Ok(());
        }
        let mut sender = self.sender.lock();
        let said = sender.frame(&self.peer, Kind::End, &[]);
        sender.is_closed = true;
        // If the other side has also ended, it may be gone.
        if let Err(error) = said
            && !self.peer.has_ended.load(Ordering::SeqCst)
        {
            drop(sender);
            self.peer.fail_to_write(&error);
        }
        let _ = self.peer.socket.shutdown(Shutdown::Write);
        Ok(())
    }
}
