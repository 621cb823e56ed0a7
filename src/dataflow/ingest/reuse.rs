//! The collection of the result that training starts from, if it is this job's: copied, not ingested again.

use timely::worker::Worker;

use super::source::{Source, reusable};
use super::{IngestShared, begin, publish};
use crate::dataflow::gather::{all_gather, barrier};
use crate::dataflow::process::Process;
use crate::failure::Failure;
use corpus::collection::{COLLECTION_FILE, Collection};
use corpus::vocabulary_file::VOCABULARY_FILE;

/// Copies the collection of `train.warm_start`, if its settings and its input are this job's. All workers
/// must call this, and get the same result.
pub(super) fn reuse(
    worker: &mut Worker,
    process: &Process,
    shared: &IngestShared,
    source: &Source,
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
        shared.warn(format!(
            "{error}; instead, its collection was copied from train.warm_start, {}, with all documents: to leave \
             some out, set corpus.input to the others and choose another output.path",
            folder.display()
        ));
    }
    publish(worker, process, || collection).map(Some)
}
