//! The header and the first rows of files with records on lines, read from their starts.

use super::column::form_of;
use corpus::encoding::{EncodingGuess, TextEncoding};
use corpus::formats::csv::{Dialect, RowScan, names_delimiter};
use corpus::formats::cutter::record_ends;
use corpus::formats::{mail, mallet};

/// Maximum number of records read from a file.
pub(super) const MOST_RECORDS: usize = 1_000;

/// The header and the first rows.
pub(super) type Table = (Vec<String>, Vec<Vec<String>>);

/// Parses a CSV file.
pub(super) fn csv_rows(start: &str, has_header: bool) -> Table {
    let mut reader =
        Dialect::of(start.as_bytes()).reader().trim(csv::Trim::All).from_reader(start.as_bytes());
    let fields = |record: csv::StringRecord| record.iter().map(str::to_owned).collect();
    let is_named = (start.lines().next()).is_some_and(|line| names_delimiter(line.as_bytes()));
    let rows = reader.records().flatten().skip(usize::from(is_named));
    table_of(rows.map(fields), has_header)
}

/// Counts the rows that do not have the header's number of columns.
pub(super) fn uneven((header, rows): &Table) -> usize {
    rows.iter().filter(|row| row.len() != header.len()).count()
}

/// Maximum number of lines above a header that are found.
const MOST_ABOVE: usize = 10;
/// The fewest rows below such a header.
const LEAST_BELOW: usize = 5;

/// Counts the lines above a table's header, such as a title or a comment, and the fields of the header; `None` if the
/// first line may be it, or no line is followed by rows with as many fields.
pub(super) fn lines_above(start: &str, rows_of: fn(&str, bool) -> Table) -> Option<(usize, usize)> {
    let table = rows_of(start, true);
    if 2 * uneven(&table) <= table.1.len() && table.0.len() > 1 {
        return None;
    }
    let header_at = |at: usize| {
        let below = rows_of(&start[at..], true);
        let (names, rows) = (&below.0, below.1.len());
        let are_names = names.iter().all(|name| form_of(name).is_none());
        let is_header =
            names.len() > 1 && are_names && rows >= LEAST_BELOW && 10 * uneven(&below) <= rows;
        is_header.then_some(names.len())
    };
    let lines = start.match_indices('\n').map(|(at, _)| at + 1);
    let mut found = (1..).zip(lines.take(MOST_ABOVE));
    found.find_map(|(above, at)| Some((above, header_at(at)?)))
}

/// Returns whether a whole CSV file leaves a quote open.
pub(super) fn ends_within_quotes(content: &str) -> bool {
    let scan = Box::new(RowScan::new(Dialect::of(content.as_bytes())));
    let end = record_ends(content.as_bytes(), scan).last().unwrap_or(0);
    content[end..].matches('"').count() % 2 == 1
}

/// Parses a TSV file.
pub(super) fn tsv_rows(start: &str, has_header: bool) -> Table {
    let field = |field: &str| field.trim().to_owned();
    let rows = filled_lines(start).map(|line| line.split('\t').map(field).collect());
    table_of(rows, has_header)
}

/// Returns the header and the first rows; without a header, the columns are named by their numbers.
fn table_of(rows: impl Iterator<Item = Vec<String>>, has_header: bool) -> Table {
    let mut rows: Vec<Vec<String>> = rows.take(MOST_RECORDS + 1).collect();
    let first = rows.first().map_or(0, Vec::len);
    let header = if has_header && first > 0 {
        rows.remove(0)
    } else {
        (1..=first).map(|number| number.to_string()).collect()
    };
    rows.truncate(MOST_RECORDS);
    (header, rows)
}

/// Parses a file in the form that MALLET imports.
pub(super) fn mallet_rows(start: &str) -> Table {
    let field = |field: &[u8]| String::from_utf8_lossy(field).trim().to_owned();
    let fields = |line: &str| mallet::fields(line.as_bytes()).map(field).into();
    let rows = filled_lines(start).take(MOST_RECORDS).map(fields).collect();
    (mallet::COLUMNS.map(str::to_owned).into(), rows)
}

/// Parses a mail file. Adds the messages that are not UTF-8, and in no known encoding, to the guess.
pub(super) fn mail_rows(start: &[u8], encoding: TextEncoding, guess: &mut EncodingGuess) -> Table {
    let messages = mail::messages(0, start).take(MOST_RECORDS);
    let rows = messages.filter_map(|(_, message)| {
        let row: Vec<String> = mail::fields(message, encoding).ok()?.into();
        if row.iter().any(|value| value.contains('\u{fffd}')) {
            guess.add(message);
        }
        Some(row)
    });
    (mail::COLUMNS.map(str::to_owned).into(), rows.collect())
}

fn filled_lines(start: &str) -> impl Iterator<Item = &str> {
    start.lines().filter(|line| !line.trim().is_empty())
}
