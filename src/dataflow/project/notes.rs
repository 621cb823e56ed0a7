//! The notes of parts: a part with a note is projected, and the sums of its tally are in it.

use super::ProjectPlan;
use crate::dataflow::process::Process;
use crate::dataflow::shares::Shares;
use crate::failure::Failure;
use crate::tables::notes::{PartNote, read_sound_json};
use crate::tables::tally::Tally;
use crate::tables::{FileMetadata, PartInfo, part_name};
use corpus::collection::Collection;

/// The parts that a note lists, by path, and its tally.
type NotedPart<T> = (Vec<(String, PartInfo)>, T);

/// Reads the note of a part, if it has been projected with the same shards, model and settings.
fn read_note(
    process: &Process,
    collection: &Collection,
    metadata: &FileMetadata,
    number: usize,
) -> Result<Option<NotedPart<Vec<i64>>>, Failure> {
    let note: Option<PartNote> = read_sound_json(&process.output.local(&PartNote::name(number))?)?;
    let (tables, shares) = (tables(collection), Shares::of(process, collection));
    let is_current = |note: &PartNote| {
        note.model_hash == metadata.model_hash
            && note.settings_hash == metadata.settings_hash
            && note.shards == shares.parts[number]
            && note.parts.len() == tables.len()
    };
    let Some(note) = note.filter(is_current) else {
        return Ok(None);
    };
    let paths = tables.iter().map(|table| part_path(table, number));
    let parts: Vec<(String, PartInfo)> = paths.zip(note.parts).collect();
    for (path, _) in &parts {
        if !process.output.is_published(path)? {
            return Ok(None);
        }
    }
    Ok(Some((parts, note.sums)))
}

/// Reads the files and the tally of a part, if it has been projected with the same shards, model and settings.
pub(super) fn read(plan: &ProjectPlan, number: usize) -> Result<Option<NotedPart<Tally>>, Failure> {
    let note = read_note(&plan.process, &plan.collection, &plan.metadata, number)?;
    let empty = plan.tally();
    let note = note.filter(|(_, sums)| sums.len() == empty.sums().len());
    Ok(note.map(|(parts, sums)| (parts, Tally::from_sums(&sums, &empty))))
}

/// Records that a part is projected.
pub(super) fn publish(
    plan: &ProjectPlan,
    number: usize,
    parts: Vec<PartInfo>,
    tally: &Tally,
) -> Result<(), Failure> {
    let FileMetadata { model_hash, settings_hash, .. } = plan.metadata.clone();
    let shards = plan.shares.parts[number].clone();
    let note = PartNote { model_hash, settings_hash, shards, parts, sums: tally.sums() };
    let note = serde_json::to_string(&note).expect("numbers and texts are JSON");
    plan.process.output.write_atomic(&PartNote::name(number), note.as_bytes())
}

/// All tables of documents.
const TABLES: [&str; 3] = ["documents", "document_topics", "predictions"];

/// Returns the tables of which projection writes parts: `predictions` only if documents have labels.
pub(super) fn tables(collection: &Collection) -> &'static [&'static str] {
    if collection.labels.is_empty() { &TABLES[..2] } else { &TABLES }
}

/// Returns the path of a part of a table, below the output's root.
pub(super) fn part_path(table: &str, number: usize) -> String {
    format!("{table}/{}", part_name(number as u64))
}

/// Whether every part is projected, as this process sees it.
pub(crate) fn are_complete(
    process: &Process,
    collection: &Collection,
    metadata: &FileMetadata,
) -> Result<bool, Failure> {
    for number in 0..Shares::of(process, collection).parts.len() {
        if read_note(process, collection, metadata, number)?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}
