//! File locks: the kernel releases a lock when its holder ends, for whatever reason;
//! the text in the file names the holder for people.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{Lock, Locking, faulty};

/// The Linux error number of ENOLCK.
const ENOLCK: i32 = 37;

/// Returns the holder that a lock's text names.
pub(super) fn holder_in(text: &str) -> String {
    let named = text.lines().nth(1);
    named.unwrap_or("process unknown").to_owned()
}

/// Returns the text of a lock that this process holds for a run: three lines, of which `mark` is the first.
pub(super) fn text(mark: &str, run: &str) -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = match host.trim() {
        "" => "an unknown host",
        host => host,
    };
    format!("{mark}\nprocess {} on {host}\nrun {run}\n", std::process::id())
}

/// Returns the run that a lock's text names; the name is unique.
pub fn run_in(text: &str) -> Option<&str> {
    text.lines().nth(2)?.strip_prefix("run ")
}

/// Returns a unique name for a run.
pub(super) fn unique() -> String {
    let mut bytes = [0; 16];
    match getrandom::fill(&mut bytes) {
        Ok(()) => hex::encode(bytes),
        Err(_) => format!("{} {:?}", std::process::id(), SystemTime::now()),
    }
}

/// The open file whose lock is held.
#[derive(Debug)]
struct FileLock {
    file: File,
    path: PathBuf,
}

impl Lock for FileLock {
    /// Fails if the file was removed: the kernel keeps the lock as long as the file is open, but
    /// another run would then lock a new file.
    fn check(&self) -> Result<(), String> {
        let is_there = match (fs::metadata(&self.path), self.file.metadata()) {
            (Ok(there), Ok(held)) => (there.dev(), there.ino()) == (held.dev(), held.ino()),
            (Err(error), _) => error.kind() != io::ErrorKind::NotFound,
            _ => true,
        };
        if is_there { Ok(()) } else { Err("the lock was removed while it was held".to_owned()) }
    }
}

impl Drop for FileLock {
    /// Unlocks the file. Closing it is not enough: a child process that another thread is starting also has the file
    /// open until it execs.
    fn drop(&mut self) {
        // If this fails, the lock is released when the last copy of the file is closed.
        let _ = self.file.unlock();
    }
}

/// Creates the file at `path` if needed, locks it, and writes `text` into it. Does not wait.
pub(super) fn take(path: &Path, text: &str) -> io::Result<Locking> {
    faulty::before("create", &[path])?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let mut file = options.open(path)?;
    faulty::before("lock", &[path])?;
    let is_held = match file.try_lock() {
        Ok(()) => true,
        Err(TryLockError::Error(e)) if has_no_locks(&e) => false,
        Err(TryLockError::Error(e)) => return Err(e),
        Err(TryLockError::WouldBlock) => return Ok(Locking::Busy(holder_in(&text_of(&mut file)))),
    };
    faulty::before_resize(path, 0)?;
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    faulty::write(path, text.as_bytes(), |bytes| file.write_all(bytes).map(|()| bytes.len()))?;
    // On a network file system, other hosts then see the text before the file is closed.
    file.sync_all()?;
    Ok(if is_held {
        Locking::Held(Box::new(FileLock { file, path: path.to_owned() }))
    } else {
        Locking::Unsupported
    })
}

/// Returns the holder according to the lock file at `path`; `None` if the lock is free.
pub(super) fn holder_of(path: &Path) -> io::Result<Option<String>> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    match file.try_lock_shared() {
        Ok(()) => file.unlock().map(|()| None),
        Err(TryLockError::Error(e)) if has_no_locks(&e) => Ok(None),
        Err(TryLockError::Error(e)) => Err(e),
        Err(TryLockError::WouldBlock) => Ok(Some(holder_in(&text_of(&mut file)))),
    }
}

/// Returns whether an error means that the file system has no locks, like NFS without a lock service (ENOLCK).
fn has_no_locks(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Unsupported || error.raw_os_error() == Some(ENOLCK)
}

fn text_of(file: &mut File) -> String {
    let mut text = String::new();
    // The text is only shown to people; it is already known that the lock is held.
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
        assert_eq!(holder_of(&path).unwrap(), None);
        let Locking::Held(lock) = take(&path, "mark\nfirst, the longer\n").unwrap() else {
            panic!("nobody else wants it");
        };
        assert_eq!(holder_of(&path).unwrap().unwrap(), "first, the longer");
        let other = take(&path, "mark\nsecond\n").unwrap();
        assert!(matches!(other, Locking::Busy(holder) if holder == "first, the longer"));
        drop(lock);
        assert_eq!(holder_of(&path).unwrap(), None);
        let Locking::Held(_lock) = take(&path, "mark\nsecond\n").unwrap() else {
            panic!("it is free again");
        };
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mark\nsecond\n");
    }

    #[test]
    fn it_is_lost_once_its_file_is_removed_or_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let Locking::Held(lock) = take(&path, "mark\nfirst\n").unwrap() else {
            panic!("nobody else wants it");
        };
        lock.check().unwrap();
        fs::remove_file(&path).unwrap();
        lock.check().unwrap_err();
        let Locking::Held(other) = take(&path, "mark\nsecond\n").unwrap() else {
            panic!("it is another file");
        };
        lock.check().unwrap_err();
        other.check().unwrap();
    }

    #[test]
    fn its_text_names_the_holder_and_the_run() {
        let run = unique();
        let text = text("mark", &run);
        let holder = format!("process {} on ", std::process::id());
        assert!(holder_in(&text).starts_with(&holder), "{text}");
        assert_eq!(run_in(&text), Some(&*run));
        assert_eq!(run_in("mark\nprocess 1\n"), None);
        assert_ne!(run, unique());
    }

    #[test]
    fn a_file_system_may_have_no_locks() {
        // ENOSYS and ENOLCK, but not EIO.
        let has_none = |number| has_no_locks(&io::Error::from_raw_os_error(number));
        assert_eq!([38, 37, 5].map(has_none), [true, true, false]);
    }

    #[test]
    fn a_copy_of_the_file_does_not_keep_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let file = File::create(&path).unwrap();
        file.try_lock().unwrap();
        let _copy = file.try_clone().unwrap();
        assert!(holder_of(&path).unwrap().is_some());
        drop(FileLock { file, path: path.clone() });
        assert_eq!(holder_of(&path).unwrap(), None);
    }
}
