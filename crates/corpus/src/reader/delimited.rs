//! CSV (RFC 4180: quotes, doubled quotes, line breaks within quotes; also with other delimiters than commas) and TSV
//! (lines and tabs, no quotes).
//!
//! The first line names the columns. A row is a document; a row with a different number of fields than the header is a
//! parse error. A job with the default `corpus.id` may read files that have no such column.

use super::{Context, DocumentSink, body, join_texts};
use crate::block::header::{Header, parser};
use crate::settings::Format;
use crate::{Body, RawDocument};

/// The problem with rows that became one.
const JOINED: &str =
    "a quote that is not closed joins several rows; close it, or double the quotes within fields";

impl Header {
    /// Returns the document of a row.
    pub(super) fn document<'a>(
        &self,
        context: &Context<'_>,
        offset: u64,
        fields: &[&'a [u8]],
    ) -> RawDocument<'a> {
        if fields.len() != self.fields {
            let remedy = match context.file.format {
                Format::Tsv => {
                    "correct the row, or set corpus.format = \"csv\" if the file has quoted fields"
                }
                _ => "quote fields that hold the delimiter, close every quote, or correct the row",
            };
            let what =
                format!("{} fields, where the header has {}; {remedy}", fields.len(), self.fields);
            return context.unknown(offset, context.unparsable(offset, &what));
        }
        let mut repaired = false;
        let texts = self.columns.text.iter().filter_map(|&place| {
            let (text, is_repaired) = context.settings.encoding.decode(fields[place]);
            repaired |= is_repaired;
            Some(text).filter(|text| !text.is_empty())
        });
        let text = join_texts(texts);
        let body = body(context, offset, text, repaired);
        self.with_body(context, offset, fields, body)
    }

    /// Returns the document of a row whose body has already been read.
    pub(super) fn with_body<'a>(
        &self,
        context: &Context<'_>,
        offset: u64,
        fields: &[&'a [u8]],
        body: Body<'a>,
    ) -> RawDocument<'a> {
        let document = context.record(&self.columns, offset, |place| {
            let (text, _) = context.settings.encoding.decode(fields[place]);
            Some(text).filter(|text| !text.is_empty())
        });
        RawDocument { body, ..document }
    }
}

/// Reads the rows of a stretch of CSV that begins at `offset`.
pub(super) fn read_csv(
    context: &Context<'_>,
    header: &Header,
    offset: u64,
    bytes: &[u8],
    emit: DocumentSink<'_>,
) {
    let mut parser = parser(bytes, header.dialect);
    let mut record = csv::ByteRecord::new();
    loop {
        // The parser is still before the last row's line feed, and before blank lines.
        let position = parser.position().byte().saturating_sub(1) as usize;
        let blank = bytes[position..].iter().take_while(|&&byte| matches!(byte, b'\r' | b'\n'));
        let begins = offset + (position + blank.count()) as u64;
        match parser.read_byte_record(&mut record) {
            Ok(true) => {
                let row = &bytes[position..parser.position().byte() as usize - 1];
                let has_breaks = record.as_slice().contains(&b'\n');
                let fields: Vec<&[u8]> = record.iter().collect();
                emit(if has_breaks && header.dialect.joins_rows(row) {
                    context.unknown(begins, context.unparsable(begins, JOINED))
                } else {
                    header.document(context, begins, &fields)
                });
            }
            Ok(false) => return,
            // With a slice of any bytes and rows of any length, nothing fails; still, no row is lost silently.
            Err(error) => {
                emit(context.unknown(begins, context.unparsable(begins, &error.to_string())));
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Seen, settings};
    use super::*;
    use crate::DocumentStatus;
    use crate::block::cutter::Dialect;
    use crate::compression::Compression;
    use crate::input::{InputError, InputFile};
    use std::path::Path;

    fn documents(format: Format, header: &str, rows: &[u8]) -> Result<Vec<Seen>, InputError> {
        let mut settings = settings(Path::new(""));
        settings.metadata = vec!["m".into()];
        let file = InputFile {
            name: "f".into(),
            path: "f".into(),
            format,
            compression: Compression::Plain,
            bytes: 0,
            vocabulary: None,
            tag: None,
            is_copy: false,
        };
        let dialect = match format {
            Format::Csv => Dialect::of(&[header.as_bytes(), rows].concat()),
            _ => Dialect::TABS,
        };
        let header = Header::parse(header.as_bytes(), dialect, &file, &settings)?;
        let context = Context::new(&file, &settings);
        let mut seen = Vec::new();
        let mut emit = |document: RawDocument<'_>| seen.push(Seen::of(&document));
        context.read_records(Some(&header), 100, rows, &mut emit);
        Ok(seen)
    }

    #[test]
    fn quoted_fields_hold_commas_quotes_and_line_breaks() {
        let rows = b"1,\"a, \"\"b\"\"\nc\",x\r\n\r\n,d,\r\n2,\xff,\"\"\n";
        let seen = documents(Format::Csv, "id,\"text\",m\r\n", rows).unwrap();
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
        let seen = documents(Format::Csv, "id;text;m\n", rows).unwrap();
        let texts: Vec<_> = seen.iter().map(|s| (s.id.as_str(), s.text.as_str())).collect();
        assert_eq!(texts, [("1", "a; b,\nc"), ("2", "d,e")]);
    }

    #[test]
    fn quotes_may_be_escaped_by_backslashes() {
        let rows = b"1,\"so \\\"said,\\\"\nhe \\\\ \"\"she\"\"\",x\n2,\"\\\"\",\"y\\\\\"\n";
        let seen = documents(Format::Csv, "id,text,m\n", rows).unwrap();
        let texts: Vec<_> = seen.iter().map(|s| s.text.as_str()).collect();
        assert_eq!(texts, ["so \"said,\"\nhe \\ \"she\"", "\""]);
        assert_eq!(seen[1].metadata, [Some("y\\".to_owned())]);
    }

    #[test]
    fn quotes_mean_nothing_in_tsv() {
        let seen = documents(Format::Tsv, "m\ttext\tx\n", b"\"a\tb \"c\"\t\n\t\t\r\n").unwrap();
        assert_eq!((seen[0].id.as_str(), seen[0].text.as_str()), ("f@100", "b \"c\""));
        assert_eq!(seen[0].metadata, [Some("\"a".to_owned())]);
        assert_eq!(seen[1].status, Some(DocumentStatus::Empty));
    }

    #[test]
    fn a_row_of_another_length_is_a_parse_error() {
        let seen = documents(Format::Csv, "id,text,m\n", b"1,a\n2,b,c\n3,d,e,f\n").unwrap();
        let status: Vec<_> = seen.iter().map(|s| s.status).collect();
        let wrong = Some(DocumentStatus::ParseError);
        assert_eq!(status, [wrong, None, wrong]);
        assert!(seen[2].text.starts_with("f@110: 4 fields, where the header has 3"));
    }

    #[test]
    fn rows_that_a_quote_joins_are_a_parse_error() {
        let rows = b"1,\"a,x\n2,b,y\n3,\"c\",z\n4,d,w\n";
        let seen = documents(Format::Csv, "id,text,m\n", rows).unwrap();
        assert_eq!(seen[0].status, Some(DocumentStatus::ParseError));
        assert!(seen[0].text.starts_with("f@100: a quote that is not closed"));
        assert_eq!((seen.len(), &*seen[1].id), (2, "4"));
    }

    #[test]
    fn a_missing_column_is_an_error_but_for_the_default_id() {
        assert!(documents(Format::Csv, "text,m\n", b"a,b\n").is_ok());
        let error = documents(Format::Tsv, "id\ttxt\tm\n", b"").unwrap_err();
        assert!(error.to_string().contains("did you mean `txt`?"), "{error}");
    }

    #[test]
    fn two_columns_of_one_name_are_an_error_if_the_job_names_it() {
        assert!(documents(Format::Csv, "text,m,x,x\n", b"a,b,c,d\n").is_ok());
        for (format, header) in [(Format::Csv, "id,text,m,id\n"), (Format::Tsv, "id\ttext\tm\tid")]
        {
            let error = documents(format, header, b"").unwrap_err().to_string();
            assert!(error.contains("columns 1 and 4 are both `id`"), "{error}");
        }
    }
}
