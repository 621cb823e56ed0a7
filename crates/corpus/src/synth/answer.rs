//! The answer of a generated corpus: its planted topics and its settings.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::SynthSummary;
use super::topics::PlantedTopics;
use crate::CorpusError;
use crate::synth_settings::SynthSettings;
use store::Writer;

/// The content of `answer/corpus.json`: the origin of the corpus, to recognise it, and its size.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    /// Raised when the same settings would make other documents.
    pub(super) generator: u32,
    pub(super) settings: SynthSettings,
    pub(super) words_sha256: String,
    pub(super) corpus: SynthSummary,
}

/// The version of this generator.
pub(super) const GENERATOR: u32 = 1;

/// Writes the answer into `folder`.
pub(super) fn write_answer(
    planted: &PlantedTopics,
    words: &[String],
    record: &Record,
    folder: &Path,
) -> Result<(), CorpusError> {
    let write_topics = |out: &mut BufWriter<Writer>| {
        writeln!(out, "topic\tterm\tweight")?;
        for topic in 0..planted.topic_count() {
            for (term, weight) in planted.topic(topic) {
                writeln!(out, "{topic}\t{}\t{}", words[term as usize], weight as f32)?;
            }
        }
        Ok(())
    };
    write_file(&folder.join("topics.tsv"), write_topics)?;
    write_file(&folder.join("corpus.json"), |out| {
        serde_json::to_writer_pretty(&mut *out, record)?;
        writeln!(out)
    })
}

fn write_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<Writer>) -> io::Result<()>,
) -> Result<(), CorpusError> {
    let written = Writer::create(path).and_then(|file| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()?;
        out.get_ref().sync()
    });
    written.map_err(CorpusError::io(path))
}

/// Reads the planted topics of the corpus in `folder`: for each topic its words and their probabilities, heaviest
/// first. They sum to 1: words that are not listed are never drawn from the topic.
///
/// # Errors
///
/// Fails if the answer cannot be read or is not as it was written.
pub fn read_answer(folder: &Path) -> Result<Vec<Vec<(String, f32)>>, CorpusError> {
    let path = folder.join("answer/topics.tsv");
    let text = fs::read_to_string(&path).map_err(CorpusError::io(&path))?;
    let mut topics: Vec<Vec<(String, f32)>> = Vec::new();
    for (index, line) in text.lines().enumerate().skip(1) {
        let damaged = || {
            let (path, line) = (path.display(), index + 1);
            CorpusError::Data(format!(
                "{path}:{line}: expected a row of topic, term, weight; make the corpus again"
            ))
        };
        let (topic, word, weight) = parse_row(line).ok_or_else(damaged)?;
        if topic == topics.len() {
            topics.push(Vec::new());
        }
        topics.get_mut(topic).ok_or_else(damaged)?.push((word.to_owned(), weight));
    }
    Ok(topics)
}

fn parse_row(line: &str) -> Option<(usize, &str, f32)> {
    let mut cells = line.split('\t');
    let row = (cells.next()?.parse().ok()?, cells.next()?, cells.next()?.parse().ok()?);
    cells.next().is_none().then_some(row)
}
