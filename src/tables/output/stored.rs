//! The commit protocol in an object store: an object is complete or absent by nature, so publishing
//! is an upload; the lock is a lease; existence is determined by the store, not by a local copy.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{LOCK, LOCK_MARK, MANIFEST, Place, TEMPORARY, check_ours, is_part_name};
use crate::storage::lease::{self, Lease, Leasing, LockName, Terms};
use crate::storage::object::StoreError;
use crate::storage::remote::Remote;
use crate::tables::TableError;

/// What is read again by the process that wrote it: its copy stays.
const READ_AGAIN: [&str; 3] = ["corpus/", "model/", "checkpoints/projected/"];

/// An output in an object store.
pub(super) struct Stored {
    root: PathBuf,
    remote: Remote,
    lease: Option<Lease>,
}

impl Stored {
    /// Takes the lock and prepares the local folder.
    pub(super) fn lead(place: &Place) -> Result<Self, TableError> {
        let mut stored = Self::follow(place)?;
        check_ours(&place.root)?;
        let lock = lock_name(&stored.remote);
        stored.lease = match Lease::take(lock, LOCK_MARK, Terms::default())? {
            Leasing::Held(lease) => Some(lease),
            Leasing::Busy(text) => {
                return Err(TableError::Locked {
                    root: place.root.clone(),
                    holder: lease::holder(&text),
                });
            }
        };
        stored.prepare()?;
        Ok(stored)
    }

    /// For the processes that do not hold the lock; touches nothing.
    pub(super) fn follow(place: &Place) -> Result<Self, TableError> {
        Ok(Self {
            root: place.root.clone(),
            remote: Remote::open(&place.root, place.local())?,
            lease: None,
        })
    }

    pub(super) fn is_locked(&self) -> bool {
        self.lease.is_some()
    }

    pub(super) fn prepare(&self) -> Result<(), TableError> {
        Ok(self.remote.prepare()?)
    }

    pub(super) fn leave(&self) -> Result<(), TableError> {
        Ok(self.remote.leave()?)
    }

    pub(super) fn exists(&self, relative: &str) -> Result<bool, TableError> {
        Ok(self.remote.exists(relative)?)
    }

    pub(super) fn names(&self, folder: &str) -> Result<Vec<String>, TableError> {
        Ok(self.remote.names(folder)?)
    }

    pub(super) fn fetch(&self, relative: &str) -> Result<PathBuf, TableError> {
        Ok(self.remote.fetch(relative)?)
    }

    pub(super) fn publish(&self, temporary: &Path, relative: &str) -> Result<(), TableError> {
        let is_kept = READ_AGAIN.iter().any(|folder| relative.starts_with(folder));
        Ok(self.writable()?.publish(temporary, relative, is_kept)?)
    }

    /// Uploads a file that is still being written.
    pub(super) fn share(&self, file: &Path, relative: &str) -> Result<(), TableError> {
        let remote = self.writable()?;
        Ok(remote
            .bucket()
            .put_file(file, &remote.key(relative))
            .map(drop)?)
    }

    /// A store cannot rename: the object exists under both names for a moment.
    pub(super) fn rename(&self, from: &str, to: &str) -> Result<(), TableError> {
        let remote = self.writable()?;
        remote.bucket().copy(&remote.key(from), &remote.key(to))?;
        Ok(remote.remove(from)?)
    }

    pub(super) fn remove(&self, relative: &str) -> Result<(), TableError> {
        Ok(self.writable()?.remove(relative)?)
    }

    /// Removes an object, or all that is in a folder; of a table only parts.
    pub(super) fn clear(&self, relative: &str, is_table: bool) -> Result<(), TableError> {
        let remote = self.writable()?;
        if is_table {
            let names = remote.names(relative)?;
            if let Some(foreign) = names.iter().find(|name| !is_part_name(name)) {
                return Err(TableError::NotOurs {
                    root: self.root.clone(),
                    found: format!("{relative}/{foreign}"),
                });
            }
        }
        Ok(remote.remove_all(relative)?)
    }

    /// The folder, to write to: not once another run has taken the lock over.
    fn writable(&self) -> Result<&Remote, TableError> {
        let lost = self.lease.as_ref().and_then(|lease| lease.check().err());
        match lost {
            Some(reason) => Err(TableError::Lost {
                root: self.root.clone(),
                reason,
            }),
            None => Ok(&self.remote),
        }
    }
}

fn lock_name(remote: &Remote) -> LockName {
    LockName {
        bucket: Arc::clone(remote.bucket()),
        key: remote.key(LOCK),
        probes: remote.key(&format!("{TEMPORARY}/clock-")),
    }
}

/// The holder of an output in an object store, according to the lock.
pub(super) fn holder(root: &Path) -> Result<Option<String>, TableError> {
    let remote = Remote::open(root, Path::new(""))?;
    Ok(lease::holder_of(&lock_name(&remote))?)
}

/// The content of the root except names with a dot, and whether topicmill has marked it as its own.
pub(super) fn names_and_mark(root: &Path) -> Result<(Vec<String>, bool), TableError> {
    let remote = Remote::open(root, Path::new(""))?;
    let mut names = remote.names("")?;
    names.retain(|name| !name.starts_with('.'));
    let text = |name: &str| remote.bucket().get(&remote.key(name));
    let is_marked = match text(LOCK)? {
        Some((_, text)) => text.starts_with(LOCK_MARK.as_bytes()),
        None => text(MANIFEST)?.is_some(),
    };
    Ok((names, is_marked))
}

impl From<StoreError> for TableError {
    fn from(error: StoreError) -> Self {
        let (path, source) = error.into_parts();
        Self::Io { path, source }
    }
}
