//! The output folder and the protocol by which files are published in it.
//!
//! A file is written in `_temporary/`, synced, renamed to its final name, and the folders are
//! synced: whenever the program is stopped, every file under a final name is complete.
//! `manifest.json` and then `_SUCCESS` come last. One run at a time holds `_lock`; the kernel
//! releases it however the process ends. Only files that topicmill writes are ever removed.
//!
//! An output in an object store (`s3://bucket/folder`) keeps the same protocol, with the store's
//! equivalent of each step (`stored`): there a process works in a private local folder.

mod ours;
mod place;
mod stored;
mod view;

use std::path::{Path, PathBuf};

use super::manifest::Manifest;
use super::{TABLES, TableError};
use crate::storage::object::is_remote;
use crate::storage::{self, Lock, Locking};
pub use ours::check_ours;
use ours::{is_known, names};
pub use place::Place;
use stored::Stored;
pub use view::{View, Wanted, exists};

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
    place: Place,
    lock: Option<Lock>,
    /// For an output in an object store.
    stored: Option<Stored>,
}

impl Output {
    /// Creates the folder if needed, takes the lock until this value is dropped or the process
    /// ends, and empties `_temporary`; in a complete output there is none.
    ///
    /// Errors: [`Locked`](TableError::Locked) while another run has it,
    /// [`NotOurs`](TableError::NotOurs) if the folder holds anything that is not topicmill's
    /// (names that begin with a dot are overlooked).
    pub fn lead(place: impl Into<Place>) -> Result<Self, TableError> {
        let place = place.into();
        let (lock, stored) = match place.is_remote() {
            true => (None, Some(Stored::lead(&place)?)),
            false => {
                create_folder(&place.root)?;
                check_ours(&place.root)?;
                (take_lock(&place.root)?, None)
            }
        };
        let output = Self {
            place,
            lock,
            stored,
        };
        let temporary = output.temporary();
        storage::remove_tree(&temporary).map_err(|e| TableError::io(&temporary, e))?;
        match output.is_complete()? {
            // A run that was killed right after its last rename is complete for good only now.
            true => sync_folder(output.place.local())?,
            false => create_folder(&temporary)?,
        }
        Ok(output)
    }

    /// The same folder for the other processes of a run: no lock, and nothing is touched before
    /// [`join`](Self::join).
    ///
    /// Errors: for an address in an object store, that it is none, or the settings.
    pub fn follow(place: impl Into<Place>) -> Result<Self, TableError> {
        let place = place.into();
        let stored = match place.is_remote() {
            true => Some(Stored::follow(&place)?),
            false => None,
        };
        Ok(Self {
            place,
            lock: None,
            stored,
        })
    }

    /// Prepares a folder that this process [`follow`](Self::follow)s for writing. The leading
    /// process must have opened it before.
    pub fn join(&self) -> Result<(), TableError> {
        if let Some(stored) = &self.stored {
            stored.prepare()?;
            let temporary = self.temporary();
            storage::remove_tree(&temporary).map_err(|e| TableError::io(&temporary, e))?;
        }
        match self.is_complete()? {
            true => Ok(()),
            false => create_folder(&self.temporary()),
        }
    }

    /// To be called where a process has done its part: what it kept of an output elsewhere goes.
    pub fn leave(&self) -> Result<(), TableError> {
        self.stored.as_ref().map_or(Ok(()), Stored::leave)
    }

    /// The folder, as the job names it.
    pub fn root(&self) -> &Path {
        &self.place.root
    }

    /// Where this process writes what it says of itself: below the folder, or, of an output in an
    /// object store, below the one that it works in.
    pub fn logs(&self) -> PathBuf {
        self.place.local().join(LOGS)
    }

    /// Puts a copy of a file of [`logs`](Self::logs) where others look for it; it is there already
    /// unless the output is in an object store.
    pub fn share_log(&self, name: &str) -> Result<(), TableError> {
        match &self.stored {
            Some(stored) => stored.share(&self.logs().join(name), &format!("{LOGS}/{name}")),
            None => Ok(()),
        }
    }

    /// Whether this value holds the lock: false after [`join`](Self::join), and on a file system
    /// that has no locks.
    pub fn is_locked(&self) -> bool {
        self.lock.is_some() || self.stored.as_ref().is_some_and(Stored::is_locked)
    }

    /// The final path of `relative` (such as `documents/part-00000.parquet`) in the folder. To read
    /// it, ask [`local`](Self::local).
    pub fn path(&self, relative: &str) -> PathBuf {
        self.place.root.join(relative)
    }

    /// Where this process reads a published file: there, or in its own copy of it. If no such file
    /// is published, there is no file at the path.
    pub fn local(&self, relative: &str) -> Result<PathBuf, TableError> {
        match &self.stored {
            Some(stored) => stored.fetch(relative),
            None => Ok(self.path(relative)),
        }
    }

    /// The folder below which these published files can be read.
    pub fn local_root(&self, files: &[&str]) -> Result<&Path, TableError> {
        for file in files {
            self.local(file)?;
        }
        Ok(self.place.local())
    }

    /// Where an unfinished file is written. Two writers must not use one `name` (a single path
    /// component) at a time.
    pub fn temporary_path(&self, name: &str) -> PathBuf {
        self.temporary().join(name)
    }

    fn temporary(&self) -> PathBuf {
        self.place.local().join(TEMPORARY)
    }

    /// Whether there is a file or folder under this final name: then it is complete.
    pub fn is_published(&self, relative: &str) -> Result<bool, TableError> {
        match &self.stored {
            Some(stored) => stored.exists(relative),
            None => Ok(self.path(relative).exists()),
        }
    }

    /// The names of what is published in a folder, sorted; none where there is no such folder.
    pub fn names(&self, folder: &str) -> Result<Vec<String>, TableError> {
        match &self.stored {
            Some(stored) => stored.names(folder),
            None if !self.path(folder).is_dir() => Ok(Vec::new()),
            None => names(&self.path(folder)),
        }
    }

    /// Syncs a finished file and moves it to its final name, replacing a previous file.
    pub fn publish(&self, temporary: &Path, relative: &str) -> Result<(), TableError> {
        if let Some(stored) = &self.stored {
            return stored.publish(temporary, relative);
        }
        storage::sync(temporary).map_err(|e| TableError::io(temporary, e))?;
        let target = self.path(relative);
        let parent = target.parent().unwrap_or(self.root());
        create_folder(parent)?;
        storage::rename(temporary, &target).map_err(|e| TableError::io(&target, e))?;
        sync_folder(parent)
    }

    /// Renames a published file to another final name, replacing a previous file. Both names are in one
    /// folder.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), TableError> {
        if let Some(stored) = &self.stored {
            return stored.rename(from, to);
        }
        let (from, to) = (self.path(from), self.path(to));
        storage::rename(&from, &to).map_err(|e| TableError::io(&from, e))?;
        sync_folder(to.parent().unwrap_or(self.root()))
    }

    /// Removes one published file, if it is there, that nothing refers to any more.
    pub fn remove(&self, relative: &str) -> Result<(), TableError> {
        match &self.stored {
            Some(stored) => stored.remove(relative),
            None => remove_file(&self.path(relative)),
        }
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
            let folder = self.place.local().join(name);
            if folder.is_dir() {
                sync_folder(&folder)?;
            }
        }
        self.write_atomic(MANIFEST, manifest.to_json().as_bytes())?;
        self.write_atomic(SUCCESS, b"")?;
        let temporary = self.temporary();
        storage::remove_tree(&temporary).map_err(|e| TableError::io(&temporary, e))?;
        sync_folder(self.place.local())
    }

    /// Whether a run has ended here and nothing was taken away since.
    pub fn is_complete(&self) -> Result<bool, TableError> {
        self.is_published(SUCCESS)
    }

    /// Declares the output incomplete: removes `_SUCCESS` and `manifest.json`. To be called before
    /// anything in a complete output changes.
    pub fn reopen(&self) -> Result<(), TableError> {
        for name in [SUCCESS, MANIFEST] {
            self.remove(name)?;
        }
        create_folder(&self.temporary())?;
        sync_folder(self.place.local())
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
        let is_table = TABLES.iter().any(|table| table.name == first);
        if let Some(stored) = &self.stored {
            return stored.clear(relative, is_table);
        }
        let target = self.path(relative);
        if !target.is_dir() || target.is_symlink() {
            return remove_file(&target);
        }
        if is_table {
            return self.clear_table(&target);
        }
        storage::remove_tree(&target).map_err(|e| TableError::io(&target, e))?;
        sync_folder(target.parent().unwrap_or(self.root()))
    }

    /// Removes everything that topicmill writes, but the lock: what `--overwrite` asks for.
    pub fn clear_all(&self) -> Result<(), TableError> {
        let tables = TABLES.iter().map(|table| table.name);
        for name in tables.chain(FOLDERS).chain(FILES) {
            if name != LOCK {
                self.clear(name)?;
            }
        }
        create_folder(&self.temporary())
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
        sync_folder(self.root())
    }

    fn not_ours(&self, found: &str) -> TableError {
        TableError::NotOurs {
            root: self.place.root.clone(),
            found: found.to_owned(),
        }
    }
}

/// The current holder of the output, according to the lock; `None` if it is free. A run that starts
/// at this very moment is told that the folder is in use.
pub fn holder(root: &Path) -> Result<Option<String>, TableError> {
    if is_remote(root) {
        return stored::holder(root);
    }
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
