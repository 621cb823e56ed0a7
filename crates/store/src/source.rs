//! A file to read, on a disk or in an object store.
//!
//! An object is read in ranges as needed, so that a process fetches little more than it reads and
//! needs no disk space. All ranges are of the object as opened: if another object takes its name,
//! reading fails.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::faulty;

/// The bytes of the first fetch, and of one after a jump. A sequential reader doubles them with each
/// further fetch, up to [`LARGEST_WINDOW`].
const SMALLEST_WINDOW: u64 = 64 << 10;
/// Maximum number of bytes that a sequential reader fetches at a time.
const LARGEST_WINDOW: u64 = 8 << 20;

/// A file or object to read.
#[derive(Debug)]
pub enum Source {
    /// A file of this machine.
    File(File),
    /// An object.
    Object(ObjectReader),
}

impl Source {
    /// Opens the file at `path`, or the object if the path begins with `s3://`.
    ///
    /// # Errors
    /// It does not exist; the system or the store refuses.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(super::at(path)?.open(path)?)
    }

    /// Returns its size in bytes.
    ///
    /// # Errors
    /// The system refuses.
    pub fn length(&self) -> io::Result<u64> {
        match self {
            Self::File(file) => Ok(file.metadata()?.len()),
            Self::Object(object) => Ok(object.bytes),
        }
    }

    /// Returns a tag that changes with the content; only object stores have tags.
    pub fn tag(&self) -> Option<&str> {
        match self {
            Self::File(_) => None,
            Self::Object(object) => Some(&object.tag),
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

/// An object as it was when it was opened.
pub(crate) trait Ranges: fmt::Debug + Send + Sync {
    /// Fetches all bytes of the range.
    ///
    /// # Errors
    /// The object has been replaced; the store refuses or does not answer.
    fn fetch(&self, range: Range<u64>) -> io::Result<Vec<u8>>;
}

/// An object that is read like a file.
#[derive(Clone, Debug)]
pub struct ObjectReader {
    object: Arc<dyn Ranges>,
    bytes: u64,
    tag: String,
    /// The offset of the next byte to read.
    position: u64,
    /// The bytes of the last fetch, and their offset.
    window: Arc<Vec<u8>>,
    begins: u64,
    /// The size of the next fetch, unless a jump comes first.
    next_window: u64,
}

impl ObjectReader {
    /// Creates a reader of an object with this size and tag.
    #[cfg(any(feature = "s3", test))]
    pub(super) fn new(object: Arc<dyn Ranges>, bytes: u64, tag: String) -> Self {
        Self {
            object,
            bytes,
            tag,
            position: 0,
            window: Arc::default(),
            begins: 0,
            next_window: SMALLEST_WINDOW,
        }
    }

    /// Returns the object's size in bytes.
    pub fn length(&self) -> u64 {
        self.bytes
    }

    /// Fetches exactly these bytes in one request.
    ///
    /// # Errors
    /// The object is shorter (`UnexpectedEof`) or has been replaced; the store refuses or does not answer.
    pub fn range(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        if range.end > self.bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.object.fetch(range)
    }

    /// Creates a local file of the object's size that has only these ranges of it; the rest is a hole.
    /// It is in the system's temporary folder, has no name, and disappears when it is closed.
    ///
    /// # Errors
    /// The store refuses; the disk fails.
    pub fn copy_of(&self, ranges: &[Range<u64>]) -> io::Result<File> {
        let path = super::temporary("copy");
        faulty::before("create", &[&path])?;
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        faulty::before("remove", &[&path])?;
        std::fs::remove_file(&path)?;
        self.copy(ranges, &path, &file)?;
        Ok(file)
    }

    /// Creates a file at `path` of the object's size that has only these ranges of it; the rest is a hole.
    ///
    /// # Errors
    /// The store refuses; the disk fails.
    pub fn copy_to(&self, path: &Path, ranges: &[Range<u64>]) -> io::Result<()> {
        faulty::before("create", &[path])?;
        self.copy(ranges, path, &File::create(path)?)
    }

    /// Sets a file to the object's size, and copies these ranges into it.
    fn copy(&self, ranges: &[Range<u64>], path: &Path, file: &File) -> io::Result<()> {
        faulty::before_resize(path, self.bytes)?;
        file.set_len(self.bytes)?;
        for range in ranges {
            for begins in range.clone().step_by(LARGEST_WINDOW as usize) {
                let bytes = LARGEST_WINDOW.min(range.end - begins);
                faulty::write_at(path, file, &self.range(begins..begins + bytes)?, begins)?;
            }
        }
        Ok(())
    }

    /// Fetches the window that begins at the position.
    fn advance(&mut self) -> io::Result<()> {
        if self.position != self.begins + self.window.len() as u64 {
            self.next_window = SMALLEST_WINDOW;
        }
        let bytes = self.next_window.min(self.bytes - self.position);
        self.window = Arc::new(self.range(self.position..self.position + bytes)?);
        self.begins = self.position;
        self.next_window = (self.next_window * 2).min(LARGEST_WINDOW);
        Ok(())
    }
}

impl Read for ObjectReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position >= self.bytes || buffer.is_empty() {
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
            SeekFrom::End(offset) => self.bytes.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        let before = || io::Error::new(io::ErrorKind::InvalidInput, "before the beginning");
        self.position = target.ok_or_else(before)?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[derive(Debug)]
    struct BytesOfTest(Vec<u8>);

    impl Ranges for BytesOfTest {
        fn fetch(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
            Ok(self.0[range.start as usize..range.end as usize].to_vec())
        }
    }

    #[test]
    fn an_object_is_read_like_a_file() {
        let bytes: Vec<u8> = (0..300_000_u32).map(|place| (place % 251) as u8).collect();
        let object = Arc::new(BytesOfTest(bytes.clone()));
        let mut reader = ObjectReader::new(object, bytes.len() as u64, "tag".to_owned());
        let mut read = Vec::new();
        assert_eq!(reader.read(&mut [0]).unwrap(), 1);
        assert_eq!(reader.window.len() as u64, SMALLEST_WINDOW);
        reader.rewind().unwrap();
        reader.read_to_end(&mut read).unwrap();
        assert_eq!(read, bytes);
        assert_eq!(reader.seek(SeekFrom::End(-5)).unwrap(), 299_995);
        assert_eq!(reader.seek(SeekFrom::Current(-5)).unwrap(), 299_990);
        let mut part = [0; 4];
        reader.read_exact(&mut part).unwrap();
        assert_eq!(part, bytes[299_990..299_994]);
        assert!(reader.seek(SeekFrom::Current(-400_000)).is_err());
        let error = reader.range(299_999..300_001).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        let copy = reader.copy_of(&[7..9, 299_998..300_000]).unwrap();
        assert_eq!(copy.metadata().unwrap().len(), 300_000);
        let mut ends = [9; 3];
        copy.read_exact_at(&mut ends, 7).unwrap();
        assert_eq!(ends, [7, 8, 0]);
        copy.read_exact_at(&mut ends[..2], 299_998).unwrap();
        assert_eq!(ends[..2], bytes[299_998..]);
    }
}
