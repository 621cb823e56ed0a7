//! The sending half of a link: whole frames, one after another.
//!
//! Bytes are encrypted under the lock of the encryption and written after it is released, so that
//! the reader does not wait for a slow connection.

use std::io::{self, IoSlice, Write};
use std::sync::atomic::Ordering;

use zstd::bulk::Compressor;

use super::frame::{Header, Kind, MOST_LENGTH, MOST_PAYLOAD};
use super::guard;
use super::peer::Peer;

/// zstd's fastest regular level.
const LEVEL: i32 = 1;
/// The minimum size of payload that is compressed.
const LEAST_COMPRESSED: usize = 256;

/// The sending half of a link.
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
    pub(super) fn new(compress: bool) -> io::Result<Sender> {
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
    pub(super) fn payload(&mut self, peer: &Peer, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(MOST_PAYLOAD)];
        if bytes.is_empty() {
            return Ok(0);
        }
        let mut packed = std::mem::take(&mut self.packed);
        let (kind, body) = match self.pack(bytes, &mut packed)? {
            true => (Kind::Compressed, &packed[..]),
            false => (Kind::Payload, bytes),
        };
        let sent = self.frame(peer, kind, body);
        self.packed = packed;
        sent?;
        peer.traffic.note_payload_sent(bytes.len());
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
    pub(super) fn frame(&mut self, peer: &Peer, kind: Kind, body: &[u8]) -> io::Result<()> {
        let length = body.len();
        let header = Header { kind, length }.encode();
        let Some(tls) = &peer.tls else {
            return write_all(peer, &header, body);
        };
        self.sealed.clear();
        {
            let mut tls = tls.lock();
            tls.seal(&[&header, body], &mut self.sealed)?;
        }
        write_all(peer, &self.sealed, &[])
    }
}

/// Writes two pieces, however long that takes if the peer is alive.
fn write_all(peer: &Peer, mut first: &[u8], mut second: &[u8]) -> io::Result<()> {
    while !(first.is_empty() && second.is_empty()) {
        let pieces = [IoSlice::new(first), IoSlice::new(second)];
        match (&peer.socket).write_vectored(&pieces) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                peer.traffic.note_sent(written);
                let of_first = written.min(first.len());
                first = &first[of_first..];
                second = &second[written - of_first..];
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // The connection accepts nothing now. If the other side still sends something, it is
            // slow; if not, the reader notices. A side that has ended sends nothing.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if peer.has_ended.load(Ordering::SeqCst) || guard::is_ending() {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
