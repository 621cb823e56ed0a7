//! A folder in an object store, and the local folder through which a process works on it.
//!
//! Files are written locally and uploaded under their final names; objects that are read are
//! downloaded once and kept, with their tag, until the store has another version. Processes share
//! nothing but the store.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::object::{Bucket, ObjectMeta, ObjectUrl, StoreError};

/// Where tags are kept, below the local folder.
const TAGS: &str = ".tags";
/// Where files are that are still coming down.
const COMING: &str = ".coming";

/// A folder in an object store.
#[derive(Debug)]
pub struct Remote {
    url: ObjectUrl,
    bucket: Arc<Bucket>,
    local: PathBuf,
    serial: AtomicU64,
}

impl Remote {
    /// The folder at an address (`s3://bucket/folder`), worked on through `local`. Neither is
    /// touched.
    ///
    /// # Errors
    /// The address is invalid; the settings are wrong.
    pub fn open(url: &Path, local: &Path) -> Result<Self, StoreError> {
        let url = ObjectUrl::parse(url)?;
        Ok(Self {
            bucket: Bucket::open(&url.bucket)?,
            url,
            local: local.to_owned(),
            serial: AtomicU64::new(0),
        })
    }

    /// The client.
    pub fn bucket(&self) -> &Arc<Bucket> {
        &self.bucket
    }

    /// The key of something in the folder.
    pub fn key(&self, relative: &str) -> String {
        self.url.join(relative).key
    }

    /// The local folder.
    pub fn local(&self) -> &Path {
        &self.local
    }

    /// Prepares the local folder: what a stopped process was fetching goes, what it had stays.
    ///
    /// # Errors
    /// The disk.
    pub fn prepare(&self) -> Result<(), StoreError> {
        let coming = self.local.join(COMING);
        super::remove_tree(&coming)
            .and_then(|()| super::create_folder(&coming))
            .and_then(|()| super::create_folder(&self.local.join(TAGS)))
            .map_err(|e| self.disk(&coming, &e))
    }

    /// Removes the local folder.
    ///
    /// # Errors
    /// The disk.
    pub fn leave(&self) -> Result<(), StoreError> {
        super::remove_tree(&self.local).map_err(|e| self.disk(&self.local, &e))
    }

    /// Whether an object of this name is there, or any below it.
    ///
    /// # Errors
    /// The store refuses or does not answer.
    pub fn exists(&self, relative: &str) -> Result<bool, StoreError> {
        // Asking for an object by the name of a folder is not answered alike by all stores.
        Ok(!self.all(relative)?.is_empty())
    }

    /// The local copy of an object: reused if it is still the store's version, fetched otherwise.
    /// If there is no such object, there is no file at the path.
    ///
    /// # Errors
    /// The store refuses, does not answer, or the object changes meanwhile; the disk.
    pub fn fetch(&self, relative: &str) -> Result<PathBuf, StoreError> {
        let path = self.local.join(relative);
        let key = self.key(relative);
        let Some(meta) = self.bucket.head(&key)? else {
            super::remove_file(&path).map_err(|e| self.disk(&path, &e))?;
            return Ok(path);
        };
        if self.is_current(relative, &path, &meta) {
            return Ok(path);
        }
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let coming = self.local.join(COMING).join(serial.to_string());
        if let Some(meta) = self.bucket.download(&key, &coming)? {
            self.keep(&coming, relative, &meta.etag)?;
        }
        Ok(path)
    }

    /// Puts a finished file of this process under its final name, and keeps it as the local copy if
    /// it will be read again; it is moved or removed.
    ///
    /// # Errors
    /// The store refuses or does not answer; the disk.
    pub fn publish(&self, file: &Path, relative: &str, is_kept: bool) -> Result<(), StoreError> {
        let etag = self.bucket.put_file(file, &self.key(relative))?;
        match is_kept {
            true => self.keep(file, relative, &etag),
            false => super::remove_file(file).map_err(|e| self.disk(file, &e)),
        }
    }

    /// The content of a folder, by name: objects and folders, sorted.
    ///
    /// # Errors
    /// The store refuses or does not answer.
    pub fn names(&self, relative: &str) -> Result<Vec<String>, StoreError> {
        self.bucket.names(&self.url.join(relative).prefix())
    }

    /// Every object below a folder, by path from this one, sorted.
    ///
    /// # Errors
    /// The store refuses or does not answer.
    pub fn below(&self, relative: &str) -> Result<Vec<(String, ObjectMeta)>, StoreError> {
        let root = self.url.prefix();
        let found = self.bucket.list(&self.url.join(relative).prefix())?;
        let relative = |meta: ObjectMeta| {
            let relative = meta.key.strip_prefix(&root)?.to_owned();
            Some((relative, meta))
        };
        Ok(found.into_iter().filter_map(relative).collect())
    }

    /// Removes an object and its local copy.
    ///
    /// # Errors
    /// The store refuses or does not answer; the disk.
    pub fn remove(&self, relative: &str) -> Result<(), StoreError> {
        self.bucket.delete(&self.key(relative))?;
        let path = self.local.join(relative);
        super::remove_file(&path).map_err(|e| self.disk(&path, &e))
    }

    /// Removes an object of this name and every one below it, and the local copies.
    ///
    /// # Errors
    /// The store refuses or does not answer; the disk.
    pub fn remove_all(&self, relative: &str) -> Result<(), StoreError> {
        for object in self.all(relative)? {
            self.bucket.delete(&object.key)?;
        }
        let path = self.local.join(relative);
        let removed = match path.is_dir() {
            true => super::remove_tree(&path),
            false => super::remove_file(&path),
        };
        removed.map_err(|e| self.disk(&path, &e))
    }

    /// The object of this name, if there is one, and every one below it.
    fn all(&self, relative: &str) -> Result<Vec<ObjectMeta>, StoreError> {
        let (url, mut found) = (self.url.join(relative), Vec::new());
        let below = url.prefix();
        let is_in = |meta: &ObjectMeta| meta.key == url.key || meta.key.starts_with(&below);
        found.extend(self.bucket.list(&url.key)?.into_iter().filter(is_in));
        Ok(found)
    }

    fn is_current(&self, relative: &str, path: &Path, meta: &ObjectMeta) -> bool {
        let has_size = fs::metadata(path).is_ok_and(|file| file.len() == meta.bytes);
        let tag = || fs::read_to_string(self.tag(relative));
        has_size && tag().is_ok_and(|tag| tag == meta.etag)
    }

    /// Makes a file the local copy of an object with this tag.
    fn keep(&self, file: &Path, relative: &str, etag: &str) -> Result<(), StoreError> {
        let path = self.local.join(relative);
        let parent = path.parent().unwrap_or(&self.local);
        super::create_folder(parent)
            .and_then(|()| super::rename(file, &path))
            .and_then(|()| super::write(&self.tag(relative), etag.as_bytes()))
            .map_err(|e| self.disk(&path, &e))
    }

    fn tag(&self, relative: &str) -> PathBuf {
        self.local.join(TAGS).join(relative.replace('/', "+"))
    }

    fn disk(&self, path: &Path, source: &io::Error) -> StoreError {
        StoreError::disk(&self.url, path, source)
    }
}

/// Writes a file that has these pieces, each at its place, and holes between them.
///
/// # Errors
/// The file system refuses.
pub fn write_sparse(path: &Path, pieces: &[(u64, &[u8])]) -> io::Result<()> {
    let file = File::create(path)?;
    pieces
        .iter()
        .try_for_each(|(place, bytes)| file.write_all_at(bytes, *place))
}
