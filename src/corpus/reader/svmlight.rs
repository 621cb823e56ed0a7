//! SVMlight's lines, and LIBSVM's: `label number:count … # id`.
//!
//! Numbers begin with 1. They stand for the terms of a vocabulary beside the file, or for themselves.
//! The comment, if there is one, is the document's id; the label may be a group or metadata.

use super::counts::{document, numbered, texts};
use super::delimited::Header;
use super::{Context, DocumentSink};

/// What a line holds.
pub(super) const COLUMNS: [&str; 3] = ["id", "label", "text"];

/// Hands over the documents of a stretch of lines that begins at `offset`.
pub(super) fn read(
    context: &Context<'_>,
    header: &Header,
    offset: u64,
    bytes: &[u8],
    emit: DocumentSink<'_>,
) {
    for (begins, line, repaired) in texts(offset, bytes) {
        let (data, id) = line.split_once('#').unwrap_or((&line, ""));
        if data.trim().is_empty() {
            continue;
        }
        let mut fields = data.split_ascii_whitespace().peekable();
        let label = fields.next_if(|field| !field.contains(':'));
        let fields = fields.filter(|field| !field.starts_with("qid:"));
        let counts = numbered(fields, header.vocabulary(), 1);
        let described = [id.trim(), label.unwrap_or_default()];
        emit(document(
            context, header, begins, described, counts, repaired,
        ));
    }
}
