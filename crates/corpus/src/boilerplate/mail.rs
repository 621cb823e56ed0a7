//! Parts of mails that are not their writer's words: quoted lines, and signatures.

use std::ops::Range;

use super::lines_of;
use crate::formats::mail::PART;

/// Ends of the line above a quotation.
const WROTE: [&str; 10] = [
    "wrote:",
    "writes:",
    "said:",
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

/// Returns lines quoted from other messages, and the lines above that say whose they are.
pub(super) fn quotes(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    // The last line that is not blank, unless it is quoted; with those before it if they may be one attribution.
    let mut above: Option<Range<usize>> = None;
    for line in lines_of(text) {
        let it = &text[line.clone()];
        if it.starts_with('>') {
            let begin = above.take().filter(|above| says_who(&text[above.clone()]));
            found.extend(begin);
            match found.last_mut().filter(|last| last.end == line.start) {
                Some(last) => last.end = line.end,
                None => found.push(line),
            }
        } else if !it.trim().is_empty() {
            let is_open = |open: &Range<usize>| {
                let begun = &text[open.clone()];
                let is_short = begun.lines().count() < ATTRIBUTION;
                is_short && open.end == line.start && begins(begun) && !says_who(begun)
            };
            let begun = above.filter(is_open).filter(|_| !begins(it));
            above = Some(begun.map_or(line.start, |begun| begun.start)..line.end);
        }
    }
    found
}

fn begins(text: &str) -> bool {
    let has_source = |c: char| c.is_ascii_digit() || "<@".contains(c);
    ON.iter().any(|on| text.starts_with(on)) && text.contains(has_source)
}

fn says_who(line: &str) -> bool {
    WROTE.iter().any(|end| line.trim_end().ends_with(end))
}

/// Returns what is below the line `-- `, up to the end of its part, if it is short enough for a signature.
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
        } else if it.trim_end_matches(['\r', '\n']) == "-- " {
            open = Some((line.start, 0));
        } else if let Some((_, lines)) = &mut open {
            *lines += 1;
        }
    }
    close(&mut open, text.len());
    found
}
