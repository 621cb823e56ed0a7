//! The notes of parts of the tables of documents: what a part was made of. A part without one is made again.

use std::fs;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use store::{Disk, Store};

use super::PartInfo;
use super::output::NOTES_FOLDER;
use crate::failure::Failure;

/// What a part was projected with, its files, and its tally.
#[derive(Serialize, Deserialize)]
pub(crate) struct PartNote {
    /// Hash of the model.
    pub(crate) model_hash: Option<String>,
    /// Hash of the settings.
    pub(crate) settings_hash: String,
    /// Its shards.
    pub(crate) shards: Range<usize>,
    /// The files of each table of documents.
    pub(crate) parts: Vec<PartInfo>,
    /// The sums of its tally.
    pub(crate) sums: Vec<i64>,
}

/// Reads a file of the folder of notes; `None` if there is none, or it is damaged.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn read_sound_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Failure> {
    match fs::read(path) {
        Ok(json) => Ok(serde_json::from_slice(&json).ok()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Failure::io(path)(source)),
    }
}

impl PartNote {
    /// Returns the path of a part's note in the output folder.
    pub(crate) fn name(number: usize) -> String {
        format!("{NOTES_FOLDER}/part-{number:05}.json")
    }

    /// Reads all notes of a result, each with the number of its part.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn all(root: &Path) -> Result<Vec<(usize, Self)>, Failure> {
        let mut notes = Vec::new();
        for name in Disk.names(&root.join(NOTES_FOLDER))? {
            let number = name.strip_prefix("part-").and_then(|rest| rest.strip_suffix(".json"));
            let Some(number) = number.and_then(|digits| digits.parse().ok()) else { continue };
            notes.extend(
                read_sound_json::<Self>(&root.join(Self::name(number)))?.map(|note| (number, note)),
            );
        }
        Ok(notes)
    }
}
