//! The licences around the e-books of Project Gutenberg, by the lines with which they end and begin.

use std::ops::Range;

use super::lines_of;

/// How the last line above a book begins, in any case, after its asterisks; the last two are those of old ones.
const STARTS: [&str; 4] = [
    "START OF THE PROJECT GUTENBERG",
    "START OF THIS PROJECT GUTENBERG",
    "END*THE SMALL PRINT!",
    "END THE SMALL PRINT!",
];
/// How the first line below a book begins, and what follows in one without asterisks, as old ones are.
const ENDS: [&str; 3] =
    ["END OF THE PROJECT GUTENBERG", "END OF THIS PROJECT GUTENBERG", "END OF PROJECT GUTENBERG"];
const OF_BOOK: [&str; 3] = [" E", "'S ", "’S "];
/// How the first paragraph below such a last line begins, if it says who made the e-book.
const CREDITS: [&str; 2] = ["PRODUCED BY ", "E-TEXT PREPARED BY "];
/// Bytes of the longest licence; anything longer is text.
const LONGEST: usize = 64 << 10;

/// Returns the licence before a book, and the one after it, up to the next book, if there is one.
pub(super) fn lines(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut open, mut is_after) = (Some(0), false);
    let mut lines = lines_of(text).peekable();
    while let Some(line) = lines.next() {
        if !text[line.clone()].starts_with(['*', 'E', 'e']) {
            continue;
        }
        let is_marked = text[line.clone()].starts_with('*');
        let mark = text[line.clone()].trim_start_matches(['*', ' ']);
        if is_marked && after(mark, &STARTS).is_some() {
            let mut end = line.end;
            if !text[line].trim_end().ends_with('*')
                && let Some(rest) =
                    lines.next_if(|next| text[next.clone()].trim_end().ends_with("***"))
            {
                end = rest.end;
            }
            let below = text[end..].trim_start();
            if after(below, &CREDITS).is_some() {
                let begin = text.len() - below.len();
                let is_blank = |line: &Range<usize>| text[begin..][line.clone()].trim().is_empty();
                end = lines_of(below).find(is_blank).map_or(end, |blank| begin + blank.start);
            }
            found.extend(open.take().map(|begin| begin..end));
            is_after = false;
        } else if !is_after
            && let Some(rest) = after(mark, &ENDS)
            && (is_marked || after(rest, &OF_BOOK).is_some())
        {
            (open, is_after) = (Some(line.start), true);
        }
    }
    found.extend(open.filter(|_| is_after).map(|begin| begin..text.len()));
    found.retain(|range| range.len() <= LONGEST);
    found
}

/// Returns what follows the one of these beginnings that a line has, in any case.
fn after<'a>(line: &'a str, beginnings: &[&str]) -> Option<&'a str> {
    beginnings.iter().find_map(|beginning| {
        let (start, rest) = line.split_at_checked(beginning.len())?;
        start.eq_ignore_ascii_case(beginning).then_some(rest)
    })
}
