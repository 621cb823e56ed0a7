//! Read access to an output: the folder itself or, for an object store, a copy of the requested parts.

use std::path::{Path, PathBuf};

use super::is_gone;
use crate::failure::Failure;
use store::{Entry, Source, Temporary, is_remote};

/// How much of an output is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Every byte.
    All,
    /// Every file, but only the footer of large Parquet files, except those of the table of topics.
    Outline,
}

/// Smaller files are copied whole, because two requests cost more.
const SMALL_BYTES: u64 = 1 << 20;

/// A file or folder that can be read; a copy is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct View {
    path: PathBuf,
    _copy: Option<Temporary>,
}

impl View {
    /// Opens the file or folder at `path`, or at that address.
    ///
    /// # Errors
    /// The store refuses or does not respond; the disk fails.
    pub(crate) fn open(path: &Path, wanted: Wanted) -> Result<Self, Failure> {
        if !is_remote(path) {
            let path = path.to_owned();
            return Ok(Self { path, _copy: None });
        }
        let owned = Temporary::at(store::temporary("view"));
        let copy = owned.as_ref().to_owned();
        let root = path.parent().filter(|parent| is_remote(parent));
        let root = root.unwrap_or(path);
        let store = store::working_in(&copy, root, &[])?;
        let here = |path: &Path| copy.join(path.strip_prefix(root).unwrap_or(path));
        for entry in store.list(path)? {
            if wanted == Wanted::Outline
                && is_large_table(&entry)
                && let Source::Object(object) = store.open(&entry.path)?
            {
                let to = here(&entry.path);
                store::create_folder(to.parent().unwrap_or(&copy))
                    .and_then(|()| object.outline(&to))
                    .map_err(Failure::io(&entry.path))?;
            } else {
                store.local(&entry.path)?;
            }
        }
        Ok(Self { path: here(path), _copy: Some(owned) })
    }

    /// Opens a file or folder that every complete result has.
    ///
    /// # Errors
    /// It is gone; those of [`open`](Self::open).
    pub(crate) fn require(path: &Path) -> Result<Self, Failure> {
        match exists(path)? {
            true => Self::open(path, Wanted::All),
            false => Err(is_gone(path)),
        }
    }

    /// Returns the path to read from.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether a file is a large part of a table whose rows an outline does not need.
fn is_large_table(entry: &Entry) -> bool {
    let folder = entry.path.parent();
    let extension = entry.path.extension();
    entry.bytes > SMALL_BYTES
        && extension.is_some_and(|extension| extension == "parquet")
        && !folder.is_some_and(|folder| folder.ends_with("topics"))
}

/// Whether anything exists at a path or address.
///
/// # Errors
/// The store refuses or does not respond.
pub(crate) fn exists(path: &Path) -> Result<bool, Failure> {
    Ok(store::at(path)?.exists(path)?)
}
