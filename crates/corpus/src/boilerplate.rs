//! Boilerplate: lines of a text that are not what it says, such as licences, encoded files, page numbers and quoted
//! mails.
//!
//! Each rule of `RULES` returns the lines that it leaves out. None is sure without a mark that texts do not have by
//! chance: a line that may be text is kept. What is left out is counted, with the first lines as examples.

mod encoded;
mod licence;
mod mail;
mod pages;

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::formats::{Format, mail::MAIL};
use super::{Body, RawDocument};

/// Lines kept as examples, for each rule.
const EXAMPLES: usize = 3;
/// The most characters of an example.
const EXAMPLE_LENGTH: usize = 100;

/// A rule: lines that are not text.
struct BoilerplateRule {
    /// What it leaves out, in the plural.
    name: &'static str,
    /// Whether it applies to mails only, to other texts only, or to both.
    mail: Option<bool>,
    /// Returns ranges of whole lines, ascending and disjoint.
    find: fn(&str) -> Vec<Range<usize>>,
}

/// The rules; of lines that several leave out, the first has them.
static RULES: &[BoilerplateRule] = &[
    BoilerplateRule { name: "licences of Project Gutenberg", mail: None, find: licence::lines },
    BoilerplateRule { name: "encoded files", mail: None, find: encoded::lines },
    BoilerplateRule { name: "quoted mails", mail: Some(true), find: mail::quotes },
    BoilerplateRule { name: "signatures", mail: Some(true), find: mail::signatures },
    BoilerplateRule {
        name: "running heads and page numbers",
        mail: Some(false),
        find: pages::lines,
    },
];

/// What a rule has left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// What it is, in the plural.
    pub rule: String,
    /// Texts that had such lines.
    pub documents: u64,
    /// The lines.
    pub lines: u64,
    /// Their characters.
    pub characters: u64,
    /// The first of the lines.
    pub examples: Vec<String>,
}

impl LeftOut {
    /// Adds what was left out of later texts, by rule.
    pub fn add(sums: &mut Vec<Self>, later: &[Self]) {
        for other in later {
            let place = sums.iter().position(|sum| sum.rule == other.rule);
            let place = place.unwrap_or_else(|| {
                sums.push(Self { rule: other.rule.clone(), ..Self::default() });
                sums.len() - 1
            });
            let sum = &mut sums[place];
            sum.documents += other.documents;
            sum.lines += other.lines;
            sum.characters += other.characters;
            let room = EXAMPLES - sum.examples.len().min(EXAMPLES);
            sum.examples.extend(other.examples.iter().take(room).cloned());
        }
        let place = |sum: &Self| RULES.iter().position(|rule| rule.name == sum.rule);
        sums.sort_by_key(place);
    }

    /// Adds lines of one text.
    fn add_lines(sums: &mut Vec<Self>, rule: &str, text: &str, ranges: &[Range<usize>]) {
        let lines = || ranges.iter().flat_map(|range| text[range.clone()].lines());
        let shown = lines().map(str::trim).filter(|line| !line.is_empty()).take(EXAMPLES);
        let found = Self {
            rule: rule.to_owned(),
            documents: 1,
            lines: lines().count() as u64,
            characters: ranges.iter().map(|range| text[range.clone()].chars().count() as u64).sum(),
            examples: shown.map(|line| line.chars().take(EXAMPLE_LENGTH).collect()).collect(),
        };
        Self::add(sums, &[found]);
    }
}

/// Where lines were left out of a text: each place in what is left, and the bytes left out up to there.
#[derive(Debug, Default)]
pub struct Gaps(Vec<(usize, usize)>);

impl Gaps {
    /// Returns the place in the whole text of a place in what is left of it.
    pub(super) fn place(&self, left: usize) -> usize {
        let before = self.0.partition_point(|gap| gap.0 <= left);
        left + before.checked_sub(1).map_or(0, |last| self.0[last].1)
    }
}

/// Leaves what is not text out of a document of a file in this format, and adds it to `left_out`. Returns the gaps.
pub fn leave_out(
    document: &mut RawDocument<'_>,
    format: &Format,
    left_out: &mut Vec<LeftOut>,
) -> Gaps {
    let Body::Text { text, .. } = &mut document.body else {
        return Gaps::default();
    };
    let (mut found, is_mail): (Vec<Range<usize>>, _) = (Vec::new(), *format == MAIL);
    for rule in RULES.iter().filter(|rule| rule.mail.is_none_or(|mail| mail == is_mail)) {
        let ranges = without((rule.find)(text), &found);
        let mut all = [&found[..], &ranges].concat();
        all.sort_unstable_by_key(|range| range.start);
        // A mail that consists of a quotation or of what is below `-- ` says that.
        let is_all = || rest(text, &all).all(|it| it.trim().is_empty());
        if ranges.is_empty() || rule.mail == Some(true) && is_all() {
            continue;
        }
        LeftOut::add_lines(left_out, rule.name, text, &ranges);
        found = all;
    }
    let (mut left, mut gaps) = (String::new(), Gaps::default());
    for (part, range) in rest(text, &found).zip(&found) {
        left.push_str(part);
        gaps.0.push((left.len(), range.end - left.len()));
    }
    if let Some(last) = found.last() {
        left.push_str(&text[last.end..]);
        *text = Cow::Owned(left);
    }
    gaps
}

/// Returns what is before, between and after these ranges, which are ascending and disjoint.
fn rest<'a>(text: &'a str, ranges: &'a [Range<usize>]) -> impl Iterator<Item = &'a str> {
    let begins = [0].into_iter().chain(ranges.iter().map(|range| range.end));
    let ends = ranges.iter().map(|range| range.start).chain([text.len()]);
    begins.zip(ends).map(|(begin, end)| &text[begin..end])
}

/// Returns the ranges that meet none of the `others`; both are ascending and disjoint.
fn without(mut ranges: Vec<Range<usize>>, others: &[Range<usize>]) -> Vec<Range<usize>> {
    ranges.retain(|range| {
        let next = others.partition_point(|other| other.end <= range.start);
        others.get(next).is_none_or(|other| range.end <= other.start)
    });
    ranges
}

/// Returns the lines of a text, each with its line break.
fn lines_of(text: &str) -> impl Iterator<Item = Range<usize>> {
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
    let ends = ends.chain([text.len()]);
    ends.scan(0, |start, end| Some(std::mem::replace(start, end)..end))
        .filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests;
