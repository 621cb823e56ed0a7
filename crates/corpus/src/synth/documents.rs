//! Writes the documents of a generated corpus: drawn one by one, cut into files of bounded size.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

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
    let escaped: Vec<String> = words.iter().map(|w| json_inside(w)).collect();
    let mut files = Files::new(folder, file_bytes);
    let mut document = DrawnDocument::default();
    let mut topic_counts = vec![0_u32; planted.topic_count()];
    let (mut line, mut tokens) = (Vec::new(), 0);
    for number in 0..documents {
        planted.draw(number, &mut document);
        tokens += document.terms.len() as u64;
        let topic = most_frequent(&document.topics, &mut topic_counts);
        line.clear();
        write_line(&mut line, number, topic, &document.terms, &escaped)
            .map_err(CorpusError::io(folder))?;
        files.write(&line)?;
        if (number + 1).is_multiple_of(PROGRESS_EVERY) {
            progress(number + 1);
        }
    }
    progress(documents);
    let (files, bytes) = files.finish()?;
    Ok(SynthSummary { documents, tokens, files, bytes, reused: false })
}

/// Returns a word as it is between the quotation marks of a JSON string.
fn json_inside(word: &str) -> String {
    let quoted = serde_json::Value::from(word).to_string();
    quoted[1..quoted.len() - 1].to_owned()
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

fn write_line(
    line: &mut Vec<u8>,
    number: u64,
    topic: Option<u32>,
    terms: &[u32],
    words: &[String],
) -> io::Result<()> {
    write!(line, r#"{{"id":"d{number:08}","topic":"#)?;
    match topic {
        Some(topic) => write!(line, "{topic}")?,
        None => line.extend_from_slice(b"null"),
    }
    line.extend_from_slice(br#","text":""#);
    for (i, &term) in terms.iter().enumerate() {
        if i > 0 {
            line.push(b' ');
        }
        line.extend_from_slice(words[term as usize].as_bytes());
    }
    line.extend_from_slice(b"\"}\n");
    Ok(())
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
