//! SVMlight's lines, and LIBSVM's: `label number:count … # id`.
//!
//! Numbers begin with 1. They refer to the terms of a vocabulary beside the file, or are the terms themselves. The
//! comment, if there is one, is the document's id; the label may be a group or metadata.

use super::counts::{Line, numbered};

/// Parses a line; one with only a comment is not a document.
pub(super) fn parse<'a>(line: &'a str, vocabulary: Option<&'a [String]>) -> Option<Line<'a>> {
    let (data, id) = line.split_once('#').unwrap_or((line, ""));
    if data.trim().is_empty() {
        return None;
    }
    let mut fields = data.split_ascii_whitespace().peekable();
    let label = fields.next_if(|field| !field.contains(':'));
    let fields = fields.filter(|field| !field.starts_with("qid:"));
    Some(Line {
        counts: numbered(fields, vocabulary, 1),
        fields: [id.trim(), label.unwrap_or_default()],
    })
}
