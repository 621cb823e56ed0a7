//! The lines of Blei's lda-c: the number of distinct terms, then `number:count` for each. Numbers begin with 0 and
//! refer to the terms of the vocabulary beside the file. A document has no id.

use super::counts::{CountLines, Line, numbered};
use super::{Cutting, Format, VocabularyName};
use std::sync::Arc;

/// `corpus.format = "lda-c"`.
pub static LDA_C: Format = Format {
    name: "lda-c",
    endings: &["ldac"],
    names: " beside a vocabulary, `vocab*.txt`, `<name>.vocab*` or `<name>.tokens`",
    document: "a line `terms number:count …`, numbers from 0",
    id: "`<file>@<place>`",
    is_counts: true,
    vocabulary: Some(VocabularyName::WithEnding { is_optional: false }),
    cutting: Cutting::Records(|_| Arc::new(CountLines(&["text"], parse)), true),
    ..Format::PLAIN
};

fn parse<'a>(line: &'a str, vocabulary: Option<&'a [String]>) -> Option<Line<'a>> {
    let mut fields = line.split_ascii_whitespace();
    let wanted = fields.next().unwrap_or_default();
    let counts = numbered(fields, vocabulary, 0).and_then(|counts| match counts.len() {
        found if wanted.parse() == Ok(found) => Ok(counts),
        found => Err(format!(
            "the line begins with `{wanted}`, but the number of its terms is {found}; it is cut off, or not of lda-c"
        )),
    });
    let fields = ["", ""];
    Some(Line { fields, counts })
}
