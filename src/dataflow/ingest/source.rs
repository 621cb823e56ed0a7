//! The input of ingest; and the collection of the result that training starts from, if it is this job's: copied, not
//! ingested again.

use std::collections::BTreeSet;
use std::sync::Arc;

use timely::worker::Worker;

use super::{begin, publish};
use crate::config::Job;
use crate::dataflow::gather::{all_gather, barrier};
use crate::dataflow::process::Process;
use crate::failure::Failure;
use corpus::block::BlockQueue;
use corpus::collection::{COLLECTION_FILE, Collection};
use corpus::draft::Drafter;
use corpus::input::{Input, identify, is_gone};
use corpus::phrases::Phrase;
use corpus::vocabulary_file::VOCABULARY_FILE;

/// The input, as one process sees it.
pub(super) struct IngestInput {
    pub(super) input: Arc<Input>,
    pub(super) fingerprint: String,
    /// The error of an input that is gone.
    pub(super) gone: Option<String>,
    /// One that has drafted nothing.
    pub(super) drafter: Drafter,
    /// Phrases that were detected in the collection of the model that the job uses.
    pub(super) phrases: Vec<Phrase>,
}

impl IngestInput {
    /// Finds the input; if all of it is gone, the collection of `train.warm_start` may take its place.
    pub(super) fn discover(process: &Process) -> Result<Self, Failure> {
        let mut gone = None;
        let (input, fingerprint) = match identify(&process.job.corpus) {
            Err(error) if is_gone(&process.job.corpus) => {
                gone = Some(error.to_string());
                let reusable = reusable(process).ok_or(error)?;
                (Input::default(), reusable.input_fingerprint)
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
            drafter: process.job.drafter(&phrases)?,
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

/// Reads the collection of `train.warm_start`, if its settings are this job's, or are but for the terms, and this job
/// keeps those of that result: then ingest would write the same.
fn reusable(process: &Process) -> Option<Collection> {
    let (job, folder) = (&process.job, process.job.warm_start.as_ref()?);
    let collection = Collection::read_file(&folder.join(COLLECTION_FILE)).ok()?;
    let settings_hash = job.corpus_hash();
    let is_same = collection.settings_hash == settings_hash || {
        let before = Job::load(folder, &[]).ok()?;
        job.vocabulary_from.as_ref() == Some(folder)
            && before.corpus_hash() == collection.settings_hash
            && before.corpus_hash_without_terms() == job.corpus_hash_without_terms()
    };
    is_same.then_some(Collection { settings_hash, ..collection })
}

/// Copies the collection of `train.warm_start`, if its settings and its input are this job's. All workers
/// must call this, and get the same result.
pub(super) fn reuse(
    worker: &mut Worker,
    process: &Process,
    source: &IngestInput,
) -> Result<Option<Collection>, Failure> {
    let Some(folder) = &process.job.warm_start else {
        return Ok(None);
    };
    let path = folder.join(COLLECTION_FILE);
    let is_ours = |collection: &Collection| collection.input_fingerprint == source.fingerprint;
    let mut json = String::new();
    if worker.index() == 0
        && let Some(collection) = reusable(process).filter(is_ours)
    {
        json = collection.to_json();
    }
    let json = all_gather(worker, json.as_bytes()).swap_remove(0);
    if json.is_empty() {
        return Ok(None);
    }
    let collection = Collection::from_json(&String::from_utf8_lossy(&json), &path)?;
    let shards = (0..collection.shards.len()).map(Collection::shard_name);
    let files: Vec<String> = shards.chain([VOCABULARY_FILE.to_owned()]).collect();
    let placement = &process.placement;
    let mine = (0..files.len()).filter(|file| file % placement.processes() == placement.process);
    let count = mine.clone().count() as u64;
    begin(worker, process, ["ingest", "files"], count);
    let thread = worker.index() % placement.threads;
    for file in mine.skip(thread).step_by(placement.threads) {
        let file = &files[file];
        let path = folder.join(file);
        let bytes = std::fs::read(&path).map_err(Failure::io(path))?;
        process.output.write_atomic(file, &bytes)?;
        process.progress.add(1);
    }
    barrier(worker);
    if let Some(error) = source.gone.as_ref().filter(|_| worker.index() == 0) {
        process.warn(format!(
            "{error}; instead, its collection was copied from train.warm_start, {}, with all documents: to leave \
             some out, set corpus.input to the others and choose another output.path",
            folder.display()
        ));
    }
    publish(worker, process, || collection).map(Some)
}
