//! Running heads and page numbers of printed books.
//!
//! A page number is a line of its own; such lines ascend, there is about a page of text between them, and many pages
//! end within a sentence, as chapters do not. It may also be beside a running head, which recurs with numbers that
//! ascend in the same way and are all even or all odd, since facing pages have different heads. Between two pages found
//! so, a line with the number of a page between them, about where that page should be, is one too. A running head
//! without a number is a short line that recurs, but for case and misread letters, at breaks of pages: beside page
//! numbers or form feeds. Headings of chapters, refrains and the names of speakers recur elsewhere too.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use super::lines_of;

/// The fewest page numbers, and the fewest equal heads.
const FEWEST: usize = 5;
/// At least one page of this many ends within a sentence.
const WITHIN: usize = 4;
/// Bytes between two page numbers.
const PAGE: RangeInclusive<usize> = 600..=12_000;
/// The most bytes of a running head without repeated spaces, and of a page number with what is around it.
const HEAD: usize = 80;
const NUMBER: usize = 16;
/// The most pages between two found ones among which others are looked for.
const BETWEEN: u32 = 20;
/// How alike a misread head is at least to one that recurs.
const ALIKE: f64 = 0.75;

/// A short line that may belong to a page rather than to its text.
struct EdgeLine {
    range: Range<usize>,
    /// Its number among the lines that are not blank.
    place: usize,
    /// Whether a form feed or a page number is directly before or after it.
    is_at_break: bool,
    /// Whether the line above it ends like one within a sentence.
    is_within: bool,
    /// What equal heads have in common.
    key: String,
    /// The number that it consists of, begins with or ends with.
    number: Option<Numeral>,
}

/// A number that may be a page's, and how it is written: alone or before or after a head, and as a Roman one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Numeral {
    side: Side,
    is_roman: bool,
    value: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Alone,
    Before,
    After,
}

/// Returns the page numbers and the running heads.
pub(super) fn lines(text: &str) -> Vec<Range<usize>> {
    if text.len() < FEWEST * PAGE.start() {
        return Vec::new();
    }
    let feeds = memchr::memchr_iter(b'\x0c', text.as_bytes()).take(FEWEST).count();
    let mut edges = edges(text);
    let numbers = page_numbers(&edges);
    if numbers.is_empty() && feeds < FEWEST {
        return Vec::new();
    }
    let is_number = |place: usize| numbers.binary_search(&place).is_ok();
    // How often a line recurs, and how often at breaks of pages.
    let mut recurring: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    let is_alone = |edge: &EdgeLine| edge.number.is_some_and(|it| it.side == Side::Alone);
    edges.retain(|edge| is_number(edge.place) || !is_alone(edge));
    for edge in &mut edges {
        edge.is_at_break |=
            is_number(edge.place + 1) || edge.place > 0 && is_number(edge.place - 1);
        let counts = recurring.entry(edge.key.clone()).or_default();
        counts[0] += 1;
        counts[1] += usize::from(edge.is_at_break);
    }
    recurring.retain(|key, [all, at_breaks]| {
        !key.is_empty() && key != "0" && *at_breaks >= FEWEST && 2 * *at_breaks > *all
    });
    let is_head = |key: &str| {
        let is_alike = |head: &String| {
            !head.ends_with('0') && strsim::normalized_levenshtein(head, key) >= ALIKE
        };
        recurring.contains_key(key) || !key.ends_with('0') && recurring.keys().any(is_alike)
    };
    edges.retain(|edge| is_number(edge.place) || edge.is_at_break && is_head(&edge.key));
    edges.into_iter().map(|edge| edge.range).collect()
}

/// Returns the short lines that are not blank.
fn edges(text: &str) -> Vec<EdgeLine> {
    let mut edges: Vec<EdgeLine> = Vec::new();
    let (mut place, mut is_after_feed, mut is_within) = (0, false, false);
    for range in lines_of(text) {
        let line = &text[range.clone()];
        let content = line.trim();
        if line.starts_with('\u{c}') {
            is_after_feed = true;
            if let Some(last) = edges.last_mut().filter(|last| last.place + 1 == place) {
                last.is_at_break = true;
            }
        }
        if content.is_empty() {
            continue;
        }
        let bytes = || content.split_whitespace().map(|word| word.len() + 1).sum::<usize>();
        if content.len() <= HEAD || content.len() <= 3 * HEAD && bytes() <= HEAD {
            let is_at_break = is_after_feed;
            let number = numeral(content);
            let key = key(content, number);
            edges.push(EdgeLine { range, place, is_at_break, is_within, key, number });
        }
        is_after_feed = false;
        is_within = content.ends_with(|c: char| c.is_alphanumeric() || ",-".contains(c));
        place += 1;
    }
    edges
}

/// Returns the places of the lines with page numbers.
fn page_numbers(edges: &[EdgeLine]) -> Vec<usize> {
    // Numbers alone are a series if the same is around them, and those beside a head if head and side are the same.
    let mut series: BTreeMap<(&str, Side), Vec<(&EdgeLine, Numeral)>> = BTreeMap::new();
    let numbered = || edges.iter().filter_map(|edge| Some((edge, edge.number?)));
    for (edge, number) in numbered() {
        series.entry((&edge.key, number.side)).or_default().push((edge, number));
    }
    let follows = |one: &(&EdgeLine, Numeral), other: &(&EdgeLine, Numeral)| {
        let bytes = other.0.range.start - one.0.range.end;
        let pages = other.1.value.saturating_sub(one.1.value) as usize;
        let is_next = if one.1.side == Side::Alone { pages <= 4 } else { pages.is_multiple_of(2) };
        let is_page = pages > 0 && PAGE.contains(&(bytes / pages));
        one.1.is_roman == other.1.is_roman && is_next && is_page
    };
    let are_pages = |run: &&[(&EdgeLine, Numeral)]| {
        let within = run.iter().filter(|(edge, _)| edge.is_within).count();
        run.len() >= FEWEST && WITHIN * within >= run.len()
    };
    let runs = series.values().flat_map(|all| all.chunk_by(follows).filter(are_pages));
    let mut found: Vec<_> = runs.flatten().copied().collect();
    found.sort_unstable_by_key(|(edge, _)| edge.place);
    let is_between = |edge: &EdgeLine, number: Numeral| {
        let next = found.partition_point(|(other, _)| other.place <= edge.place);
        let Some([before, after]) = found.get(next.wrapping_sub(1)..next + 1) else {
            return false;
        };
        let [first, last] = [before, after].map(|it| (it.0.range.start, it.1.value));
        let is_in_order = before.1.is_roman == number.is_roman
            && (first.1 + 1..last.1).contains(&number.value)
            && last.1 - first.1 <= BETWEEN;
        // A head is on the same side every other page.
        let is_even = number.value % 2 == first.1 % 2;
        let is_facing = edge.is_at_break
            || number.side == Side::Alone
            || before.1.side != Side::Alone && (before.1.side == number.side) == is_even;
        // At most half a page from where it should be.
        is_in_order && is_facing && {
            let page = (last.0 - first.0) / (last.1 - first.1) as usize;
            let expected = first.0 + page * (number.value - first.1) as usize;
            edge.range.start.abs_diff(expected) <= page / 2
        }
    };
    let more = numbered().filter(|(edge, number)| is_between(edge, *number));
    let mut places: Vec<usize> =
        found.iter().copied().chain(more).map(|(edge, _)| edge.place).collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// Returns the number of a line.
fn numeral(line: &str) -> Option<Numeral> {
    let of = |side, (is_roman, value)| Numeral { side, is_roman, value };
    if let Some(alone) = number(line) {
        return Some(of(Side::Alone, alone));
    }
    let is_before = line.starts_with(|c: char| c.is_ascii_digit());
    let (side, head, word) = if is_before {
        line.split_once(char::is_whitespace).map(|(word, head)| (Side::Before, head, word))?
    } else {
        line.rsplit_once(char::is_whitespace).map(|(head, word)| (Side::After, head, word))?
    };
    // An entry of an index has commas before its numbers.
    let is_page = word.len() <= 4 && head.contains(char::is_alphabetic) && !head.ends_with(',');
    word.parse().ok().filter(|_| is_page).map(|value| of(side, (false, value)))
}

/// Returns the number that a line consists of, and whether it is a Roman one, with dashes or brackets around it.
fn number(line: &str) -> Option<(bool, u32)> {
    if line.len() > NUMBER {
        return None;
    }
    let digits = line.trim_matches(|c: char| " -–—[](){}.·•*~|".contains(c));
    let digits = digits.strip_prefix("Pg ").unwrap_or(digits);
    match digits.parse() {
        Ok(number) if digits.len() <= 4 => Some((false, number)),
        _ => roman(digits).map(|number| (true, number)),
    }
}

/// Reads a Roman numeral in one case.
fn roman(text: &str) -> Option<u32> {
    let is_one_case = text.bytes().all(|it| it.is_ascii_lowercase())
        || text.bytes().all(|it| it.is_ascii_uppercase());
    if text.is_empty() || !is_one_case {
        return None;
    }
    let values = text.bytes().rev().map(|byte| match byte.to_ascii_lowercase() {
        b'i' => Some(1),
        b'v' => Some(5),
        b'x' => Some(10),
        b'l' => Some(50),
        b'c' => Some(100),
        _ => None,
    });
    let (mut sum, mut largest) = (0, 0);
    for value in values {
        let value: u32 = value?;
        sum = if value < largest { u32::checked_sub(sum, value)? } else { sum + value };
        largest = largest.max(value);
    }
    Some(sum)
}

/// Returns what equal heads have in common: the letters in lower case, and whether there is a number; or what is around
/// numbers alone.
fn key(line: &str, number: Option<Numeral>) -> String {
    if number.is_some_and(|it| it.side == Side::Alone) {
        return line.chars().filter(|c| !c.is_alphanumeric()).collect();
    }
    let letters = line.chars().filter(|c| c.is_alphabetic());
    letters.flat_map(char::to_lowercase).chain(number.map(|_| '0')).collect()
}
