//! CSV (RFC 4180: quotes, doubled quotes, line breaks within quotes; also with other delimiters than commas) and TSV
//! (lines and tabs, no quotes).
//!
//! The first line names the columns. A row is a document; a row with a different number of fields than the header is a
//! parse error. A job with the default `corpus.id` may read files that have no such column.

use super::cutter::{Scan, lines};
use super::records::{ColumnNames, RETURNS_REMEDY, Records, RowSink};
use super::{Cutting, Format};
use std::io::Read;
use std::sync::Arc;

/// `corpus.format = "csv"`.
pub static CSV: Format = Format {
    name: "csv",
    endings: &["csv"],
    document: "a record (RFC 4180: quotes, line breaks within quotes) below a header; fields are separated by \
               commas, semicolons, tabs or bars, whichever is most frequent in the header; a backslash escapes a \
               quote if it does so in the file's first 256 KiB, as Spark and MySQL write it",
    id: "the column `corpus.id`",
    keys: &["corpus.header"],
    cutting: Cutting::Records(|start| Arc::new(CsvRows(Dialect::of(start))), false),
    ..Format::PLAIN
};

/// `corpus.format = "tsv"`.
pub static TSV: Format = Format {
    name: "tsv",
    endings: &["tsv"],
    document: "a line below a header; no quoting (`corpus.format = \"csv\"` reads tabs with quotes)",
    id: "the column `corpus.id`",
    keys: &["corpus.header"],
    cutting: Cutting::Records(|_| Arc::new(TabbedLines), true),
    ..Format::PLAIN
};

/// The rows of CSV.
struct CsvRows(Dialect);

impl Records for CsvRows {
    fn names(&self) -> ColumnNames {
        ColumnNames::Header
    }

    fn scan(&self) -> Box<dyn Scan> {
        Box::new(RowScan::new(self.0))
    }

    fn is_above_header(&self, line: &[u8]) -> bool {
        names_delimiter(line)
    }

    fn remedy(&self) -> &'static str {
        "quote fields that hold the delimiter, close every quote, or correct the row"
    }

    fn rows(&self, offset: u64, stretch: &[u8], row: RowSink<'_>) {
        let mut parser = parser(stretch, self.0);
        let mut record = csv::ByteRecord::new();
        loop {
            // The parser is still before the last row's line feed, and before blank lines.
            let position = parser.position().byte().saturating_sub(1) as usize;
            let rest = &stretch[position..];
            let blank = rest.iter().take_while(|&&byte| matches!(byte, b'\r' | b'\n'));
            let begins = offset + (position + blank.count()) as u64;
            match parser.read_byte_record(&mut record) {
                Ok(true) => {
                    let bytes = &stretch[position..parser.position().byte() as usize - 1];
                    let has_breaks = record.as_slice().contains(&b'\n');
                    if has_breaks && self.0.joins_rows(bytes) {
                        row(begins, Err(JOINED.to_owned()));
                    } else {
                        row(begins, Ok(&record.iter().collect::<Vec<_>>()));
                    }
                }
                Ok(false) => return,
                // With a slice of any bytes and rows of any length, nothing fails; still, no row is lost silently.
                Err(error) => return row(begins, Err(error.to_string())),
            }
        }
    }
}

/// The problem with rows that became one.
const JOINED: &str =
    "a quote that is not closed joins several rows; close it, or double the quotes within fields";

/// Returns a parser of records without a header, with any number of fields.
///
/// Its input begins with a blank line: the parser would drop a byte order mark at its start, but `bytes` may come from
/// anywhere in the file.
fn parser(bytes: &[u8], dialect: Dialect) -> csv::Reader<impl Read> {
    dialect.reader().from_reader(b"\n".chain(bytes))
}

/// The lines of TSV.
struct TabbedLines;

impl Records for TabbedLines {
    fn names(&self) -> ColumnNames {
        ColumnNames::Header
    }

    fn is_above_header(&self, line: &[u8]) -> bool {
        names_delimiter(line)
    }

    fn header_problem(&self, line: &[u8]) -> Option<String> {
        let has_returns = line.trim_ascii().contains(&b'\r');
        has_returns.then(|| format!("it has carriage returns; {RETURNS_REMEDY}"))
    }

    fn remedy(&self) -> &'static str {
        "correct the row, or set corpus.format = \"csv\" if the file has quoted fields"
    }

    fn rows(&self, offset: u64, stretch: &[u8], row: RowSink<'_>) {
        for (begins, line) in lines(offset, stretch) {
            row(begins, Ok(&line.split(|&byte| byte == b'\t').collect::<Vec<_>>()));
        }
    }
}

/// How a CSV file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// The byte between the fields of a row.
    pub delimiter: u8,
    /// Whether a backslash within quotes escapes the next byte, as Spark and MySQL write it. Doubled quotes count as
    /// one in any case (RFC 4180).
    pub has_escapes: bool,
}

impl Dialect {
    /// Detects the dialect of a file that starts like this.
    ///
    /// The delimiter is the comma, semicolon, tab or bar, whichever occurs most often outside quotes in the header; on
    /// a tie, the first in this order. There are escapes if a quote after a backslash cannot end its field, because
    /// neither a delimiter nor a line break follows.
    pub fn of(start: &[u8]) -> Self {
        let dialect = Self { delimiter: delimiter_of(start), has_escapes: false };
        let has_escapes = dialect.malformed(start).any(|(before_quote, _)| before_quote == b'\\');
        Self { has_escapes, ..dialect }
    }

    /// Returns whether a field with line breaks ends at a quote after a delimiter, with text after it: an earlier quote
    /// is not closed, and has swallowed rows up to the next quote.
    pub fn joins_rows(self, row: &[u8]) -> bool {
        self.malformed(row).any(|(before, has_breaks)| before == self.delimiter && has_breaks)
    }

    /// Finds quotes that end a field, with text after them: the byte before each, and whether a field had line breaks
    /// before.
    fn malformed(self, bytes: &[u8]) -> impl Iterator<Item = (u8, bool)> {
        let (mut place, mut before, mut has_breaks) = (RowPlace::default(), [0; 2], false);
        bytes.iter().filter_map(move |&byte| {
            let next = place.after(byte, self);
            has_breaks |= byte == b'\n' && next.is_within_quotes();
            let is_malformed = place == RowPlace::AfterQuote && next == RowPlace::Unquoted;
            let found = is_malformed.then_some((before[0], has_breaks));
            (place, before) = (next, [before[1], byte]);
            found
        })
    }

    /// Returns a reader of this dialect, for rows with any number of fields; it treats the first row like any other.
    pub fn reader(self) -> csv::ReaderBuilder {
        let mut builder = csv::ReaderBuilder::new();
        let escape = self.has_escapes.then_some(b'\\');
        builder.delimiter(self.delimiter).escape(escape).has_headers(false).flexible(true);
        builder
    }
}

/// The delimiters that are recognised.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Returns whether this is the line `sep=;` above the header, which tells Excel the delimiter.
pub fn names_delimiter(line: &[u8]) -> bool {
    let end = line.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n'));
    let line = &line[..end.map_or(0, |end| end + 1)];
    match line.to_ascii_lowercase().as_slice() {
        [b's', b'e', b'p', b'=', delimiter] => DELIMITERS.contains(delimiter),
        _ => false,
    }
}

fn delimiter_of(start: &[u8]) -> u8 {
    let mut counts = DELIMITERS.map(|delimiter| (delimiter, 0));
    let mut within_quotes = false;
    let is_break = |byte: &u8| matches!(byte, b'\r' | b'\n');
    for byte in start.iter().skip_while(|&byte| is_break(byte)) {
        match byte {
            b'"' => within_quotes = !within_quotes,
            _ if within_quotes => {}
            byte if is_break(byte) => break,
            _ => counts
                .iter_mut()
                .filter(|(delimiter, _)| delimiter == byte)
                .for_each(|(_, count)| *count += 1),
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max();
    let found = counts.iter().find(|(_, count)| Some(*count) == most);
    found.map_or(b',', |(delimiter, _)| *delimiter)
}

/// A scanner's position in a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum RowPlace {
    #[default]
    FieldStart,
    Unquoted,
    Quoted,
    /// After a quote within quotes: the field's end, or the first half of a doubled quote.
    AfterQuote,
    /// After a backslash within quotes.
    Escaped,
    /// After a carriage return outside quotes: the record's end, with the line feed if that follows.
    AfterReturn,
}

impl RowPlace {
    /// Returns the position after another byte.
    fn after(self, byte: u8, dialect: Dialect) -> Self {
        match (self, byte) {
            (Self::Escaped, _) => Self::Quoted,
            (Self::Quoted, b'\\') if dialect.has_escapes => Self::Escaped,
            (Self::FieldStart | Self::AfterReturn | Self::AfterQuote, b'"') => Self::Quoted,
            (Self::Quoted, b'"') => Self::AfterQuote,
            (Self::Quoted, _) => Self::Quoted,
            (_, b'\r') => Self::AfterReturn,
            (_, b'\n') => Self::FieldStart,
            (_, other) if other == dialect.delimiter => Self::FieldStart,
            _ => Self::Unquoted,
        }
    }

    /// Returns whether a line break here is part of a field.
    fn is_within_quotes(self) -> bool {
        matches!(self, Self::Quoted | Self::Escaped)
    }
}

/// A scan for the end of a row: a line break, or a lone carriage return, outside quotes.
pub struct RowScan {
    dialect: Dialect,
    place: RowPlace,
}

impl RowScan {
    /// Creates a scan that has seen nothing.
    pub fn new(dialect: Dialect) -> Self {
        Self { dialect, place: RowPlace::default() }
    }
}

impl Scan for RowScan {
    fn find_end(&mut self, bytes: &[u8], _: bool) -> Result<usize, usize> {
        for (at, &byte) in bytes.iter().enumerate() {
            let place = self.place;
            // The row has ended before this byte, at a lone carriage return.
            if place == RowPlace::AfterReturn && byte != b'\n' {
                self.place = RowPlace::FieldStart;
                return Ok(at);
            }
            self.place = place.after(byte, self.dialect);
            if byte == b'\n' && !place.is_within_quotes() {
                return Ok(at + 1);
            }
        }
        Err(bytes.len())
    }

    fn unclosed(&self) -> Option<&'static str> {
        let what = "the row that begins there has an unclosed quote";
        self.place.is_within_quotes().then_some(what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::InputError;
    use crate::formats::records::Header;
    use crate::formats::tests::{Seen, settings};
    use crate::formats::{Context, InputFile};
    use crate::{DocumentStatus, RawDocument};
    use std::path::Path;

    fn documents(
        format: &'static Format,
        header: &str,
        rows: &[u8],
    ) -> Result<Vec<Seen>, InputError> {
        let mut settings = settings(Path::new(""));
        settings.metadata = vec!["m".into()];
        let file = InputFile::stream("f", format);
        let Cutting::Records(of, _) = format.cutting else {
            panic!("{} has no records", format.name);
        };
        let records = of(&[header.as_bytes(), rows].concat());
        let header = Header::parse(header.as_bytes(), &*records, &file, &settings)?;
        let context = Context::new(&file, &settings);
        let mut seen = Vec::new();
        let mut emit = |document: RawDocument<'_>| seen.push(Seen::of(&document));
        records.read(&context, &header, (100, rows), &mut emit);
        Ok(seen)
    }

    #[test]
    fn quoted_fields_hold_commas_quotes_and_line_breaks() {
        let rows = b"1,\"a, \"\"b\"\"\nc\",x\r\n\r\n,d,\r\n2,\xff,\"\"\n";
        let seen = documents(&CSV, "id,\"text\",m\r\n", rows).unwrap();
        let texts: Vec<_> = seen.iter().map(|s| (s.id.as_str(), s.text.as_str())).collect();
        assert_eq!(texts, [("1", "a, \"b\"\nc"), ("f@120", "d"), ("2", "\u{fffd}")]);
        assert_eq!(seen[0].metadata, [Some("x".to_owned())]);
        assert_eq!(seen[1].metadata, [None]);
        assert_eq!([false, false, true], [seen[0].repaired, seen[1].repaired, seen[2].repaired]);
    }

    #[test]
    fn the_header_tells_the_delimiter() {
        for (header, delimiter) in [
            ("text\n1;2;3", b','),
            ("\r\nid;\"text, or text\";m\n", b';'),
            ("id\ttext\tm", b'\t'),
            ("\ttext", b'\t'),
            ("id|text|m", b'|'),
            ("id,text;m", b','),
        ] {
            assert_eq!(Dialect::of(header.as_bytes()).delimiter, delimiter, "{header}");
        }
        let rows = b"1;\"a; b,\nc\";x\n2;d,e;y\n";
        let seen = documents(&CSV, "id;text;m\n", rows).unwrap();
        let texts: Vec<_> = seen.iter().map(|s| (s.id.as_str(), s.text.as_str())).collect();
        assert_eq!(texts, [("1", "a; b,\nc"), ("2", "d,e")]);
    }

    #[test]
    fn quotes_may_be_escaped_by_backslashes() {
        let rows = b"1,\"so \\\"said,\\\"\nhe \\\\ \"\"she\"\"\",x\n2,\"\\\"\",\"y\\\\\"\n";
        let seen = documents(&CSV, "id,text,m\n", rows).unwrap();
        let texts: Vec<_> = seen.iter().map(|s| s.text.as_str()).collect();
        assert_eq!(texts, ["so \"said,\"\nhe \\ \"she\"", "\""]);
        assert_eq!(seen[1].metadata, [Some("y\\".to_owned())]);
    }

    #[test]
    fn quotes_mean_nothing_in_tsv() {
        let seen = documents(&TSV, "m\ttext\tx\n", b"\"a\tb \"c\"\t\n\t\t\r\n").unwrap();
        assert_eq!((seen[0].id.as_str(), seen[0].text.as_str()), ("f@100", "b \"c\""));
        assert_eq!(seen[0].metadata, [Some("\"a".to_owned())]);
        assert_eq!(seen[1].status, Some(DocumentStatus::Empty));
    }

    #[test]
    fn a_row_of_another_length_is_a_parse_error() {
        let seen = documents(&CSV, "id,text,m\n", b"1,a\n2,b,c\n3,d,e,f\n").unwrap();
        let status: Vec<_> = seen.iter().map(|s| s.status).collect();
        let wrong = Some(DocumentStatus::ParseError);
        assert_eq!(status, [wrong, None, wrong]);
        assert!(seen[2].text.starts_with("f@110: 4 fields, where the header has 3"));
    }

    #[test]
    fn rows_that_a_quote_joins_are_a_parse_error() {
        let rows = b"1,\"a,x\n2,b,y\n3,\"c\",z\n4,d,w\n";
        let seen = documents(&CSV, "id,text,m\n", rows).unwrap();
        assert_eq!(seen[0].status, Some(DocumentStatus::ParseError));
        assert!(seen[0].text.starts_with("f@100: a quote that is not closed"));
        assert_eq!((seen.len(), &*seen[1].id), (2, "4"));
    }

    #[test]
    fn a_missing_column_is_an_error_but_for_the_default_id() {
        assert!(documents(&CSV, "text,m\n", b"a,b\n").is_ok());
        let error = documents(&TSV, "id\ttxt\tm\n", b"").unwrap_err();
        assert!(error.to_string().contains("did you mean `txt`?"), "{error}");
    }

    #[test]
    fn two_columns_of_one_name_are_an_error_if_the_job_names_it() {
        assert!(documents(&CSV, "text,m,x,x\n", b"a,b,c,d\n").is_ok());
        for (format, header) in [(&CSV, "id,text,m,id\n"), (&TSV, "id\ttext\tm\tid")] {
            let error = documents(format, header, b"").unwrap_err().to_string();
            assert!(error.contains("columns 1 and 4 are both `id`"), "{error}");
        }
    }

    #[test]
    fn a_quote_that_is_not_closed_joins_rows() {
        for (row, joins) in [
            ("1,\"5 mm,x\n2,\"b\",y\n", true),
            ("7,\"a\n\"b\" c\"\n", false),
            ("1,\"a\nb, \"\"c\"\"\",\"d\"\n", false),
            ("1,\"a\nso \"b\" c\",x\n", false),
            ("1,\"a\n,\"\n", false),
            ("1,\"a,\"b\" c\",x\n", false),
        ] {
            let dialect = Dialect::of(b"a,b\n");
            assert_eq!(dialect.joins_rows(row.as_bytes()), joins, "{row}");
        }
    }

    #[test]
    fn a_quote_after_a_backslash_that_ends_no_field_is_escaped() {
        for (start, has_escapes) in [
            ("a,b\n1,\"he said \\\"no\\\" to it\"\n", true),
            ("a,b\n1,\"C:\\dir\\\",x\n2,\"y\"\n", false),
            ("a,b\n1,\"\\\\\\\"x\"\n", true),
            ("a,b\n1,\"he said \"\"no\"\" \\ it\"\n", false),
            ("a,b\n1,\"x\\\"\"y\"\n", false),
            ("a,b\n1,x \\\"y\\\" z\n", false),
            ("", false),
        ] {
            assert_eq!(Dialect::of(start.as_bytes()).has_escapes, has_escapes, "{start}");
        }
    }
}
