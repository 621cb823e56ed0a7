//! The folders that belong to topicmill: no other folder is written to, or removed.

use std::fs;
use std::io;
use std::path::Path;

use super::{FILES, FOLDERS, LOCK, LOCK_MARK, stored};
use crate::storage::object::is_remote;
use crate::tables::manifest::Manifest;
use crate::tables::{TABLES, TableError};

/// Whether a run may leave something of this name at the root.
pub(super) fn is_known(name: &str) -> bool {
    FOLDERS.contains(&name) || FILES.contains(&name) || TABLES.iter().any(|t| t.name == name)
}

/// The names in a folder, sorted, without those that begin with a dot.
pub(super) fn names(folder: &Path) -> Result<Vec<String>, TableError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(|e| TableError::io(folder, e))? {
        let entry = entry.map_err(|e| TableError::io(folder, e))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Refuses a folder that is not ours: ours are empty, or bear our mark and hold nothing but names
/// of ours. Changes nothing.
///
/// Errors: [`NotOurs`](TableError::NotOurs).
pub fn check_ours(root: &Path) -> Result<(), TableError> {
    let (names, is_marked) = match is_remote(root) {
        true => stored::names_and_mark(root)?,
        false => (names(root)?, has_mark(root)?),
    };
    let foreign = match names.iter().find(|name| !is_known(name)) {
        Some(foreign) => foreign,
        None if names.is_empty() || is_marked => return Ok(()),
        None => &names[0],
    };
    Err(TableError::NotOurs {
        root: root.to_owned(),
        found: foreign.clone(),
    })
}

/// Whether the lock or the manifest says that topicmill wrote this folder. A lock whose writer was
/// killed is empty or cut short, and nothing else was written before it.
fn has_mark(root: &Path) -> Result<bool, TableError> {
    let path = root.join(LOCK);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(text.starts_with(LOCK_MARK) || LOCK_MARK.starts_with(&text)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Manifest::read(root).is_ok()),
        Err(e) => Err(TableError::io(&path, e)),
    }
}
