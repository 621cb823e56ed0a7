//! MALLET's format of one document per line, as its `import-file` reads it by default: an id, a label and the text,
//! separated by white space and commas.

use super::cutter::lines;
use super::records::{ColumnNames, Records, RowSink};
use super::{Cutting, Format};
use std::sync::Arc;

/// `corpus.format = "mallet"`.
pub static MALLET: Format = Format {
    name: "mallet",
    names: "none",
    document: "a line `id label text`, as MALLET's `import-file` reads it; column `label`",
    id: "the first field",
    cutting: Cutting::Records(|_| Arc::new(MalletLines), true),
    ..Format::PLAIN
};

/// The columns of a line.
pub const COLUMNS: [&str; 3] = ["id", "label", "text"];

/// The lines of a file.
pub(super) struct MalletLines;

impl Records for MalletLines {
    fn names(&self) -> ColumnNames {
        ColumnNames::Fixed(&COLUMNS)
    }

    fn rows(&self, offset: u64, stretch: &[u8], row: RowSink<'_>) {
        let lines = lines(offset, stretch).filter(|(_, line)| !line.trim_ascii().is_empty());
        lines.for_each(|(begins, line)| row(begins, Ok(&fields(line))));
    }
}

/// Splits a line into its fields.
pub fn fields(line: &[u8]) -> [&[u8]; 3] {
    let (id, rest) = first_field(line.trim_ascii());
    let (label, text) = first_field(rest);
    [id, label, text]
}

/// Splits a line at its first white space; the rest begins after that and commas.
fn first_field(line: &[u8]) -> (&[u8], &[u8]) {
    let end = line.iter().position(u8::is_ascii_whitespace);
    let (field, rest) = line.split_at(end.unwrap_or(line.len()));
    let parts = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',';
    let begin = rest.iter().position(|byte| !parts(byte));
    (field, &rest[begin.unwrap_or(rest.len())..])
}
