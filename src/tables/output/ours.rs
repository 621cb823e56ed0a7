//! The folders that belong to topicmill: no other folder is written to, or removed.

use std::path::Path;

use super::{FILES, FOLDERS, LOCK, LOCK_MARK};
use crate::tables::manifest::{MANIFEST, Manifest};
use crate::tables::{TABLES, TableError};
use store::Store;

/// Whether a run may leave something of this name at the root.
pub(super) fn is_known(name: &str) -> bool {
    FOLDERS.contains(&name) || FILES.contains(&name) || TABLES.iter().any(|t| t.name == name)
}

/// Refuses a folder that is not ours: ours are empty, or bear our mark; a file that a user has added changes nothing.
///
/// Errors: [`NotOurs`](TableError::NotOurs).
pub(crate) fn check_ours(root: &Path) -> Result<(), TableError> {
    check(&*store::at(root)?, root)
}

/// The same in an open store.
pub(super) fn check(store: &dyn Store, root: &Path) -> Result<(), TableError> {
    let mut names = store.names(root)?;
    names.retain(|name| !name.starts_with('.'));
    let foreign = names.iter().find(|name| !is_known(name));
    if names.is_empty() || has_mark(store, root, foreign.is_none())? {
        return Ok(());
    }
    let foreign = foreign.unwrap_or(&names[0]);
    Err(TableError::NotOurs {
        root: root.to_owned(),
        found: foreign.clone(),
    })
}

/// Whether the lock or the manifest says that topicmill wrote this folder. A lock whose writer was
/// killed is empty or cut short, and nothing else was written before it: that counts if `may_be_cut`.
fn has_mark(store: &dyn Store, root: &Path, may_be_cut: bool) -> Result<bool, TableError> {
    if let Some(text) = store.read(&root.join(LOCK))? {
        let mark = LOCK_MARK.as_bytes();
        return Ok(text.starts_with(mark) || (may_be_cut && mark.starts_with(&text)));
    }
    let path = root.join(MANIFEST);
    let manifest = store.read(&path)?.unwrap_or_default();
    let manifest = String::from_utf8_lossy(&manifest);
    Ok(Manifest::from_json(&manifest, &path).is_ok())
}
