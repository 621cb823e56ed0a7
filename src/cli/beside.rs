//! Files that a subcommand writes beside a result: a job, a list.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Exit, Failure};
use crate::tables::output::MANIFEST;
use store::{Disk, Store, Temporary, create_folder, temporary, write};

/// Writes a file, unless it exists with this text.
///
/// # Errors
/// A file with other text exists and `overwrite` is false; the file cannot be written.
pub(super) fn write_beside(path: &Path, text: &[u8], overwrite: bool) -> Result<(), Failure> {
    match fs::read(path) {
        Ok(found) if found == text => return Ok(()),
        Ok(_) if !overwrite => {
            let message = format!("{}: exists, and is another file", path.display());
            return Err(Failure::usage(message).help(instead_of(path)));
        }
        _ => {}
    }
    let unwritable = |error: std::io::Error| {
        Failure::new(Exit::Io, error).context(format!("{}: cannot be written", path.display()))
    };
    let file = unfinished(path);
    create_folder(path.parent().unwrap_or(Path::new(""))).map_err(unwritable)?;
    write(file.as_ref(), text).map_err(unwritable)?;
    Disk.commit(file.as_ref(), path).map_err(|error| unwritable(error.into()))
}

/// Says what to do instead of writing over a file, or over the result of a job in that file.
pub(super) fn instead_of(path: &Path) -> String {
    let is_job = path.extension().is_some_and(|ending| ending == "toml") && path.exists();
    if is_job && !path.with_extension("").join(MANIFEST).exists() {
        return format!(
            "it has no finished result: replace it with --overwrite, or run it: topicmill run {}",
            path.display()
        );
    }
    let run = if is_job {
        let path = path.display();
        format!("run that one, in the folder where it was run before: topicmill run {path}; or ")
    } else {
        String::new()
    };
    format!("{run}choose another --output, or replace it: --overwrite")
}

/// Returns a result's path with a name that the names of files beside it can start with: resolves `.` and `..`.
pub(super) fn named(result: &Path) -> PathBuf {
    let text = result.to_string_lossy();
    match text.trim_end_matches('/').rsplit('/').next() {
        Some("." | "..") => result.canonicalize().unwrap_or_else(|_| result.to_owned()),
        _ => result.to_owned(),
    }
}

/// Returns the path of an unfinished file in the folder of `path`.
pub(super) fn unfinished(path: &Path) -> Temporary {
    let name = temporary("new");
    let name = name.file_name().unwrap_or_default().to_string_lossy();
    Temporary::at(path.with_file_name(format!(".{name}")))
}
