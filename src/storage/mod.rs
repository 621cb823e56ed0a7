//! The only place that changes files: create, write, sync, rename, remove, folders, the lock.
//!
//! Plain functions over the file system, and three values: [`Writer`] writes a file from beginning
//! to end, [`Scratch`] is an unnamed file with random access, [`Lock`] keeps a second run out.
//! Errors are the system's; callers name the path. Callers (`tables::output`, `checkpoint`) decide
//! which order of steps makes a file complete or absent.
//!
//! For object stores, `object` names what is stored there, `source` reads it like a file, `remote`
//! works on it through a local folder, and `lease` is the lock.
//!
//! Builds with debug assertions count every step, and `TOPICMILL_FAULT` makes one of them fail, or
//! kills the process there (`fault`); `tests/it/crash_points` does so at each. Release builds contain
//! none of that.

#[cfg_attr(not(debug_assertions), path = "no_fault.rs")]
mod fault;
pub mod lease;
mod lock;
pub mod object;
pub mod remote;
mod scratch;
pub mod source;
mod writer;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use fault::Operation;
pub use lock::{Lock, Locking, holder};
pub use scratch::Scratch;
pub use writer::Writer;

/// Writes a whole file, replacing the previous one. It is not synced.
///
/// # Errors
/// The file system refuses; a part of the bytes may be written then.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    Writer::create(path)?.write_all(bytes)
}

/// Waits until the disk has a file's content.
///
/// # Errors
/// The file is not there, or the disk failed.
pub fn sync(path: &Path) -> io::Result<()> {
    fault::before(&Operation::Sync(path))?;
    File::open(path)?.sync_all()
}

/// Waits until the disk has a folder's entries: what was created, renamed or removed in it.
///
/// # Errors
/// The folder is not there, or the disk failed.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    fault::before(&Operation::SyncFolder(folder))?;
    File::open(folder)?.sync_all()
}

/// Renames a file or folder atomically, replacing a file of the new name. Neither file nor
/// folders are synced.
///
/// # Errors
/// The file system refuses.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fault::before(&Operation::Rename(from, to))?;
    fs::rename(from, to)
}

/// Removes a file, if it is there.
///
/// # Errors
/// The file system refuses.
pub fn remove_file(path: &Path) -> io::Result<()> {
    fault::before(&Operation::Remove(path))?;
    unless_missing(fs::remove_file(path))
}

/// Removes an empty folder, if it is there.
///
/// # Errors
/// The file system refuses, or the folder is not empty.
pub fn remove_folder(folder: &Path) -> io::Result<()> {
    fault::before(&Operation::RemoveFolder(folder))?;
    unless_missing(fs::remove_dir(folder))
}

/// Removes a folder, if it exists, and everything in it, by name. A link is removed, not followed.
///
/// # Errors
/// The file system refuses.
pub fn remove_tree(folder: &Path) -> io::Result<()> {
    let mut entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?.collect::<io::Result<Vec<_>>>()?,
    };
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        match entry.file_type()?.is_dir() {
            true => remove_tree(&entry.path())?,
            false => remove_file(&entry.path())?,
        }
    }
    remove_folder(folder)
}

/// Creates a folder and those above it, and syncs those that name a new one.
///
/// # Errors
/// The file system refuses, or a file has the name of the folder.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    let parent = folder.parent().unwrap_or(folder);
    create_folder(parent)?;
    fault::before(&Operation::CreateFolder(folder))?;
    match fs::create_dir(folder) {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
        created => created?,
    }
    sync_folder(parent)
}

fn unless_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_come_with_those_above_and_go_with_all_below() {
        let root = tempfile::tempdir().unwrap();
        let deep = root.path().join("a/b/c");
        create_folder(&deep).unwrap();
        create_folder(&deep).unwrap();
        write(&deep.join("x"), b"x").unwrap();
        let outside = root.path().join("outside");
        write(&outside, b"precious").unwrap();
        std::os::unix::fs::symlink(root.path(), deep.join("up")).unwrap();
        assert!(remove_folder(&deep).is_err());
        remove_tree(&root.path().join("a")).unwrap();
        remove_tree(&root.path().join("a")).unwrap();
        assert_eq!(fs::read(&outside).unwrap(), b"precious");
        assert!(!root.path().join("a").exists());
        let error = create_folder(&outside.join("below")).unwrap_err();
        assert!(
            !matches!(error.kind(), io::ErrorKind::NotFound),
            "a file is in the way: {error}"
        );
    }

    #[test]
    fn files_are_replaced_renamed_and_removed() {
        let root = tempfile::tempdir().unwrap();
        let (one, two) = (root.path().join("one"), root.path().join("two"));
        write(&one, b"longer").unwrap();
        write(&one, b"short").unwrap();
        write(&two, b"").unwrap();
        sync(&one).unwrap();
        rename(&one, &two).unwrap();
        sync_folder(root.path()).unwrap();
        assert_eq!(fs::read(&two).unwrap(), b"short");
        assert!(sync(&one).is_err() && rename(&one, &two).is_err());
        remove_file(&two).unwrap();
        remove_file(&two).unwrap();
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }
}
