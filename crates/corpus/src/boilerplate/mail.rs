//! Parts of mails that are not their writer's words: quoted lines, and signatures.

use std::ops::Range;

use super::lines_of;
use crate::formats::mail::PART;

/// Ends of the line above a quotation.
const WROTE: [&str; 13] = [
    "wrote:",
    "writes:",
    "said:",
    "says:",
    "wrote...",
    "writes...",
    "schrieb:",
    "écrit :",
    "écrit:",
    "escribió:",
    "scritto:",
    "schreef:",
    "skrev:",
];
/// Beginnings of an attribution of several lines, which has a number or an address in its first line.
const ON: [&str; 9] = ["On ", "In ", "At ", "Am ", "Le ", "El ", "Il ", "Op ", "Den "];
/// The most lines of an attribution, and of a signature.
const ATTRIBUTION: usize = 3;
const SIGNATURE: usize = 12;
/// The fewest lines of a quotation with another mark than `>`, and the most bytes of one: initials.
const FEWEST: usize = 3;
const MARK: usize = 12;

/// Returns lines quoted from other messages, and those that say whose they are: the ones above, and any with an address.
pub(super) fn quotes(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut add = |range: Range<usize>| match found.last_mut() {
        Some(last) if last.end == range.start => last.end = range.end,
        _ => found.push(range),
    };
    // The last line that is not blank, unless it is quoted; with those before it if they may be one attribution.
    let mut above: Option<Range<usize>> = None;
    let lines: Vec<_> = lines_of(text).collect();
    for run in lines.chunk_by(|one, other| mark(&text[one.clone()]) == mark(&text[other.clone()])) {
        if is_quoted(run, text) {
            above.take().filter(|above| says_who(&text[above.clone()])).map(&mut add);
            add(run[0].start..run[run.len() - 1].end);
            continue;
        }
        for line in run.iter().cloned() {
            let it = &text[line.clone()];
            if it.trim().is_empty() {
                continue;
            }
            let is_open = |open: &Range<usize>| {
                let begun = &text[open.clone()];
                let is_short = begun.lines().count() < ATTRIBUTION;
                is_short && open.end == line.start && begins(begun) && !says_who(begun)
            };
            let begun = above.filter(is_open).filter(|_| !begins(it));
            above = Some(begun.map_or(line.start, |begun| begun.start)..line.end);
            let has_address = |it: &str| says_who(it) && it.contains('@');
            above.take_if(|above| has_address(&text[above.clone()])).map(&mut add);
        }
    }
    found
}

/// Returns `>`, or the other sign with which a quoted line may begin and what is before it.
fn mark(line: &str) -> Option<&str> {
    let start = line.trim_start_matches([' ', '\t']);
    let end = start.find(|c: char| !c.is_ascii_alphabetic())?;
    // `ftp>` is a prompt.
    let are_initials = end < 3 || start.starts_with(|c: char| c.is_ascii_uppercase());
    let is_mark =
        are_initials && start[end..].starts_with('>') || end == 0 && start.starts_with(['|', ':']);
    let mark = &line[..line.len() - start.len() + end + usize::from(is_mark)];
    (is_mark && mark.len() <= MARK).then_some(if mark.starts_with('>') { ">" } else { mark })
}

/// Returns whether lines with the same mark are quoted: the sides of a box or table are marks at both ends.
fn is_quoted(run: &[Range<usize>], text: &str) -> bool {
    let Some(mark) = mark(&text[run[0].clone()]) else {
        return false;
    };
    let is_said = |line: &Range<usize>| {
        let said = text[line.clone()][mark.len()..].trim();
        said.is_empty() || !said.ends_with(['|', ':'])
    };
    mark == ">" || run.len() >= FEWEST && run.iter().all(is_said)
}

fn begins(text: &str) -> bool {
    let has_source = |c: char| c.is_ascii_digit() || "<@".contains(c);
    ON.iter().any(|on| text.starts_with(on)) && text.contains(has_source)
}

fn says_who(line: &str) -> bool {
    WROTE.iter().any(|end| line.trim_end().ends_with(end))
}

/// Returns what is below the line `-- ` or `--`, up to the end of its part, if it is short enough for a signature.
pub(super) fn signatures(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open: Option<(usize, usize)> = None;
    let mut close = |open: &mut Option<(usize, usize)>, end| {
        found.extend(open.take().filter(|open| open.1 <= SIGNATURE).map(|(begin, _)| begin..end));
    };
    for line in lines_of(text) {
        let it = &text[line.clone()];
        if it == PART {
            close(&mut open, line.start);
        } else if it.trim_end_matches(['\r', '\n']) == "-- "
            || it.trim_end() == "--" && open.is_none_or(|open| open.1 > SIGNATURE)
        {
            open = Some((line.start, 0));
        } else if let Some((_, lines)) = &mut open {
            *lines += 1;
        }
    }
    close(&mut open, text.len());
    found
}
