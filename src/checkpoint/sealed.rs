//! Files that end with a SHA-256 of all bytes before it; a damaged one is refused.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use bytemuck::{NoUninit, Pod};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::{Damage, read_bytes};
use crate::failure::Failure;
use store::Writer;

/// Hashes what passes through.
pub(crate) struct Hashing<T> {
    inner: T,
    pub(crate) hash: Sha256,
    /// Bytes written.
    pub(crate) bytes: u64,
}

impl<T> Hashing<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self { inner, hash: Sha256::new(), bytes: 0 }
    }
}

/// Writes what `body` writes to `path`, which is replaced, then the hash, and syncs the file. Returns
/// the hash.
pub(super) fn write(
    path: &Path,
    body: impl FnOnce(&mut Hashing<BufWriter<Writer>>) -> io::Result<()>,
) -> Result<String, Failure> {
    let write = || {
        let mut out = Hashing::new(BufWriter::new(Writer::create(path)?));
        body(&mut out)?;
        let hash = out.hash.finalize();
        out.inner.write_all(&hash)?;
        let file = out.inner.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync()?;
        Ok(hex::encode(hash))
    };
    write().map_err(Failure::io(path))
}

/// Calls `read` with the file at `path` and its size in bytes.
pub(super) fn read_file<T>(
    path: &Path,
    read: impl FnOnce(BufReader<File>, u64) -> io::Result<T>,
) -> Result<T, Failure> {
    let open = || {
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        read(BufReader::new(file), size)
    };
    open().map_err(|error| explain(path, error))
}

/// Reads `input` with `body`, and checks the hash, which must be all that is left. Returns the result
/// of `body`, and the hash.
pub(super) fn read<R: Read, T>(
    input: R,
    body: impl FnOnce(&mut Hashing<R>) -> io::Result<T>,
) -> io::Result<(T, String)> {
    let mut input = Hashing::new(input);
    let content = body(&mut input)?;
    let expected = input.hash.finalize();
    let mut rest = Vec::new();
    let most = expected.len() as u64 + 1;
    input.inner.take(most).read_to_end(&mut rest)?;
    if rest == expected[..] {
        Ok((content, hex::encode(expected)))
    } else {
        Err(invalid("its checksum is wrong"))
    }
}

/// A longer header is refused.
const MAX_HEADER_BYTES: u64 = 1 << 30;

/// Writes the start of a model, or of a file beside it: `magic`, the length of the header, and the header, in JSON.
pub(super) fn write_header(
    out: &mut impl Write,
    magic: &[u8; 8],
    header: &impl Serialize,
) -> io::Result<()> {
    let json = serde_json::to_vec(header)?;
    out.write_all(magic)?;
    out.write_all(&(json.len() as u64).to_le_bytes())?;
    out.write_all(&json)
}

/// Reads this start of a file of `size` bytes that should be `what`.
pub(super) fn read_header<H: DeserializeOwned>(
    input: &mut impl Read,
    magic: &[u8; 8],
    size: u64,
    what: &str,
) -> io::Result<H> {
    if read_bytes::<8>(input)? != *magic {
        return Err(invalid(&format!("it is not {what} of this version of topicmill")));
    }
    let length = u64::from_le_bytes(read_bytes(input)?);
    if length > size.min(MAX_HEADER_BYTES) {
        return Err(invalid("its header is too long"));
    }
    let mut json = vec![0; length as usize];
    input.read_exact(&mut json)?;
    serde_json::from_slice(&json).map_err(|e| invalid(&format!("its header: {e}")))
}

/// Writes numbers, little-endian.
pub(super) fn write_numbers<T: NoUninit>(out: &mut impl Write, values: &[T]) -> io::Result<()> {
    out.write_all(bytemuck::cast_slice(values))
}

/// Reads `count` such numbers.
pub(super) fn read_numbers<T: Pod>(input: &mut impl Read, count: usize) -> io::Result<Vec<T>> {
    let mut values = vec![T::zeroed(); count];
    input.read_exact(bytemuck::cast_slice_mut(&mut values))?;
    Ok(values)
}

/// Content that this version of the program does not write.
pub(super) fn invalid(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason.to_owned())
}

/// Distinguishes a damaged file from one that cannot be read.
fn explain(path: &Path, error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Damage::of(path, "the file ends too early"),
        io::ErrorKind::InvalidData => Damage::of(path, error),
        _ => Failure::io(path)(error),
    }
}

impl<T: Write> Write for Hashing<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<T: Read> Read for Hashing<T> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(bytes)?;
        self.hash.update(&bytes[..read]);
        Ok(read)
    }
}
