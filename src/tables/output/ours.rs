//! The folders that belong to topicmill: no others are written to, or removed.

use std::path::Path;

use super::{FILES, FOLDERS, LOCK, LOCK_MARK};
use crate::failure::Failure;
use crate::tables::TABLES;
use crate::tables::manifest::{MANIFEST, Manifest};
use store::Store;

/// Whether a run may write something of this name at the root.
pub(super) fn is_known(name: &str) -> bool {
    FOLDERS.contains(&name) || FILES.contains(&name) || TABLES.iter().any(|t| t.name == name)
}

/// Refuses a folder that is not ours: ours are empty or bear our mark; files that a user adds change nothing.
///
/// # Errors
/// The folder is not ours; the store does not respond.
pub(crate) fn check_ours(root: &Path) -> Result<(), Failure> {
    foreign_at(root)?.map_or(Ok(()), |found| Err(not_ours(root, &found)))
}

/// Returns one foreign name in a folder that is not ours.
pub(crate) fn foreign_at(root: &Path) -> Result<Option<String>, Failure> {
    foreign(&*store::at(root)?, root)
}

/// Returns the error that the folder contains something that topicmill has not written.
pub(super) fn not_ours(root: &Path, found: &str) -> Failure {
    Failure::data(format!(
        "{} contains {found:?}, which topicmill has not written: choose an empty folder for \
         output.path, or move it elsewhere",
        root.display()
    ))
}

/// Returns the first name in an open store that shows that topicmill has not written the folder.
///
/// # Errors
/// The path leads through a file; the store does not respond.
pub(super) fn foreign(store: &dyn Store, root: &Path) -> Result<Option<String>, Failure> {
    if let Some(file) = root.ancestors().find(|path| path.is_file()) {
        let file = file.display();
        let message = format!("{file}: is a file; choose a folder for output.path");
        return Err(Failure::usage(message));
    }
    let mut names = store.names(root)?;
    names.retain(|name| !name.starts_with('.'));
    let foreign = names.iter().find(|name| !is_known(name));
    if names.is_empty() || has_mark(store, root, foreign.is_none())? {
        return Ok(None);
    }
    Ok(Some(foreign.unwrap_or(&names[0]).clone()))
}

/// Whether the lock or the manifest shows that topicmill wrote this folder. If the writer of a lock was killed, the
/// lock is empty or truncated and nothing else has been written; that counts if `may_be_cut`.
fn has_mark(store: &dyn Store, root: &Path, may_be_cut: bool) -> Result<bool, Failure> {
    if let Some(text) = store.read(&root.join(LOCK))? {
        let mark = LOCK_MARK.as_bytes();
        return Ok(text.starts_with(mark) || (may_be_cut && mark.starts_with(&text)));
    }
    let path = root.join(MANIFEST);
    let manifest = store.read(&path)?.unwrap_or_default();
    let manifest = String::from_utf8_lossy(&manifest);
    Ok(Manifest::from_json(&manifest, &path).is_ok())
}
