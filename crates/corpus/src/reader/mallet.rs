//! MALLET's one document a line, as its `import-file` reads it by default: an id, a label and the text, separated by
//! white space and commas.

use super::{Context, DocumentSink};
use crate::block::cutter::lines;
use crate::block::header::Header;

/// Hands over the documents of a stretch of lines that begins at `offset`.
pub(super) fn read(
    context: &Context<'_>,
    header: &Header,
    offset: u64,
    bytes: &[u8],
    emit: DocumentSink<'_>,
) {
    for (begins, line) in lines(offset, bytes) {
        if !line.trim_ascii().is_empty() {
            emit(header.document(context, begins, &fields(line)));
        }
    }
}

/// The fields of a line.
pub fn fields(line: &[u8]) -> [&[u8]; 3] {
    let (id, rest) = first_field(line.trim_ascii());
    let (label, text) = first_field(rest);
    [id, label, text]
}

/// Up to the first white space, and what follows that and commas.
fn first_field(line: &[u8]) -> (&[u8], &[u8]) {
    let end = line.iter().position(u8::is_ascii_whitespace);
    let (field, rest) = line.split_at(end.unwrap_or(line.len()));
    let parts = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',';
    let begin = rest.iter().position(|byte| !parts(byte));
    (field, &rest[begin.unwrap_or(rest.len())..])
}
