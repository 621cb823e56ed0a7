//! A file is a document: its id is the file's name, its text the file's content.

use super::{Context, DocumentSink, body_of_text};
use crate::block::keeps_damaged;
use crate::compression::read_into;
use crate::input::{InputError, InputFile};
use crate::settings::CorpusSettings;
use crate::{DocumentStatus, RawDocument};
use std::borrow::Cow;
use std::io;

/// Hands the file over as one document; reads it into `held`, from one file to the next.
pub(super) fn read(
    file: &InputFile,
    settings: &CorpusSettings,
    held: &mut Vec<u8>,
    emit: DocumentSink<'_>,
) -> Result<(), InputError> {
    let context = Context::new(file, settings);
    if let Some(bytes) = read_whole(&context, held, emit)? {
        emit(RawDocument {
            source_id: Cow::Borrowed(&file.name),
            group: None,
            metadata: vec![None; settings.metadata.len()],
            body: body_of_text(bytes, settings),
        });
    }
    Ok(())
}

/// The content of the file; of one that is empty, too large or damaged nothing, but a document with that
/// status is handed over.
pub(super) fn read_whole<'h>(
    context: &Context<'_>,
    held: &'h mut Vec<u8>,
    emit: DocumentSink<'_>,
) -> Result<Option<&'h [u8]>, InputError> {
    let (file, settings) = (context.file, context.settings);
    let name = || file.name.clone();
    let limit = settings.max_document_bytes;
    match read_all(file, limit, held) {
        Ok(()) if held.is_empty() => {
            let reason = format!("{}: the file is empty", file.name);
            emit(context.missing(name(), DocumentStatus::Empty, reason));
        }
        Ok(()) if held.len() as u64 > limit => {
            let bytes = file.bytes.max(held.len() as u64);
            emit(context.too_large(name(), bytes));
        }
        Ok(()) => return Ok(Some(held)),
        Err(error) if keeps_damaged(settings) => {
            emit(context.truncated(name(), &error.to_string()));
        }
        Err(source) if source.kind() == io::ErrorKind::NotFound => {
            return Err(InputError::Changed {
                path: file.path.clone(),
            });
        }
        Err(error) => {
            return Err(InputError::Damaged {
                path: file.path.clone(),
                offset: 0,
                unit: "bytes",
                reason: error.to_string(),
            });
        }
    }
    Ok(None)
}

/// Reads all that the file contains, or `limit` + 1 bytes of it.
pub(super) fn read_all(file: &InputFile, limit: u64, held: &mut Vec<u8>) -> io::Result<()> {
    let opened = file.compression.open(&file.path)?;
    read_into(held, opened, limit.saturating_add(1))
}
