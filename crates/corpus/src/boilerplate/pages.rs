//! Running heads and page numbers of printed books.
//!
//! A page number is a line of its own; such lines ascend, there is about a page of text between them, and many pages end
//! within a sentence, as chapters do not. A running head is a short line that recurs, but for its digits and case, at
//! breaks of pages: beside page numbers or form feeds. Headings of chapters, refrains and the names of speakers recur
//! elsewhere too.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use super::lines_of;

/// The fewest page numbers, and the fewest equal heads.
const FEWEST: usize = 5;
/// At least one page of this many ends within a sentence.
const WITHIN: usize = 3;
/// Bytes between two page numbers.
const PAGE: RangeInclusive<usize> = 600..=12_000;
/// The most bytes of a running head, and of a line with a page number.
const HEAD: usize = 80;
const NUMBER: usize = 16;

/// A short line that may belong to a page rather than to its text.
struct EdgeLine {
    range: Range<usize>,
    /// Its number among the lines that are not blank.
    place: usize,
    /// Whether a form feed or a page number is directly before or after it.
    is_at_break: bool,
    /// Whether the line above it ends like one within a sentence.
    is_within: bool,
}

/// Returns the page numbers and the running heads.
pub(super) fn lines(text: &str) -> Vec<Range<usize>> {
    if text.len() < FEWEST * PAGE.start() {
        return Vec::new();
    }
    let feeds = memchr::memchr_iter(b'\x0c', text.as_bytes()).take(FEWEST).count();
    let numbers = page_numbers(edges(text, |line| number(line).is_some()), text);
    if numbers.is_empty() && feeds < FEWEST {
        return Vec::new();
    }
    let is_beside = |place: usize| {
        let next = numbers.partition_point(|number| number.place < place);
        let around = &numbers[next.saturating_sub(1)..numbers.len().min(next + 1)];
        around.iter().any(|number| number.place.abs_diff(place) == 1)
    };
    let mut heads = edges(text, |line| number(line).is_none());
    // How often a line recurs, and how often at breaks of pages.
    let mut recurring: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for head in &mut heads {
        head.is_at_break |= is_beside(head.place);
        let counts = recurring.entry(key(&text[head.range.clone()])).or_default();
        counts[0] += 1;
        counts[1] += usize::from(head.is_at_break);
    }
    heads.retain(|head| {
        let [all, at_breaks] = recurring[&key(&text[head.range.clone()])];
        head.is_at_break && at_breaks >= FEWEST && 2 * at_breaks > all
    });
    let mut found: Vec<Range<usize>> =
        heads.into_iter().chain(numbers).map(|edge| edge.range).collect();
    found.sort_unstable_by_key(|range| range.start);
    found
}

/// Returns the short lines that are `wanted`, none of them blank.
fn edges(text: &str, wanted: impl Fn(&str) -> bool) -> Vec<EdgeLine> {
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
        if content.len() <= HEAD && wanted(content) {
            edges.push(EdgeLine { range, place, is_at_break: is_after_feed, is_within });
        }
        is_after_feed = false;
        is_within = content.ends_with(|c: char| c.is_alphanumeric() || ",-".contains(c));
        place += 1;
    }
    edges
}

/// Returns those of these numbers that ascend by one or two, with a page between them, often within a sentence.
fn page_numbers(mut numbers: Vec<EdgeLine>, text: &str) -> Vec<EdgeLine> {
    let follows = |one: &EdgeLine, other: &EdgeLine| {
        let [before, after] =
            [one, other].map(|it| number(text[it.range.clone()].trim()).unwrap_or(0));
        matches!(after.checked_sub(before), Some(1 | 2))
            && PAGE.contains(&(other.range.start - one.range.end))
    };
    let are_pages = |run: &[EdgeLine]| {
        let within = run.iter().filter(|number| number.is_within).count();
        run.len() >= FEWEST && WITHIN * within >= run.len()
    };
    let runs = numbers.chunk_by(follows);
    let kept: Vec<bool> =
        runs.flat_map(|run| std::iter::repeat_n(are_pages(run), run.len())).collect();
    let mut kept = kept.into_iter();
    numbers.retain(|_| kept.next() == Some(true));
    numbers
}

/// Returns the number that a line consists of, in digits or in Roman numerals, with dashes or brackets around it.
fn number(line: &str) -> Option<u32> {
    if line.len() > NUMBER {
        return None;
    }
    let digits = line.trim_matches(|c: char| " -–—[](){}.·•*~|".contains(c));
    match digits.parse() {
        Ok(number) if digits.len() <= 4 => Some(number),
        _ => roman(digits),
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

/// Returns what equal heads have in common.
fn key(line: &str) -> String {
    let letters = line.chars().filter(|c| c.is_alphabetic());
    letters.flat_map(char::to_lowercase).collect()
}
