//! A lock file: the kernel releases the lock when its holder ends, for whatever reason; the text in
//! the file names the holder for people.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::fault::{self, Operation};

/// A lock that this process holds until the value is dropped or the process ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// The outcome of an attempt to lock.
#[derive(Debug)]
pub enum Locking {
    /// This process has the lock.
    Held(Lock),
    /// The file system has no locks; the file is written all the same.
    Unsupported,
    /// Another one has it; the text is what its file says.
    Busy(String),
}

impl Lock {
    /// Creates the file at `path` if needed, locks it, and writes `text` into it; does not wait.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn take(path: &Path, text: &str) -> io::Result<Locking> {
        fault::before(&Operation::Create(path))?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path)?;
        fault::before(&Operation::Lock(path))?;
        let is_held = match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => false,
            Err(TryLockError::Error(e)) => return Err(e),
            Err(TryLockError::WouldBlock) => return Ok(Locking::Busy(text_of(&mut file))),
        };
        fault::before(&Operation::Resize(path, 0))?;
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        fault::write(path, text.as_bytes(), |bytes| {
            file.write_all(bytes).map(|()| bytes.len())
        })?;
        Ok(match is_held {
            true => Locking::Held(Lock { _file: file }),
            false => Locking::Unsupported,
        })
    }
}

/// The holder according to the lock file at `path`; `None` if the lock is free. A process that
/// tries to lock at this very moment finds it taken.
///
/// # Errors
/// The file system refuses.
pub fn holder(path: &Path) -> io::Result<Option<String>> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => Ok(None),
        Err(TryLockError::Error(e)) => Err(e),
        Err(TryLockError::WouldBlock) => Ok(Some(text_of(&mut file))),
    }
}

fn text_of(file: &mut File) -> String {
    let mut text = String::new();
    // The text is only shown to a person; that the lock is held is already known.
    let _ = file.read_to_string(&mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holds_it_and_others_read_who() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        assert_eq!(holder(&path).unwrap(), None);
        let Locking::Held(lock) = Lock::take(&path, "first, the longer").unwrap() else {
            panic!("nobody else wants it");
        };
        assert_eq!(holder(&path).unwrap().unwrap(), "first, the longer");
        let other = Lock::take(&path, "second").unwrap();
        assert!(matches!(other, Locking::Busy(text) if text == "first, the longer"));
        drop(lock);
        assert_eq!(holder(&path).unwrap(), None);
        let Locking::Held(_lock) = Lock::take(&path, "second").unwrap() else {
            panic!("it is free again");
        };
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "second");
    }
}
