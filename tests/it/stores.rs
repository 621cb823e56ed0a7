//! The promises of every store, with the same checks on a disk, in an object store, and with faults.

use std::fs;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use store::faulty::Faults;
use store::{Disk, Entry, Locking, Source, Store, StoreError};

/// A store, a folder in it that does not exist yet, and a local folder.
pub struct Subject<'a> {
    pub store: &'a dyn Store,
    pub root: PathBuf,
    pub work: &'a Path,
}

/// A store whose changes may be replaced by faults.
#[derive(Debug)]
struct Faulty<S> {
    store: S,
    faults: Faults,
}

impl<S> Faulty<S> {
    fn before(&self, name: &str, paths: &[&Path]) -> Result<(), StoreError> {
        self.faults
            .before(name, paths)
            .map_err(|source| StoreError { path: paths[paths.len() - 1].to_owned(), source })
    }
}

impl<S: Store> Store for Faulty<S> {
    fn open(&self, path: &Path) -> Result<Source, StoreError> {
        self.store.open(path)
    }

    fn local(&self, path: &Path) -> Result<PathBuf, StoreError> {
        self.store.local(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, StoreError> {
        self.store.exists(path)
    }

    fn names(&self, folder: &Path) -> Result<Vec<String>, StoreError> {
        self.store.names(folder)
    }

    fn list(&self, path: &Path) -> Result<Vec<Entry>, StoreError> {
        self.store.list(path)
    }

    fn commit(&self, file: &Path, path: &Path) -> Result<(), StoreError> {
        self.before("commit", &[file, path])?;
        self.store.commit(file, path)
    }

    fn remove(&self, path: &Path) -> Result<(), StoreError> {
        self.before("remove", &[path])?;
        self.store.remove(path)
    }

    fn sync(&self, folder: &Path) -> Result<(), StoreError> {
        self.store.sync(folder)
    }

    fn lock(&self, path: &Path, mark: &str) -> Result<Locking, StoreError> {
        self.before("lock", &[path])?;
        self.store.lock(path, mark)
    }

    fn holder(&self, path: &Path) -> Result<Option<String>, StoreError> {
        self.store.holder(path)
    }
}

/// Checks all promises of [`Store`] except those about crashes.
pub fn conforms(subject: &Subject<'_>) {
    nothing_is_no_error(subject);
    a_file_is_complete_or_absent(subject);
    names_are_whole(subject);
    files_are_removed(subject);
    one_holds_a_lock(subject);
}

impl Subject<'_> {
    fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Writes an unfinished file.
    fn unfinished(&self, content: &[u8]) -> PathBuf {
        let file = self.work.join("unfinished");
        fs::write(&file, content).unwrap();
        file
    }

    fn commit(&self, content: &[u8], name: &str) {
        let file = self.unfinished(content);
        self.store.commit(&file, &self.at(name)).unwrap();
        assert!(!file.exists(), "it is moved");
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        self.store.read(&self.at(name)).unwrap()
    }

    /// Lists the files below a name, relative to it.
    fn listed(&self, name: &str) -> Vec<(String, u64)> {
        let root = self.at(name);
        let found = self.store.list(&root).unwrap();
        let called = |path: &Path| path.strip_prefix(&root).unwrap().display().to_string();
        found.iter().map(|e| (called(&e.path), e.bytes)).collect()
    }
}

fn nothing_is_no_error(subject: &Subject<'_>) {
    let Subject { store, root, .. } = subject;
    for path in [root, &subject.at("a/b")] {
        assert!(!store.exists(path).unwrap());
        assert_eq!(store.names(path).unwrap(), [""; 0]);
        assert_eq!(store.list(path).unwrap(), []);
        assert_eq!(store.read(path).unwrap(), None);
        let error = store.open(path).unwrap_err();
        assert_eq!(error.source.kind(), ErrorKind::NotFound);
        assert_eq!(error.path, *path);
        assert!(!store.local(path).unwrap().exists());
        store.remove(path).unwrap();
        store.sync(path).unwrap();
        assert_eq!(store.holder(path).unwrap(), None);
    }
    let error = store.commit(&subject.work.join("none"), &subject.at("x"));
    assert!(error.unwrap_err().to_string().contains("none"));
    assert!(!store.exists(&subject.at("x")).unwrap());
}

fn a_file_is_complete_or_absent(subject: &Subject<'_>) {
    let (store, path) = (subject.store, subject.at("folder/file"));
    subject.commit(b"first", "folder/file");
    assert!(store.exists(&path).unwrap() && store.exists(&subject.at("folder")).unwrap());
    let mut source = store.open(&path).unwrap();
    assert_eq!(source.length().unwrap(), 5);
    source.seek(SeekFrom::End(-2)).unwrap();
    let mut end = String::new();
    source.read_to_string(&mut end).unwrap();
    assert_eq!(end, "st");
    assert_eq!(fs::read(store.local(&path).unwrap()).unwrap(), b"first");
    // A reader that has the file open sees nothing of its replacement.
    let mut before = store.open(&path).unwrap();
    subject.commit(b"second, longer", "folder/file");
    let mut bytes = Vec::new();
    if before.read_to_end(&mut bytes).is_ok() {
        assert_eq!(bytes, b"first");
    }
    assert_eq!(subject.read("folder/file").unwrap(), b"second, longer");
    assert_eq!(fs::read(store.local(&path).unwrap()).unwrap(), b"second, longer");
    subject.commit(b"", "folder/file");
    assert_eq!(subject.read("folder/file").unwrap(), b"");
    store.remove(&subject.root).unwrap();
    assert!(!store.exists(&subject.root).unwrap());
    assert!(!store.local(&path).unwrap().exists());
}

fn names_are_whole(subject: &Subject<'_>) {
    for name in ["one/b", "one/a/c", "one-more/d", "one/.hidden", "one/a.x"] {
        subject.commit(name.as_bytes(), name);
    }
    let names = |folder: &str| subject.store.names(&subject.at(folder)).unwrap();
    assert_eq!(names(""), ["one", "one-more"]);
    assert_eq!(names("one"), [".hidden", "a", "a.x", "b"]);
    let listed = |names: &[(&str, u64)]| -> Vec<(String, u64)> {
        let owned = names.iter().map(|(name, bytes)| ((*name).into(), *bytes));
        owned.collect()
    };
    let all = [(".hidden", 11), ("a.x", 7), ("a/c", 7), ("b", 5)];
    assert_eq!(subject.listed("one"), listed(&all));
    assert_eq!(subject.listed("one/b"), listed(&[("", 5)]));
    assert!(!subject.store.exists(&subject.at("on")).unwrap());
    assert_eq!(subject.listed("on"), []);
    subject.store.remove(&subject.at("one")).unwrap();
    assert_eq!(names(""), ["one-more"]);
}

fn files_are_removed(subject: &Subject<'_>) {
    let (store, path) = (subject.store, subject.at("file"));
    subject.commit(b"new", "file");
    assert_eq!(fs::read(store.local(&path).unwrap()).unwrap(), b"new");
    store.remove(&path).unwrap();
    assert_eq!(subject.read("file"), None);
    assert!(!store.local(&path).unwrap().exists());
}

fn one_holds_a_lock(subject: &Subject<'_>) {
    let (store, path) = (subject.store, subject.at("held/_lock"));
    let Locking::Held(lock) = store.lock(&path, "mark").unwrap() else {
        panic!("nobody else wants it");
    };
    lock.check().unwrap();
    let this = format!("process {}", std::process::id());
    let held = store.holder(&path).unwrap().expect("this process");
    assert!(held.starts_with(&this), "{held}");
    match store.lock(&path, "mark").unwrap() {
        Locking::Busy(holder) => assert_eq!(holder, held),
        other => panic!("{other:?}"),
    }
    assert!(subject.read("held/_lock").unwrap().starts_with(b"mark\n"));
    drop(lock);
    assert_eq!(store.holder(&path).unwrap(), None);
    let again = store.lock(&path, "mark").unwrap();
    assert!(matches!(again, Locking::Held(_)));
    drop(again);
    store.remove(&subject.root).unwrap();
}

/// Refuses each of several changes in turn: existing files stay, and a retry succeeds.
pub fn keeps_what_it_has<S: Store>(open: impl Fn() -> S, root: &Path, work: &Path) {
    for number in 1.. {
        let faults = Faults::parse(&format!("refuse:{number}")).unwrap();
        let store = Faulty { store: open(), faults };
        let root = root.to_owned();
        let subject = Subject { store: &store, root, work };
        let a = subject.at("a");
        let change = |step: usize| match step {
            0 => store.commit(&subject.unfinished(b"first"), &a),
            1 => store.commit(&subject.unfinished(b"second"), &a),
            2 => store.lock(&a, "mark").map(drop),
            _ => store.remove(&subject.root),
        };
        let state = || subject.read("a");
        let mut has_struck = false;
        for step in 0..4 {
            let before = state();
            if let Err(error) = change(step) {
                assert_eq!(error.source.kind(), ErrorKind::PermissionDenied);
                assert!(error.path.starts_with(&subject.root), "{error}");
                assert_eq!(state(), before, "{error}");
                change(step).unwrap();
                has_struck = true;
            }
        }
        assert_eq!(state(), None);
        if !has_struck {
            assert_eq!(number, 5, "every change has met its fault");
            return;
        }
    }
}

#[test]
fn a_disk_conforms() {
    let folder = tempfile::tempdir().unwrap();
    conforms(&Subject { store: &Disk, root: folder.path().join("root"), work: folder.path() });
}

#[test]
fn a_store_without_a_fault_conforms_and_with_one_keeps_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    conforms(&Subject {
        store: &Faulty { store: Disk, faults: Faults::default() },
        root: root.clone(),
        work: folder.path(),
    });
    keeps_what_it_has(|| Disk, &root, folder.path());
}
