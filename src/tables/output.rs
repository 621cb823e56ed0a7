//! The output folder and the protocol by which files come to stand in it.
//!
//! A file is written in `_temporary/`, synced, renamed to its final name, and the folders are
//! synced: whenever the program is stopped, what bears a final name is complete. `manifest.json`
//! and then `_SUCCESS` come last. One run at a time holds `_lock`; the kernel frees it however the
//! process ends. Only files that topicmill writes are ever removed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::manifest::Manifest;
use super::{TABLES, TableError};
use crate::storage::{self, Lock, Locking};

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
    lock: Option<Lock>,
}

impl Output {
    /// Creates the folder if needed, takes the lock until this value is dropped or the process
    /// ends, and empties `_temporary`; in a complete output there is none.
    ///
    /// Errors: [`Locked`](TableError::Locked) while another run has it,
    /// [`NotOurs`](TableError::NotOurs) if the folder holds anything that is not topicmill's
    /// (names that begin with a dot are overlooked).
    pub fn lead(root: &Path) -> Result<Self, TableError> {
        create_folder(root)?;
        check_ours(root)?;
        let lock = take_lock(root)?;
        let output = Self {
            root: root.to_owned(),
            lock,
        };
        let temporary = output.path(TEMPORARY);
        storage::remove_tree(&temporary).map_err(|e| TableError::io(&temporary, e))?;
        match output.is_complete() {
            // A run that was killed right after its last rename is complete for good only now.
            true => sync_folder(root)?,
            false => create_folder(&temporary)?,
        }
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
        match self.is_complete() {
            true => Ok(()),
            false => create_folder(&self.path(TEMPORARY)),
        }
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
        storage::sync(temporary).map_err(|e| TableError::io(temporary, e))?;
        let target = self.path(relative);
        let parent = target.parent().unwrap_or(&self.root);
        create_folder(parent)?;
        storage::rename(temporary, &target).map_err(|e| TableError::io(&target, e))?;
        sync_folder(parent)
    }

    /// Gives a published file another final name, replacing what stood there. Both names are in one
    /// folder.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), TableError> {
        let (from, to) = (self.path(from), self.path(to));
        storage::rename(&from, &to).map_err(|e| TableError::io(&from, e))?;
        sync_folder(to.parent().unwrap_or(&self.root))
    }

    /// Writes a small file: all of it or nothing.
    pub fn write_atomic(&self, relative: &str, bytes: &[u8]) -> Result<(), TableError> {
        let temporary = self.temporary_path(&relative.replace('/', "+"));
        storage::write(&temporary, bytes).map_err(|e| TableError::io(&temporary, e))?;
        self.publish(&temporary, relative)
    }

    /// Declares the output complete: `manifest.json`, then `_SUCCESS`, then `_temporary` goes.
    ///
    /// The folders are synced once more before: a run that was killed between a rename and its sync
    /// left a name that only looks as if it were on the disk.
    pub fn complete(&self, manifest: &Manifest) -> Result<(), TableError> {
        let tables = TABLES.iter().map(|table| table.name);
        for name in tables.chain(["corpus", "corpus/shards", "model"]) {
            if self.path(name).is_dir() {
                sync_folder(&self.path(name))?;
            }
        }
        self.write_atomic(MANIFEST, manifest.to_json().as_bytes())?;
        self.write_atomic(SUCCESS, b"")?;
        let temporary = self.path(TEMPORARY);
        storage::remove_tree(&temporary).map_err(|e| TableError::io(&temporary, e))?;
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
        storage::remove_tree(&target).map_err(|e| TableError::io(&target, e))?;
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
        storage::remove_folder(folder).map_err(|e| TableError::io(folder, e))?;
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
    let text = storage::holder(&path).map_err(|e| TableError::io(&path, e))?;
    Ok(text.as_deref().map(holder_named))
}

/// What the text of a lock says of its holder.
fn holder_named(text: &str) -> String {
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

/// Whether the lock or the manifest says that topicmill wrote this folder. A lock whose writer was
/// killed is empty or cut short, and nothing else was written before it.
fn has_mark(root: &Path) -> Result<bool, TableError> {
    let path = root.join(LOCK);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(text.starts_with(LOCK_MARK) || LOCK_MARK.starts_with(&text)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Manifest::read(root).is_ok()),
        Err(e) => Err(TableError::io(&path, e)),
    }
}

/// `None` where the file system has no locks.
fn take_lock(root: &Path) -> Result<Option<Lock>, TableError> {
    let path = root.join(LOCK);
    let text = format!("{LOCK_MARK}\nprocess {}\n", std::process::id());
    match Lock::take(&path, &text).map_err(|e| TableError::io(&path, e))? {
        Locking::Held(lock) => Ok(Some(lock)),
        Locking::Unsupported => Ok(None),
        Locking::Busy(text) => Err(TableError::Locked {
            root: root.to_owned(),
            holder: holder_named(&text),
        }),
    }
}

fn create_folder(folder: &Path) -> Result<(), TableError> {
    storage::create_folder(folder).map_err(|e| TableError::io(folder, e))
}

fn sync_folder(folder: &Path) -> Result<(), TableError> {
    storage::sync_folder(folder).map_err(|e| TableError::io(folder, e))
}

fn remove_file(path: &Path) -> Result<(), TableError> {
    storage::remove_file(path).map_err(|e| TableError::io(path, e))
}
