//! A file is a document: its id is the file's name, its text the file's content.

use super::{Context, DocumentSink, body_of_text};
use crate::block::keeps_damaged;
use crate::compression::read_into;
use crate::input::{InputError, InputFile, kind_of_document};
use crate::settings::CorpusSettings;
use crate::{Body, DocumentStatus};
use std::io;

/// Bytes of a text that are searched for NULs.
const START_BYTES: usize = 8 << 10;

/// Reads the file as one document; `held` is a buffer for one file after the other.
pub(super) fn read(
    file: &InputFile,
    settings: &CorpusSettings,
    held: &mut Vec<u8>,
    emit: DocumentSink<'_>,
) -> Result<(), InputError> {
    let context = Context::new(file, settings);
    if let Some(bytes) = read_whole(&context, settings.max_document_bytes, held, emit)? {
        let body = body_of_text(bytes, settings);
        let body = match &body {
            Body::Text { text, .. } => match why_no_text(bytes, text) {
                Some(why) => Body::missing(
                    DocumentStatus::ParseError,
                    &file.name,
                    format!("{why}; convert it, or exclude it with `corpus.exclude`"),
                ),
                None => body,
            },
            _ => body,
        };
        emit(context.without_values(&file.name, body));
    }
    Ok(())
}

/// Returns what shows that a file is not text: how it begins, or NUL bytes near the start of the decoded text.
fn why_no_text(bytes: &[u8], text: &str) -> Option<String> {
    let start = &text.as_bytes()[..text.len().min(START_BYTES)];
    let has_nul =
        || memchr::memchr(0, start).map(|_| "has NUL bytes, so it is not text".to_owned());
    let kind = kind_of_document(bytes);
    kind.map(|kind| format!("is {kind}, not text")).or_else(has_nul)
}

/// Returns the body of a file without content.
pub(super) fn empty(file: &InputFile) -> Body<'static> {
    Body::missing(DocumentStatus::Empty, &file.name, "the file is empty")
}

/// Returns the content of the file, at most `limit` bytes. If it is empty, too large or damaged, emits a document with
/// that status instead.
pub(super) fn read_whole<'h>(
    context: &Context<'_>,
    limit: u64,
    held: &'h mut Vec<u8>,
    emit: DocumentSink<'_>,
) -> Result<Option<&'h [u8]>, InputError> {
    let (file, settings) = (context.file, context.settings);
    let body = match read_all(file, limit, held)? {
        Ok(()) if held.is_empty() => empty(file),
        Ok(()) if held.len() as u64 > limit => {
            let bytes = file.bytes.max(held.len() as u64);
            context.larger_than(limit, &file.name, bytes)
        }
        Ok(()) => return Ok(Some(held)),
        Err(error) if keeps_damaged(settings) => context.truncated(&file.name, &error.to_string()),
        Err(error) => {
            return Err(InputError::Damaged {
                path: file.path.clone(),
                offset: 0,
                unit: "bytes",
                reason: error.to_string(),
            });
        }
    };
    emit(context.without_values(&file.name, body));
    Ok(None)
}

/// Reads all that the file contains, or `limit` + 1 bytes of it; the inner error is the decoder's, for damage.
pub(super) fn read_all(
    file: &InputFile,
    limit: u64,
    held: &mut Vec<u8>,
) -> Result<io::Result<()>, InputError> {
    let content = file.content()?;
    Ok(read_into(held, content, limit.saturating_add(1)))
}
