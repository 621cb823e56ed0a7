//! The lines of Blei's lda-c: the number of distinct terms, then `number:count` of each. Numbers begin
//! with 0 and stand for the terms of the vocabulary beside the file. A document has no id.

use super::counts::{document, numbered, texts};
use super::delimited::Header;
use super::{Context, DocumentSink};

/// What a line holds besides.
pub(super) const COLUMNS: [&str; 1] = ["text"];

/// Hands over the documents of a stretch of lines that begins at `offset`.
pub(super) fn read(
    context: &Context<'_>,
    header: &Header,
    offset: u64,
    bytes: &[u8],
    emit: DocumentSink<'_>,
) {
    for (begins, line, repaired) in texts(offset, bytes) {
        let mut fields = line.split_ascii_whitespace();
        let wanted = fields.next().unwrap_or_default();
        let counts = numbered(fields, header.vocabulary(), 0);
        let counts = counts.and_then(|counts| match wanted.parse::<usize>() == Ok(counts.len()) {
            true => Ok(counts),
            false => Err(format!(
                "the line begins with `{wanted}` but has {} terms; it is cut off, or not of lda-c",
                counts.len()
            )),
        });
        emit(document(
            context,
            header,
            begins,
            ["", ""],
            counts,
            repaired,
        ));
    }
}
