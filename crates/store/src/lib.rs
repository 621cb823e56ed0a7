#![doc = include_str!("../README.md")]
//!
//! Unfinished files are on the process's own disk: [`Writer`] writes a file from beginning to
//! end, [`Scratch`] is an unnamed file with random access, and free functions do the rest. They
//! return the system's errors; callers name the path.

mod disk;
pub mod faulty;
mod lock;
#[cfg(feature = "s3")]
pub mod s3;
pub mod source;

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

pub use disk::{
    Disk, Scratch, Temporary, Writer, create_folder, exchange, link, remove_file, remove_folder,
    remove_temporaries, remove_tree, rename, restore, sync_folder, write,
};
pub use lock::run_in;
pub use source::Source;

/// The prefix of addresses in an object store.
const SCHEME: &str = "s3://";

/// The folder of unfinished files, inside the folder that they are for.
pub const TEMPORARY: &str = "_temporary";

/// The lock of a folder that a program writes to.
pub const LOCK: &str = "_lock";

/// The names by which a program's users know what this library reads from the environment and keeps on the disk; by
/// default, those of a program called `store`.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// The program, with which the names of temporary files begin.
    pub program: &'static str,
    /// The variable for how many seconds a request to an object store is retried.
    pub patience: &'static str,
    /// The variable for an injected fault ([`faulty`]).
    pub fault: &'static str,
    /// The setting for the folder of local copies.
    pub copies: &'static str,
}

/// The names that the program has set.
static NAMES: OnceLock<Names> = OnceLock::new();

impl Names {
    /// Sets the names of this process; call it before anything else of this library. The first call wins.
    pub fn set(self) {
        let _ = NAMES.set(self);
    }

    /// Returns the names of this process.
    pub(crate) fn get() -> Names {
        NAMES.get().copied().unwrap_or(Names {
            program: "store",
            patience: "STORE_PATIENCE",
            fault: "STORE_FAULT",
            copies: "folder of copies",
        })
    }
}

/// Stores files under final names. Whenever the process stops, each file is complete or absent.
///
/// Paths include the root: `out/run1/job.toml`, `s3://bucket/run1/job.toml`.
pub trait Store: fmt::Debug + Send + Sync {
    /// Opens a file. If another file takes its name, reads continue in the old one, or fail.
    ///
    /// # Errors
    /// There is no such file (`NotFound`); the store refuses or does not answer.
    fn open(&self, path: &Path) -> Result<Source, StoreError>;

    /// Returns a path where this machine can read a file: the file itself, or a copy that is fetched
    /// unless it is current. If there is no such file, there is none at the returned path either.
    ///
    /// # Errors
    /// The store refuses or does not answer; the disk fails.
    fn local(&self, path: &Path) -> Result<PathBuf, StoreError>;

    /// Returns whether there is a file of this name, or any file below it.
    ///
    /// # Errors
    /// The store refuses or does not answer.
    fn exists(&self, path: &Path) -> Result<bool, StoreError>;

    /// Returns the names of files and folders in a folder, sorted; none if there is no such folder.
    ///
    /// # Errors
    /// The store refuses or does not answer.
    fn names(&self, folder: &Path) -> Result<Vec<String>, StoreError>;

    /// Lists every file below a folder, sorted by path; if `path` is a file, lists that file.
    ///
    /// # Errors
    /// The store refuses or does not answer.
    fn list(&self, path: &Path) -> Result<Vec<Entry>, StoreError>;

    /// Moves a finished file of this machine to a final name, durably, by a rename or an upload. It
    /// replaces a previous file as a whole.
    ///
    /// # Errors
    /// The store refuses or does not answer; the disk fails. The name has the previous file or the new one.
    fn commit(&self, file: &Path, path: &Path) -> Result<(), StoreError>;

    /// Removes a file, or a folder with its content; absence is not an error.
    ///
    /// # Errors
    /// The store refuses or does not answer.
    fn remove(&self, path: &Path) -> Result<(), StoreError>;

    /// Waits until the names in a folder are durable, if there is such a folder.
    ///
    /// # Errors
    /// The disk fails.
    fn sync(&self, folder: &Path) -> Result<(), StoreError>;

    /// Tries to take the lock at `path`, whose text begins with the line `mark`. Does not wait.
    ///
    /// # Errors
    /// The store refuses or does not answer.
    fn lock(&self, path: &Path, mark: &str) -> Result<Locking, StoreError>;

    /// Returns the holder of the lock at `path`; `None` if it is free. Writes nothing. A process that tries to take
    /// the lock during this call may find it taken.
    ///
    /// # Errors
    /// The store refuses or does not answer.
    fn holder(&self, path: &Path) -> Result<Option<String>, StoreError>;

    /// Reads a small file as a whole; `None` if there is no such file.
    ///
    /// # Errors
    /// The store refuses or does not answer.
    fn read(&self, path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
        let mut bytes = Vec::new();
        match self.open(path) {
            Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(None),
            source => source?.read_to_end(&mut bytes).map_err(named(path))?,
        };
        Ok(Some(bytes))
    }
}

/// A lock that this process holds until the value is dropped or the process ends.
pub trait Lock: fmt::Debug + Send + Sync {
    /// Checks that the lock is still held. Must be called before every write.
    ///
    /// # Errors
    /// Returns the reason if the lock is lost.
    fn check(&self) -> Result<(), String>;
}

/// The outcome of an attempt to lock.
#[derive(Debug)]
pub enum Locking {
    /// This process has the lock.
    Held(Box<dyn Lock>),
    /// The file system has no locks; the file is written nevertheless.
    Unsupported,
    /// Another process has the lock: its name, for people.
    Busy(String),
}

/// A file in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its path or address.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
}

/// An error of a store, with its path and, if there is one, the remedy.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {source}")]
pub struct StoreError {
    /// The file, folder or address.
    pub path: PathBuf,
    /// The error.
    pub source: io::Error,
}

impl From<StoreError> for io::Error {
    /// Drops the path, which the caller names.
    fn from(error: StoreError) -> Self {
        error.source
    }
}

/// Turns the system's error into a store's error about this path.
pub(crate) fn named(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    move |source| StoreError { path: path.to_owned(), source }
}

/// Returns whether a path is an address in an object store.
///
/// ```
/// use std::path::Path;
/// use store::is_remote;
/// assert!(is_remote(Path::new("s3://bucket/run1")));
/// assert!(!is_remote(Path::new("out/run1")));
/// ```
pub fn is_remote(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.starts_with(SCHEME))
}

/// Resolves a path relative to `base`; addresses and absolute paths stay as they are.
///
/// ```
/// use std::path::Path;
/// use store::join;
/// assert_eq!(join(Path::new("/data"), "x"), Path::new("/data/x"));
/// assert_eq!(join(Path::new("/work"), "s3://bucket/x"), Path::new("s3://bucket/x"));
/// ```
pub fn join(base: &Path, path: &str) -> PathBuf {
    if is_remote(Path::new(path)) { PathBuf::from(path) } else { base.join(path) }
}

/// Returns the store that holds a path, for reading.
///
/// # Errors
/// The address or the settings are wrong; this build has no S3 support.
pub fn at(path: &Path) -> Result<Arc<dyn Store>, StoreError> {
    match is_remote(path) {
        true => working_in(&temporary("at"), path, &[]),
        // No folder for copies: an input may have many files, and each would get one.
        false => Ok(Arc::new(Disk)),
    }
}

/// Returns a path in the system's temporary folder that nothing else in this process uses.
pub fn temporary(kind: &str) -> PathBuf {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let name = format!("{}-{kind}-{}-{serial}", Names::get().program, std::process::id());
    std::env::temp_dir().join(name)
}

/// Returns the store of `root`, for reading and writing. Copies of objects are kept in `folder`, as
/// are files that are committed below one of `kept`, which are relative to `root`.
///
/// # Errors
/// The address or the settings are wrong; this build has no S3 support.
#[cfg_attr(not(feature = "s3"), allow(unused_variables, reason = "no copies"))]
pub fn working_in(
    folder: &Path,
    root: &Path,
    kept: &'static [&'static str],
) -> Result<Arc<dyn Store>, StoreError> {
    if !is_remote(root) {
        return Ok(Arc::new(Disk));
    }
    #[cfg(feature = "s3")]
    return Ok(Arc::new(s3::S3::open(root, folder, kept)?));
    #[cfg(not(feature = "s3"))]
    Err(named(root)(io::Error::new(
        io::ErrorKind::Unsupported,
        "this build has no S3 support: build with `--features s3`",
    )))
}
