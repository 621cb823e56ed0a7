//! The dialects of CSV: what separates fields, and how a quote within quotes is written.

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
    /// Tabs, and no escapes.
    pub(crate) const TABS: Self = Self { delimiter: b'\t', has_escapes: false };

    /// Detects the dialect of a file that starts like this.
    ///
    /// The delimiter is the comma, semicolon, tab or bar, whichever occurs most often outside quotes in the header; on
    /// a tie, the first in this order. There are escapes if a quote after a backslash cannot end its field, because
    /// neither a delimiter nor a line break follows.
    pub fn of(start: &[u8]) -> Self {
        let mut dialect = Self { delimiter: delimiter_of(start), has_escapes: false };
        let mut place = Place::default();
        let mut before = [0; 2];
        dialect.has_escapes = start.iter().any(|&byte| {
            let next = place.after(byte, dialect);
            let is_malformed = place == Place::AfterQuote && next == Place::Unquoted;
            let is_escaped = is_malformed && before[0] == b'\\';
            (place, before) = (next, [before[1], byte]);
            is_escaped
        });
        dialect
    }

    /// Returns whether a field with line breaks ends at a quote after a delimiter, with text after it: an earlier quote
    /// is not closed, and has swallowed rows up to the next quote.
    pub fn joins_rows(self, row: &[u8]) -> bool {
        let (mut place, mut before, mut has_breaks) = (Place::default(), [0; 2], false);
        row.iter().any(|&byte| {
            let next = place.after(byte, self);
            has_breaks |= byte == b'\n' && next.is_within_quotes();
            let is_malformed = place == Place::AfterQuote && next == Place::Unquoted;
            let begins_field = before[0] == self.delimiter;
            (place, before) = (next, [before[1], byte]);
            is_malformed && begins_field && has_breaks
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
pub(super) enum Place {
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

impl Place {
    /// Returns the position after another byte.
    pub(super) fn after(self, byte: u8, dialect: Dialect) -> Self {
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
    pub(super) fn is_within_quotes(self) -> bool {
        matches!(self, Self::Quoted | Self::Escaped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
