//! The file system as a store, and its steps.
//!
//! A finished file is synced and renamed to its final name, and then its folder is synced.
//! Every step first calls [`faulty`].

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{Entry, Locking, Source, Store, StoreError, Writer, faulty, lock, named};

/// The files of this machine, including those on shared file systems.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Store for Disk {
    fn open(&self, path: &Path) -> Result<Source, StoreError> {
        File::open(path).map(Source::File).map_err(named(path))
    }

    fn local(&self, path: &Path) -> Result<PathBuf, StoreError> {
        Ok(path.to_owned())
    }

    fn exists(&self, path: &Path) -> Result<bool, StoreError> {
        let found = fs::metadata(path).map(|_| true);
        found.or_else(absent_is(false)).map_err(named(path))
    }

    fn names(&self, folder: &Path) -> Result<Vec<String>, StoreError> {
        let name = |entry: io::Result<fs::DirEntry>| -> io::Result<String> {
            Ok(entry?.file_name().to_string_lossy().into_owned())
        };
        let names = fs::read_dir(or_here(folder)).and_then(|found| found.map(name).collect());
        let mut names: Vec<_> = names.or_else(absent_is(Vec::new())).map_err(named(folder))?;
        names.sort();
        Ok(names)
    }

    fn list(&self, path: &Path) -> Result<Vec<Entry>, StoreError> {
        let mut found = Vec::new();
        for entry in walkdir::WalkDir::new(path) {
            let entry = match entry.map_err(io::Error::from) {
                Err(error) if is_absence(&error) => continue,
                entry => entry.map_err(named(path))?,
            };
            if entry.file_type().is_dir() {
                continue;
            }
            let metadata = match entry.metadata().map_err(io::Error::from) {
                // It was renamed or removed meanwhile.
                Err(error) if is_absence(&error) => continue,
                metadata => metadata.map_err(named(entry.path()))?,
            };
            found.push(Entry { bytes: metadata.len(), path: entry.into_path() });
        }
        found.sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
        Ok(found)
    }

    fn commit(&self, file: &Path, path: &Path) -> Result<(), StoreError> {
        sync_file(file).map_err(named(file))?;
        let folder = folder_of(path);
        create_folder(folder).map_err(named(folder))?;
        rename(file, path).map_err(named(path))?;
        sync_folder(folder).map_err(named(folder))
    }

    fn remove(&self, path: &Path) -> Result<(), StoreError> {
        if !path.is_dir() {
            return remove_file(path).map_err(named(path));
        }
        remove_tree(path).map_err(named(path))?;
        sync_folder(folder_of(path)).map_err(named(folder_of(path)))
    }

    fn sync(&self, folder: &Path) -> Result<(), StoreError> {
        if folder.is_dir() { sync_folder(folder).map_err(named(folder)) } else { Ok(()) }
    }

    fn lock(&self, path: &Path, mark: &str) -> Result<Locking, StoreError> {
        create_folder(folder_of(path)).map_err(named(folder_of(path)))?;
        lock::take(path, &lock::text(mark, &lock::unique())).map_err(named(path))
    }

    fn holder(&self, path: &Path) -> Result<Option<String>, StoreError> {
        lock::holder_of(path).map_err(named(path))
    }
}

/// Writes a whole file, replacing the previous one. Does not sync it.
///
/// # Errors
/// The file system refuses; some of the bytes may have been written.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    Writer::create(path)?.write_all(bytes)
}

/// Waits until a file's content is on the disk.
fn sync_file(path: &Path) -> io::Result<()> {
    faulty::before("sync", &[path])?;
    File::open(path)?.sync_all()
}

/// Waits until changes to a folder's entries (created, renamed, removed) are on the disk.
///
/// # Errors
/// The folder does not exist, or the disk fails.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = or_here(folder);
    faulty::before("sync-folder", &[folder])?;
    File::open(folder)?.sync_all()
}

/// Renames a file or folder atomically, replacing a file of the new name. Does not sync the file or
/// the folders.
///
/// # Errors
/// The file system refuses.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    faulty::before("rename", &[from, to])?;
    fs::rename(from, to)
}

/// Removes a file, if it exists.
///
/// # Errors
/// The file system refuses.
pub fn remove_file(path: &Path) -> io::Result<()> {
    faulty::before("remove", &[path])?;
    fs::remove_file(path).or_else(absent_is(()))
}

/// Removes an empty folder, if it exists.
///
/// # Errors
/// The file system refuses, or the folder is not empty.
pub fn remove_folder(folder: &Path) -> io::Result<()> {
    faulty::before("remove-folder", &[folder])?;
    fs::remove_dir(folder).or_else(absent_is(()))
}

/// Removes a folder, if it exists, and its content in the order of names. Links are removed, not followed.
///
/// # Errors
/// The file system refuses.
pub fn remove_tree(folder: &Path) -> io::Result<()> {
    if folder.is_symlink() {
        return remove_file(folder);
    }
    let mut entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?.collect::<io::Result<Vec<_>>>()?,
    };
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        if entry.file_type()?.is_dir() {
            remove_tree(&entry.path())?
        } else {
            remove_file(&entry.path())?
        }
    }
    remove_folder(folder)
}

/// Creates a folder and its missing parents, and syncs the folder above each new one.
///
/// # Errors
/// The file system refuses, or a file has this name.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    let parent = folder_of(folder);
    create_folder(parent)?;
    faulty::before("create-folder", &[folder])?;
    match fs::create_dir(folder) {
        // Another process created it first.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
        created => created?,
    }
    sync_folder(parent)
}

/// Returns the folder that contains a path.
fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// Returns the folder itself, or `.` for an empty path.
fn or_here(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

/// Returns whether an error means that nothing has this name.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Turns an error that means absence into `answer`.
fn absent_is<T>(answer: T) -> impl FnOnce(io::Error) -> io::Result<T> {
    move |error| if is_absence(&error) { Ok(answer) } else { Err(error) }
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
        let link = root.path().join("link");
        fs::create_dir(root.path().join("elsewhere")).unwrap();
        write(&root.path().join("elsewhere/x"), b"x").unwrap();
        std::os::unix::fs::symlink("elsewhere", &link).unwrap();
        remove_tree(&link).unwrap();
        assert!(!link.is_symlink() && root.path().join("elsewhere/x").exists());
        assert_eq!(fs::read(&outside).unwrap(), b"precious");
        assert!(!root.path().join("a").exists());
        let error = create_folder(&outside.join("below")).unwrap_err();
        assert!(!matches!(error.kind(), io::ErrorKind::NotFound), "a file is in the way: {error}");
    }

    #[test]
    fn files_are_replaced_renamed_and_removed() {
        let root = tempfile::tempdir().unwrap();
        let (one, two) = (root.path().join("one"), root.path().join("two"));
        write(&one, b"longer").unwrap();
        write(&one, b"short").unwrap();
        write(&two, b"").unwrap();
        sync_file(&one).unwrap();
        rename(&one, &two).unwrap();
        sync_folder(root.path()).unwrap();
        assert_eq!(fs::read(&two).unwrap(), b"short");
        assert!(sync_file(&one).is_err() && rename(&one, &two).is_err());
        remove_file(&two).unwrap();
        remove_file(&two).unwrap();
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }
}
