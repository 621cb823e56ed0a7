#![doc = include_str!("../README.md")]
//!
//! Unfinished files are on the process's own disk: [`Writer`] writes a file from beginning to
//! end, [`Scratch`] is an unnamed file with random access, and plain functions do the rest. Their
//! errors are the system's; callers name the path.

mod disk;
pub mod faulty;
mod lock;
#[cfg(feature = "s3")]
pub mod s3;
mod scratch;
pub mod source;
mod writer;

use std::fmt;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub use disk::{
    Disk, create_folder, remove_file, remove_folder, remove_tree, rename, sync_folder, write,
};
pub use lock::run_in;
pub use scratch::Scratch;
pub use source::Source;
pub use writer::Writer;

/// The prefix of addresses in an object store.
const SCHEME: &str = "s3://";

/// The folder of unfinished files, below the one that they are for.
pub const TEMPORARY: &str = "_temporary";

/// The lock of a folder that a run writes to.
pub const LOCK: &str = "_lock";
/// The first words of its text.
pub const LOCK_MARK: &str = "topicmill output";

/// Keeps files under final names. Whenever the process is stopped, each is complete or absent.
///
/// Paths are whole: `out/run1/job.toml`, `s3://bucket/run1/job.toml`.
pub trait Store: fmt::Debug + Send + Sync {
    /// Opens a file. If another takes its name, this one is still read, or reading fails.
    ///
    /// # Errors
    /// There is no such file (`NotFound`); the store refuses or does not answer.
    fn open(&self, path: &Path) -> Result<Source, StoreError>;

    /// Where this machine can read a file: there, or in a copy that is fetched unless it is current.
    /// If there is no such file, there is none at the path returned.
    ///
    /// # Errors
    /// The store refuses or does not answer; the disk.
    fn local(&self, path: &Path) -> Result<PathBuf, StoreError>;

    /// Whether there is a file of this name, or any below it.
    ///
    /// # Errors
    /// The store refuses or does not answer.
    fn exists(&self, path: &Path) -> Result<bool, StoreError>;

    /// The names of files and folders in a folder, sorted; none if there is no such folder.
    ///
    /// # Errors
    /// The store refuses or does not answer.
    fn names(&self, folder: &Path) -> Result<Vec<String>, StoreError>;

    /// Every file below a folder, sorted by path; a file is listed alone.
    ///
    /// # Errors
    /// The store refuses or does not answer.
    fn list(&self, path: &Path) -> Result<Vec<Entry>, StoreError>;

    /// Moves a finished file of this machine to a final name, for good: by renaming it, or by an
    /// upload. It replaces a previous file as a whole.
    ///
    /// # Errors
    /// The store refuses or does not answer; the disk. The name has its previous file or the new one.
    fn commit(&self, file: &Path, path: &Path) -> Result<(), StoreError>;

    /// Removes a file, or a folder with all that is in it; what is not there is no error.
    ///
    /// # Errors
    /// The store refuses or does not answer.
    fn remove(&self, path: &Path) -> Result<(), StoreError>;

    /// Waits until the names in a folder last, if there is such a folder.
    ///
    /// # Errors
    /// The disk.
    fn sync(&self, folder: &Path) -> Result<(), StoreError>;

    /// Tries to take the lock at `path`, whose text begins with the line `mark`; does not wait.
    ///
    /// # Errors
    /// The store refuses or does not answer.
    fn lock(&self, path: &Path, mark: &str) -> Result<Locking, StoreError>;

    /// The holder of the lock at `path`; `None` if it is free. A process that tries to take it at
    /// this moment finds it taken.
    ///
    /// # Errors
    /// The store refuses or does not answer.
    fn holder(&self, path: &Path) -> Result<Option<String>, StoreError>;

    /// A small file, whole; `None` if there is no such file.
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
    /// Whether it is still held: to be asked before anything is written.
    ///
    /// # Errors
    /// It is lost: the reason, as text.
    fn check(&self) -> Result<(), String>;
}

/// The outcome of an attempt to lock.
#[derive(Debug)]
pub enum Locking {
    /// This process has the lock.
    Held(Box<dyn Lock>),
    /// The file system has no locks; the file is written all the same.
    Unsupported,
    /// Another one has it: its name for a person.
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

/// Something that a store could not do; says where, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {source}")]
pub struct StoreError {
    /// The file, folder or address.
    pub path: PathBuf,
    /// The error.
    pub source: io::Error,
}

impl From<StoreError> for io::Error {
    /// Without the path, which the caller names.
    fn from(error: StoreError) -> Self {
        error.source
    }
}

/// Makes the system's error one of a store, about this path.
pub(crate) fn named(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    move |source| StoreError {
        path: path.to_owned(),
        source,
    }
}

/// Whether a path of a job names something in an object store.
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

/// A path of a job, seen from `base`; an address, like an absolute path, is not seen from anywhere.
///
/// ```
/// use std::path::Path;
/// use store::join;
/// assert_eq!(join(Path::new("/jobs"), "x"), Path::new("/jobs/x"));
/// assert_eq!(join(Path::new("/jobs"), "s3://bucket/x"), Path::new("s3://bucket/x"));
/// ```
pub fn join(base: &Path, path: &str) -> PathBuf {
    match is_remote(Path::new(path)) {
        true => PathBuf::from(path),
        false => base.join(path),
    }
}

/// The store that a path names something in, to look at.
///
/// # Errors
/// The address or the settings are wrong; this build has no S3 support.
pub fn at(path: &Path) -> Result<Arc<dyn Store>, StoreError> {
    match is_remote(path) {
        true => working_in(&temporary("at"), path, &[]),
        // Where an input has many files, a folder for copies would be named for each.
        false => Ok(Arc::new(Disk)),
    }
}

/// A path in the system's temporary folder that nothing else of this process has.
pub fn temporary(kind: &str) -> PathBuf {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let name = format!("topicmill-{kind}-{}-{serial}", std::process::id());
    std::env::temp_dir().join(name)
}

/// The store of `root`, to work with. Copies of what lies in an object store are in `folder`; what
/// is committed below one of `kept`, seen from `root`, stays there as well.
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
