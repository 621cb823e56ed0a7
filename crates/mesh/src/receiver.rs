//! The receiving half of a link: reads frames, passes on timely's bytes, and handles control
//! messages.

use std::io::{self, Read};
use std::sync::atomic::Ordering;

use parking_lot::MutexGuard;
use zstd::bulk::Decompressor;

use super::frame::{Farewell, HEADER_BYTES, Header, Kind, MOST_PAYLOAD};
use super::peer::Peer;
use super::tls::Session;

/// The size of the buffer; longer pieces of payload bypass it.
const BUFFER_BYTES: usize = 1 << 16;

/// The receiving half of a link.
pub(super) struct Receiver {
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
    pub(super) fn new(compress: bool) -> io::Result<Receiver> {
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
    pub(super) fn read(&mut self, peer: &Peer, buffer: &mut [u8]) -> usize {
        loop {
            if self.taken < self.unpacked.len() {
                let bytes = (self.unpacked.len() - self.taken).min(buffer.len());
                let piece = &self.unpacked[self.taken..self.taken + bytes];
                buffer[..bytes].copy_from_slice(piece);
                self.taken += bytes;
                peer.traffic.note_payload_received(bytes);
                return bytes;
            }
            if self.left > 0 {
                let most = self.left.min(buffer.len());
                let bytes = self.some(peer, &mut buffer[..most]);
                self.left -= bytes;
                peer.traffic.note_payload_received(bytes);
                return bytes;
            }
            if peer.has_ended.load(Ordering::SeqCst) {
                return 0;
            }
            self.next(peer);
        }
    }

    /// Reads the next frame's header, and the whole frame unless it is uncompressed payload.
    fn next(&mut self, peer: &Peer) {
        let mut header = [0; HEADER_BYTES];
        self.fill(peer, &mut header);
        let Some(header) = Header::decode(header) else {
            peer.lose("it sent an invalid frame");
        };
        match header.kind {
            Kind::Payload => self.left = header.length,
            Kind::Compressed => self.unpack(peer, header.length),
            Kind::Heartbeat => {}
            Kind::End => {
                peer.has_ended.store(true, Ordering::SeqCst);
                peer.is_closed.store(true, Ordering::SeqCst);
            }
            Kind::Farewell => {
                let mut bytes = vec![0; header.length];
                self.fill(peer, &mut bytes);
                match Farewell::decode(&bytes) {
                    Some(farewell) => peer.hear(farewell),
                    None => peer.lose("it sent an invalid farewell"),
                }
            }
        }
    }

    /// Decompresses a frame; ends the run if it is invalid or exceeds the bounds of a frame.
    fn unpack(&mut self, peer: &Peer, length: usize) {
        let mut packed = vec![0; length];
        self.fill(peer, &mut packed);
        self.taken = 0;
        self.unpacked.clear();
        self.unpacked.reserve(MOST_PAYLOAD);
        let Some(decompressor) = &mut self.decompressor else {
            peer.lose("it compresses its traffic, although that was not agreed on");
        };
        let unpacked = decompressor.decompress_to_buffer(&packed, &mut self.unpacked);
        if unpacked.is_err() || self.unpacked.is_empty() || self.unpacked.len() > MOST_PAYLOAD {
            peer.lose("it sent a frame that cannot be decompressed");
        }
    }

    fn fill(&mut self, peer: &Peer, target: &mut [u8]) {
        let mut filled = 0;
        while filled < target.len() {
            filled += self.some(peer, &mut target[filled..]);
        }
    }

    /// Reads at least one byte, and decrypts if needed.
    fn some(&mut self, peer: &Peer, target: &mut [u8]) -> usize {
        let Some(tls) = &peer.tls else {
            return self.some_plain(peer, target);
        };
        loop {
            let decrypted = {
                let tls = tls.lock();
                self.decrypt(tls, target)
            };
            match decrypted {
                Ok(0) => self.refill(peer),
                Ok(bytes) => return bytes,
                Err(error) => peer.lose(&format!("it sent damaged encrypted data ({error})")),
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
    fn some_plain(&mut self, peer: &Peer, target: &mut [u8]) -> usize {
        if self.begin == self.end {
            if target.len() >= self.buffer.len() {
                return wait(peer, target);
            }
            self.refill(peer);
        }
        let bytes = (self.end - self.begin).min(target.len());
        target[..bytes].copy_from_slice(&self.buffer[self.begin..self.begin + bytes]);
        self.begin += bytes;
        bytes
    }

    /// Fills the empty buffer with the next bytes.
    fn refill(&mut self, peer: &Peer) {
        self.begin = 0;
        self.end = wait(peer, &mut self.buffer);
    }
}

/// Waits for bytes as long as the peer may be silent. The clock is checked only if there is nothing
/// to read, so that a process that was itself delayed does not blame its peer.
fn wait(peer: &Peer, target: &mut [u8]) -> usize {
    loop {
        match (&peer.socket).read(target) {
            Ok(0) => peer.lose("it closed the connection unexpectedly"),
            Ok(bytes) => {
                peer.traffic.note_received(bytes);
                return bytes;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => peer.expect_life(),
            Err(error) => peer.lose(&error.to_string()),
        }
    }
}
