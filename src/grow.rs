//! A finished result to which documents are added.
//!
//! ```text
//! new input ──ingest, with the result's terms──▶ .NAME.added ─┐
//! result ──links to what stays────────────────────────────────┴▶ .NAME.next ──project──▶ takes the result's place
//! ```
//!
//! Both folders are beside the result. `.NAME.next` has the collection, the model and the projected documents as links,
//! so that it costs only what is new; it is an ordinary output, in which projection counts what is there and infers the
//! rest. The result itself is not touched before the two folders exchange their names: a reader finds all new documents
//! or none, and an addition that was killed is resumed, or forgotten by the next one.

use std::collections::HashSet;
use std::iter::repeat_n;
use std::path::{Path, PathBuf};

use crate::config::{Job, Template};
use crate::failure::Failure;
use crate::result::OpenedResult;
use crate::tables::documents::SourceId;
use crate::tables::output::{NOTES_FOLDER, Output, SUCCESS, foreign_at, is_known};
use crate::tables::records::records;
use corpus::ShardDocument;
use corpus::collection::{COLLECTION_FILE, Collection, SHARDS_FOLDER};
use corpus::vocabulary_file::{VOCABULARY_FILE, VocabularyWriter};
use store::{Disk, Store, create_folder, exchange, is_remote, link, remove_tree, restore};

/// Folders of a result whose files stay as they are.
const KEPT: [&str; 7] = [
    SHARDS_FOLDER,
    NOTES_FOLDER,
    "model",
    "training_log",
    "documents",
    "document_topics",
    "predictions",
];

/// Sections of a job that ingest does not read.
const OTHER_SECTIONS: [&str; 7] =
    ["sample", "model", "tree", "train", "project", "maxent", "evaluate"];

/// Ids of documents that a message names.
const NAMED_IDS: usize = 3;

/// A result to which documents are added, and the folders beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrowingResult {
    result: PathBuf,
    added: PathBuf,
    next: PathBuf,
    aside: PathBuf,
}

impl GrowingResult {
    /// Prepares an addition to the finished result in a folder of this machine. Ends the exchange of one that was
    /// killed.
    ///
    /// # Errors
    /// The folder cannot be read, or is in an object store.
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
        let name = result.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let beside = |kind: &str| result.with_file_name(format!(".{name}.{kind}"));
        let [added, next, aside] = ["added", "next", "aside"].map(beside);
        restore(&result, &next, &aside).map_err(Failure::io(&result))?;
        Ok(Self { result, added, next, aside })
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

    /// Checks that the collection is there, and that the folders of tables contain only parts: other files would be lost.
    ///
    /// # Errors
    /// It is missing; there is another file.
    pub(crate) fn check(&self, output: &Output) -> Result<(), Failure> {
        OpenedResult::at(&self.result).collection()?;
        output.check_tables()
    }

    /// Returns the job that ingests the new documents, read as those of the result's `job` were, with its terms.
    ///
    /// # Errors
    /// Documents cannot be added to such a result, or not from this input.
    pub(crate) fn ingest_job(&self, job: &Job, input: &[String]) -> Result<Job, Failure> {
        let refused = |reason: &str| {
            let message = format!("{}: {reason}", self.result.display());
            let help = "run a job with this result in model.from and another output.path";
            Err(Failure::usage(message).help(help))
        };
        match &job.project.infer {
            None => return refused("its documents are not projected (project.method = \"none\")"),
            Some(infer) if infer.method.is_joint() => {
                return refused(
                    "its documents were inferred together, so none can be added (project.method)",
                );
            }
            Some(_) if job.corpus.labels.is_some() => {
                return refused("its topics are labels, to which no documents can be added yet");
            }
            Some(_) => {}
        }
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

    /// Whether the input with this fingerprint has been added.
    ///
    /// # Errors
    /// The collection cannot be read.
    pub(crate) fn is_done(&self, fingerprint: &str) -> Result<bool, Failure> {
        let additions = OpenedResult::at(&self.result).collection()?.additions;
        Ok(additions.iter().any(|addition| addition.input_fingerprint == fingerprint))
    }

    /// Removes what an earlier addition has left, unless it ingested the same input.
    ///
    /// # Errors
    /// A folder cannot be read or removed.
    pub(crate) fn forget_other(&self, fingerprint: &str) -> Result<(), Failure> {
        let read = |root: &Path| Collection::read(root).ok();
        if read(&self.added).is_some_and(|added| added.input_fingerprint != fingerprint) {
            remove(&self.added)?;
        }
        let now = OpenedResult::at(&self.result).collection()?;
        let is_ours = |next: Collection| {
            next.additions.len() == now.additions.len() + 1
                && next.additions.last().is_some_and(|it| it.input_fingerprint == fingerprint)
        };
        if !read(&self.next).is_some_and(is_ours) {
            self.remove_next()?;
        }
        Ok(())
    }

    /// Refuses new documents whose ids the result has.
    ///
    /// # Errors
    /// It has one; a shard or a table cannot be read.
    pub(crate) fn refuse_known(&self) -> Result<(), Failure> {
        let mut new = HashSet::new();
        OpenedResult::at(&self.added).for_each_document(|_, document: &ShardDocument| {
            new.insert(document.source_id.clone());
            Ok(())
        })?;
        let (mut known, mut named) = (0_u64, Vec::new());
        for row in records::<SourceId>(&self.result)? {
            let id = row?.source_id;
            if new.contains(&id) {
                known += 1;
                named.truncate(NAMED_IDS - 1);
                named.push(id);
            }
        }
        if known == 0 {
            return Ok(());
        }
        let message = format!(
            "{}: has documents with the same ids as {known} of the new ones, such as {}",
            self.result.display(),
            named.join(", ")
        );
        Err(Failure::data(message).help(
            "leave these out of the input or, if they are other documents, add them with --on-duplicate keep",
        ))
    }

    /// Fills the folder of the next result with all that stays, and with the new shards; `output` is that folder, and
    /// `input` is what they were read from.
    ///
    /// # Errors
    /// A file cannot be read, linked or written.
    pub(crate) fn assemble(&self, output: &Output, input: &[String]) -> Result<(), Failure> {
        if output.is_published(COLLECTION_FILE)? {
            return Ok(());
        }
        let [before, added] = [&self.result, &self.added].map(|root| OpenedResult::at(root));
        let (mut collection, new) = (before.collection()?, added.collection()?);
        for folder in KEPT {
            for name in Disk.names(&self.result.join(folder))? {
                let file = format!("{folder}/{name}");
                self.link(&self.result.join(&file), &file)?;
            }
        }
        for shard in 0..new.shards.len() {
            let file = Collection::shard_name(collection.shards.len() + shard);
            self.link(&self.added.join(Collection::shard_name(shard)), &file)?;
        }
        let temporary = output.temporary_path("vocabulary.tsv");
        let (known, counted) = (before.vocabulary()?, added.vocabulary()?);
        let mut file = VocabularyWriter::create(&temporary)?;
        let earlier = known.terms().iter().map(|term| [term.tokens, term.documents]);
        let new_terms = counted.terms().len().saturating_sub(known.terms().len());
        for (term, [tokens, documents]) in
            counted.terms().iter().zip(earlier.chain(repeat_n([0; 2], new_terms)))
        {
            let counts = [tokens + term.tokens, documents + term.documents];
            file.write(&term.term, counts, term.status)?;
        }
        file.finish()?;
        output.publish(&temporary, VOCABULARY_FILE)?;
        collection.append(new, input);
        output.write_atomic(COLLECTION_FILE, collection.to_json().as_bytes())
    }

    fn link(&self, from: &Path, file: &str) -> Result<(), Failure> {
        let to = self.next.join(file);
        create_folder(to.parent().unwrap_or(&self.next)).map_err(Failure::io(&to))?;
        // Of an addition that was killed.
        store::remove_file(&to).map_err(Failure::io(&to))?;
        link(from, &to).map_err(Failure::io(to))
    }

    /// Exchanges the complete next result with the result, and removes what was there before.
    ///
    /// # Errors
    /// The next result is not complete; the file system refuses.
    pub(crate) fn publish(&self) -> Result<(), Failure> {
        if !self.next.join(SUCCESS).exists() {
            return Err(crate::tables::output::incomplete(&self.next));
        }
        exchange(&self.result, &self.next, &self.aside).map_err(Failure::io(&self.result))?;
        self.clean()
    }

    /// Removes what is beside a result to which the documents have been added.
    ///
    /// # Errors
    /// A folder cannot be removed.
    pub(crate) fn clean(&self) -> Result<(), Failure> {
        self.remove_next()?;
        remove(&self.added)
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
