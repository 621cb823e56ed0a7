//! The sending half of a link: whole frames, one after the other.
//!
//! Bytes are encrypted under the lock of the encryption and written outside it, so that a reader
//! need not wait for a slow connection.

use std::io::{self, IoSlice, Write};
use std::sync::atomic::Ordering;

use zstd::bulk::Compressor;

use super::frame::{Header, Kind, MOST_LENGTH, MOST_PAYLOAD};
use super::guard;
use super::peer::Peer;

/// zstd's quickest ordinary level.
const LEVEL: i32 = 1;
/// Shorter payload is sent uncompressed.
const LEAST_COMPRESSED: usize = 256;

/// The sending half of a link.
pub(super) struct Sender {
    compressor: Option<Compressor<'static>>,
    /// A compressed frame.
    packed: Vec<u8>,
    /// A frame as it goes over an encrypted connection.
    sealed: Vec<u8>,
    /// True when nothing may be sent any more.
    pub(super) is_closed: bool,
}

impl Sender {
    /// A sender that compresses or does not.
    ///
    /// # Errors
    /// The compressor cannot be made.
    pub(super) fn new(compress: bool) -> io::Result<Sender> {
        Ok(Sender {
            compressor: compress.then(|| Compressor::new(LEVEL)).transpose()?,
            packed: Vec::new(),
            sealed: Vec::new(),
            is_closed: false,
        })
    }

    /// Sends timely's bytes, or the first of them; returns how many.
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
        let sent = self.control(peer, kind, body);
        self.packed = packed;
        sent?;
        peer.traffic.note_payload_sent(bytes.len());
        Ok(bytes.len())
    }

    /// Compresses `bytes`; false when that does not pay.
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
    pub(super) fn control(&mut self, peer: &Peer, kind: Kind, body: &[u8]) -> io::Result<()> {
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

/// Writes two pieces, however long it takes a peer that lives.
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
            // The connection takes nothing now. As long as something comes from the other side it
            // is slow; when nothing comes the reader finds out. A side that has ended says nothing.
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
