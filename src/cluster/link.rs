//! A link to another process: frames of timely's bytes, with heartbeats in between.
//!
//! Anything received shows that the peer is alive; if nothing arrives for the peer timeout, the
//! process is lost. `heartbeat` makes sure that something is sent. A process that ends early says
//! why (`frame::Farewell`), and every process that receives this ends with the same message. `read`
//! and `write` therefore never report an error to timely: they end the run through `guard`.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use timely::communication::allocator::zero_copy::stream::Stream;

use super::channel::Channel;
use super::farewell;
use super::frame::{Farewell, Header, Kind};
use super::receiver::Receiver;
use super::sender::Sender;
use super::tls::Session;
use super::traffic::Traffic;

/// Longest wait of a reader before it looks at the clock.
const LONGEST_TICK: Duration = Duration::from_millis(500);
/// How long a writer that finds the connection broken waits for the reader to hear why.
const REASON_LIMIT: Duration = Duration::from_millis(500);

/// One other process of the run, and the link to it.
pub(super) struct Peer {
    /// Its number.
    pub(super) process: usize,
    /// Where it listens, for messages.
    pub(super) address: String,
    /// How long nothing may come from it.
    pub(super) timeout: Duration,
    /// What goes to and fro, and when it last did.
    pub(super) traffic: Traffic,
    /// The connection.
    pub(super) socket: TcpStream,
    /// The state of its encryption, if it is encrypted.
    pub(super) tls: Option<Mutex<Session>>,
    /// The sending half.
    pub(super) sender: Mutex<Sender>,
    /// The receiving half; timely reads from one thread.
    receiver: Mutex<Receiver>,
    /// True when nothing will come any more.
    pub(super) is_closed: AtomicBool,
    /// True when the process has said that it has done its work.
    pub(super) has_ended: AtomicBool,
}

/// A link as timely holds it; clones are the same link.
#[derive(Clone)]
pub(super) struct Link(pub(super) Arc<Peer>);

/// How links are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkSettings {
    /// How long nothing may come from a process.
    pub(super) peer_timeout: Duration,
    /// How long the first byte may take beyond that: the other side may still wait for a third.
    pub(super) deadline: Duration,
    /// Whether payload is compressed.
    pub(super) compress: bool,
}

impl Peer {
    /// Makes a link of a connection on which both sides know each other.
    ///
    /// # Errors
    /// The system refuses an option of the socket; the compressor cannot be made.
    pub(super) fn new(
        process: usize,
        address: &str,
        channel: Channel,
        settings: LinkSettings,
    ) -> io::Result<Peer> {
        let timeout = settings.peer_timeout;
        let socket = channel.socket;
        socket.set_nonblocking(false)?;
        socket.set_nodelay(true)?;
        socket.set_write_timeout(Some(timeout))?;
        let tick = (timeout / 10).clamp(Duration::from_millis(10), LONGEST_TICK);
        socket.set_read_timeout(Some(tick))?;
        let options = SockRef::from(&socket);
        let idle = timeout.max(Duration::from_secs(1));
        options.set_tcp_keepalive(&TcpKeepalive::new().with_time(idle))?;
        // A backstop for a half that the other side does not read: a slow link may accept nothing
        // for a while.
        #[cfg(target_os = "linux")]
        options.set_tcp_user_timeout(Some(timeout * 4))?;
        Ok(Peer {
            process,
            address: address.to_owned(),
            timeout,
            traffic: Traffic::new(process, timeout + settings.deadline),
            socket,
            tls: channel.tls.map(Mutex::new),
            sender: Mutex::new(Sender::new(settings.compress)?),
            receiver: Mutex::new(Receiver::new(settings.compress)?),
            is_closed: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
        })
    }

    /// The sending half, once it is free.
    pub(super) fn lock_sender(&self) -> MutexGuard<'_, Sender> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the run because this process is lost.
    pub(super) fn lose(&self, reason: &str) -> ! {
        self.is_closed.store(true, Ordering::SeqCst);
        farewell::lost(self, reason)
    }

    /// Ends the run because this process has.
    pub(super) fn hear(&self, farewell: Farewell) -> ! {
        self.is_closed.store(true, Ordering::SeqCst);
        farewell::heard(self, farewell)
    }

    /// Ends the run if nothing has come for too long.
    pub(super) fn expect_life(&self) {
        if self.traffic.silence() >= self.timeout {
            let seconds = self.timeout.as_secs_f64();
            self.lose(&format!("nothing received for {seconds} s"));
        }
    }

    /// Ends the run because writing failed; the reader may know better why.
    pub(super) fn fail_to_write(&self, error: &io::Error) -> ! {
        std::thread::sleep(REASON_LIMIT);
        self.lose(&format!("it accepts no more data ({error})"))
    }
}

impl Read for Link {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut receiver = self
            .0
            .receiver
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Ok(receiver.read(&self.0, buffer))
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        farewell::stay_silent_when_ending();
        let mut sender = self.0.lock_sender();
        match sender.payload(&self.0, bytes) {
            Ok(written) => Ok(written),
            Err(error) => {
                drop(sender);
                self.0.fail_to_write(&error)
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

    /// Links block, with their own limits.
    fn set_nonblocking(&self, _nonblocking: bool) -> io::Result<()> {
        Ok(())
    }

    /// Says that the work is done. The other half stays open for what the other side has to say.
    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        if how != Shutdown::Write {
            return Ok(());
        }
        let mut sender = self.0.lock_sender();
        let end = Header {
            kind: Kind::End,
            length: 0,
        };
        let said = sender.control(&self.0, end, &[]);
        sender.close();
        // When the other side has ended as well it may be gone.
        if let Err(error) = said
            && !self.0.has_ended.load(Ordering::SeqCst)
        {
            drop(sender);
            self.0.fail_to_write(&error);
        }
        let _ = self.0.socket.shutdown(Shutdown::Write);
        Ok(())
    }
}
