//! Single lines of JSON Lines, from a stream instead of a file.

use super::{Context, DocumentSink, jsonl};
use crate::compression::Compression;
use crate::input::InputFile;
use crate::settings::{CorpusSettings, Format};

/// A reader of lines by the keys of a job, like those of a file.
pub struct LineReader {
    file: InputFile,
    settings: CorpusSettings,
}

impl LineReader {
    /// Creates a reader for a stream of this name, which is used in the ids of documents without one.
    pub fn new(name: &str, settings: &CorpusSettings) -> Self {
        let file = InputFile {
            name: name.to_owned(),
            path: name.into(),
            format: Format::JsonLines,
            compression: Compression::Plain,
            bytes: 0,
            vocabulary: None,
            tag: None,
            is_copy: false,
        };
        Self { file, settings: settings.clone() }
    }

    /// Returns whether a line contains a document, however broken: blank ones do not.
    pub fn holds_document(line: &[u8]) -> bool {
        !line.trim_ascii().is_empty()
    }

    /// Reads the document of a line that begins at byte `offset` of the stream; nothing for a blank line.
    pub fn read(&self, offset: u64, line: &[u8], emit: DocumentSink<'_>) {
        jsonl::read(&Context::new(&self.file, &self.settings), offset, line, emit);
    }

    /// Emits a document for a line of this many bytes, more than `corpus.max_document_mib`.
    pub fn too_large(&self, offset: u64, bytes: u64, emit: DocumentSink<'_>) {
        let context = Context::new(&self.file, &self.settings);
        emit(context.too_large_at(offset, bytes));
    }

    /// Emits a document for the rest of a stream that failed.
    pub fn truncated(&self, offset: u64, reason: &str, emit: DocumentSink<'_>) {
        let context = Context::new(&self.file, &self.settings);
        emit(context.truncated_at(offset, reason));
    }

    /// Returns the problem with a document, without the place that its reader put before it.
    pub fn without_place<'r>(&self, offset: u64, reason: &'r str) -> &'r str {
        let place = Context::new(&self.file, &self.settings).place(offset);
        let rest = reason.strip_prefix(place.as_str());
        rest.and_then(|rest| rest.strip_prefix(": ")).unwrap_or(reason)
    }
}
