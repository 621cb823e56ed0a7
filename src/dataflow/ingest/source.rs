//! The input of ingest.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::dataflow::process::Process;
use crate::failure::Failure;
use corpus::block::BlockQueue;
use corpus::collection::{COLLECTION_FILE, Collection};
use corpus::input::{Input, identify, is_gone};
use corpus::phrases::Phrase;
use corpus::tokenizer::Tokenizer;

/// The input, as one process sees it.
pub(super) struct Source {
    pub(super) input: Arc<Input>,
    pub(super) fingerprint: String,
    /// The error of an input that is gone.
    pub(super) gone: Option<String>,
    pub(super) tokenizer: Tokenizer,
    /// Phrases that were detected in the collection of the model that the job uses.
    pub(super) phrases: Vec<Phrase>,
}

impl Source {
    /// Finds the input; if all of it is gone, the collection of `train.warm_start` may take its place.
    pub(super) fn discover(process: &Process) -> Result<Self, Failure> {
        let mut gone = None;
        let (input, fingerprint) = match identify(&process.job.corpus) {
            Err(error) if is_gone(&process.job.corpus) => {
                gone = Some(error.to_string());
                let reusable = reusable(process).ok_or(error)?;
                let (files, total_bytes) = (Vec::new(), 0);
                (Input { files, total_bytes }, reusable.input_fingerprint)
            }
            found => found?,
        };
        let phrases = match &process.job.model_from {
            Some(folder) => Collection::read(folder)?.phrases,
            None => Vec::new(),
        };
        Ok(Self {
            input: Arc::new(input),
            fingerprint,
            gone,
            tokenizer: process.job.tokenizer(&phrases)?,
            phrases,
        })
    }

    /// Returns the process's share of the input, in which the files at `copies` are marked as copies.
    pub(super) fn blocks(&self, process: &Process, copies: &BTreeSet<usize>) -> BlockQueue {
        let mut input = Arc::clone(&self.input);
        if !copies.is_empty() {
            let files = &mut Arc::make_mut(&mut input).files;
            copies.iter().for_each(|&place| files[place].is_copy = true);
        }
        BlockQueue::new(input, &process.job.corpus, process.input_share())
    }
}

/// Reads the collection of `train.warm_start`, if its settings are this job's.
pub(super) fn reusable(process: &Process) -> Option<Collection> {
    let folder = process.job.warm_start.as_ref()?;
    let collection = Collection::read_file(&folder.join(COLLECTION_FILE)).ok()?;
    (collection.settings_hash == process.job.corpus_hash()).then_some(collection)
}
