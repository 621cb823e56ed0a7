//! The sums of roll-ups that a result to which documents are added keeps beside the notes of its parts: the next addition
//! counts only its own documents.
//!
//! A file has the sums of a bucket as an owner receives them, compressed; that of the first bucket begins with the sums
//! over all documents. `sums.json`, written last, says what they are over and has their hashes. Without files that fit,
//! all documents are counted.

use std::collections::BTreeMap;
use std::fs;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use timely::worker::Worker;

use super::ProjectPlan;
use crate::dataflow::gather::all_gather;
use crate::dataflow::process::Process;
use crate::failure::Failure;
use crate::tables::notes::read_sound_json;
use crate::tables::output::NOTES_FOLDER;
use crate::tables::trend_columns::TrendColumn;
use crate::tables::{FileMetadata, PartInfo};
use corpus::collection::{Collection, Generation, in_order};
use corpus::shard::hash_file;

/// The files that have been written, by path.
pub(super) type WrittenParts = BTreeMap<String, PartInfo>;

/// Version of these files.
const FORMAT: u32 = 1;
/// Their description, below the output's root.
const SUMS: &str = "corpus/projected/sums.json";
/// What the names of the others begin with, in the folder of notes.
const PREFIX: &str = "sums-";
/// The level of their compression.
const LEVEL: i32 = 1;

/// Sums that are stored, by file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StoredSums {
    format: u32,
    /// The documents that they are over have smaller numbers.
    pub(super) documents: u64,
    /// The changes after which the collection had these documents.
    generations: usize,
    /// Hash of what the documents were read from, and of these changes.
    collection_hash: String,
    /// Hash of the model.
    model_hash: Option<String>,
    /// Hash of the settings.
    settings_hash: String,
    /// The metadata columns whose trends were requested.
    columns: Vec<TrendColumn>,
    /// Words and bytes of each file, and its hash.
    files: BTreeMap<String, PartInfo>,
}

impl StoredSums {
    /// Reads those over the first documents of the result, if there are any with these settings.
    fn read(process: &Process, collection: &Collection) -> Result<Option<Self>, Failure> {
        let is_current = |stored: &Self| {
            let changes = &collection.generations;
            let later = changes.get(stored.generations..).unwrap_or_default();
            stored.format == FORMAT
                && stored.settings_hash == process.job.project_hash()
                && stored.collection_hash == collection_hash(collection, stored.generations)
                && later.iter().all(|change| change.removed == 0)
        };
        let stored: Option<Self> = read_sound_json(&process.output.local(SUMS)?)?;
        let Some(stored) = stored.filter(is_current) else {
            return Ok(None);
        };
        for (path, info) in &stored.files {
            let hash = hash_file(&process.output.local(path)?);
            if !hash.is_ok_and(|(_, sha256)| hex::encode(sha256) == info.sha256) {
                return Ok(None);
            }
        }
        Ok(Some(stored))
    }

    /// Whether they are over documents projected onto this model, by values that are among those of these columns.
    pub(crate) fn fit(&self, metadata: &FileMetadata, columns: &[TrendColumn]) -> bool {
        let are_cells = |(earlier, now): (&TrendColumn, &TrendColumn)| now.has_cells_of(earlier);
        self.model_hash == metadata.model_hash && self.columns.iter().zip(columns).all(are_cells)
    }

    /// Returns the files of a table, by bucket.
    pub(super) fn files(&self, table: &str) -> Vec<&String> {
        let of_table =
            |path: &&String| path.starts_with(&format!("{NOTES_FOLDER}/{PREFIX}{table}-"));
        self.files.keys().filter(of_table).collect()
    }
}

/// Hashes what the first documents of a collection are: its settings, its input and its first changes, but not when they
/// were made.
fn collection_hash(collection: &Collection, generations: usize) -> String {
    let changes = collection.generations.iter().take(generations);
    let changes: Vec<Generation> =
        changes.map(|change| Generation { unix_seconds: 0, ..change.clone() }).collect();
    let all = (&collection.settings_hash, &collection.input_fingerprint, changes);
    let json = serde_json::to_vec(&all).expect("numbers and texts are JSON");
    hex::encode(Sha256::digest(json))
}

/// Returns the sums that this addition may take over. All workers must call this.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn stored_sums(
    worker: &mut Worker,
    process: &Process,
    collection: &Collection,
) -> Result<Option<StoredSums>, Failure> {
    let found = match worker.index() {
        0 => StoredSums::read(process, collection)?,
        _ => None,
    };
    let json = serde_json::to_vec(&found).expect("texts and numbers are JSON");
    let all = all_gather(worker, &json);
    Ok(serde_json::from_slice(&all[0]).expect("written by a worker"))
}

/// Reads the words of a file.
pub(super) fn read_words(process: &Process, file: &str) -> Result<Vec<u64>, Failure> {
    let path = process.output.local(file)?;
    let bytes = fs::read(&path).and_then(|bytes| zstd::decode_all(&bytes[..]));
    Ok(bytemuck::pod_collect_to_vec(&bytes.map_err(Failure::io(path))?))
}

/// Writes the sums of a bucket of a table.
pub(super) fn write_words(
    process: &Process,
    table: &str,
    bucket: u64,
    words: &[u64],
) -> Result<(String, PartInfo), Failure> {
    let file = format!("{NOTES_FOLDER}/{PREFIX}{table}-{}.zst", in_order(bucket));
    let bytes = zstd::encode_all(bytemuck::cast_slice(words), LEVEL);
    let bytes = bytes.map_err(|error| process.scratch_error(&file, error))?;
    process.output.write_atomic(&file, &bytes)?;
    let sha256 = hex::encode(Sha256::digest(&bytes));
    let info = PartInfo { rows: words.len() as u64, bytes: bytes.len() as u64, sha256 };
    Ok((file, info))
}

/// Describes the files of sums among those `written`, which it takes out, and removes others.
pub(super) fn describe(plan: &ProjectPlan, written: &mut WrittenParts) -> Result<(), Failure> {
    let (output, collection) = (&plan.process.output, &plan.collection);
    let all = std::mem::take(written).into_iter();
    let (mut files, tables): (WrittenParts, WrittenParts) =
        all.partition(|(path, _)| path.starts_with(NOTES_FOLDER));
    files.extend(plan.trends.files.clone());
    *written = tables;
    let FileMetadata { model_hash, settings_hash, .. } = plan.metadata.clone();
    if files.is_empty() {
        return Ok(());
    }
    let generations = collection.generations.len();
    let columns = plan.trends.columns.to_vec();
    let stored = StoredSums {
        format: FORMAT,
        documents: collection.numbers(),
        generations,
        collection_hash: collection_hash(collection, generations),
        model_hash,
        settings_hash,
        columns,
        files,
    };
    let json = serde_json::to_string(&stored).expect("numbers and texts are JSON");
    output.write_atomic(SUMS, json.as_bytes())?;
    for name in output.names(NOTES_FOLDER)?.iter().filter(|name| name.starts_with(PREFIX)) {
        let file = format!("{NOTES_FOLDER}/{name}");
        if !stored.files.contains_key(&file) {
            output.remove(&file)?;
        }
    }
    Ok(())
}
