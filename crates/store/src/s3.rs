//! Objects of a store with the S3 protocol.
//!
//! An object is always complete or absent: it appears under its name when its last byte has
//! arrived, and replaces the previous object as a whole. So a commit is an upload. Files that a
//! process needs on its disk are fetched once and kept, with their tags, until the store has another
//! version; processes share only the store. The lock is a lease.

mod client;
mod explain;
pub mod lease;

use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

pub use client::Bucket;

use super::source::{ObjectReader, Ranges};
use super::{Entry, Locking, SCHEME, Source, Store, StoreError, faulty, named};
use lease::{Lease, Terms};

/// The folder of tags, in the folder of copies.
const TAGS: &str = ".tags";
/// The folder of unfinished downloads, in the folder of copies.
const COMING: &str = ".coming";

/// A store's metadata of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectMeta {
    /// Its key.
    pub key: String,
    /// Its size.
    pub bytes: u64,
    /// The entity tag, which changes with the content, as returned by the store, including quotes.
    pub etag: String,
    /// When it was written, by the store's clock, to the second.
    pub modified: SystemTime,
}

/// When a write may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition<'a> {
    /// Always; a previous object is replaced.
    Always,
    /// If no object has the key.
    Absent,
    /// If the object still has this tag.
    Unchanged(&'a str),
}

/// A folder in a bucket, and the local folder of copies.
#[derive(Debug)]
pub struct S3 {
    bucket: Arc<Bucket>,
    /// The key prefix of everything in the folder.
    root: String,
    copies: PathBuf,
    kept: &'static [&'static str],
    serial: AtomicU64,
}

impl S3 {
    /// Creates the store of the folder `root` (`s3://bucket/folder`), with local copies in `copies`.
    /// Touches neither. Files committed below one of `kept`, relative to `root`, keep a copy.
    ///
    /// # Errors
    /// The address is invalid; the settings are wrong.
    pub fn open(
        root: &Path,
        copies: &Path,
        kept: &'static [&'static str],
    ) -> Result<Self, StoreError> {
        let (bucket, key) = split(root)?;
        Ok(Self {
            bucket: Bucket::open(&bucket)?,
            root: below(&key),
            copies: copies.to_owned(),
            kept,
            serial: AtomicU64::new(0),
        })
    }

    /// Returns the object of this key, if there is one: the first of the keys with this prefix, since stores list keys
    /// in byte order. Not all stores respond alike to a direct request for an object named like a folder.
    fn object(&self, key: &str) -> Result<Option<ObjectMeta>, StoreError> {
        let first = self.bucket.first(key)?;
        Ok(first.filter(|meta| meta.key == key))
    }

    /// Returns the name of an object relative to the root.
    fn relative<'a>(&self, key: &'a str) -> &'a str {
        key.strip_prefix(&self.root).unwrap_or(key)
    }

    fn copy_of(&self, key: &str) -> PathBuf {
        self.copies.join(self.relative(key))
    }

    fn tag_of(&self, key: &str) -> PathBuf {
        self.copies.join(TAGS).join(self.relative(key))
    }

    fn is_current(&self, copy: &Path, meta: &ObjectMeta) -> bool {
        let has_size = fs::metadata(copy).is_ok_and(|file| file.len() == meta.bytes);
        let tag = || fs::read_to_string(self.tag_of(&meta.key));
        has_size && tag().is_ok_and(|tag| tag == meta.etag)
    }

    /// Makes a file the local copy of an object with this tag.
    fn keep(&self, file: &Path, key: &str, etag: &str) -> io::Result<()> {
        let (copy, tag) = (self.copy_of(key), self.tag_of(key));
        for path in [&copy, &tag] {
            super::create_folder(path.parent().unwrap_or(&self.copies))?;
        }
        super::rename(file, &copy)?;
        super::write(&tag, etag.as_bytes())
    }

    fn remove_copy(&self, key: &str) -> Result<(), StoreError> {
        for path in [self.copy_of(key), self.tag_of(key)] {
            let removed =
                if path.is_dir() { super::remove_tree(&path) } else { super::remove_file(&path) };
            removed.map_err(|e| self.bucket.disk(key, &path, &e))?;
        }
        Ok(())
    }
}

impl Store for S3 {
    fn open(&self, path: &Path) -> Result<Source, StoreError> {
        let key = key_of(path)?;
        let Some(meta) = self.bucket.head(&key)? else {
            let reason = "there is no such object";
            return Err(named(path)(io::Error::new(io::ErrorKind::NotFound, reason)));
        };
        let (bytes, tag) = (meta.bytes, meta.etag.clone());
        let bucket = Arc::clone(&self.bucket);
        let object = Arc::new(Object { bucket, meta });
        Ok(Source::Object(ObjectReader::new(object, bytes, tag)))
    }

    fn local(&self, path: &Path) -> Result<PathBuf, StoreError> {
        let key = key_of(path)?;
        let copy = self.copy_of(&key);
        let Some(meta) = self.bucket.head(&key)? else {
            self.remove_copy(&key)?;
            return Ok(copy);
        };
        if self.is_current(&copy, &meta) {
            return Ok(copy);
        }
        let coming = self.copies.join(COMING);
        let file = coming.join(self.serial.fetch_add(1, Ordering::Relaxed).to_string());
        let disk = |e| self.bucket.disk(&key, &copy, &e);
        super::create_folder(&coming).map_err(disk)?;
        self.bucket.download(&meta, &file)?;
        self.keep(&file, &key, &meta.etag).map_err(disk)?;
        Ok(copy)
    }

    fn exists(&self, path: &Path) -> Result<bool, StoreError> {
        let key = key_of(path)?;
        Ok(self.object(&key)?.is_some() || self.bucket.first(&below(&key))?.is_some())
    }

    fn names(&self, folder: &Path) -> Result<Vec<String>, StoreError> {
        self.bucket.names(&below(&key_of(folder)?))
    }

    fn list(&self, path: &Path) -> Result<Vec<Entry>, StoreError> {
        let key = key_of(path)?;
        let mut found = self.bucket.list(&below(&key))?;
        if found.is_empty() {
            found.extend(self.object(&key)?);
        }
        let entry =
            |meta: ObjectMeta| Entry { path: self.bucket.address(&meta.key), bytes: meta.bytes };
        Ok(found.into_iter().map(entry).collect())
    }

    fn commit(&self, file: &Path, path: &Path) -> Result<(), StoreError> {
        faulty::before("commit", &[file, path]).map_err(named(path))?;
        let key = key_of(path)?;
        let etag = self.bucket.put_file(file, &key)?;
        let name = self.relative(&key);
        let done = if self.kept.iter().any(|folder| name.starts_with(folder)) {
            self.keep(file, &key, &etag)
        } else {
            super::remove_file(file)
        };
        done.map_err(|e| self.bucket.disk(&key, file, &e))
    }

    fn remove(&self, path: &Path) -> Result<(), StoreError> {
        faulty::before("remove", &[path]).map_err(named(path))?;
        let key = key_of(path)?;
        let mut found = self.bucket.list(&below(&key))?;
        found.extend(self.object(&key)?);
        for object in found {
            self.bucket.delete(&object.key)?;
        }
        self.remove_copy(&key)
    }

    fn sync(&self, _: &Path) -> Result<(), StoreError> {
        Ok(())
    }

    fn lock(&self, path: &Path, mark: &str) -> Result<Locking, StoreError> {
        faulty::before("lock", &[path]).map_err(named(path))?;
        Lease::take(&self.bucket, &key_of(path)?, mark, Terms::default())
    }

    fn holder(&self, path: &Path) -> Result<Option<String>, StoreError> {
        lease::holder_of(&self.bucket, &key_of(path)?)
    }
}

/// Splits an address into bucket and key. The key has no trailing `/`, and is empty for the whole
/// bucket.
///
/// # Errors
/// It does not begin with `s3://`, names no bucket, or has a part that is empty, `.` or `..`.
fn split(path: &Path) -> Result<(String, String), StoreError> {
    let text = path.to_string_lossy();
    let refuse = |reason: &str| {
        let message = format!("{reason}; write `s3://bucket/folder`");
        named(path)(io::Error::new(io::ErrorKind::InvalidInput, message))
    };
    let Some(rest) = text.strip_prefix(SCHEME) else {
        return Err(refuse("this is not an address in an object store"));
    };
    let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
    let key = key.trim_end_matches('/');
    if bucket.is_empty() {
        return Err(refuse("the bucket is missing"));
    }
    if !key.is_empty() && key.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(refuse("a part of it is empty, `.` or `..`"));
    }
    Ok((bucket.to_owned(), key.to_owned()))
}

/// Returns the address of an object, as in errors.
fn address_of(bucket: &str, key: &str) -> PathBuf {
    PathBuf::from(format!("{SCHEME}{bucket}/{key}"))
}

fn key_of(path: &Path) -> Result<String, StoreError> {
    Ok(split(path)?.1)
}

/// Returns the key prefix of everything in a folder.
fn below(key: &str) -> String {
    match key {
        "" => String::new(),
        key => format!("{key}/"),
    }
}

/// An object as it was when it was opened.
#[derive(Debug)]
struct Object {
    bucket: Arc<Bucket>,
    meta: ObjectMeta,
}

impl Ranges for Object {
    fn fetch(&self, range: Range<u64>) -> io::Result<Vec<u8>> {
        let Self { bucket, meta } = self;
        Ok(bucket.read(&meta.key, range, &meta.etag)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_similar_and_long_keys_keep_their_own_tags() {
        let folder = tempfile::tempdir().unwrap();
        let store = S3::open(Path::new("s3://bucket/run"), folder.path(), &[]).unwrap();
        let meta = |key: &str| ObjectMeta {
            key: format!("run/{key}"),
            bytes: 1,
            etag: format!("\"{key}\""),
            modified: SystemTime::UNIX_EPOCH,
        };
        let metas = ["a/b", "a+b", &["x"; 200].join("/")].map(meta);
        let file = folder.path().join("file");
        for ObjectMeta { key, etag, .. } in &metas {
            fs::write(&file, "x").unwrap();
            store.keep(&file, key, etag).unwrap();
        }
        for meta in &metas {
            assert!(store.is_current(&store.copy_of(&meta.key), meta));
        }
        store.remove_copy("run/a").unwrap();
        assert!(!store.tag_of("run/a").exists() && store.tag_of("run/a+b").exists());
    }

    #[test]
    fn addresses_come_apart_and_together() {
        let parts = |text: &str| split(Path::new(text)).unwrap();
        assert_eq!(parts("s3://bucket"), ("bucket".to_owned(), String::new()));
        let (bucket, key) = parts("s3://bucket/runs/first/");
        assert_eq!((bucket.as_str(), key.as_str()), ("bucket", "runs/first"));
        assert_eq!(address_of(&bucket, &key), Path::new("s3://bucket/runs/first"));
        for wrong in ["bucket/run1", "s3://", "s3:///runs", "s3://b//x", "s3://b/x/../y"] {
            let error = split(Path::new(wrong)).unwrap_err();
            assert_eq!(error.source.kind(), io::ErrorKind::InvalidInput, "{wrong}");
            assert!(error.to_string().contains("s3://bucket/folder"), "{error}");
        }
    }
}
