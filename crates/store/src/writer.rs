//! A file that is written from beginning to end.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::faulty;

/// A file that is open for writing. It is not buffered: each write is a system call. Dropping it does
/// not sync.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    file: File,
}

impl Writer {
    /// Creates the file, or truncates it.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::open(path, OpenOptions::new().create(true).truncate(true))
    }

    /// Creates the file, which must not exist.
    ///
    /// # Errors
    /// The file exists, or the file system refuses.
    pub fn create_new(path: &Path) -> io::Result<Self> {
        Self::open(path, OpenOptions::new().create_new(true))
    }

    /// Opens the file for appending; creates it if it does not exist.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn append(path: &Path) -> io::Result<Self> {
        Self::open(path, OpenOptions::new().create(true).append(true))
    }

    fn open(path: &Path, options: &mut OpenOptions) -> io::Result<Self> {
        faulty::before("create", &[path])?;
        let file = options.write(true).open(path)?;
        let path = path.to_owned();
        Ok(Self { path, file })
    }

    /// Waits until everything written is on the disk.
    ///
    /// # Errors
    /// The disk fails.
    pub fn sync(&self) -> io::Result<()> {
        faulty::before("sync", &[&self.path])?;
        self.file.sync_all()
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        liveness::tick();
        let Self { path, file } = self;
        faulty::write(path, bytes, |bytes| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_created_once_or_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let mut writer = Writer::create_new(&path).unwrap();
        writer.write_all(b"abc").unwrap();
        writer.sync().unwrap();
        let error = Writer::create_new(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&path).unwrap(), b"abc");
        Writer::create(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"");
    }
}
