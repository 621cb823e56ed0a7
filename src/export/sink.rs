//! The destination of an export: each file is written beside its final name, and then renamed.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::failure::Failure;
use crate::tables::output::{MANIFEST, SUCCESS, exists};
use store::{Store, Temporary, Writer, is_remote};

/// A file or folder to be written, on a disk or in an object store.
#[derive(Debug)]
pub(crate) struct Sink {
    path: PathBuf,
    overwrite: bool,
    store: Arc<dyn Store>,
}

impl Sink {
    /// Creates a sink for the file or folder `path`; `overwrite` allows existing files to be replaced.
    ///
    /// # Errors
    /// The address is wrong; `path` is in a finished result.
    pub(crate) fn new(path: &Path, overwrite: bool) -> Result<Self, Failure> {
        let folder = match is_remote(path) {
            true => path.to_owned(),
            // The innermost folder that exists; the others will be in it.
            false => std::path::absolute(path)
                .map_err(Failure::io(path))?
                .ancestors()
                .find_map(|folder| folder.canonicalize().ok())
                .unwrap_or_default(),
        };
        for folder in folder.ancestors().filter(|it| !it.as_os_str().is_empty()) {
            if exists(&folder.join(MANIFEST))? && exists(&folder.join(SUCCESS))? {
                return Err(Failure::usage(format!(
                    "{} is in a result of topicmill; name a file outside of it",
                    path.display()
                )));
            }
        }
        Ok(Self { path: path.to_owned(), overwrite, store: store::at(path)? })
    }

    /// Refuses to overwrite, unless that is allowed. `names` are the files of a folder; it is empty if the export is
    /// one file.
    ///
    /// # Errors
    /// A file exists, or a folder in the place of a file; the store does not respond.
    pub(crate) fn check(&self, names: &[&str]) -> Result<(), Failure> {
        let (found, wanted) = match names {
            [] => (self.path.is_dir(), "a folder: name a file"),
            _ => (self.path.is_file(), "a file: name a folder"),
        };
        if found {
            return Err(Failure::usage(format!("{} is {wanted}", self.path.display())));
        }
        let folder = names.iter().map(|name| self.path.join(name));
        let file = names.is_empty().then(|| self.path.clone());
        for path in folder.chain(file) {
            if !self.overwrite && self.store.exists(&path)? {
                return Err(Failure::usage(format!(
                    "{} exists; name another file, or replace it with --overwrite",
                    path.display()
                )));
            }
        }
        Ok(())
    }

    /// Writes these bytes as the export's only file.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        self.file(|out| Ok(out.write_all(bytes)?))
    }

    /// Writes the export's only file.
    pub(super) fn file(
        &self,
        write: impl FnOnce(&mut BufWriter<Writer>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.put(&self.path, |path| buffered(path, write))
    }

    /// Writes one file of the export's folder.
    pub(super) fn named(
        &self,
        name: &str,
        write: impl FnOnce(&mut BufWriter<Writer>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.put(&self.path.join(name), |path| buffered(path, write))
    }

    /// Writes the export's only file with a function that opens it itself.
    pub(super) fn table(
        &self,
        write: impl FnOnce(&Path) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.put(&self.path, write)
    }

    fn put(
        &self,
        path: &Path,
        write: impl FnOnce(&Path) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        // On a disk it is renamed; what an upload or a failure leaves is removed.
        let owned = Temporary::at(temporary(path));
        let temporary = owned.as_ref();
        let folder = temporary.parent().unwrap_or(Path::new(""));
        store::create_folder(folder)
            .map_err(Failure::from)
            .and_then(|()| write(temporary))
            .and_then(|()| Ok(self.store.commit(temporary, path)?))
            .map_err(|failure| failure.of_file(path))
    }
}

fn buffered(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<Writer>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut out = BufWriter::with_capacity(1 << 18, Writer::create(path)?);
    write(&mut out)?;
    Ok(out.flush()?)
}

/// Returns where a file is written before it gets its name: beside it, or on a local disk.
fn temporary(path: &Path) -> PathBuf {
    if is_remote(path) {
        return store::temporary("export");
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let process = std::process::id();
    path.with_file_name(format!(".{name}.{process}.partial"))
}
