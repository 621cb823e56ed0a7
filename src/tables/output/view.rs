//! Read access to an output: the folder itself or, for an object store, a copy of the requested
//! parts.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::storage;
use crate::storage::object::{Bucket, ObjectUrl, is_remote};
use crate::storage::remote::{Remote, write_sparse};
use crate::storage::source::ObjectReader;
use crate::tables::TableError;

/// How much of an output is to be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Every byte.
    All,
    /// Every file; of large Parquet files only the footer, but for the table of topics.
    Outline,
}

/// Below this a file is copied whole: asking twice costs more.
const SMALL_BYTES: u64 = 1 << 20;

/// Copies that this process has made.
static SERIAL: AtomicU64 = AtomicU64::new(0);

/// A file or folder that can be read; a copy goes when this is dropped.
#[derive(Debug)]
pub struct View {
    path: PathBuf,
    copy: Option<PathBuf>,
}

impl View {
    /// Of the file or folder at `path`, or at that address.
    ///
    /// # Errors
    /// The store refuses or does not answer; the disk.
    pub fn open(path: &Path, wanted: Wanted) -> Result<Self, TableError> {
        if !is_remote(path) {
            let path = path.to_owned();
            return Ok(Self { path, copy: None });
        }
        let url = ObjectUrl::parse(path)?;
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let name = format!("topicmill-view-{}-{serial}", std::process::id());
        let copy = std::env::temp_dir().join(name);
        let name = url.key.rsplit('/').next().unwrap_or_default().to_owned();
        let view = Self {
            path: copy.join("at").join(name),
            copy: Some(copy),
        };
        let remote = Remote::open(&url.to_path(), &view.path)?;
        let below = remote.below("")?;
        for (relative, meta) in &below {
            let to = view.path.join(relative);
            fetch(&url.join(relative), &to, meta.bytes, wanted)?;
        }
        // A folder first: stores do not agree on what an object of a folder's name is.
        if below.is_empty()
            && let Some(meta) = remote.bucket().head(&url.key)?
        {
            fetch(&url, &view.path, meta.bytes, wanted)?;
        }
        Ok(view)
    }

    /// Where to read it.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for View {
    fn drop(&mut self) {
        if let Some(copy) = &self.copy {
            // It lies in the system's temporary folder, which is emptied in time.
            let _ = storage::remove_tree(copy);
        }
    }
}

/// Copies an object of this size, or the requested part of it.
fn fetch(url: &ObjectUrl, to: &Path, bytes: u64, wanted: Wanted) -> Result<(), TableError> {
    let io = |e| TableError::io(to, e);
    storage::create_folder(to.parent().unwrap_or(to)).map_err(io)?;
    let is_outline = wanted == Wanted::Outline
        && bytes > SMALL_BYTES
        && !to.parent().is_some_and(|folder| folder.ends_with("topics"))
        && to
            .extension()
            .is_some_and(|extension| extension == "parquet");
    if is_outline {
        return copy_footer(url, to).map_err(|e| TableError::io(&url.to_path(), e));
    }
    Bucket::open(&url.bucket)?.download(&url.key, to)?;
    Ok(())
}

/// A Parquet file of the right size with nothing but its footer in place.
fn copy_footer(url: &ObjectUrl, to: &Path) -> io::Result<()> {
    let object = ObjectReader::open(&url.to_path())?;
    let place = object.parquet_footer()?;
    let footer = object.range(place.start, place.end - place.start)?;
    write_sparse(to, &[(0, b"PAR1"), (place.start, &footer)])
}

/// Whether anything exists at a path or address.
///
/// # Errors
/// The store refuses or does not answer.
pub fn exists(path: &Path) -> Result<bool, TableError> {
    match is_remote(path) {
        false => Ok(path.exists()),
        true => Ok(Remote::open(path, Path::new(""))?.exists("")?),
    }
}
