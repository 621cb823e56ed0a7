//! The notes of shards: a shard with a note is projected, and its tally is in it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};

use serde::{Deserialize, Serialize};

use crate::dataflow::process::Process;
use crate::failure::Failure;
use crate::tables::tally::Tally;
use crate::tables::{FileMetadata, PartInfo, part_name};
use corpus::collection::Collection;

/// Returns the path of the note of a shard, below the output's root.
fn note_name(number: usize) -> String {
    format!("checkpoints/projected/shard-{number:05}.jsonl")
}

/// The first line of a shard's note: what it was projected with, and its parts.
#[derive(Serialize, Deserialize)]
struct NoteHead {
    /// Hash of the model.
    model_hash: Option<String>,
    /// Hash of the settings.
    settings_hash: String,
    /// The parts written, in the order of [`parts`].
    parts: Vec<PartInfo>,
}

/// The parts that a shard's note lists, and the rest of the note: its tally.
type Note = (Vec<PartInfo>, BufReader<File>);

/// Reads the note of a shard, if it has been projected with the same model and settings.
fn read_note(
    process: &Process,
    number: usize,
    parts: &[&str],
    metadata: &FileMetadata,
) -> Result<Option<Note>, Failure> {
    let path = process.output.local(&note_name(number))?;
    let mut note = match File::open(&path) {
        Ok(file) => BufReader::new(file),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(Failure::io(path)(source)),
    };
    let mut line = Vec::new();
    note.read_until(b'\n', &mut line).map_err(Failure::io(path))?;
    let is_current = |head: &NoteHead| {
        head.model_hash == metadata.model_hash
            && head.settings_hash == metadata.settings_hash
            && head.parts.len() == parts.len()
    };
    let Some(head) = serde_json::from_slice(&line).ok().filter(is_current) else {
        return Ok(None);
    };
    for table in parts {
        if !process.output.is_published(&part_path(table, number))? {
            return Ok(None);
        }
    }
    Ok(Some((head.parts, note)))
}

/// Reads the tally of a shard, if it has been projected with the same model and settings.
pub(crate) fn read(
    process: &Process,
    number: usize,
    parts: &[&str],
    metadata: &FileMetadata,
) -> Result<Option<Tally>, Failure> {
    let note = read_note(process, number, parts, metadata)?;
    Ok(note.and_then(|(_, tally)| serde_json::from_reader(tally).ok()))
}

/// Records that a shard is projected.
pub(crate) fn publish(
    process: &Process,
    number: usize,
    parts: Vec<PartInfo>,
    metadata: &FileMetadata,
    tally: &Tally,
) -> Result<(), Failure> {
    let FileMetadata { model_hash, settings_hash, .. } = metadata.clone();
    let head = serde_json::to_string(&NoteHead { model_hash, settings_hash, parts });
    let tally = serde_json::to_string(tally);
    let note = head.and_then(|head| Ok([head, tally?].join("\n")));
    let note = note.expect("numbers and texts are JSON");
    process.output.write_atomic(&note_name(number), note.as_bytes())
}

/// All tables of which a shard may have a part.
const PARTS: [&str; 3] = ["documents", "document_topics", "predictions"];

/// Returns the tables of which projection writes a part for each shard of a collection: `predictions` only if
/// documents have labels.
pub(super) fn parts(collection: &Collection) -> &'static [&'static str] {
    if collection.labels.is_empty() { &PARTS[..2] } else { &PARTS }
}

/// Returns the path of a shard's part of a table, below the output's root.
pub(crate) fn part_path(table: &str, number: usize) -> String {
    format!("{table}/{}", part_name(number as u64))
}

/// Returns the parts that projection wrote, by their path below the output's root; or the note of a shard that is not
/// projected yet, as this process sees it.
pub(crate) fn written_parts(
    process: &Process,
    collection: &Collection,
    metadata: &FileMetadata,
) -> Result<Result<BTreeMap<String, PartInfo>, String>, Failure> {
    let mut written = BTreeMap::new();
    for number in 0..collection.shards.len() {
        let tables = parts(collection);
        let Some((parts, _)) = read_note(process, number, tables, metadata)? else {
            return Ok(Err(note_name(number)));
        };
        let paths = tables.iter().map(|table| part_path(table, number));
        written.extend(paths.zip(parts));
    }
    Ok(Ok(written))
}
