//! A file to read from, on a disk or in an object store.
//!
//! An object is read by ranges as needed, so that a process fetches no more than it reads and needs
//! no disk space for it. All ranges are of the object as opened: if another object takes its name,
//! reading fails.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::object::{Bucket, ObjectMeta, ObjectUrl, is_remote};
use crate::liveness;

/// Bytes that are fetched at a time. A reader that continues where it stopped doubles it up to
/// [`LARGEST_WINDOW`]; a reader that jumps starts from the smallest again.
const SMALLEST_WINDOW: u64 = 64 << 10;
/// Bytes that are fetched at a time by a reader that goes straight on.
const LARGEST_WINDOW: u64 = 8 << 20;

/// Bytes of a footer's length and mark at the end of a Parquet file.
const FOOTER_TAIL: u64 = 8;

/// Nameless copies that this process has made.
static SERIAL: AtomicU64 = AtomicU64::new(0);

/// Something to read from.
#[derive(Debug)]
pub enum Source {
    /// A file of this machine.
    File(File),
    /// An object.
    Object(ObjectReader),
}

impl Source {
    /// Opens what a path names: a file, or an object where it begins with `s3://`.
    ///
    /// # Errors
    /// It is not there; the system or the store refuses.
    pub fn open(path: &Path) -> io::Result<Self> {
        match is_remote(path) {
            false => Ok(Self::File(File::open(path)?)),
            true => Ok(Self::Object(ObjectReader::open(path)?)),
        }
    }

    /// Its size.
    ///
    /// # Errors
    /// The system refuses.
    pub fn length(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => Ok(file.metadata()?.len()),
            Self::Object(object) => Ok(object.meta.bytes),
        }
    }
}

impl Source {
    /// What changes when its content does; only stores say.
    pub fn tag(&self) -> Option<&str> {
        match self {
            Self::File(_) => None,
            Self::Object(object) => Some(object.tag()),
        }
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        liveness::tick();
        match self {
            Self::File(file) => file.read(buffer),
            Self::Object(object) => object.read(buffer),
        }
    }
}

impl Seek for Source {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File(file) => file.seek(position),
            Self::Object(object) => object.seek(position),
        }
    }
}

/// An object that is read like a file.
#[derive(Clone, Debug)]
pub struct ObjectReader {
    bucket: Arc<Bucket>,
    meta: ObjectMeta,
    /// Where the next byte is read.
    position: u64,
    /// What was fetched last, and where that begins.
    window: Arc<Vec<u8>>,
    begins: u64,
    /// Bytes that the next fetch asks for.
    next_window: u64,
}

impl ObjectReader {
    /// Asks the store for the object's size and tag.
    ///
    /// # Errors
    /// There is no such object; the store refuses.
    pub fn open(path: &Path) -> io::Result<Self> {
        let url = ObjectUrl::parse(path)?;
        let bucket = Bucket::open(&url.bucket)?;
        let Some(meta) = bucket.head(&url.key)? else {
            let reason = "there is no such object";
            return Err(io::Error::new(io::ErrorKind::NotFound, reason));
        };
        Ok(Self {
            bucket,
            meta,
            position: 0,
            window: Arc::default(),
            begins: 0,
            next_window: SMALLEST_WINDOW,
        })
    }

    /// Its size.
    pub fn length(&self) -> u64 {
        self.meta.bytes
    }

    /// Exactly these bytes of it, fetched at once.
    ///
    /// # Errors
    /// It is shorter; the store refuses.
    pub fn range(&self, begins: u64, bytes: u64) -> io::Result<Vec<u8>> {
        let end = begins.saturating_add(bytes);
        if end > self.meta.bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(self
            .bucket
            .read(&self.meta.key, begins..end, &self.meta.etag)?)
    }

    /// What changes when the object's content does.
    pub fn tag(&self) -> &str {
        &self.meta.etag
    }

    /// Where a Parquet file's footer lies, its length and mark included.
    ///
    /// # Errors
    /// The object is too short to be one; the store refuses.
    pub fn parquet_footer(&self) -> io::Result<Range<u64>> {
        let bytes = self.meta.bytes;
        let too_short = io::ErrorKind::UnexpectedEof;
        let at = bytes.checked_sub(FOOTER_TAIL).ok_or(too_short)?;
        let tail = self.range(at, FOOTER_TAIL)?;
        let length = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]);
        Ok(at.saturating_sub(u64::from(length))..bytes)
    }

    /// A local file of the object's size with these ranges of it, the rest a hole. It lies in the
    /// system's temporary folder, has no name, and goes when it is closed.
    ///
    /// # Errors
    /// The store refuses; the disk.
    pub fn copy_of(&self, ranges: &[Range<u64>]) -> io::Result<File> {
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let name = format!("topicmill-copy-{}-{serial}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)?;
        std::fs::remove_file(&path)?;
        file.set_len(self.meta.bytes)?;
        for range in ranges {
            for begins in range.clone().step_by(LARGEST_WINDOW as usize) {
                let bytes = LARGEST_WINDOW.min(range.end - begins);
                file.write_all_at(&self.range(begins, bytes)?, begins)?;
            }
        }
        Ok(file)
    }

    /// Fetches the stretch that begins at the position.
    fn advance(&mut self) -> io::Result<()> {
        let goes_on = self.position == self.begins + self.window.len() as u64;
        self.next_window = match goes_on {
            true => (self.next_window * 2).min(LARGEST_WINDOW),
            false => SMALLEST_WINDOW,
        };
        let bytes = self.next_window.min(self.meta.bytes - self.position);
        self.window = Arc::new(self.range(self.position, bytes)?);
        self.begins = self.position;
        Ok(())
    }
}

impl Read for ObjectReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position >= self.meta.bytes || buffer.is_empty() {
            return Ok(0);
        }
        let ends = self.begins + self.window.len() as u64;
        if !(self.begins..ends).contains(&self.position) {
            self.advance()?;
        }
        let rest = &self.window[(self.position - self.begins) as usize..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for ObjectReader {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        let target = match position {
            SeekFrom::Start(offset) => Some(offset),
            SeekFrom::End(offset) => self.meta.bytes.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        let before = || io::Error::new(io::ErrorKind::InvalidInput, "before the beginning");
        self.position = target.ok_or_else(before)?;
        Ok(self.position)
    }
}
