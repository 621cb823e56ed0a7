//! Objects of a store that speaks S3: their names, their metadata, and their errors.
//!
//! An object is complete or absent by nature: it appears under its name when its last byte has
//! arrived, and replaces the previous object as a whole. [`Bucket`] is the blocking client. Without
//! the Cargo feature `s3` it returns an error when opened.

#[cfg(not(feature = "s3"))]
mod absent;
#[cfg(feature = "s3")]
mod client;
#[cfg(feature = "s3")]
mod explain;
#[cfg(feature = "s3")]
mod runtime;
#[cfg(feature = "s3")]
mod transfer;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

#[cfg(not(feature = "s3"))]
pub use absent::Bucket;
#[cfg(feature = "s3")]
pub use client::Bucket;

/// What the address of an object begins with.
pub const SCHEME: &str = "s3://";

/// Whether a path of a job names something in an object store.
///
/// ```
/// use std::path::Path;
/// use topicmill::storage::object::is_remote;
/// assert!(is_remote(Path::new("s3://bucket/run1")));
/// assert!(!is_remote(Path::new("out/run1")));
/// ```
pub fn is_remote(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.starts_with(SCHEME))
}

/// The address of an object, or of all whose keys begin with it and a `/`: `s3://bucket/key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectUrl {
    /// The bucket's name.
    pub bucket: String,
    /// The key, without `/` at either end; empty for the whole bucket.
    pub key: String,
}

impl ObjectUrl {
    /// Takes an address apart.
    ///
    /// ```
    /// use std::path::Path;
    /// use topicmill::storage::object::ObjectUrl;
    /// let url = ObjectUrl::parse(Path::new("s3://bucket/runs/first/")).unwrap();
    /// assert_eq!((url.bucket.as_str(), url.key.as_str()), ("bucket", "runs/first"));
    /// assert_eq!(url.join("_SUCCESS").to_string(), "s3://bucket/runs/first/_SUCCESS");
    /// assert!(ObjectUrl::parse(Path::new("s3:///runs")).is_err());
    /// ```
    ///
    /// # Errors
    /// It does not begin with `s3://`, names no bucket, or has an empty part between two `/`.
    pub fn parse(path: &Path) -> Result<Self, StoreError> {
        let text = path.to_string_lossy();
        let refuse = |reason: &str| StoreError {
            url: text.clone().into_owned(),
            kind: StoreErrorKind::Setting,
            message: format!("{reason}; write `s3://bucket/folder`"),
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
        Ok(Self {
            bucket: bucket.to_owned(),
            key: key.to_owned(),
        })
    }

    /// What is called `relative` below this address.
    pub fn join(&self, relative: &str) -> Self {
        let key = match (self.key.as_str(), relative) {
            ("", relative) => relative.to_owned(),
            (key, "") => key.to_owned(),
            (key, relative) => format!("{key}/{relative}"),
        };
        Self {
            bucket: self.bucket.clone(),
            key,
        }
    }

    /// What the keys of everything below this address begin with.
    pub fn prefix(&self) -> String {
        match self.key.as_str() {
            "" => String::new(),
            key => format!("{key}/"),
        }
    }

    /// The address as a path, as jobs and errors have it.
    pub fn to_path(&self) -> PathBuf {
        PathBuf::from(self.to_string())
    }
}

impl fmt::Display for ObjectUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}", self.bucket, self.key)
    }
}

/// What a store says of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectMeta {
    /// Its key.
    pub key: String,
    /// Its size.
    pub bytes: u64,
    /// The entity tag, which changes with the content; as the store returns it, including quotes.
    pub etag: String,
    /// When it was written, by the store's own clock, to the second.
    pub modified: SystemTime,
}

/// When a write may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition<'a> {
    /// No object has the key yet.
    Absent,
    /// The object still has this tag.
    Unchanged(&'a str),
}

/// What kind of trouble it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreErrorKind {
    /// The address or the settings are wrong, or this build has no S3 support.
    Setting,
    /// The store does not accept the credentials, or they do not allow this.
    Refused,
    /// The object or the bucket is not there.
    Missing,
    /// The object is another than it was.
    Changed,
    /// No response within the time allowed, or an invalid one.
    Unreachable,
    /// The local disk.
    Disk,
}

/// A request to an object store that failed for good; says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{url}: {message}")]
pub struct StoreError {
    /// What was asked for.
    pub url: String,
    /// What kind of trouble it is.
    pub kind: StoreErrorKind,
    /// What went wrong, and the remedy.
    pub message: String,
}

impl StoreError {
    /// The address as a path, and the rest as the error of a file system: for errors that name a
    /// path themselves.
    pub fn into_parts(self) -> (PathBuf, io::Error) {
        (PathBuf::from(&self.url), self.into())
    }

    /// Trouble with a local file on the way to or from `url`.
    pub(crate) fn disk(url: &ObjectUrl, path: &Path, source: &io::Error) -> Self {
        Self {
            url: url.to_string(),
            kind: StoreErrorKind::Disk,
            message: format!(
                "{}: {source}; check the disk, or set another output.scratch",
                path.display()
            ),
        }
    }
}

impl From<StoreError> for io::Error {
    /// The message without the address, which the caller names.
    fn from(error: StoreError) -> Self {
        let kind = match error.kind {
            StoreErrorKind::Missing => io::ErrorKind::NotFound,
            StoreErrorKind::Refused => io::ErrorKind::PermissionDenied,
            StoreErrorKind::Setting => io::ErrorKind::InvalidInput,
            StoreErrorKind::Unreachable => io::ErrorKind::TimedOut,
            StoreErrorKind::Changed | StoreErrorKind::Disk => io::ErrorKind::Other,
        };
        Self::new(kind, error.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_apart_and_together() {
        let parse = |text: &str| ObjectUrl::parse(Path::new(text));
        let whole = parse("s3://bucket").unwrap();
        assert_eq!((whole.key.as_str(), whole.prefix().as_str()), ("", ""));
        assert_eq!(whole.join("a/b").to_string(), "s3://bucket/a/b");
        let run = parse("s3://bucket/run1").unwrap();
        assert_eq!(run.prefix(), "run1/");
        assert_eq!(run.join(""), run);
        for wrong in ["bucket/run1", "s3://", "s3://b//x", "s3://b/x/../y"] {
            let error = parse(wrong).unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::Setting, "{wrong}");
            assert!(error.to_string().contains("s3://bucket/folder"), "{error}");
        }
    }
}
