//! Makes a corpus with planted topics, of any size, as JSON Lines, together with the planted
//! topics.
//!
//! The folder contains `documents-00000.jsonl` … (one line per document: `id`, `topic`, `text`) and, outside the input,
//! `answer/topics.tsv` and `answer/corpus.json`. `topic` is the most frequent planted topic of the document's words.
//! [`topics`] describes the generative model.
//!
//! The folder is complete or absent: it is written under a temporary name and renamed. Document n depends neither on
//! the documents before it nor on how files are cut.

mod answer;
mod documents;
mod error;
pub mod topics;
pub mod words;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use store::{Disk, LOCK, LOCK_MARK, Locking, Store as _};

pub use self::answer::read_answer;
use self::answer::{GENERATOR, Record, write_answer};
use self::documents::write_documents;
pub use self::error::SynthError;
use self::topics::PlantedTopics;
use crate::synth_settings::SynthSettings;

/// A file of documents is closed before it grows beyond this.
const FILE_BYTES: u64 = 64 << 20;

/// The contents of a generated corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SynthSummary {
    /// Documents.
    pub documents: u64,
    /// Words in them.
    pub tokens: u64,
    /// Files of documents.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whether the corpus already existed, so that nothing was made.
    #[serde(skip)]
    pub reused: bool,
}

/// Makes the corpus in `folder`, or finds it complete there and does nothing. `progress` receives the number of
/// finished documents from time to time.
///
/// Only one process at a time makes a folder; others are refused meanwhile. Memory: the vocabulary and some 4 V
/// weights.
///
/// # Errors
///
/// Fails if a setting is out of its range, the word list is too short, the folder contains something else, or reading
/// or writing fails.
pub fn synthesize(
    settings: &SynthSettings,
    folder: &Path,
    progress: &mut dyn FnMut(u64),
) -> Result<SynthSummary, SynthError> {
    synthesize_in_files(settings, folder, FILE_BYTES, progress)
}

fn synthesize_in_files(
    settings: &SynthSettings,
    folder: &Path,
    file_bytes: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<SynthSummary, SynthError> {
    if let Some((key, expected)) = settings.problem() {
        return Err(SynthError::Setting { key, expected });
    }
    let words = match &settings.words {
        Some(list) => words::from_list(list, settings.vocabulary)?,
        None => words::pronounceable(settings.vocabulary),
    };
    let words_sha256 = words::digest(&words);
    if let Some(found) = find_finished(settings, &words_sha256, folder)? {
        progress(found.documents);
        return Ok(found);
    }
    let unfinished = unfinished_name(folder);
    let lock = unfinished.join(LOCK);
    let held = Disk.lock(&lock, LOCK_MARK)?;
    if let Locking::Busy(holder) = held {
        let path = folder.to_owned();
        return Err(SynthError::Busy { path, holder });
    }
    // Another process may have finished it just before.
    if let Some(found) = find_finished(settings, &words_sha256, folder)? {
        store::remove_tree(&unfinished).map_err(|e| SynthError::io(&unfinished, e))?;
        return Ok(found);
    }
    for name in Disk.names(&unfinished)? {
        if name != LOCK {
            Disk.remove(&unfinished.join(name))?;
        }
    }
    let answer = unfinished.join("answer");
    store::create_folder(&answer).map_err(|e| SynthError::io(&answer, e))?;
    let planted = PlantedTopics::plant(settings);
    let corpus = write_documents(
        settings.documents,
        &planted,
        &words,
        &unfinished,
        file_bytes,
        progress,
    )?;
    let record = Record {
        generator: GENERATOR,
        settings: settings.clone(),
        words_sha256,
        corpus,
    };
    write_answer(&planted, &words, &record, &answer)?;
    store::remove_file(&lock).map_err(|e| SynthError::io(&lock, e))?;
    publish(&unfinished, folder)?;
    Ok(corpus)
}

/// Returns the corpus in `folder`, if it is the one that would be made.
fn find_finished(
    settings: &SynthSettings,
    words_sha256: &str,
    folder: &Path,
) -> Result<Option<SynthSummary>, SynthError> {
    let path = folder.join("answer/corpus.json");
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return check_vacant(folder),
        Err(e) => return Err(SynthError::io(&path, e)),
    };
    let other = || SynthError::OtherSettings {
        path: folder.to_owned(),
    };
    let record: Record = serde_json::from_slice(&bytes).map_err(|_| other())?;
    let wanted = SynthSettings {
        words: None,
        ..settings.clone()
    };
    if (record.generator, &record.settings) != (GENERATOR, &wanted)
        || record.words_sha256 != words_sha256
    {
        return Err(other());
    }
    Ok(Some(SynthSummary {
        reused: true,
        ..record.corpus
    }))
}

/// Checks that a folder without a finished corpus contains nothing else.
fn check_vacant(folder: &Path) -> Result<Option<SynthSummary>, SynthError> {
    let occupied = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_some(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => false,
        Err(e) => return Err(SynthError::io(folder, e)),
    };
    if occupied {
        let path = folder.to_owned();
        return Err(SynthError::Occupied { path });
    }
    Ok(None)
}

fn unfinished_name(folder: &Path) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(".unfinished");
    folder.with_file_name(name)
}

/// Renames the finished folder to its final name, and waits until that is on disk.
fn publish(unfinished: &Path, folder: &Path) -> Result<(), SynthError> {
    let sync = |path: &Path| store::sync_folder(path).map_err(|e| SynthError::io(path, e));
    sync(&unfinished.join("answer"))?;
    sync(unfinished)?;
    store::remove_folder(folder)
        .and_then(|()| store::rename(unfinished, folder))
        .map_err(|e| SynthError::io(folder, e))?;
    let parent = folder.parent().unwrap_or(folder);
    store::sync_folder(parent).map_err(|e| SynthError::io(folder, e))
}

#[cfg(test)]
mod tests;
