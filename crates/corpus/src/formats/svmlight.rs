//! SVMlight's lines, and LIBSVM's: `label number:count … # id`.
//!
//! Numbers begin with 1. They refer to the terms of a vocabulary beside the file, or are the terms themselves. The
//! comment, if there is one, is the document's id; the label may be a group or metadata.

use super::counts::{CountLines, Line, numbered};
use super::{Cutting, Format, VocabularyName};
use std::sync::Arc;

/// `corpus.format = "svmlight"`.
pub static SVM_LIGHT: Format = Format {
    name: "svmlight",
    endings: &["svmlight", "svm", "libsvm"],
    names: ", with or without a vocabulary",
    document: "a line `label number:count … # id`, numbers from 1; column `label`",
    id: "the comment",
    is_counts: true,
    vocabulary: Some(VocabularyName::WithEnding { is_optional: true }),
    cutting: Cutting::Records(|_| Arc::new(CountLines(&["id", "label", "text"], parse)), true),
    ..Format::PLAIN
};

/// Parses a line; one with only a comment is not a document.
fn parse<'a>(line: &'a str, vocabulary: Option<&'a [String]>) -> Option<Line<'a>> {
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
