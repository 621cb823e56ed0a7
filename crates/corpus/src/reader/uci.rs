//! The entries of a UCI bag of words or a Matrix Market file, one `document term count` per line: the counts of each
//! document of a block.
//!
//! A document's id is its number.

use super::counts::count_of;
use super::{Context, DocumentSink};
use crate::block::uci::{Counts, out_of_order};
use crate::input::{InputError, InputFile};
use crate::settings::CorpusSettings;
use crate::{Body, DocumentStatus, RawDocument};

/// Reads every document of the block, including those without entries.
pub(super) fn read(
    block: &Counts,
    file: &InputFile,
    settings: &CorpusSettings,
    emit: DocumentSink<'_>,
) -> Result<(), InputError> {
    let context = Context::new(file, settings);
    let mut next = block.documents.start;
    let mut counts = Vec::new();
    // The range of the current document's entries, wherever the block begins and ends.
    let mut bytes = 0..0;
    let mut offset = 0;
    let text = String::from_utf8_lossy(&block.entries);
    for (line, number) in text.split_inclusive('\n').zip(block.line..) {
        let failure = |reason: String| InputError::counts(&file.path, number, reason);
        let (document, term, count) = parse(line).ok_or_else(|| {
            failure(format!(
                "expected `document term count`, three whole numbers, not `{}`",
                line.trim()
            ))
        })?;
        if document < next || document >= block.documents.end {
            let range = next..=block.documents.end - 1;
            return Err(failure(out_of_order(document, &range)));
        }
        let term_count = block.vocabulary.len();
        if term == 0 || term > term_count as u64 {
            return Err(failure(format!("term {term} is not one of 1 to {term_count}")));
        }
        while next < document {
            let counts = std::mem::take(&mut counts);
            emit(finish(&context, block, next, bytes.len(), counts));
            next += 1;
            bytes = offset..offset;
        }
        bytes.end = offset + line.trim_ascii_end().len();
        offset += line.len();
        if count > 0 {
            // In range: a vocabulary of 2³² terms does not fit into memory.
            counts.push(((term - 1) as u32, count));
        }
    }
    for document in next..block.documents.end {
        let counts = std::mem::take(&mut counts);
        let bytes = std::mem::take(&mut bytes);
        emit(finish(&context, block, document, bytes.len(), counts));
    }
    Ok(())
}

fn parse(line: &str) -> Option<(u64, u64, u32)> {
    let mut fields = line.split_ascii_whitespace();
    let mut number = || fields.next()?.parse().ok();
    let (document, term) = (number()?, number()?);
    let count = count_of(fields.next()?)?;
    fields.next().is_none().then_some((document, term, count))
}

/// Returns the document with this number.
fn finish<'a>(
    context: &Context<'_>,
    block: &'a Counts,
    number: u64,
    bytes: usize,
    counts: Vec<(u32, u32)>,
) -> RawDocument<'a> {
    let id = number.to_string();
    let named = || format!("{}, document {id}", context.file.name);
    let dropped = block.too_large.iter().find(|dropped| dropped.0 == number);
    let bytes = dropped.map_or(bytes as u64, |dropped| dropped.1);
    let body = if let Some((first, reason)) = &block.lost
        && number >= *first
    {
        let problem = format!("lost: {reason}; copy the file again");
        Body::missing(DocumentStatus::Truncated, named(), problem)
    } else if bytes > context.settings.max_document_bytes {
        context.too_large(&id, bytes)
    } else if counts.is_empty() {
        Body::missing(DocumentStatus::Empty, named(), "no entries")
    } else {
        Body::Bag { vocabulary: &block.vocabulary, counts }
    };
    context.without_values(id, body)
}
