//! Files and folders that are removed when their owner is dropped, or when the process is interrupted.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The paths of every [`Temporary`].
static HELD: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// The path of an unfinished file, or of a folder of copies. What is there is removed when this is dropped, unless it
/// has been moved to another name.
#[derive(Debug)]
pub struct Temporary(PathBuf);

impl Temporary {
    /// Owns what will be created at `path`.
    pub fn at(path: PathBuf) -> Self {
        held(|held| held.insert(path.clone()));
        Self(path)
    }
}

impl AsRef<Path> for Temporary {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        held(|held| held.remove(&self.0));
        // What remains of it has a name that no result has.
        let _ = remove(&self.0);
    }
}

/// Removes what every [`Temporary`] owns, because the process ends now.
pub fn remove_temporaries() {
    held(|held| {
        for path in &*held {
            // The process ends for a reason of its own.
            let _ = remove(path);
        }
    });
}

fn held<T>(with: impl FnOnce(&mut BTreeSet<PathBuf>) -> T) -> T {
    with(&mut HELD.lock().unwrap_or_else(PoisonError::into_inner))
}

fn remove(path: &Path) -> io::Result<()> {
    if path.is_dir() { super::remove_tree(path) } else { super::remove_file(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_go_with_their_owner_or_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let create = || {
            let [file, copies] = ["file", "copies"].map(|name| folder.path().join(name));
            std::fs::write(&file, "half").unwrap();
            std::fs::create_dir(&copies).unwrap();
            std::fs::write(copies.join("copy"), "whole").unwrap();
            [Temporary::at(file), Temporary::at(copies)]
        };
        let names = || std::fs::read_dir(folder.path()).unwrap().count();
        let owners = create();
        assert_eq!(names(), 2);
        drop(owners);
        assert_eq!(names(), 0);
        let owners = create();
        remove_temporaries();
        assert_eq!(names(), 0);
        drop(owners);
    }
}
