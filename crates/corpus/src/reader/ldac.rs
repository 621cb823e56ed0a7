//! The lines of Blei's lda-c: the number of distinct terms, then `number:count` for each. Numbers begin with 0 and
//! refer to the terms of the vocabulary beside the file. A document has no id.

use super::counts::{Line, numbered};

pub(super) fn parse<'a>(line: &'a str, vocabulary: Option<&'a [String]>) -> Option<Line<'a>> {
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
