//! The output folder, and the protocol by which files are published in it.
//!
//! A file is written in `_temporary/`, synced, renamed to its final name, and the folders are synced: whenever the
//! program is stopped, every file under a final name is complete. `manifest.json` and then `_SUCCESS` come last. One
//! run at a time holds `_lock`; the kernel releases it however the process ends. Only files that topicmill wrote are
//! ever removed.
//!
//! An output in an object store (`s3://bucket/folder`) keeps the same protocol: its [`Store`] has an equivalent of
//! each step. Each process then works in a private local folder.

mod view;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::manifest::{FileManifest, Manifest, PartManifest, TableManifest};
pub(crate) use super::manifest::{MADE_AGAIN, MANIFEST, SUCCESS};
use super::parts::{describe, footer, hash_file, part_names, scan};
use super::{FileMetadata, PartInfo, Row, TABLES, write_part};
use crate::failure::{Exit, Failure};
use corpus::collection::{SHARDS_FOLDER, in_order};
use corpus::input::LOCK_MARK;
use store::{Disk, Lock, Locking, Store, StoreError, Writer, is_remote};
pub(crate) use store::{LOCK, TEMPORARY};
pub(crate) use view::{View, Wanted, exists};

/// The report on the result.
pub(crate) const REPORT: &str = "report.html";
/// The page of a sweep.
pub(crate) const SWEEP_PAGE: &str = "sweep.html";
/// The folder of what processes report about their run; not part of the result.
pub(crate) const LOGS: &str = "logs";

/// The folder of a sweep's models.
pub(crate) const MODELS: &str = "models";

/// The folder of drafts in `_temporary`.
const DRAFTS: &str = "drafts";

/// The folder of the notes of projected parts, which stay so that documents can be added to the result.
pub(crate) const NOTES_FOLDER: &str = "corpus/projected";

/// Folders beside the tables whose whole content is topicmill's.
const FOLDERS: [&str; 6] = ["corpus", "model", "checkpoints", MODELS, LOGS, TEMPORARY];
/// Files that the process that wrote them reads again: if the output is in an object store, it keeps their copies.
const READ_AGAIN: [&str; 2] = ["corpus/", "model/"];
/// The file of a finished result that contains its job.
pub(crate) const JOB_FILE: &str = "job.toml";
/// Files at the root.
const FILES: [&str; 7] = [SUCCESS, MANIFEST, JOB_FILE, "views.sql", REPORT, SWEEP_PAGE, LOCK];

/// An output folder. The process of a run that [`lead`](Self::lead)s it holds the lock.
pub struct Output {
    place: Place,
    store: Arc<dyn Store>,
    pub(super) lock: Option<Box<dyn Lock>>,
}

impl Output {
    /// Creates the folder if needed, takes the lock until this value is dropped or the process ends, and empties
    /// `_temporary`, which a complete output does not have. A complete output on a read-only file system needs no
    /// lock, because nobody can write to it.
    ///
    /// # Errors
    /// Another run holds it; the folder is neither empty nor topicmill's (names that begin with a dot are ignored).
    pub fn lead(place: impl Into<Place>) -> Result<Self, Failure> {
        let mut output = Self::follow(place)?;
        if let Some(found) = foreign(&*output.store, output.root())? {
            return Err(not_ours(output.root(), &found));
        }
        let locking = output.store.lock(&output.path(LOCK), LOCK_MARK);
        if locking.as_ref().is_err_and(is_read_only) && output.is_complete()? {
            return Ok(output);
        }
        output.lock = match locking? {
            Locking::Held(lock) => Some(lock),
            Locking::Unsupported => None,
            Locking::Busy(holder) => {
                return Err(in_use(output.root(), &holder));
            }
        };
        if output.is_complete()? {
            output.remove_temporary()?;
            // A run that was killed right after its last rename is durably complete only now.
            output.store.sync(output.root())?;
        } else {
            output.empty_temporary()?;
        }
        Ok(output)
    }

    /// Opens the same folder for the other processes of a run: takes no lock, and touches nothing before
    /// [`join`](Self::join).
    ///
    /// Errors: for an object store, the address or the settings are invalid.
    pub fn follow(place: impl Into<Place>) -> Result<Self, Failure> {
        let place = place.into();
        Ok(Self {
            store: store::working_in(&place.local, &place.root, &READ_AGAIN)?,
            place,
            lock: None,
        })
    }

    /// Prepares a folder that this process [`follow`](Self::follow)s for writing. The leading process must have opened
    /// it before.
    pub fn join(&self) -> Result<(), Failure> {
        match (self.is_complete()?, self.place.is_apart()) {
            (true, true) => self.remove_temporary(),
            (true, false) => Ok(()),
            (false, true) => self.empty_temporary(),
            (false, false) => create_folder(&self.temporary()),
        }
    }

    /// Removes the local copies of an output in an object store. A process calls it when its part is done.
    pub(crate) fn leave(&self) -> Result<(), Failure> {
        let local = &self.place.local;
        if self.place.is_apart() {
            store::remove_tree(local).map_err(Failure::io(local))
        } else {
            Ok(())
        }
    }

    /// Returns the name of the run that holds the lock, or held it last, as this process sees it.
    pub(crate) fn run_name(&self) -> Result<Option<String>, Failure> {
        let text = self.store.read(&self.path(LOCK))?.unwrap_or_default();
        Ok(store::run_in(&String::from_utf8_lossy(&text)).map(str::to_owned))
    }

    /// Returns the folder, as the job names it.
    pub(crate) fn root(&self) -> &Path {
        &self.place.root
    }

    /// Returns where this process writes its logs: below the folder or, if the output is in an object store, below the
    /// folder that it works in.
    pub(crate) fn logs(&self) -> PathBuf {
        self.place.local.join(LOGS)
    }

    /// Copies a file of [`logs`](Self::logs) to where others look for it; does nothing unless the output is in an
    /// object store.
    pub(crate) fn share_log(&self, name: &str) -> Result<(), Failure> {
        if !self.place.is_apart() {
            return Ok(());
        }
        let copy = self.logs().join(format!(".{name}"));
        File::open(self.logs().join(name))
            .and_then(|mut log| io::copy(&mut log, &mut Writer::create(&copy)?))
            .map_err(Failure::io(&copy))?;
        self.publish(&copy, &format!("{LOGS}/{name}"))
    }

    /// Returns the final path of `relative` (such as `documents/part-00000.parquet`) in the folder. To read it, use
    /// [`local`](Self::local).
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.place.root.join(relative)
    }

    /// Returns where this process reads a published file: there, or in its own copy. If no such file is published,
    /// there is no file at the path.
    pub(crate) fn local(&self, relative: &str) -> Result<PathBuf, Failure> {
        Ok(self.store.local(&self.path(relative))?)
    }

    /// Returns the folder below which these published files can be read.
    pub(crate) fn local_root(&self, files: &[&str]) -> Result<&Path, Failure> {
        for file in files {
            self.local(file)?;
        }
        Ok(&self.place.local)
    }

    /// Returns where an unfinished file is written. Two writers must not use the same `name` (a single path component)
    /// at the same time.
    pub fn temporary_path(&self, name: &str) -> PathBuf {
        self.temporary().join(name)
    }

    /// Returns the folder of ingest's drafts, which are kept until ingest is complete, in however many runs.
    pub(crate) fn drafts(&self) -> PathBuf {
        self.temporary_path(DRAFTS)
    }

    fn temporary(&self) -> PathBuf {
        self.place.local.join(TEMPORARY)
    }

    fn remove_temporary(&self) -> Result<(), Failure> {
        let temporary = self.temporary();
        store::remove_tree(&temporary).map_err(Failure::io(&temporary))
    }

    /// Creates `_temporary`, or empties it except for the drafts.
    fn empty_temporary(&self) -> Result<(), Failure> {
        let folder = self.temporary();
        create_folder(&folder)?;
        let mut names = Disk.names(&folder)?.into_iter().filter(|name| name != DRAFTS);
        names.try_for_each(|name| Ok(Disk.remove(&folder.join(name))?))
    }

    /// Whether a file or folder with this final name exists; if so, it is complete.
    pub(crate) fn is_published(&self, relative: &str) -> Result<bool, Failure> {
        Ok(self.store.exists(&self.path(relative))?)
    }

    /// Returns the names of what is published in a folder, sorted; none if there is no such folder.
    pub(crate) fn names(&self, folder: &str) -> Result<Vec<String>, Failure> {
        let mut names = self.store.names(&self.path(folder))?;
        names.retain(|name| !name.starts_with('.'));
        Ok(names)
    }

    /// Moves a finished file durably to its final name, replacing a previous file.
    pub fn publish(&self, temporary: &Path, relative: &str) -> Result<(), Failure> {
        let target = self.path(relative);
        Ok(self.writable()?.commit(temporary, &target)?)
    }

    /// Removes a published file to which nothing refers any more, if it exists.
    pub(crate) fn remove(&self, relative: &str) -> Result<(), Failure> {
        Ok(self.writable()?.remove(&self.path(relative))?)
    }

    /// Fails if the lock was lost: another run has taken over, or somebody has removed the folder.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.writable().map(drop)
    }

    /// Returns the store for writing; fails if the lock was lost.
    fn writable(&self) -> Result<&dyn Store, Failure> {
        let lost = self.lock.as_ref().and_then(|lock| lock.check().err());
        match lost {
            Some(reason) => Err(Failure::message(
                Exit::Temporary,
                format!(
                    "{}: {reason}, so this run ends without writing more; make sure that only one run \
                     uses this output, then rerun the same command to resume",
                    self.root().display()
                ),
            )),
            None => Ok(&*self.store),
        }
    }

    /// Writes and publishes a table of one part; returns its path and what the manifest needs.
    ///
    /// # Errors
    /// The part cannot be written or published.
    pub(crate) fn write_table<R: Row>(
        &self,
        metadata: &FileMetadata,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<(String, PartInfo), Failure> {
        self.write_part(0, metadata, rows)
    }

    /// Writes and publishes a part of a table; returns its path and what the manifest needs.
    ///
    /// # Errors
    /// The part cannot be written or published.
    pub(crate) fn write_part<R: Row>(
        &self,
        number: u64,
        metadata: &FileMetadata,
        rows: impl IntoIterator<Item = R>,
    ) -> Result<(String, PartInfo), Failure> {
        let table = R::SPEC.name;
        let temporary = self.temporary_path(&format!("{table}-{number:05}"));
        let info = write_part(&temporary, metadata, rows)?;
        let path = format!("{table}/{}", part_name(number));
        self.publish(&temporary, &path)?;
        Ok((path, info))
    }

    /// Writes a small file, completely or not at all.
    pub(crate) fn write_atomic(&self, relative: &str, bytes: &[u8]) -> Result<(), Failure> {
        let temporary = self.temporary_path(&relative.replace('/', "+"));
        store::write(&temporary, bytes).map_err(Failure::io(&temporary))?;
        self.publish(&temporary, relative)
    }

    /// Writes a small file beside the result of a complete output, which stays complete: the file is not part of the
    /// result.
    pub(crate) fn write_beside(&self, relative: &str, bytes: &[u8]) -> Result<(), Failure> {
        create_folder(&self.temporary())?;
        self.write_atomic(relative, bytes)?;
        self.remove_temporary()
    }

    /// Replaces a table of a complete output, which stays complete; without rows, the table is removed. If this is killed
    /// between the table and the manifest, the two disagree until it is repeated.
    pub(crate) fn replace_table<R: Row>(
        &self,
        metadata: &FileMetadata,
        rows: Vec<R>,
        manifest: &mut Manifest,
    ) -> Result<(), Failure> {
        let table = R::SPEC.name;
        create_folder(&self.temporary())?;
        if rows.is_empty() {
            manifest.tables.remove(table);
            self.write_atomic(MANIFEST, manifest.to_json().as_bytes())?;
            self.remove(table)?;
        } else {
            let written = BTreeMap::from([self.write_table(metadata, rows)?]);
            manifest.tables.insert(table.to_owned(), describe_table(self, table, &written)?);
            self.store.sync(&self.path(table))?;
            self.write_atomic(MANIFEST, manifest.to_json().as_bytes())?;
        }
        self.remove_temporary()
    }

    /// Declares the output complete: writes `manifest.json`, then `_SUCCESS`, then removes `_temporary`.
    ///
    /// The folders are synced once more first: a run that was killed between a rename and its sync left a name that
    /// may not be on the disk yet.
    pub fn complete(&self, manifest: &Manifest) -> Result<(), Failure> {
        let tables = TABLES.iter().map(|table| table.name);
        for name in tables.chain(["corpus", SHARDS_FOLDER, NOTES_FOLDER, "model"]) {
            self.store.sync(&self.path(name))?;
        }
        self.write_atomic(MANIFEST, manifest.to_json().as_bytes())?;
        self.write_atomic(SUCCESS, b"")?;
        self.remove_temporary()?;
        Ok(self.store.sync(self.root())?)
    }

    /// Whether a run has ended here and nothing has been removed since.
    pub(crate) fn is_complete(&self) -> Result<bool, Failure> {
        self.is_published(SUCCESS)
    }

    /// Declares the output incomplete: removes `_SUCCESS` and `manifest.json`. Must be called before anything in a
    /// complete output changes.
    pub(crate) fn reopen(&self) -> Result<(), Failure> {
        for name in [SUCCESS, MANIFEST] {
            self.remove(name)?;
        }
        create_folder(&self.temporary())?;
        Ok(self.store.sync(self.root())?)
    }

    /// Removes one thing that topicmill writes: a table, a folder of ours or something in it, a file at the root.
    /// [`reopen`](Self::reopen)s the output first. A table's folder must contain only parts, and files whose names begin
    /// with a dot, which stay; a name that is not topicmill's is refused; a missing file is not an error.
    pub(crate) fn clear(&self, relative: &str) -> Result<(), Failure> {
        let mut components = Path::new(relative).components();
        let first = components.next().map(|c| c.as_os_str().to_string_lossy());
        let first = first.unwrap_or_default();
        let inside = components.all(|c| matches!(c, std::path::Component::Normal(_)));
        if !inside || !is_known(&first) || first == LOCK {
            return Err(not_ours(self.root(), relative));
        }
        let mut parts = Vec::new();
        if TABLES.iter().any(|table| table.name == relative) {
            self.check_table(relative)?;
            parts = self.store.names(&self.path(relative))?;
        }
        self.reopen()?;
        if parts.iter().all(|name| is_part_name(name)) {
            return self.remove(relative);
        }
        parts.retain(|name| is_part_name(name));
        (parts.iter()).try_for_each(|name| self.remove(&format!("{relative}/{name}")))
    }

    /// Checks that [`clear`](Self::clear) can remove every table, before anything is removed.
    ///
    /// # Errors
    /// The folder of a table contains a file that topicmill has not written. Names that begin with a dot, which file
    /// managers and NFS leave, are ignored.
    pub(crate) fn check_tables(&self) -> Result<(), Failure> {
        TABLES.iter().try_for_each(|table| self.check_table(table.name))
    }

    fn check_table(&self, table: &str) -> Result<(), Failure> {
        let names = self.names(table)?;
        let Some(foreign) = names.iter().find(|name| !is_part_name(name)) else {
            return Ok(());
        };
        let root = self.root().display();
        let message = format!("{root} contains {table}/{foreign}, which topicmill has not written");
        Err(Failure::data(message).help("move that file elsewhere, then run again"))
    }

    /// Removes everything that topicmill writes, except the lock and the logs, to which the run is already writing:
    /// `--overwrite`.
    pub(crate) fn clear_all(&self) -> Result<(), Failure> {
        self.check_tables()?;
        let tables = TABLES.iter().map(|table| table.name);
        for name in tables.chain(FOLDERS).chain(FILES) {
            if ![LOCK, LOGS].contains(&name) {
                self.clear(name)?;
            }
        }
        create_folder(&self.temporary())
    }
}

/// Returns the error that the output has no `_SUCCESS`: its run has not ended, or was killed.
pub(crate) fn incomplete(root: &Path) -> Failure {
    let root = root.display();
    Failure::data(format!("{root} is not complete: it has no _SUCCESS; rerun the job to resume"))
}

/// Returns the error that another run holds the lock of the output.
pub(crate) fn in_use(root: &Path, holder: &str) -> Failure {
    let root = root.display();
    let message = format!(
        "{root} is in use by another run ({holder}); wait for it, stop it, or choose another output.path"
    );
    Failure::message(Exit::Temporary, message)
}

/// Returns the error that a file of a complete result is missing: somebody has removed it.
pub(crate) fn is_gone(file: &Path) -> Failure {
    let file = file.display();
    Failure::data(format!("{file} is missing, though the result is complete"))
        .help("copy it back, or make the result again (topicmill run … --overwrite)")
}

/// Returns the current holder of the output, according to the lock; `None` if it is free. A run that starts at
/// this moment finds the folder in use.
pub(crate) fn holder(root: &Path) -> Result<Option<String>, Failure> {
    Ok(store::at(root)?.holder(&root.join(LOCK))?)
}

/// Returns the name of a part: `part-00042.parquet`.
///
/// ```
/// assert_eq!(topicmill::tables::output::part_name(42), "part-00042.parquet");
/// ```
pub fn part_name(number: u64) -> String {
    format!("part-{}.parquet", in_order(number))
}

/// Whether this is a name that [`part_name`] returns.
pub(super) fn is_part_name(name: &str) -> bool {
    let number = name.strip_prefix("part-").and_then(|rest| rest.strip_suffix(".parquet"));
    let number = number.and_then(|n| n.trim_start_matches('a').parse().ok().zip(Some(n)));
    number.is_some_and(|(number, text)| in_order(number) == text)
}

fn create_folder(folder: &Path) -> Result<(), Failure> {
    store::create_folder(folder).map_err(Failure::io(folder))
}

/// Whether the error is that the file system is read-only.
fn is_read_only(error: &StoreError) -> bool {
    error.source.kind() == io::ErrorKind::ReadOnlyFilesystem
}

impl Manifest {
    /// Lists the files of all tables and of the model, the vocabulary, and the description of the collection, which
    /// has the hashes of the shards. `written` has the parts whose [`PartInfo`] is known, by relative
    /// path; the others are read and hashed.
    pub fn describe(
        &mut self,
        output: &Output,
        written: &BTreeMap<String, PartInfo>,
    ) -> Result<(), Failure> {
        self.tables.clear();
        for table in TABLES {
            let described = describe_table(output, table.name, written)?;
            if !described.parts.is_empty() {
                self.tables.insert(table.name.to_owned(), described);
            }
        }
        self.files = Vec::new();
        for folder in ["model", "corpus"] {
            let names = output.names(folder)?.into_iter();
            let paths = names.map(|name| format!("{folder}/{name}"));
            for path in paths.filter(|path| ![SHARDS_FOLDER, NOTES_FOLDER].contains(&&**path)) {
                let (bytes, sha256) = hash_file(&output.local(&path)?)?;
                self.files.push(FileManifest { path, bytes, sha256 });
            }
        }
        Ok(())
    }
}

fn describe_table(
    output: &Output,
    table: &str,
    written: &BTreeMap<String, PartInfo>,
) -> Result<TableManifest, Failure> {
    let mut described = TableManifest::default();
    for name in part_names(output.names(table)?) {
        let relative = format!("{table}/{name}");
        if described.columns.is_empty() {
            described.columns = describe(footer(&output.local(&relative)?)?.1.schema());
        }
        let info = match written.get(&relative) {
            Some(info) => info.clone(),
            None => scan(&output.local(&relative)?)?,
        };
        described.rows += info.rows;
        described.parts.push(PartManifest { path: relative, info });
    }
    Ok(described)
}

/// Whether a run may write something of this name at the root.
pub(crate) fn is_known(name: &str) -> bool {
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
fn not_ours(root: &Path, found: &str) -> Failure {
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
fn foreign(store: &dyn Store, root: &Path) -> Result<Option<String>, Failure> {
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

/// An output folder as a job names it, and the local folder that a process works in: the same one, unless the output
/// is in an object store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The folder, or its address (`s3://…`).
    pub(crate) root: PathBuf,
    /// The folder that the process works in.
    pub(crate) local: PathBuf,
}

impl Place {
    /// Returns the place of one process of a run. For an object store, it works below `scratch`, by default the
    /// system's temporary folder, in a folder that depends only on the store, the address and the process's number:
    /// a restarted process finds its files.
    pub(crate) fn new(root: &Path, scratch: Option<&Path>, process: usize) -> Self {
        if !is_remote(root) {
            let [root, local] = [root, root].map(Path::to_owned);
            return Self { root, local };
        }
        let address = root.to_string_lossy();
        let address = address.trim_end_matches('/');
        // Two stores may have buckets of the same name.
        let endpoints =
            ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"].map(std::env::var_os);
        let digest = Sha256::digest(format!("{endpoints:?} {address}"));
        let digest = hex::encode(digest);
        let name = format!("topicmill-{}-{process}", &digest[..16]);
        let scratch = scratch.map_or_else(std::env::temp_dir, Path::to_owned);
        Self { root: PathBuf::from(address), local: scratch.join(name) }
    }

    /// Whether the process works in a folder other than the output's.
    fn is_apart(&self) -> bool {
        self.local != self.root
    }
}

impl<T: AsRef<Path> + ?Sized> From<&T> for Place {
    /// The place of a run's only process.
    fn from(root: &T) -> Self {
        Self::new(root.as_ref(), None, 0)
    }
}

#[cfg(test)]
mod place_tests {
    use super::*;

    #[test]
    fn each_process_has_its_folder_and_finds_it_again() {
        let at = |root: &str, process| Place::new(Path::new(root), Some(Path::new("/s")), process);
        let first = at("s3://bucket/run1", 0);
        assert!(first.local.starts_with("/s"));
        assert_eq!(first, at("s3://bucket/run1/", 0));
        assert_ne!(first.local, at("s3://bucket/run1", 1).local);
        assert_ne!(first.local, at("s3://bucket/run2", 0).local);
        assert_eq!(at("out/run1", 3).local, Path::new("out/run1"));
    }
}
