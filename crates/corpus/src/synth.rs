//! Makes a corpus with planted topics, of any size, as JSON Lines, together with the planted
//! topics.
//!
//! The folder contains `documents-00000.jsonl` … (one line per document: `id`, `topic`, `text`)
//! and, where the input does not include them, `answer/topics.tsv` and `answer/corpus.json`.
//! `topic` is the planted topic of most of the document's words. [`topics`] describes the
//! generative model.
//!
//! The folder is complete or absent: it is written under a temporary name and renamed. Document n
//! does not depend on the documents before it or on how files are cut.

mod answer;
mod documents;
mod error;
pub mod topics;
pub mod words;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use store::{Disk, LOCK_MARK, Locking, Store as _};

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
    /// Whether the corpus was there already, so that nothing was made.
    #[serde(skip)]
    pub reused: bool,
}

/// Makes the corpus in `folder`, or finds it there complete and does nothing. `progress` hears now
/// and then how many documents are done.
///
/// One process at a time makes a folder; others that want to meanwhile are refused. Memory: the vocabulary and some 4 V weights.
///
/// # Errors
///
/// A setting out of its range, a word list that is too short, a folder that contains something else,
/// or any error of reading and writing.
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
    let lock = unfinished.join("_lock");
    let held = Disk.lock(&lock, LOCK_MARK);
    let held = held.map_err(|e| SynthError::io(&lock, e.source))?;
    if let Locking::Busy(holder) = held {
        let path = folder.to_owned();
        return Err(SynthError::Busy { path, holder });
    }
    // It may have ended just before.
    if let Some(found) = find_finished(settings, &words_sha256, folder)? {
        store::remove_tree(&unfinished).map_err(|e| SynthError::io(&unfinished, e))?;
        return Ok(found);
    }
    for name in Disk
        .names(&unfinished)
        .map_err(|e| SynthError::io(&unfinished, e.source))?
    {
        let left = unfinished.join(name);
        if left != lock {
            Disk.remove(&left)
                .map_err(|e| SynthError::io(&left, e.source))?;
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

/// The corpus in `folder`, if it is the one that would be made.
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

/// No corpus was found; the folder must not contain anything else either.
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
mod tests {
    use super::*;

    fn settings() -> SynthSettings {
        SynthSettings {
            topics: 5,
            documents: 9000,
            vocabulary: 300,
            mean_length: 6.0,
            alpha_sum: 0.5,
            zipf: 1.0,
            seed: 1,
            words: None,
        }
    }

    /// All documents' files of a corpus, in order.
    fn text(folder: &Path, files: u64) -> String {
        (0..files)
            .map(|i| fs::read_to_string(folder.join(format!("documents-{i:05}.jsonl"))).unwrap())
            .collect()
    }

    #[test]
    fn one_process_at_a_time_makes_a_corpus() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("made");
        let lock = unfinished_name(&folder).join("_lock");
        let held = Disk.lock(&lock, LOCK_MARK).unwrap();
        let refused = synthesize(&settings(), &folder, &mut |_| ()).unwrap_err();
        assert!(matches!(refused, SynthError::Busy { .. }), "{refused}");
        // What a killed process has left is made anew.
        drop(held);
        synthesize(&settings(), &folder, &mut |_| ()).unwrap();
        assert!(!unfinished_name(&folder).exists() && !folder.join("_lock").exists());
        assert!(
            synthesize(&settings(), &folder, &mut |_| ())
                .unwrap()
                .reused
        );
    }

    #[test]
    fn documents_are_a_format() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("corpus");
        let made = synthesize(&settings(), &folder, &mut |_| ()).unwrap();
        let text = text(&folder, made.files);
        assert_eq!(
            text.lines().next().unwrap(),
            r#"{"id":"d00000000","topic":1,"text":"togo mumo nuso vilo funa vilo zazo"}"#
        );
        assert_eq!(
            words::digest(&[text]),
            "aeebe28e18968514e3b5025a0fd9c1fa40c9f7c1cb48fea9308c96bef3d9e80f"
        );
    }

    #[test]
    fn every_document_has_a_line_and_the_summary_counts_them() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("new/corpus");
        let mut reports = Vec::new();
        let made = synthesize(&settings(), &folder, &mut |n| reports.push(n)).unwrap();
        assert_eq!(reports, [4096, 8192, 9000]);
        let text = text(&folder, made.files);
        let (mut tokens, mut empty) = (0, 0);
        for (number, line) in text.lines().enumerate() {
            let json: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(json["id"], format!("d{number:08}"));
            let words = json["text"].as_str().unwrap().split_whitespace().count() as u64;
            assert_eq!(json["topic"].is_null(), words == 0);
            empty += u64::from(words == 0);
            tokens += words;
        }
        assert_eq!(made.documents, text.lines().count() as u64);
        assert_eq!((made.tokens, made.bytes), (tokens, text.len() as u64));
        // Of Poisson(6) lengths, e⁻⁶ are 0: some 22 of 9,000.
        assert!((5..50).contains(&empty), "{empty} empty documents");
    }

    #[test]
    fn cutting_into_files_does_not_change_the_documents() {
        let root = tempfile::tempdir().unwrap();
        let (whole, cut) = (root.path().join("whole"), root.path().join("cut"));
        let one = synthesize(&settings(), &whole, &mut |_| ()).unwrap();
        let many = synthesize_in_files(&settings(), &cut, 50_000, &mut |_| ()).unwrap();
        assert_eq!((one.files, one.bytes), (1, many.bytes));
        assert!(many.files > 5);
        assert_eq!(text(&whole, 1), text(&cut, many.files));
        for entry in fs::read_dir(&cut).unwrap() {
            assert!(entry.unwrap().metadata().unwrap().len() <= 50_000);
        }
    }

    #[test]
    fn a_longer_corpus_begins_like_a_shorter_one() {
        let root = tempfile::tempdir().unwrap();
        let (short, long) = (root.path().join("short"), root.path().join("long"));
        let fewer = SynthSettings {
            documents: 100,
            ..settings()
        };
        synthesize(&fewer, &short, &mut |_| ()).unwrap();
        synthesize(&settings(), &long, &mut |_| ()).unwrap();
        assert!(text(&long, 1).starts_with(&text(&short, 1)));
    }

    #[test]
    fn a_finished_corpus_is_found_again_and_others_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("corpus");
        let made = synthesize(&settings(), &folder, &mut |_| ()).unwrap();
        let file = folder.join("documents-00000.jsonl");
        let before = fs::metadata(&file).unwrap().modified().unwrap();
        let again = synthesize(&settings(), &folder, &mut |_| ()).unwrap();
        assert_eq!(
            again,
            SynthSummary {
                reused: true,
                ..made
            }
        );
        assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), before);
        let other = SynthSettings {
            seed: 2,
            ..settings()
        };
        let error = synthesize(&other, &folder, &mut |_| ()).unwrap_err();
        assert!(matches!(error, SynthError::OtherSettings { .. }), "{error}");
        fs::remove_dir_all(folder.join("answer")).unwrap();
        let error = synthesize(&settings(), &folder, &mut |_| ()).unwrap_err();
        assert!(matches!(error, SynthError::Occupied { .. }), "{error}");
        assert!(file.exists(), "what stood there is let be");
    }

    #[test]
    fn what_a_killed_run_left_is_replaced() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("corpus");
        let unfinished = root.path().join("corpus.unfinished");
        fs::create_dir_all(&unfinished).unwrap();
        fs::write(unfinished.join("documents-00000.jsonl"), "half a li").unwrap();
        fs::create_dir(&folder).unwrap();
        let made = synthesize(&settings(), &folder, &mut |_| ()).unwrap();
        assert!(!unfinished.exists());
        assert_eq!(text(&folder, 1).len() as u64, made.bytes);
    }

    #[test]
    fn the_answer_reads_back_as_distributions_over_the_words_used() {
        let root = tempfile::tempdir().unwrap();
        let list = root.path().join("words.txt");
        let words: Vec<String> = (0..300).map(|i| format!("w\"{i}")).collect();
        fs::write(&list, words.join("\n")).unwrap();
        let settings = SynthSettings {
            words: Some(list),
            ..settings()
        };
        let folder = root.path().join("corpus");
        synthesize(&settings, &folder, &mut |_| ()).unwrap();
        let topics = read_answer(&folder).unwrap();
        assert_eq!(topics.len(), 5);
        for topic in &topics {
            let sum: f64 = topic.iter().map(|e| f64::from(e.1)).sum();
            assert!((sum - 1.0).abs() < 1e-5);
            assert!(topic.iter().all(|e| words.contains(&e.0)));
        }
        let text = text(&folder, 1);
        let line: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        let mut used = line["text"].as_str().unwrap().split(' ');
        assert!(used.all(|w| words.contains(&w.to_owned())), "{line}");
    }

    #[test]
    fn a_damaged_answer_names_its_line() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("answer")).unwrap();
        let path = root.path().join("answer/topics.tsv");
        for damaged in [
            "0\ta\t0.5\n0\tb\n",
            "0\ta\t1\n2\tb\t1\n",
            "0\ta\t1\n0\tb\tx\n",
        ] {
            fs::write(&path, format!("topic\tterm\tweight\n{damaged}")).unwrap();
            let error = read_answer(root.path()).unwrap_err();
            assert!(
                matches!(error, SynthError::Answer { line: 3, .. }),
                "{error}"
            );
        }
    }

    #[test]
    fn settings_out_of_range_are_refused_before_anything_is_written() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("corpus");
        let bad = SynthSettings {
            topics: 0,
            ..settings()
        };
        let error = synthesize(&bad, &folder, &mut |_| ()).unwrap_err();
        assert_eq!(error.to_string(), "synth.topics must be 1 to 65535");
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn no_documents_are_one_empty_file() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("corpus");
        let none = SynthSettings {
            documents: 0,
            ..settings()
        };
        let made = synthesize(&none, &folder, &mut |_| ()).unwrap();
        assert_eq!((made.files, made.bytes, text(&folder, 1).len()), (1, 0, 0));
    }
}
