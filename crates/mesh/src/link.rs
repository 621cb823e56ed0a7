//! A link to another process: frames of timely's bytes, with heartbeats in between.
//!
//! Anything received shows that the other process is alive; if nothing arrives for the peer timeout, it is lost. A
//! thread per link makes sure that something is sent. A process that ends early sends the reason
//! (`frame::Farewell`), and every process that receives it ends with the same message. Nothing here returns an error to
//! timely: any failure ends the run through `guard`.
//!
//! The first process to notice a failure tells all others; each of them tells all but the sender, so that the message
//! gets through even if some links are cut. No process sends a second message. This takes at most a second, whatever
//! the state of the links.

use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use socket2::{SockRef, TcpKeepalive};
use timely::communication::allocator::zero_copy::stream::Stream;
use zstd::bulk::{Compressor, Decompressor};

use super::ClusterSettings;
use super::channel::Channel;
use super::frame::{Farewell, HEADER_BYTES, Header, Kind, MOST_LENGTH, MOST_PAYLOAD};
use super::guard::{self, FAREWELL_LIMIT, Failure, REMEDY};
use super::tls::Session;
use crate::Exit;

/// The longest wait of a reader before it checks the clock.
const LONGEST_TICK: Duration = Duration::from_millis(500);
/// How long a writer that finds the connection broken waits for the reader to receive the reason.
const REASON_LIMIT: Duration = Duration::from_millis(500);
/// The number of heartbeats within the time after which a process counts as lost.
const BEATS: u32 = 6;
/// The longest time between two heartbeats.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// zstd's fastest regular level.
const LEVEL: i32 = 1;
/// The minimum size of payload that is compressed.
const LEAST_COMPRESSED: usize = 256;
/// The size of the receiver's buffer; longer pieces of payload bypass it.
const BUFFER_BYTES: usize = 1 << 16;

/// One other process of the run, and the connection to it.
pub(super) struct Link {
    /// Its number.
    pub(super) process: usize,
    /// Its address, for messages.
    address: String,
    /// How long it may send nothing.
    timeout: Duration,
    /// The bytes in both directions, and the times of the last ones.
    pub(super) traffic: Traffic,
    pub(super) socket: TcpStream,
    /// The state of its encryption, if it is encrypted.
    tls: Option<Mutex<Session>>,
    /// Whether nothing more will be received.
    pub(super) is_closed: AtomicBool,
    /// Whether the process has reported that it has done its work.
    has_ended: AtomicBool,
    pub(super) sender: Mutex<Sender>,
    /// The receiving half; timely reads from one thread.
    receiver: Mutex<Receiver>,
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
        Ok(Link {
            process,
            address: address.to_owned(),
            timeout,
            // The other side may still wait for a third process before it sends its first byte.
            traffic: Traffic::new(process, timeout + settings.deadline),
            socket,
            tls: channel.tls.map(Mutex::new),
            is_closed: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            sender: Mutex::new(Sender::new(settings.compress)?),
            receiver: Mutex::new(Receiver::new(settings.compress)?),
        })
    }

    /// Starts sending heartbeats, until the sending half is closed.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(super) fn start_heartbeat(self: &Arc<Self>) -> io::Result<()> {
        let beating = Arc::clone(self);
        std::thread::Builder::new()
            .name(format!("cluster:beat-{}", self.process))
            .spawn(move || beating.beat())
            .map(drop)
    }

    /// Sends heartbeats. A write in progress counts as one; a link that accepts no more data has bytes in flight.
    fn beat(&self) {
        // Limited because the other side may have a shorter timeout.
        let pause = (self.timeout / BEATS).min(LONGEST_PAUSE);
        loop {
            guard::stay_silent_when_ending();
            let is_due = self.traffic.idle() >= pause || self.traffic.figures().sent == 0;
            if let Some(mut sender) = self.sender.try_lock() {
                if sender.is_closed {
                    return;
                }
                let sent = if is_due { sender.frame(self, Kind::Heartbeat, &[]) } else { Ok(()) };
                drop(sender);
                if let Err(error) = sent {
                    self.fail_to_write(&error);
                }
            }
            std::thread::sleep(pause);
        }
    }

    /// Ends the run because this process is lost.
    fn lose(&self, reason: &str) -> ! {
        self.is_closed.store(true, Ordering::SeqCst);
        let (process, address) = (self.process, &self.address);
        let farewell = Farewell {
            exit: Exit::Unavailable,
            culprit: process,
            text: format!("lost process {process} ({address}): {reason}; {REMEDY}"),
        };
        let failure = Failure { exit: Exit::Unavailable, message: farewell.text.clone() };
        guard::note_lost(process, address);
        // It may only be suspended, and should receive the farewell when it continues.
        guard::end(&failure, &farewell, None)
    }

    /// Ends the run because this process has sent a farewell.
    fn hear(&self, mut farewell: Farewell) -> ! {
        self.is_closed.store(true, Ordering::SeqCst);
        if farewell.exit != Exit::Interrupted {
            farewell.exit = Exit::Unavailable;
        }
        let failure = Failure { exit: farewell.exit, message: self.in_words(&farewell) };
        guard::end(&failure, &farewell, Some(self.process))
    }

    /// Turns a farewell that this process has sent into our own message.
    fn in_words(&self, farewell: &Farewell) -> String {
        let (process, address, text) = (self.process, &self.address, &farewell.text);
        if guard::own_number() == Some(farewell.culprit) {
            return format!("process {process} ({address}) reports this process as lost: {text}");
        }
        text.clone()
    }

    /// Ends the run if nothing has been received for too long.
    fn expect_life(&self) {
        if self.traffic.silence() >= self.timeout {
            let seconds = self.timeout.as_secs_f64();
            self.lose(&format!("nothing received for {seconds} s"));
        }
    }

    /// Ends the run because writing failed; first gives the reader time to receive the reason.
    fn fail_to_write(&self, error: &io::Error) -> ! {
        std::thread::sleep(REASON_LIMIT);
        self.lose(&format!("it accepts no more data ({error})"))
    }
}

/// A link as timely uses it; clones are the same link.
#[derive(Clone)]
pub(super) struct Wire(pub(super) Arc<Link>);

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut receiver = self.0.receiver.lock();
        Ok(receiver.read(&self.0, buffer))
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        guard::stay_silent_when_ending();
        let mut sender = self.0.sender.lock();
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

impl Stream for Wire {
    fn try_clone(&self) -> io::Result<Wire> {
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
        let mut sender = self.0.sender.lock();
        let said = sender.frame(&self.0, Kind::End, &[]);
        sender.is_closed = true;
        // If the other side has also ended, it may be gone.
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

/// The sending half of a link: whole frames, one after another. Bytes are encrypted under the lock of the encryption and
/// written after it is released, so that the reader does not wait for a slow connection.
pub(super) struct Sender {
    compressor: Option<Compressor<'static>>,
    /// A buffer for compressed payload.
    packed: Vec<u8>,
    /// A buffer for an encrypted frame.
    sealed: Vec<u8>,
    /// Whether nothing more may be sent.
    pub(super) is_closed: bool,
}

impl Sender {
    /// Creates a sender; `compress` tells whether it compresses.
    ///
    /// # Errors
    /// The compressor cannot be created.
    fn new(compress: bool) -> io::Result<Sender> {
        Ok(Sender {
            compressor: compress.then(|| Compressor::new(LEVEL)).transpose()?,
            packed: Vec::new(),
            sealed: Vec::new(),
            is_closed: false,
        })
    }

    /// Sends as many of timely's bytes as fit in a frame, and returns their number.
    ///
    /// # Errors
    /// The connection is broken.
    fn payload(&mut self, link: &Link, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(MOST_PAYLOAD)];
        if bytes.is_empty() {
            return Ok(0);
        }
        let mut packed = std::mem::take(&mut self.packed);
        let (kind, body) = if self.pack(bytes, &mut packed)? {
            (Kind::Compressed, &packed[..])
        } else {
            (Kind::Payload, bytes)
        };
        let sent = self.frame(link, kind, body);
        self.packed = packed;
        sent?;
        link.traffic.note_payload_sent(bytes.len());
        Ok(bytes.len())
    }

    /// Compresses `bytes` into `packed`; returns false if that does not make them smaller.
    fn pack(&mut self, bytes: &[u8], packed: &mut Vec<u8>) -> io::Result<bool> {
        let Some(compressor) = &mut self.compressor else {
            return Ok(false);
        };
        if bytes.len() < LEAST_COMPRESSED {
            return Ok(false);
        }
        packed.clear();
        packed.reserve(MOST_LENGTH);
        let length = compressor.compress_to_buffer(bytes, packed)?;
        Ok(length < bytes.len())
    }

    /// Sends a frame.
    ///
    /// # Errors
    /// The connection is broken.
    pub(super) fn frame(&mut self, link: &Link, kind: Kind, body: &[u8]) -> io::Result<()> {
        let length = body.len();
        let header = Header { kind, length }.encode();
        let Some(tls) = &link.tls else {
            return write_all(link, &header, body);
        };
        self.sealed.clear();
        {
            let mut tls = tls.lock();
            tls.seal(&[&header, body], &mut self.sealed)?;
        }
        write_all(link, &self.sealed, &[])
    }
}

/// Writes two pieces, however long that takes if the peer is alive.
fn write_all(link: &Link, mut first: &[u8], mut second: &[u8]) -> io::Result<()> {
    while !(first.is_empty() && second.is_empty()) {
        let pieces = [IoSlice::new(first), IoSlice::new(second)];
        match (&link.socket).write_vectored(&pieces) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                link.traffic.note_sent(written);
                let of_first = written.min(first.len());
                first = &first[of_first..];
                second = &second[written - of_first..];
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The connection accepts nothing now. If the other side still sends something, it is
            // slow; if not, the reader notices. A side that has ended sends nothing.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if link.has_ended.load(Ordering::SeqCst) || guard::is_ending() {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The receiving half of a link: reads frames, passes on timely's bytes, and handles control messages.
struct Receiver {
    /// Bytes that have arrived and are not yet decoded; still encrypted on an encrypted connection.
    buffer: Box<[u8]>,
    begin: usize,
    end: usize,
    /// The remaining bytes of the current payload frame.
    left: usize,
    decompressor: Option<Decompressor<'static>>,
    /// Decompressed payload, and how much of it has been handed out.
    unpacked: Vec<u8>,
    taken: usize,
}

impl Receiver {
    /// Creates a receiver; `compress` tells whether frames may be compressed.
    ///
    /// # Errors
    /// The decompressor cannot be created.
    fn new(compress: bool) -> io::Result<Receiver> {
        Ok(Receiver {
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            begin: 0,
            end: 0,
            left: 0,
            decompressor: compress.then(Decompressor::new).transpose()?,
            unpacked: Vec::new(),
            taken: 0,
        })
    }

    /// Reads at least one byte of payload into `buffer`; returns 0 when the peer has done its work.
    /// Ends the run in all other cases.
    fn read(&mut self, link: &Link, buffer: &mut [u8]) -> usize {
        loop {
            if self.taken < self.unpacked.len() {
                let bytes = (self.unpacked.len() - self.taken).min(buffer.len());
                let piece = &self.unpacked[self.taken..self.taken + bytes];
                buffer[..bytes].copy_from_slice(piece);
                self.taken += bytes;
                return bytes;
            }
            if self.left > 0 {
                let most = self.left.min(buffer.len());
                let bytes = self.some(link, &mut buffer[..most]);
                self.left -= bytes;
                return bytes;
            }
            if link.has_ended.load(Ordering::SeqCst) {
                return 0;
            }
            self.next(link);
        }
    }

    /// Reads the next frame's header, and the whole frame unless it is uncompressed payload.
    fn next(&mut self, link: &Link) {
        let mut header = [0; HEADER_BYTES];
        self.fill(link, &mut header);
        let Some(header) = Header::decode(header) else {
            link.lose("it sent an invalid frame");
        };
        match header.kind {
            Kind::Payload => self.left = header.length,
            Kind::Compressed => self.unpack(link, header.length),
            Kind::Heartbeat => {}
            Kind::End => {
                link.has_ended.store(true, Ordering::SeqCst);
                link.is_closed.store(true, Ordering::SeqCst);
            }
            Kind::Farewell => {
                let mut bytes = vec![0; header.length];
                self.fill(link, &mut bytes);
                match Farewell::decode(&bytes) {
                    Some(farewell) => link.hear(farewell),
                    None => link.lose("it sent an invalid farewell"),
                }
            }
        }
    }

    /// Decompresses a frame; ends the run if it is invalid or exceeds the bounds of a frame.
    fn unpack(&mut self, link: &Link, length: usize) {
        let mut packed = vec![0; length];
        self.fill(link, &mut packed);
        self.taken = 0;
        self.unpacked.clear();
        self.unpacked.reserve(MOST_PAYLOAD);
        let Some(decompressor) = &mut self.decompressor else {
            link.lose("it compresses its traffic, although that was not agreed on");
        };
        let unpacked = decompressor.decompress_to_buffer(&packed, &mut self.unpacked);
        if unpacked.is_err() || self.unpacked.is_empty() || self.unpacked.len() > MOST_PAYLOAD {
            link.lose("it sent a frame that cannot be decompressed");
        }
    }

    fn fill(&mut self, link: &Link, target: &mut [u8]) {
        let mut filled = 0;
        while filled < target.len() {
            filled += self.some(link, &mut target[filled..]);
        }
    }

    /// Reads at least one byte, and decrypts if needed.
    fn some(&mut self, link: &Link, target: &mut [u8]) -> usize {
        let Some(tls) = &link.tls else {
            return self.some_plain(link, target);
        };
        loop {
            let decrypted = {
                let tls = tls.lock();
                self.decrypt(tls, target)
            };
            match decrypted {
                Ok(0) => self.refill(link),
                Ok(bytes) => return bytes,
                Err(error) => link.lose(&format!("it sent damaged encrypted data ({error})")),
            }
        }
    }

    /// Decrypts bytes from the buffer until there is output; returns 0 if the buffer has too few.
    fn decrypt(
        &mut self,
        mut tls: MutexGuard<'_, Session>,
        target: &mut [u8],
    ) -> io::Result<usize> {
        loop {
            match tls.open(target)? {
                // A link ends by a frame, not by TLS's end of the connection.
                Some(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Some(bytes) => return Ok(bytes),
                None if self.begin == self.end => return Ok(0),
                None => {}
            }
            let mut waiting = &self.buffer[self.begin..self.end];
            self.begin += tls.take(&mut waiting)?;
        }
    }

    /// Reads at least one byte of an unencrypted connection; long pieces bypass the buffer.
    fn some_plain(&mut self, link: &Link, target: &mut [u8]) -> usize {
        if self.begin == self.end {
            if target.len() >= self.buffer.len() {
                return wait(link, target);
            }
            self.refill(link);
        }
        let bytes = (self.end - self.begin).min(target.len());
        target[..bytes].copy_from_slice(&self.buffer[self.begin..self.begin + bytes]);
        self.begin += bytes;
        bytes
    }

    /// Fills the empty buffer with the next bytes.
    fn refill(&mut self, link: &Link) {
        self.begin = 0;
        self.end = wait(link, &mut self.buffer);
    }
}

/// Waits for bytes as long as the peer may be silent. The clock is checked only if there is nothing
/// to read, so that a process that was itself delayed does not blame its link.
fn wait(link: &Link, target: &mut [u8]) -> usize {
    loop {
        match (&link.socket).read(target) {
            Ok(0) => link.lose("it closed the connection unexpectedly"),
            Ok(bytes) => {
                link.traffic.note_received(bytes);
                return bytes;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => link.expect_life(),
            Err(error) => link.lose(&error.to_string()),
        }
    }
}

/// How often the links are checked meanwhile.
const HANG_UP_TICK: Duration = Duration::from_millis(2);

/// The links of the current run, or of the last one.
static LINKS: Mutex<Vec<Arc<Link>>> = Mutex::new(Vec::new());

/// Begins a run on these links: from now on, a failure is reported on them.
pub(super) fn begin(links: Vec<Arc<Link>>) {
    *LINKS.lock() = links;
    guard::set_last_words(say);
}

/// Returns the traffic with every other process of the run, in order; empty for a run of one process.
pub fn traffic() -> Vec<PeerTraffic> {
    let links = LINKS.lock();
    let figures = links.iter().map(|link| link.traffic.figures());
    figures.collect()
}

/// Returns the bytes that this process has sent to the others of the run, over the wire. Workers of one process share
/// memory.
pub fn bytes_sent() -> u64 {
    traffic().iter().map(|peer| peer.sent).sum()
}

/// Tells every process except `teller`, which knows, and waits until all have closed the connection
/// or the time is up. Never panics.
fn say(farewell: &Farewell, teller: Option<usize>) {
    let ends = Instant::now() + FAREWELL_LIMIT;
    let bytes: Arc<[u8]> = farewell.encode().into();
    let saying = Arc::new(AtomicUsize::new(0));
    let links = LINKS.lock().clone();
    for link in &links {
        if teller == Some(link.process) {
            // The teller waits only for this.
            let _ = link.socket.shutdown(Shutdown::Write);
            continue;
        }
        saying.fetch_add(1, Ordering::SeqCst);
        let (link, bytes, done) = (Arc::clone(link), Arc::clone(&bytes), Arc::clone(&saying));
        let told = std::thread::Builder::new().spawn(move || {
            tell(&link, &bytes);
            done.fetch_sub(1, Ordering::SeqCst);
        });
        if told.is_err() {
            saying.fetch_sub(1, Ordering::SeqCst);
        }
    }
    let have_hung_up = || links.iter().all(|link| link.is_closed.load(Ordering::SeqCst));
    while Instant::now() < ends && !(saying.load(Ordering::SeqCst) == 0 && have_hung_up()) {
        std::thread::sleep(HANG_UP_TICK);
    }
}

/// Sends the farewell on one link, after any write in progress.
fn tell(link: &Link, bytes: &[u8]) {
    let mut sender = link.sender.lock();
    if sender.is_closed {
        return;
    }
    // A process that cannot be told will see the connection break.
    let _ = sender.frame(link, Kind::Farewell, bytes);
    sender.is_closed = true;
    let _ = link.socket.shutdown(Shutdown::Write);
}

/// The traffic between this process and another so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerTraffic {
    /// The number of the other process.
    pub process: usize,
    /// Bytes sent over the wire: compressed, encrypted, with frames and heartbeats.
    pub sent: u64,
    /// Bytes received over the wire.
    pub received: u64,
    /// Timely's bytes that were sent.
    pub payload_sent: u64,
}

/// The counts and times of one link.
pub(super) struct Traffic {
    process: usize,
    /// The origin of all times, which are in milliseconds.
    began: Instant,
    /// The time until which the first byte may be awaited.
    patience: u64,
    sent_at: AtomicU64,
    received_at: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
    payload_sent: AtomicU64,
}

impl Traffic {
    /// Creates the counts of a new link with a process that may wait for `patience` before its first byte.
    pub(super) fn new(process: usize, patience: Duration) -> Traffic {
        Traffic {
            process,
            began: Instant::now(),
            patience: milliseconds(patience),
            sent_at: AtomicU64::new(0),
            received_at: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            payload_sent: AtomicU64::new(0),
        }
    }

    /// Records bytes sent over the wire.
    pub(super) fn note_sent(&self, bytes: usize) {
        self.sent_at.store(self.now(), Ordering::Relaxed);
        self.sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Records bytes received over the wire.
    pub(super) fn note_received(&self, bytes: usize) {
        self.received_at.store(self.now(), Ordering::Relaxed);
        self.received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Records timely's bytes that were sent.
    pub(super) fn note_payload_sent(&self, bytes: usize) {
        self.payload_sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Returns the time since something was last sent.
    pub(super) fn idle(&self) -> Duration {
        self.since(&self.sent_at)
    }

    /// Returns the time since something was last received; zero as long as the first byte may be awaited.
    pub(super) fn silence(&self) -> Duration {
        let nothing_yet = self.received.load(Ordering::Relaxed) == 0;
        if nothing_yet && self.now() < self.patience {
            Duration::ZERO
        } else {
            self.since(&self.received_at)
        }
    }

    /// Returns the counts so far.
    pub(super) fn figures(&self) -> PeerTraffic {
        PeerTraffic {
            process: self.process,
            sent: self.sent.load(Ordering::Relaxed),
            received: self.received.load(Ordering::Relaxed),
            payload_sent: self.payload_sent.load(Ordering::Relaxed),
        }
    }

    fn since(&self, moment: &AtomicU64) -> Duration {
        Duration::from_millis(self.now().saturating_sub(moment.load(Ordering::Relaxed)))
    }

    fn now(&self) -> u64 {
        milliseconds(self.began.elapsed())
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod traffic_tests {
    use super::*;

    #[test]
    fn the_first_byte_may_be_waited_for() {
        let patient = Traffic::new(1, Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(patient.silence(), Duration::ZERO);
        patient.note_received(1);
        std::thread::sleep(Duration::from_millis(20));
        assert!(patient.silence() >= Duration::from_millis(19));
        let hasty = Traffic::new(1, Duration::from_millis(5));
        std::thread::sleep(Duration::from_millis(20));
        assert!(hasty.silence() >= Duration::from_millis(19));
    }

    #[test]
    fn wire_and_payload_are_counted_apart() {
        let traffic = Traffic::new(3, Duration::ZERO);
        traffic.note_sent(104);
        traffic.note_payload_sent(100);
        traffic.note_received(54);
        let figures = traffic.figures();
        assert_eq!(figures.process, 3);
        assert_eq!((figures.sent, figures.payload_sent), (104, 100));
        assert_eq!(figures.received, 54);
    }
}
