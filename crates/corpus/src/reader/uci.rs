//! The documents of a UCI bag of words or a Matrix Market file. A document's id is its number.

use super::{Context, DocumentSink};
use crate::block::uci::{Bag, Counts};
use crate::input::InputFile;
use crate::settings::CorpusSettings;
use crate::{Body, DocumentStatus};

/// Reads every document of the block, including those without entries.
pub(super) fn read(
    block: &Counts,
    file: &InputFile,
    settings: &CorpusSettings,
    emit: DocumentSink<'_>,
) {
    let context = Context::new(file, settings);
    let mut bags = block.bags.iter().peekable();
    for number in block.documents.clone() {
        let bag = bags.next_if(|bag| bag.document == number);
        let id = number.to_string();
        let missing = |status, problem: String| {
            Body::missing(status, format!("{}, document {id}", file.name), problem)
        };
        let body = match (bag, &block.lost) {
            (_, Some((first, reason))) if number >= *first => {
                missing(DocumentStatus::Truncated, format!("lost: {reason}; copy the file again"))
            }
            (Some(Bag { bytes, .. }), _) if *bytes > settings.max_document_bytes => {
                context.too_large(&id, *bytes)
            }
            (Some(Bag { counts, .. }), _) if !counts.is_empty() => {
                Body::Bag { vocabulary: &block.vocabulary, counts: counts.clone() }
            }
            _ => missing(DocumentStatus::Empty, "no entries".to_owned()),
        };
        emit(context.without_values(id, body));
    }
}
