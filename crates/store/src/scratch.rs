//! A file without a name, which disappears with its value, however the process ends.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::faulty;

/// A file of a fixed size with random access, which no other process can open.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    file: File,
}

impl Scratch {
    /// Creates the file at `path`, unlinks it, and sets its size to `bytes` zeros.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn create(path: &Path, bytes: u64) -> io::Result<Self> {
        faulty::before("create", &[path])?;
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(true);
        let file = options.open(path)?;
        super::remove_file(path)?;
        faulty::before_resize(path, bytes)?;
        file.set_len(bytes)?;
        let path = path.to_owned();
        Ok(Self { path, file })
    }

    /// Fills `bytes` from `offset` on.
    ///
    /// # Errors
    /// The disk fails, or the file ends earlier.
    pub fn read(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(bytes, offset)
    }

    /// Writes `bytes` from `offset` on.
    ///
    /// # Errors
    /// The disk is full, or fails.
    pub fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        faulty::write_at(&self.path, &self.file, bytes, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_no_name_and_begins_with_zeros() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scratch");
        std::fs::write(&path, "from a run that was killed").unwrap();
        let scratch = Scratch::create(&path, 6).unwrap();
        assert!(!path.exists());
        scratch.write(b"ab", 3).unwrap();
        let mut bytes = [1; 6];
        scratch.read(&mut bytes, 0).unwrap();
        assert_eq!(bytes, *b"\0\0\0ab\0");
        assert!(scratch.read(&mut bytes, 1).is_err());
    }
}
