//! A result that is opened for reading, on any store.
//!
//! Everything that reads a model of a result, or what lies beside it, does so through [`OpenedResult`]: exports,
//! `project --stdin`, `constrain`, and jobs that name a result in `model.from` or `train.warm_start`. A file is read
//! when it is asked for; of a result in an object store, a copy is read and then removed.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::checkpoint::{self, Header, Saved};
use crate::config::Job;
use crate::config::state::MODEL_FILE;
use crate::failure::Failure;
use crate::tables::Manifest;
use crate::tables::output::{JOB_FILE, MANIFEST, SUCCESS, View, exists, incomplete, is_gone};
use crate::tables::phi::PublishedPhi;
use corpus::ShardDocument;
use corpus::collection::{COLLECTION_FILE, Collection};
use corpus::shard::Columns;
use corpus::vocabulary::Vocabulary;
use corpus::vocabulary_file::{self, VOCABULARY_FILE};
use store::is_remote;

/// A result, by its folder or address.
#[derive(Clone, Debug)]
pub struct OpenedResult {
    root: PathBuf,
}

/// Reads a JSON file of a result, at `path`; the error names it as `name`.
///
/// # Errors
/// It cannot be read, or is damaged.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path, name: &Path) -> Result<T, Failure> {
    let bytes = std::fs::read(path).map_err(Failure::io(name))?;
    serde_json::from_slice(&bytes).map_err(|error| {
        let message = format!("{}: {error}", name.display());
        Failure::data(message).help("copy the file back, or make that result again")
    })
}

impl OpenedResult {
    /// Opens the result in a folder or at an address, which may be incomplete: what it lacks is an error when it is
    /// asked for.
    pub(crate) fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Opens a complete result.
    ///
    /// # Errors
    /// The run has not ended; the store does not respond.
    pub(crate) fn complete(root: &Path) -> Result<Self, Failure> {
        if exists(&root.join(SUCCESS))? { Ok(Self::at(root)) } else { Err(incomplete(root)) }
    }

    /// Opens the result that `path` names: that of a job file, or the folder or address of a finished one, which may
    /// have been moved. Returns its job, with `overrides` (`section.key=value`), too.
    ///
    /// # Errors
    /// The job cannot be read or is wrong; the folder contains none.
    pub fn with_job(path: &Path, overrides: &[String]) -> Result<(Job, Self), Failure> {
        if !is_remote(path) {
            let job = Job::load(path, overrides)?;
            let result = Self::at(&job.output.path);
            return Ok((job, result));
        }
        let result = Self::at(path);
        let Some(file) = result.find(JOB_FILE)? else {
            return Err(Failure::usage(format!(
                "{}: no job.toml, so this is not a finished result; pass the job file, or finish the run",
                path.display()
            )));
        };
        Ok((Job::load(file.path(), overrides)?, result))
    }

    /// Returns the folder or address.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Opens a file or folder that every complete result has.
    ///
    /// # Errors
    /// It is gone; the store does not respond.
    pub(crate) fn file(&self, name: &str) -> Result<View, Failure> {
        View::require(&self.root.join(name))
    }

    /// Opens a file or folder that a result may lack.
    ///
    /// # Errors
    /// The store does not respond.
    pub(crate) fn find(&self, name: &str) -> Result<Option<View>, Failure> {
        if exists(&self.root.join(name))? { self.file(name).map(Some) } else { Ok(None) }
    }

    /// Reads a JSON file that a result may lack.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
    pub(crate) fn json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Failure> {
        let file = self.find(name)?;
        file.map(|file| read_json(file.path(), &self.root.join(name))).transpose()
    }

    /// Reads the manifest.
    ///
    /// # Errors
    /// It is missing or damaged.
    pub(crate) fn manifest(&self) -> Result<Manifest, Failure> {
        let file = self.file(MANIFEST)?;
        let text = std::fs::read_to_string(file.path()).map_err(Failure::io(file.path()))?;
        Manifest::from_json(&text, &self.root.join(MANIFEST))
    }

    /// Reads the description of the collection.
    ///
    /// # Errors
    /// It is missing or damaged.
    pub fn collection(&self) -> Result<Collection, Failure> {
        Ok(Collection::read_file(self.file(COLLECTION_FILE)?.path())?)
    }

    /// Reads the vocabulary.
    ///
    /// # Errors
    /// It is missing or damaged.
    pub(crate) fn vocabulary(&self) -> Result<Vocabulary, Failure> {
        Ok(vocabulary_file::read(self.file(VOCABULARY_FILE)?.path())?)
    }

    /// Reads the header of the model.
    ///
    /// # Errors
    /// It is missing or damaged.
    pub(crate) fn header(&self) -> Result<Header, Failure> {
        checkpoint::read_header(self.file(MODEL_FILE)?.path())
    }

    /// Reads the model with its vocabulary.
    ///
    /// # Errors
    /// A file is missing or damaged; the two are not of one result.
    pub(crate) fn model(&self) -> Result<(Saved, Vocabulary), Failure> {
        let saved = checkpoint::read(self.file(MODEL_FILE)?.path())?;
        let vocabulary = self.vocabulary()?;
        if vocabulary.fingerprint() == saved.header.vocabulary_hash {
            Ok((saved, vocabulary))
        } else {
            Err(Failure::data(format!(
                "{}: model and vocabulary do not belong together",
                self.root.display()
            ))
            .help("copy that folder again, or make that result again"))
        }
    }

    /// Reads φ from the tables.
    ///
    /// # Errors
    /// A table cannot be read.
    pub(crate) fn phi(&self) -> Result<PublishedPhi, Failure> {
        for table in PublishedPhi::TABLES {
            let path = self.root.join(table);
            if !exists(&path)? {
                return Err(is_gone(&path));
            }
        }
        PublishedPhi::read(View::of_parts(&self.root, &PublishedPhi::TABLES)?.path())
    }

    /// Passes `columns` of each document of the collection to `visit` with its number, in the input's order, with one
    /// shard open at a time.
    ///
    /// # Errors
    /// A file is missing or damaged; those of `visit`.
    pub(crate) fn for_each_document(
        &self,
        columns: Columns,
        mut visit: impl FnMut(u64, &ShardDocument) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (mut number, mut document) = (0, ShardDocument::default());
        for (shard, entry) in self.collection()?.shards.iter().enumerate() {
            let file = self.file(&Collection::shard_name(shard))?;
            let mut reader = entry.open(file.path(), columns)?;
            while reader.read_into(&mut document)? {
                visit(number, &document)?;
                number += 1;
            }
        }
        Ok(())
    }
}
