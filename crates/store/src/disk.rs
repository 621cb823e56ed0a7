//! The file system as a store, its steps, and the unfinished files of this process.
//!
//! A finished file is synced and renamed to its final name, and then its folder is synced.
//! Every step first calls [`faulty`].

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::{Entry, Locking, Source, Store, StoreError, faulty, lock, named};

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
            let sized = entry.and_then(|entry| Ok((entry.metadata()?.len(), entry)));
            match sized.map_err(io::Error::from) {
                // It was renamed or removed meanwhile.
                Err(error) if is_absence(&error) => {}
                sized => {
                    let (bytes, entry) = sized.map_err(named(path))?;
                    if !entry.file_type().is_dir() {
                        found.push(Entry { bytes, path: entry.into_path() });
                    }
                }
            }
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

/// Gives a file a second name or, where the file system has no links, copies it. Syncs neither.
///
/// # Errors
/// The file system refuses, or `to` exists.
pub fn link(from: &Path, to: &Path) -> io::Result<()> {
    faulty::before("link", &[from, to])?;
    match fs::hard_link(from, to) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            fs::copy(from, to)?;
            sync_file(to)
        }
        linked => linked,
    }
}

/// Exchanges the names of two folders, and syncs the folder that contains both. At every moment there are folders of
/// both names; where the file system cannot do that, one of them is for a moment at `aside`: [`restore`] ends an exchange
/// that was interrupted there.
///
/// # Errors
/// The file system refuses.
pub fn exchange(one: &Path, other: &Path, aside: &Path) -> io::Result<()> {
    faulty::before("exchange", &[one, other])?;
    if exchange_at_once(one, other).is_err() {
        exchange_in_steps(one, other, aside)?;
    }
    sync_folder(folder_of(one))
}

fn exchange_in_steps(one: &Path, other: &Path, aside: &Path) -> io::Result<()> {
    rename(one, aside)?;
    rename(other, one)?;
    rename(aside, other)
}

/// Gives what an interrupted [`exchange`] has left at `aside` the name that is missing.
///
/// # Errors
/// The file system refuses.
pub fn restore(one: &Path, other: &Path, aside: &Path) -> io::Result<()> {
    if aside.exists() {
        rename(aside, if one.exists() { other } else { one })?;
        sync_folder(folder_of(one))?;
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn exchange_at_once(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn exchange_at_once(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
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

/// Removes a folder or a file, if it exists, and a folder's content in the order of names. Links are removed, not
/// followed.
///
/// # Errors
/// The file system refuses.
pub fn remove_tree(folder: &Path) -> io::Result<()> {
    if folder.is_symlink() || folder.is_file() {
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

/// A file that is open for writing. It is not buffered: each write is a system call. Dropping it does
/// not sync.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    file: File,
}

impl Writer {
    /// Creates the file, or truncates it.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::open(path, OpenOptions::new().create(true).truncate(true))
    }

    /// Creates the file, which must not exist.
    ///
    /// # Errors
    /// The file exists, or the file system refuses.
    pub fn create_new(path: &Path) -> io::Result<Self> {
        Self::open(path, OpenOptions::new().create_new(true))
    }

    /// Opens the file for appending; creates it if it does not exist.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn append(path: &Path) -> io::Result<Self> {
        Self::open(path, OpenOptions::new().create(true).append(true))
    }

    fn open(path: &Path, options: &mut OpenOptions) -> io::Result<Self> {
        faulty::before("create", &[path])?;
        let file = options.write(true).open(path)?;
        let path = path.to_owned();
        Ok(Self { path, file })
    }

    /// Waits until everything written is on the disk.
    ///
    /// # Errors
    /// The disk fails.
    pub fn sync(&self) -> io::Result<()> {
        faulty::before("sync", &[&self.path])?;
        self.file.sync_all()
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        liveness::tick();
        let Self { path, file } = self;
        faulty::write(path, bytes, |bytes| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A file of a fixed size with random access, which no other process can open.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    file: File,
}

impl Scratch {
    /// Creates the file at `path`, unlinks it, and sets its size to `bytes` zeros.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn create(path: &Path, bytes: u64) -> io::Result<Self> {
        faulty::before("create", &[path])?;
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(true);
        let file = options.open(path)?;
        remove_file(path)?;
        faulty::before_resize(path, bytes)?;
        file.set_len(bytes)?;
        let path = path.to_owned();
        Ok(Self { path, file })
    }

    /// Fills `bytes` from `offset` on.
    ///
    /// # Errors
    /// The disk fails, or the file ends earlier.
    pub fn read(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(bytes, offset)
    }

    /// Writes `bytes` from `offset` on.
    ///
    /// # Errors
    /// The disk is full, or fails.
    pub fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        faulty::write_at(&self.path, &self.file, bytes, offset)
    }
}

/// The paths of every [`Temporary`].
static TEMPORARIES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// The path of an unfinished file, or of a folder of copies. What is there is removed when this is dropped, unless it
/// has been moved to another name.
#[derive(Debug)]
pub struct Temporary(PathBuf);

impl Temporary {
    /// Owns what will be created at `path`.
    pub fn at(path: PathBuf) -> Self {
        temporaries(|held| held.insert(path.clone()));
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
        temporaries(|held| held.remove(&self.0));
        // What remains of it has a name that no result has.
        let _ = remove_any(&self.0);
    }
}

/// Removes what every [`Temporary`] owns, because the process ends now.
pub fn remove_temporaries() {
    temporaries(|held| {
        for path in &*held {
            // The process ends for a reason of its own.
            let _ = remove_any(path);
        }
    });
}

fn temporaries<T>(with: impl FnOnce(&mut BTreeSet<PathBuf>) -> T) -> T {
    with(&mut TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner))
}

fn remove_any(path: &Path) -> io::Result<()> {
    if path.is_dir() { remove_tree(path) } else { remove_file(path) }
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
    fn folders_exchange_their_names_at_once_or_in_steps() {
        let root = tempfile::tempdir().unwrap();
        let [one, other, aside] = ["one", "other", "aside"].map(|name| root.path().join(name));
        for (folder, text) in [(&one, "1"), (&other, "2")] {
            create_folder(folder).unwrap();
            write(&folder.join("x"), text.as_bytes()).unwrap();
        }
        let read = |folder: &Path| fs::read_to_string(folder.join("x")).unwrap();
        exchange(&one, &other, &aside).unwrap();
        assert_eq!([read(&one), read(&other)], ["2", "1"]);
        exchange_in_steps(&one, &other, &aside).unwrap();
        assert_eq!([read(&one), read(&other)], ["1", "2"]);
        for missing in [&one, &other] {
            rename(missing, &aside).unwrap();
            restore(&one, &other, &aside).unwrap();
            restore(&one, &other, &aside).unwrap();
            assert_eq!([read(&one), read(&other)], ["1", "2"]);
        }
        assert!(!aside.exists());
        let linked = other.join("y");
        link(&one.join("x"), &linked).unwrap();
        assert_eq!(fs::read(&linked).unwrap(), b"1");
        assert!(link(&other.join("x"), &linked).is_err());
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

    #[test]
    fn a_file_is_created_once_or_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let mut writer = Writer::create_new(&path).unwrap();
        writer.write_all(b"abc").unwrap();
        writer.sync().unwrap();
        let error = Writer::create_new(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&path).unwrap(), b"abc");
        Writer::create(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"");
    }

    #[test]
    fn it_has_no_name_and_begins_with_zeros() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scratch");
        std::fs::write(&path, "from a run that was killed").unwrap();
        let scratch = Scratch::create(&path, 6).unwrap();
        assert!(!path.exists());
        scratch.write(b"ab", 3).unwrap();
        let mut bytes = [1; 6];
        scratch.read(&mut bytes, 0).unwrap();
        assert_eq!(bytes, *b"\0\0\0ab\0");
        assert!(scratch.read(&mut bytes, 1).is_err());
    }

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
