//! The result that is exported: its model, vocabulary, bags of words and tables.

use std::path::{Path, PathBuf};

use crate::checkpoint::{self, Saved};
use crate::failure::Failure;
use crate::job::state::MODEL_FILE;
use crate::tables::Manifest;
use crate::tables::output::{MANIFEST, SUCCESS, View, exists, incomplete, is_gone};
use corpus::ShardDocument;
use corpus::collection::{COLLECTION_FILE, Collection};
use corpus::shard::Columns;
use corpus::vocabulary_file::{self, VOCABULARY_FILE};
use lda::evaluate::TermDistribution;
use lda::model::published::{PublishedTopic, publish};

/// A finished result. Its files are read on demand; of a result in an object store, copies are read.
#[derive(Debug)]
pub(crate) struct Source {
    pub root: PathBuf,
    pub(crate) manifest: Manifest,
}

impl Source {
    /// Opens the output folder, or the address, of a finished run.
    ///
    /// # Errors
    /// The run has not ended; its manifest cannot be read.
    pub(crate) fn open(root: &Path) -> Result<Self, Failure> {
        let root = root.to_owned();
        if !exists(&root.join(SUCCESS))? {
            return Err(incomplete(&root));
        }
        let path = root.join(MANIFEST);
        let manifest = Manifest::from_json(&small(&path)?, &path)?;
        Ok(Self { root, manifest })
    }

    /// Reads the trained model.
    pub(super) fn model(&self) -> Result<Saved, Failure> {
        checkpoint::read(self.view(MODEL_FILE)?.path())
    }

    /// Computes φ as the result publishes it.
    pub(super) fn phi(&self) -> Result<Phi, Failure> {
        Ok(Phi::new(&self.model()?))
    }

    /// Reads the kept terms, by term id.
    pub(super) fn terms(&self) -> Result<Vec<String>, Failure> {
        let vocabulary = vocabulary_file::read(self.view(VOCABULARY_FILE)?.path())?;
        let kept = vocabulary.kept_terms().iter();
        Ok(kept.map(|term| term.term.clone()).collect())
    }

    /// Opens the folder of a table that the format needs.
    pub(super) fn require(&self, name: &str) -> Result<View, Failure> {
        if self.manifest.tables.contains_key(name) {
            return self.view(name);
        }
        Err(Failure::data(format!(
            "{} has no table {name}; rerun the job with --overwrite",
            self.root.display()
        )))
    }

    /// Passes each document of the collection to `visit` with its number, in the input's order, with one shard open
    /// at a time.
    pub(super) fn for_each_document(
        &self,
        mut visit: impl FnMut(u64, &ShardDocument) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let path = self.root.join(COLLECTION_FILE);
        let collection = Collection::from_json(&small(&path)?, &path)?;
        let (mut number, mut document) = (0, ShardDocument::default());
        for (shard, entry) in collection.shards.iter().enumerate() {
            let file = self.view(&Collection::shard_name(shard))?;
            let mut reader = entry.open(file.path(), Columns::All)?;
            while reader.read_into(&mut document)? {
                visit(number, &document)?;
                number += 1;
            }
        }
        Ok(())
    }

    fn view(&self, relative: &str) -> Result<View, Failure> {
        View::require(&self.root.join(relative))
    }
}

/// The topics' term distributions, α, and the hash of their model.
#[derive(Clone, Debug)]
pub(crate) struct Phi {
    /// Each topic's listed terms.
    pub(crate) topics: Vec<PublishedTopic>,
    /// V.
    pub(crate) vocabulary_size: usize,
    pub(crate) model_hash: String,
}

impl Phi {
    /// Computes φ from a finished model.
    fn new(saved: &Saved) -> Self {
        let header = &saved.header;
        Self {
            topics: publish(&[&saved.parameters(0, 1)], &header.published()),
            vocabulary_size: header.vocabulary_size,
            model_hash: saved.hash.clone(),
        }
    }

    /// Returns the topics as term distributions.
    pub(super) fn distributions(&self) -> Vec<TermDistribution<'_>> {
        let topics = self.topics.iter();
        topics.map(|topic| TermDistribution::of(topic, self.vocabulary_size)).collect()
    }
}

/// Reads a small file of a complete result as text.
fn small(path: &Path) -> Result<String, Failure> {
    let bytes = store::at(path)?.read(path)?;
    let bytes = bytes.ok_or_else(|| is_gone(path))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
