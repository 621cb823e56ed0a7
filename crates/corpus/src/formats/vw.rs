//! Vowpal Wabbit's lines: `label 'tag|namespace term:count …`.
//!
//! Terms are used unchanged, whatever their namespace; one without a count occurs once. The tag is the document's id;
//! the label may be a group or metadata.

use super::counts::{CountLines, Line, TermCounts};
use super::{Cutting, Format};
use crate::document::count_of;
use std::borrow::Cow;
use std::sync::Arc;

/// `corpus.format = "vw"`.
pub static VW: Format = Format {
    name: "vw",
    endings: &["vw"],
    document: "a line `label 'tag\\|namespace term:count …` of Vowpal Wabbit; column `label`",
    id: "the tag",
    is_counts: true,
    cutting: Cutting::Records(|_| Arc::new(CountLines(&["id", "label", "text"], parse)), true),
    ..Format::PLAIN
};

/// Parses a line; the terms need no vocabulary.
fn parse<'a>(line: &'a str, _: Option<&'a [String]>) -> Option<Line<'a>> {
    let (fields, counts) = match line.split_once('|') {
        Some((before, after)) => (described(before), counts_of(after)),
        None => {
            let what = "no `|` before the terms, as in `1 'id| whale:2`; correct the line";
            (["", ""], Err(what.to_owned()))
        }
    };
    Some(Line { fields, counts })
}

/// Splits the text before the terms into the tag and the label: a tag has an apostrophe, or touches the bar.
fn described(before: &str) -> [&str; 2] {
    let touches = !before.ends_with(|c: char| c.is_ascii_whitespace());
    let mut fields: Vec<&str> = before.split_ascii_whitespace().collect();
    let is_tag = |last: &mut &str| touches || last.starts_with('\'');
    let tag = fields.pop_if(is_tag).unwrap_or_default();
    let label = fields.first().copied().unwrap_or_default();
    [tag.trim_start_matches('\''), label]
}

/// Parses the terms of every namespace.
fn counts_of(after: &str) -> Result<TermCounts<'_>, String> {
    let terms = after.split('|').flat_map(|namespace| {
        let is_named = !namespace.starts_with(|c: char| c.is_ascii_whitespace());
        namespace.split_ascii_whitespace().skip(usize::from(is_named))
    });
    let count = |field| match str::rsplit_once(field, ':') {
        None => Ok((Cow::Borrowed(field), 1)),
        Some((term, count)) => match count_of(count) {
            Some(count) => Ok((Cow::Borrowed(term), count)),
            None => Err(format!("`{field}`: `{count}` is not a count; correct the line")),
        },
    };
    terms.map(count).collect()
}
