//! The licences around the e-books of Project Gutenberg, by the lines with which they end and begin.

use std::ops::Range;

use super::lines_of;

/// How the last line above a book begins, in any case; the last is that of old ones.
const STARTS: [&str; 4] = [
    "*** START OF THE PROJECT GUTENBERG",
    "*** START OF THIS PROJECT GUTENBERG",
    "***START OF THE PROJECT GUTENBERG",
    "*END*THE SMALL PRINT!",
];
/// How the first line below a book begins; the last three are those of old ones.
const ENDS: [&str; 6] = [
    "*** END OF THE PROJECT GUTENBERG",
    "*** END OF THIS PROJECT GUTENBERG",
    "***END OF THE PROJECT GUTENBERG",
    "END OF THE PROJECT GUTENBERG E",
    "END OF PROJECT GUTENBERG'S ",
    "END OF PROJECT GUTENBERG E",
];
/// Bytes of the longest licence; anything longer is text.
const LONGEST: usize = 64 << 10;

/// Returns the licence before a book, and the one after it, up to the next book, if there is one.
pub(super) fn lines(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut open, mut is_after) = (Some(0), false);
    let mut lines = lines_of(text).peekable();
    while let Some(line) = lines.next() {
        let begins = |marks: &[&str]| {
            let start = |mark: &&str| text.as_bytes()[line.clone()].get(..mark.len());
            marks
                .iter()
                .any(|mark| start(mark).is_some_and(|it| it.eq_ignore_ascii_case(mark.as_bytes())))
        };
        if !text[line.clone()].starts_with(['*', 'E', 'e']) {
            continue;
        }
        if begins(&STARTS) {
            let mut end = line.end;
            if !text[line].trim_end().ends_with('*')
                && let Some(rest) =
                    lines.next_if(|next| text[next.clone()].trim_end().ends_with("***"))
            {
                end = rest.end;
            }
            found.extend(open.take().map(|begin| begin..end));
            is_after = false;
        } else if begins(&ENDS) && !is_after {
            (open, is_after) = (Some(line.start), true);
        }
    }
    found.extend(open.filter(|_| is_after).map(|begin| begin..text.len()));
    found.retain(|range| range.len() <= LONGEST);
    found
}
