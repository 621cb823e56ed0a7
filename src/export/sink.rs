//! The destination of an export: each file is written beside its final name, and then renamed.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::failure::Failure;
use crate::tables::output::{MANIFEST, SUCCESS, exists};
use store::{Store, Temporary, Writer, is_remote};

/// A file to be written, on a disk or in an object store.
#[derive(Debug)]
pub(crate) struct Sink {
    path: PathBuf,
    overwrite: bool,
    store: Arc<dyn Store>,
}

impl Sink {
    /// Creates a sink for the file `path`; `overwrite` allows an existing file to be replaced.
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

    /// Refuses to overwrite, unless that is allowed.
    ///
    /// # Errors
    /// The file exists, or a folder in its place; the store does not respond.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let path = self.path.display();
        if self.path.is_dir() {
            return Err(Failure::usage(format!("{path} is a folder: name a file")));
        }
        if !self.overwrite && self.store.exists(&self.path)? {
            return Err(Failure::usage(format!(
                "{path} exists; name another file, or replace it with --overwrite"
            )));
        }
        Ok(())
    }

    /// Writes these bytes to the file.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        self.file(|out| Ok(out.write_all(bytes)?))
    }

    /// Writes the file.
    pub(super) fn file(
        &self,
        write: impl FnOnce(&mut BufWriter<Writer>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.table(|path| {
            let mut out = BufWriter::with_capacity(1 << 18, Writer::create(path)?);
            write(&mut out)?;
            Ok(out.flush()?)
        })
    }

    /// Writes the file with a function that opens it itself.
    pub(super) fn table(
        &self,
        write: impl FnOnce(&Path) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        // On a disk it is renamed; what an upload or a failure leaves is removed.
        let owned = Temporary::at(temporary(&self.path));
        let temporary = owned.as_ref();
        let folder = temporary.parent().unwrap_or(Path::new(""));
        store::create_folder(folder)
            .map_err(Failure::from)
            .and_then(|()| write(temporary))
            .and_then(|()| Ok(self.store.commit(temporary, &self.path)?))
            .map_err(|failure| failure.of_file(&self.path))
    }
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
