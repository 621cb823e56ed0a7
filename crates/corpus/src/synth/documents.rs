//! Writes the documents of a generated corpus: drawn one by one, cut into files of bounded size.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::SynthSummary;
use super::topics::{DrawnDocument, PlantedTopics};
use crate::CorpusError;
use crate::collection::in_order;
use store::Writer;

/// Documents between two reports of progress.
const PROGRESS_EVERY: u64 = 4096;

/// Writes `documents` documents into `folder`, in files of at most `file_bytes` (except a single longer document).
pub(super) fn write_documents(
    documents: u64,
    planted: &PlantedTopics,
    words: &[String],
    folder: &Path,
    file_bytes: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<SynthSummary, CorpusError> {
    let mut files = Files::new(folder, file_bytes);
    let mut drawn = DrawnDocument::default();
    let mut topic_counts = vec![0_u32; planted.topic_count()];
    let (mut text, mut line, mut tokens) = (String::new(), Vec::new(), 0);
    for number in 0..documents {
        planted.draw(number, &mut drawn);
        tokens += drawn.terms.len() as u64;
        let topic = most_frequent(&drawn.topics, &mut topic_counts);
        text.clear();
        for &term in &drawn.terms {
            let space = if text.is_empty() { "" } else { " " };
            text.extend([space, &words[term as usize]]);
        }
        line.clear();
        let document = DrawnLine { id: format!("d{number:08}"), topic, text: &text };
        serde_json::to_writer(&mut line, &document).expect("texts and numbers are JSON");
        line.push(b'\n');
        files.write(&line)?;
        if (number + 1).is_multiple_of(PROGRESS_EVERY) {
            progress(number + 1);
        }
    }
    progress(documents);
    let (files, bytes) = files.finish()?;
    Ok(SynthSummary { documents, tokens, files, bytes, reused: false })
}

/// A document, as a line has it.
#[derive(Serialize)]
struct DrawnLine<'a> {
    id: String,
    topic: Option<u32>,
    text: &'a str,
}

/// Returns the topic that occurs most often, the smallest on a tie; none for an empty document. `counts` is all zeros
/// before and after.
fn most_frequent(topics: &[u32], counts: &mut [u32]) -> Option<u32> {
    for &topic in topics {
        counts[topic as usize] += 1;
    }
    let key = |topic: &&u32| (counts[**topic as usize], std::cmp::Reverse(**topic));
    let best = topics.iter().max_by_key(key).copied();
    for &topic in topics {
        counts[topic as usize] = 0;
    }
    best
}

/// Lines cut into files of a bounded size; a file is synced when it is full.
struct Files<'a> {
    folder: &'a Path,
    limit: u64,
    current: Option<(PathBuf, BufWriter<Writer>)>,
    current_bytes: u64,
    files: u64,
    bytes: u64,
}

impl<'a> Files<'a> {
    fn new(folder: &'a Path, limit: u64) -> Self {
        Self { folder, limit, current: None, current_bytes: 0, files: 0, bytes: 0 }
    }

    fn write(&mut self, line: &[u8]) -> Result<(), CorpusError> {
        let length = line.len() as u64;
        if self.current_bytes + length > self.limit {
            self.close()?;
        }
        if self.current.is_none() {
            self.current = Some(self.create()?);
        }
        let Some((path, writer)) = &mut self.current else {
            unreachable!("a file was opened just above")
        };
        writer.write_all(line).map_err(CorpusError::io(path))?;
        self.current_bytes += length;
        self.bytes += length;
        Ok(())
    }

    fn create(&mut self) -> Result<(PathBuf, BufWriter<Writer>), CorpusError> {
        let path = self.folder.join(format!("documents-{}.jsonl", in_order(self.files)));
        let file = Writer::create_new(&path).map_err(CorpusError::io(&path))?;
        self.files += 1;
        self.current_bytes = 0;
        Ok((path, BufWriter::with_capacity(1 << 20, file)))
    }

    fn close(&mut self) -> Result<(), CorpusError> {
        let Some((path, mut writer)) = self.current.take() else {
            return Ok(());
        };
        let closed = writer.flush().and_then(|()| writer.get_ref().sync());
        closed.map_err(CorpusError::io(&path))
    }

    /// Returns the numbers of files and bytes written; a corpus of no documents is one empty file.
    fn finish(mut self) -> Result<(u64, u64), CorpusError> {
        if self.files == 0 {
            self.current = Some(self.create()?);
        }
        self.close()?;
        Ok((self.files, self.bytes))
    }
}
