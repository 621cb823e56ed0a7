//! The job of a finished result that was made from another result: that one may be gone, or have changed.

use super::keys::{self, Stage};
use super::source::Source;
use super::state::MODEL_FILE;
use super::{Job, folder_of};
use crate::checkpoint;
use corpus::collection::Collection;

/// The hashes that a result stores of its own job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    /// That of the corpus, if the collection is there.
    pub(super) corpus: Option<String>,
    /// That of the model.
    pub(super) train: String,
}

impl Job {
    /// Returns the hashes of the result that contains this job, if it names another result and nothing that they cover
    /// was set on the command line.
    pub(super) fn find_made(&self, source: &Source) -> Option<Made> {
        let is_covered = |path| {
            let stage = keys::section(keys::split(path).0).and_then(|section| section.stage);
            matches!(stage, Some(Stage::Corpus | Stage::Train))
        };
        let mut entries = source.entries();
        let is_changed = entries.any(|(path, entry)| !entry.is_in_file && is_covered(path));
        let named = [&self.warm_start, &self.model_from, &self.vocabulary.from];
        if named.iter().all(|result| result.is_none()) || is_changed || !self.is_of_its_output() {
            return None;
        }
        let root = folder_of(&self.path);
        let model = checkpoint::read_header(&root.join(MODEL_FILE)).ok()?;
        Some(Made {
            corpus: (Collection::read(&root).ok()).map(|collection| collection.settings_hash),
            train: model.settings_hash,
        })
    }
}
