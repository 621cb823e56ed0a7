//! The output folder and the protocol by which files come to stand in it.
//!
//! A file is written in `_temporary/`, synced, renamed to its final name, and the folders are
//! synced: whenever the program is stopped, what bears a final name is complete. `manifest.json`
//! and then `_SUCCESS` come last. One run at a time holds `_lock`; the kernel frees it however the
//! process ends. Only files that topicmill writes are ever removed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::manifest::Manifest;
use super::{TABLES, TableError};

/// The folder of unfinished files.
pub const TEMPORARY: &str = "_temporary";
/// The last file of a run: the output is complete.
pub const SUCCESS: &str = "_SUCCESS";
/// The manifest.
pub const MANIFEST: &str = "manifest.json";
/// The lock.
pub const LOCK: &str = "_lock";
/// The folder of what processes say of their run: no part of the result.
pub const LOGS: &str = "logs";
/// What the lock's text begins with; marks the folder as ours.
const LOCK_MARK: &str = "topicmill output";

/// Folders beside the tables whose whole content is topicmill's.
const FOLDERS: [&str; 5] = ["corpus", "model", "checkpoints", LOGS, TEMPORARY];
/// Files at the root.
const FILES: [&str; 5] = [SUCCESS, MANIFEST, "job.toml", "views.sql", LOCK];

/// An output folder. The one process of a run that [`lead`](Self::lead)s it holds the lock.
pub struct Output {
    root: PathBuf,
    lock: Option<File>,
}

impl Output {
    /// Creates the folder if needed, takes the lock until this value is dropped or the process
    /// ends, and empties `_temporary`.
    ///
    /// Errors: [`Locked`](TableError::Locked) while another run has it,
    /// [`NotOurs`](TableError::NotOurs) if the folder holds anything that is not topicmill's
    /// (names that begin with a dot are overlooked).
    pub fn lead(root: &Path) -> Result<Self, TableError> {
        fs::create_dir_all(root).map_err(|e| TableError::io(root, e))?;
        check_ours(root)?;
        let lock = take_lock(root)?;
        let output = Self {
            root: root.to_owned(),
            lock,
        };
        let temporary = output.path(TEMPORARY);
        if temporary.exists() {
            fs::remove_dir_all(&temporary).map_err(|e| TableError::io(&temporary, e))?;
        }
        create_folder(&temporary)?;
        Ok(output)
    }

    /// The same folder for the other processes of a run: no lock, and nothing is touched before
    /// [`join`](Self::join).
    pub fn follow(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            lock: None,
        }
    }

    /// Prepares a folder that this process [`follow`](Self::follow)s for writing. The leading
    /// process must have opened it before.
    pub fn join(&self) -> Result<(), TableError> {
        create_folder(&self.path(TEMPORARY))
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether this value holds the lock: false after [`join`](Self::join), and on a file system
    /// that has no locks.
    pub fn is_locked(&self) -> bool {
        self.lock.is_some()
    }

    /// Where a path relative to the folder (`documents/part-00000.parquet`) finally stands.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// Where an unfinished file is written. Two writers must not use one `name` (a single path
    /// component) at a time.
    pub fn temporary_path(&self, name: &str) -> PathBuf {
        self.root.join(TEMPORARY).join(name)
    }

    /// Whether a file or folder stands under this final name: then it is complete.
    pub fn is_published(&self, relative: &str) -> bool {
        self.path(relative).exists()
    }

    /// Syncs a finished file and gives it its final name, replacing what stood there.
    pub fn publish(&self, temporary: &Path, relative: &str) -> Result<(), TableError> {
        File::open(temporary)
            .and_then(|file| file.sync_all())
            .map_err(|e| TableError::io(temporary, e))?;
        let target = self.path(relative);
        let parent = target.parent().unwrap_or(&self.root);
        create_folder(parent)?;
        fs::rename(temporary, &target).map_err(|e| TableError::io(&target, e))?;
        sync_folder(parent)
    }

    /// Writes a small file: all of it or nothing.
    pub fn write_atomic(&self, relative: &str, bytes: &[u8]) -> Result<(), TableError> {
        let temporary = self.temporary_path(&relative.replace('/', "+"));
        fs::write(&temporary, bytes).map_err(|e| TableError::io(&temporary, e))?;
        self.publish(&temporary, relative)
    }

    /// Declares the output complete: `manifest.json`, then `_SUCCESS`, then `_temporary` goes.
    pub fn complete(&self, manifest: &Manifest) -> Result<(), TableError> {
        self.write_atomic(MANIFEST, manifest.to_json().as_bytes())?;
        self.write_atomic(SUCCESS, b"")?;
        let temporary = self.path(TEMPORARY);
        fs::remove_dir_all(&temporary).map_err(|e| TableError::io(&temporary, e))?;
        sync_folder(&self.root)
    }

    /// Whether a run has ended here and nothing was taken away since.
    pub fn is_complete(&self) -> bool {
        self.is_published(SUCCESS)
    }

    /// Declares the output incomplete: removes `_SUCCESS` and `manifest.json`. To be called before
    /// anything in a complete output changes.
    pub fn reopen(&self) -> Result<(), TableError> {
        for name in [SUCCESS, MANIFEST] {
            remove_file(&self.path(name))?;
        }
        create_folder(&self.path(TEMPORARY))?;
        sync_folder(&self.root)
    }

    /// Removes one thing that topicmill writes: a table, a folder of ours or something in it, a
    /// file at the root. The output is [`reopen`](Self::reopen)ed first. A table's folder must
    /// hold nothing but parts; a name that is not topicmill's is refused; what is not there is no
    /// error.
    pub fn clear(&self, relative: &str) -> Result<(), TableError> {
        let mut components = Path::new(relative).components();
        let first = components.next().map(|c| c.as_os_str().to_string_lossy());
        let first = first.unwrap_or_default();
        let inside = components.all(|c| matches!(c, std::path::Component::Normal(_)));
        if !inside || !is_known(&first) || first == LOCK {
            return Err(self.not_ours(relative));
        }
        self.reopen()?;
        let target = self.path(relative);
        if !target.is_dir() || target.is_symlink() {
            return remove_file(&target);
        }
        if TABLES.iter().any(|table| table.name == first) {
            return self.clear_table(&target);
        }
        fs::remove_dir_all(&target).map_err(|e| TableError::io(&target, e))?;
        sync_folder(target.parent().unwrap_or(&self.root))
    }

    /// Removes everything that topicmill writes, but the lock: what `--overwrite` asks for.
    pub fn clear_all(&self) -> Result<(), TableError> {
        let tables = TABLES.iter().map(|table| table.name);
        for name in tables.chain(FOLDERS).chain(FILES) {
            if name != LOCK {
                self.clear(name)?;
            }
        }
        create_folder(&self.path(TEMPORARY))
    }

    fn clear_table(&self, folder: &Path) -> Result<(), TableError> {
        let names = names(folder)?;
        if let Some(foreign) = names.iter().find(|name| !is_part_name(name)) {
            let table = folder.file_name().unwrap_or_default().to_string_lossy();
            return Err(self.not_ours(&format!("{table}/{foreign}")));
        }
        for name in names {
            remove_file(&folder.join(name))?;
        }
        fs::remove_dir(folder).map_err(|e| TableError::io(folder, e))?;
        sync_folder(&self.root)
    }

    fn not_ours(&self, found: &str) -> TableError {
        TableError::NotOurs {
            root: self.root.clone(),
            found: found.to_owned(),
        }
    }
}

/// Who writes here now, as the lock tells it; `None` when nobody does. A run that starts in the very
/// moment of the question is told that the folder is in use.
pub fn holder(root: &Path) -> Result<Option<String>, TableError> {
    let path = root.join(LOCK);
    let io = |e| TableError::io(&path, e);
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(io(e)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => Ok(None),
        Err(TryLockError::Error(e)) => Err(io(e)),
        Err(TryLockError::WouldBlock) => Ok(Some(holder_named(&mut file))),
    }
}

/// What the lock says of its holder.
fn holder_named(file: &mut File) -> String {
    let mut text = String::new();
    // Who holds the lock is only told to a person; that somebody does is already known.
    let _ = file.read_to_string(&mut text);
    let named = text.lines().nth(1);
    named.unwrap_or("process unknown").to_owned()
}

/// The name of a part: `part-00042.parquet`.
///
/// ```
/// assert_eq!(topicmill::tables::output::part_name(42), "part-00042.parquet");
/// ```
pub fn part_name(number: u64) -> String {
    format!("part-{number:05}.parquet")
}

/// Whether [`part_name`] makes this name.
pub(super) fn is_part_name(name: &str) -> bool {
    let number = name
        .strip_prefix("part-")
        .and_then(|rest| rest.strip_suffix(".parquet"));
    number.is_some_and(|n| n.len() >= 5 && n.bytes().all(|b| b.is_ascii_digit()))
}

fn is_known(name: &str) -> bool {
    FOLDERS.contains(&name) || FILES.contains(&name) || TABLES.iter().any(|t| t.name == name)
}

/// The names in a folder, sorted, without those that begin with a dot.
fn names(folder: &Path) -> Result<Vec<String>, TableError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(|e| TableError::io(folder, e))? {
        let entry = entry.map_err(|e| TableError::io(folder, e))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Refuses a folder that is not ours: ours are empty, or bear our mark and hold nothing but names
/// of ours. Changes nothing.
///
/// Errors: [`NotOurs`](TableError::NotOurs).
pub fn check_ours(root: &Path) -> Result<(), TableError> {
    let names = names(root)?;
    let foreign = match names.iter().find(|name| !is_known(name)) {
        Some(foreign) => foreign,
        None if names.is_empty() || has_mark(root)? => return Ok(()),
        None => &names[0],
    };
    Err(TableError::NotOurs {
        root: root.to_owned(),
        found: foreign.clone(),
    })
}

/// Whether the lock or the manifest says that topicmill wrote this folder. A lock that was killed
/// before its first word is empty, and nothing else was written before it.
fn has_mark(root: &Path) -> Result<bool, TableError> {
    let path = root.join(LOCK);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(text.is_empty() || text.starts_with(LOCK_MARK)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Manifest::read(root).is_ok()),
        Err(e) => Err(TableError::io(&path, e)),
    }
}

/// `None` where the file system has no locks.
fn take_lock(root: &Path) -> Result<Option<File>, TableError> {
    let path = root.join(LOCK);
    let io = |e| TableError::io(&path, e);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let mut file = options.open(&path).map_err(io)?;
    let locked = match file.try_lock() {
        Ok(()) => true,
        Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => false,
        Err(TryLockError::Error(e)) => return Err(io(e)),
        Err(TryLockError::WouldBlock) => {
            let holder = holder_named(&mut file);
            let root = root.to_owned();
            return Err(TableError::Locked { root, holder });
        }
    };
    let text = format!("{LOCK_MARK}\nprocess {}\n", std::process::id());
    file.set_len(0)
        .and_then(|()| file.seek(SeekFrom::Start(0)))
        .and_then(|_| file.write_all(text.as_bytes()))
        .map_err(io)?;
    Ok(locked.then_some(file))
}

/// Creates a folder and those above it, and syncs the one that names the first new folder.
fn create_folder(folder: &Path) -> Result<(), TableError> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent().filter(|p| !p.as_os_str().is_empty()) {
        create_folder(parent)?;
    }
    match fs::create_dir(folder) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(TableError::io(folder, e)),
        _ => match folder.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => sync_folder(parent),
            _ => Ok(()),
        },
    }
}

fn sync_folder(folder: &Path) -> Result<(), TableError> {
    File::open(folder)
        .and_then(|file| file.sync_all())
        .map_err(|e| TableError::io(folder, e))
}

fn remove_file(path: &Path) -> Result<(), TableError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(TableError::io(path, e)),
        _ => Ok(()),
    }
}
