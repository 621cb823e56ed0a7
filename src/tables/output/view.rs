//! Read access to an output: the folder itself or, for an object store, a copy of the requested parts.

use std::path::{Path, PathBuf};

use super::is_gone;
use crate::failure::Failure;
use corpus::formats::columnar::footer_of;
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
/// The bytes of the mark at the start of a Parquet file, by which its format is recognized.
const MARK_BYTES: u64 = 4;

/// A file or folder that can be read; a copy is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct View {
    path: PathBuf,
    copy: Option<Temporary>,
}

impl View {
    /// Opens the file or folder at `path`, or at that address.
    ///
    /// # Errors
    /// The store refuses or does not respond; the disk fails.
    pub(crate) fn open(path: &Path, wanted: Wanted) -> Result<Self, Failure> {
        let root = path.parent().filter(|parent| is_remote(parent));
        let view = Self::copy(root.unwrap_or(path), [path], wanted)?;
        if view.copy.is_none() {
            return Ok(Self { path: path.to_owned(), copy: None });
        }
        let name = root.and_then(|root| path.strip_prefix(root).ok());
        Ok(Self { path: name.map_or(view.path.clone(), |name| view.path.join(name)), ..view })
    }

    /// Opens a folder for reading only what is below `names` in it.
    ///
    /// # Errors
    /// The store refuses or does not respond; the disk fails.
    pub(crate) fn of_parts(root: &Path, names: &[&str]) -> Result<Self, Failure> {
        let paths: Vec<PathBuf> = names.iter().map(|name| root.join(name)).collect();
        Self::copy(root, paths.iter().map(PathBuf::as_path), Wanted::All)
    }

    /// Opens the folder `root`: if it is in an object store, a copy of what is at or below `paths`.
    fn copy<'a>(
        root: &Path,
        paths: impl IntoIterator<Item = &'a Path>,
        wanted: Wanted,
    ) -> Result<Self, Failure> {
        if !is_remote(root) {
            return Ok(Self { path: root.to_owned(), copy: None });
        }
        let owned = Temporary::at(store::temporary("view"));
        let copy = owned.as_ref().to_owned();
        let store = store::working_in(&copy, root, &[])?;
        let here = |path: &Path| copy.join(path.strip_prefix(root).unwrap_or(path));
        let mut entries = Vec::new();
        for path in paths {
            entries.extend(store.list(path)?);
        }
        for entry in entries {
            if wanted == Wanted::Outline
                && is_large_table(&entry)
                && let Source::Object(object) = store.open(&entry.path)?
            {
                let to = here(&entry.path);
                store::create_folder(to.parent().unwrap_or(&copy))
                    .and_then(|()| object.copy_to(&to, &[0..MARK_BYTES, footer_of(&object)?]))
                    .map_err(Failure::io(&entry.path))?;
            } else {
                store.local(&entry.path)?;
            }
        }
        Ok(Self { path: copy, copy: Some(owned) })
    }

    /// Opens a file or folder that every complete result has.
    ///
    /// # Errors
    /// It is gone; those of [`open`](Self::open).
    pub(crate) fn require(path: &Path) -> Result<Self, Failure> {
        if exists(path)? { Self::open(path, Wanted::All) } else { Err(is_gone(path)) }
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
