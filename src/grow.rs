//! A finished result to which documents come, and from which documents leave.
//!
//! ```text
//! new input ──ingest, with the result's terms──▶ .NAME.added ─┐
//! result ──links to what stays────────────────────────────────┴▶ .NAME.next ──project──▶ takes the result's place
//! ```
//!
//! Both folders are beside the result. `.NAME.next` has the collection, the model and the projected documents as links
//! (`change`), so that it costs only what is new; it is an ordinary output, in which projection counts what is there and
//! infers the rest. The result itself is not touched before the two folders exchange their names: a reader finds the
//! whole change or nothing of it, and a change that was killed is resumed, or forgotten by the next one.

mod change;
mod kept;
mod retrain;
mod selection;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::config::{Job, Template};
use crate::failure::Failure;
use crate::result::OpenedResult;
use crate::tables::output::{MADE_AGAIN, Output, SUCCESS, foreign_at, is_known};
pub(crate) use change::Change;
use corpus::collection::{Collection, Generation};
use corpus::shard::{Columns, hash_file};
use corpus::vocabulary_file::VOCABULARY_FILE;
pub(crate) use kept::forget_all;
use kept::{generations_of, is_kept};
pub(crate) use selection::{Selected, Selection};
use store::{Disk, Store, exchange, is_remote, remove_tree, restore};

/// Sections of a job that ingest does not read.
const OTHER_SECTIONS: [&str; 7] =
    ["sample", "model", "tree", "train", "project", "maxent", "evaluate"];

/// Documents that a result has already.
pub(crate) struct Duplicates {
    /// Their numbers in the result.
    pub(crate) known: BTreeSet<u64>,
    /// The numbers of the new ones, after the result's.
    pub(crate) new: BTreeSet<u64>,
    /// Their ids.
    pub(crate) ids: BTreeSet<String>,
}

/// A result that changes, and the folders beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrowingResult {
    result: PathBuf,
    added: PathBuf,
    next: PathBuf,
    aside: PathBuf,
    generations: PathBuf,
}

impl GrowingResult {
    /// Prepares a change of the finished result in a folder of this machine. Ends the exchange of one that was killed.
    ///
    /// # Errors
    /// The folder cannot be read, is in an object store, is a mount point, or is a generation that is kept.
    pub(crate) fn at(result: &Path) -> Result<Self, Failure> {
        if is_remote(result) {
            let message = format!("{}: must be a folder on this machine", result.display());
            return Err(Failure::usage(message).help("copy the result here, and add to the copy"));
        }
        // A link to it is not what is exchanged.
        let result = result
            .canonicalize()
            .or_else(|_| std::path::absolute(result))
            .map_err(Failure::io(result))?;
        if is_mount_point(&result) {
            let message =
                format!("{}: is a mount point, which cannot change its name", result.display());
            return Err(Failure::usage(message).help("move the result into a folder there"));
        }
        if is_kept(&result) {
            let message = format!("{}: is a state that is kept as it is", result.display());
            return Err(
                Failure::usage(message).help("copy it to another folder, and change the copy")
            );
        }
        let name = result.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let beside = |kind: &str| result.with_file_name(format!(".{name}.{kind}"));
        let [added, next, aside] = ["added", "next", "aside"].map(beside);
        restore(&result, &next, &aside).map_err(Failure::io(&result))?;
        let generations = generations_of(&result);
        Ok(Self { result, added, next, aside, generations })
    }

    /// Returns the folder of the result.
    pub(crate) fn result(&self) -> &Path {
        &self.result
    }

    /// Returns the folder where the new documents are ingested.
    pub(crate) fn added(&self) -> &Path {
        &self.added
    }

    /// Returns the folder that takes the place of the result.
    pub(crate) fn next(&self) -> &Path {
        &self.next
    }

    /// Checks that documents can come and leave: the collection is there, documents are projected one by one, and the
    /// folders of tables contain only parts, because other files would be lost.
    ///
    /// # Errors
    /// The collection is missing, or the vocabulary damaged; the job is of another kind; there is another file.
    pub(crate) fn check(&self, output: &Output, job: &Job) -> Result<(), Failure> {
        let result = OpenedResult::at(&self.result);
        result.collection()?;
        output.check_tables()?;
        // What is made of a damaged vocabulary would be sound, and wrong.
        let files = result.manifest()?.files;
        for file in files.iter().filter(|file| file.path == VOCABULARY_FILE) {
            let path = self.result.join(&file.path);
            let (_, sha256) = hash_file(&path).map_err(Failure::io(&path))?;
            if hex::encode(sha256) != file.sha256 {
                let message = "has changed since it was written";
                return Err(Failure::file(path, message).help(MADE_AGAIN));
            }
        }
        let refused = |reason: &str| {
            let message = format!("{}: {reason}", self.result.display());
            let help = "run a job with this result in model.from and another output.path";
            Err(Failure::usage(message).help(help))
        };
        match &job.project.infer {
            None => refused("its documents are not projected (project.method = \"none\")"),
            Some(infer) if infer.method.is_joint() => refused(
                "its documents were inferred together, so none can come or leave (project.method)",
            ),
            Some(_) if job.corpus.labels.is_some() => {
                refused("its topics are labels, whose documents cannot come or leave yet")
            }
            Some(_) => Ok(()),
        }
    }

    /// Returns the job that ingests the new documents, read as those of the result's `job` were, with its terms.
    ///
    /// # Errors
    /// They cannot be read from this input.
    pub(crate) fn ingest_job(&self, job: &Job, input: &[String]) -> Result<Job, Failure> {
        if input.iter().any(|path| path == "-") {
            let message =
                "the new documents are read twice, so they cannot come from standard input";
            return Err(Failure::usage(message).help("write them to a file, and add that"));
        }
        let absolute = |path: &String| match std::path::absolute(path) {
            Ok(absolute) if !is_remote(Path::new(path)) => absolute.display().to_string(),
            _ => path.clone(),
        };
        let mut template = Template::of(job);
        template.forget(|key| {
            let section = key.split('.').next().unwrap_or_default();
            OTHER_SECTIONS.contains(&section) || section == "synth" || key == "corpus.base"
        });
        let input: Vec<toml::Value> = input.iter().map(|path| absolute(path).into()).collect();
        template.set("corpus.input", input)?;
        template.set("model.from", self.result.to_string_lossy().into_owned())?;
        template.set("project.method", "none")?;
        template.set("output.path", self.added.to_string_lossy().into_owned())?;
        template.job(&job.path)
    }

    /// Whether the input with this fingerprint has been added last.
    ///
    /// # Errors
    /// The collection cannot be read.
    pub(crate) fn is_done(&self, fingerprint: &str) -> Result<bool, Failure> {
        let generations = OpenedResult::at(&self.result).collection()?.generations;
        Ok(generations.last().is_some_and(|generation| generation.fingerprint == fingerprint))
    }

    /// Removes what an earlier change has ingested, unless it is the input with this fingerprint.
    ///
    /// # Errors
    /// The folder cannot be removed.
    pub(crate) fn keep_added(&self, fingerprint: &str) -> Result<(), Failure> {
        match Collection::read(&self.added) {
            Ok(added) if added.input_fingerprint != fingerprint => remove(&self.added),
            _ => Ok(()),
        }
    }

    /// Removes the folder of the next result, unless it is this generation of the result.
    ///
    /// # Errors
    /// The folder cannot be removed.
    fn keep_next(&self, before: &Collection, generation: &Generation) -> Result<(), Failure> {
        let is_ours = |next: &Collection| {
            let last = next.generations.last().cloned().unwrap_or_default();
            next.generations.len() == before.generations.len() + 1
                && Generation { unix_seconds: generation.unix_seconds, ..last } == *generation
        };
        if Collection::read(&self.next).is_ok_and(|next| is_ours(&next)) {
            return Ok(());
        }
        self.remove_next()
    }

    /// Returns the numbers of the result's documents that have the ids of new ones, and those of the new ones.
    ///
    /// # Errors
    /// A table or a shard cannot be read.
    pub(crate) fn duplicates(&self) -> Result<Duplicates, Failure> {
        let mut new: Vec<(String, u64)> = Vec::new();
        OpenedResult::at(&self.added).for_each_document(
            Columns::WithoutTexts,
            |number, document| {
                new.push((document.source_id.clone(), number));
                Ok(())
            },
        )?;
        let ids = new.iter().map(|(id, _)| id.clone()).collect();
        let Selected { numbers: known, ids, .. } =
            Selection { ids: Some(ids), conditions: Vec::new() }.of(&self.result)?;
        let first = OpenedResult::at(&self.result).collection()?.numbers();
        let again = new.into_iter().filter(|(id, _)| ids.contains(id));
        let new = again.map(|(_, number)| first + number).collect();
        Ok(Duplicates { known, new, ids })
    }

    /// Exchanges the complete next result with the result, and removes what was there before, as far as the job does not
    /// keep it.
    ///
    /// # Errors
    /// The next result is not complete; the file system refuses.
    pub(crate) fn publish(&self, job: &Job) -> Result<(), Failure> {
        if !self.next.join(SUCCESS).exists() {
            return Err(crate::tables::output::incomplete(&self.next));
        }
        self.keep(job)?;
        exchange(&self.result, &self.next, &self.aside).map_err(Failure::io(&self.result))?;
        self.clean(job)
    }

    /// Removes what is beside a result that has changed, except the generations that its job keeps.
    ///
    /// # Errors
    /// A folder cannot be removed.
    pub(crate) fn clean(&self, job: &Job) -> Result<(), Failure> {
        self.remove_next()?;
        remove(&self.added)?;
        self.forget(job)
    }

    /// Removes the folder of the next result, which may be what the result was before. What users have put there moves to
    /// the result.
    fn remove_next(&self) -> Result<(), Failure> {
        check_removable(&self.next)?;
        for name in Disk.names(&self.next)?.into_iter().filter(|name| !is_known(name)) {
            let [from, to] = [&self.next, &self.result].map(|root| root.join(&name));
            store::rename(&from, &to).map_err(Failure::io(from))?;
        }
        remove(&self.next)
    }
}

#[cfg(unix)]
fn is_mount_point(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let device = |path: &Path| path.metadata().map(|metadata| metadata.dev()).ok();
    let parent = folder.parent();
    folder.exists() && parent.is_none_or(|parent| device(folder) != device(parent))
}

#[cfg(not(unix))]
fn is_mount_point(_: &Path) -> bool {
    false
}

/// Refuses to remove a folder that is not an output, nor the rest of one.
fn check_removable(folder: &Path) -> Result<(), Failure> {
    let Some(found) = foreign_at(folder)?.filter(|name| !is_known(name)) else {
        return Ok(());
    };
    let message =
        format!("{}: contains {found:?}, which topicmill has not written", folder.display());
    Err(Failure::data(message).help("move that folder elsewhere: its name is needed"))
}

/// Removes a folder of ours beside a result.
fn remove(folder: &Path) -> Result<(), Failure> {
    check_removable(folder)?;
    remove_tree(folder).map_err(Failure::io(folder))
}
