//! WET files of Common Crawl: records of WARC whose type is `conversion`, each the text of a page.
//!
//! A record is a header, whose `Content-Length` says how many bytes of text follow. Records of other types, such as the
//! one about the file at its start, are not documents.

use super::cutter::{Scan, record_ends};
use super::records::{ColumnNames, Records, RowSink};
use super::{Cutting, Format};
use std::sync::Arc;

/// `corpus.format = "wet"`.
pub static WET: Format = Format {
    name: "wet",
    endings: &["wet"],
    document: "a page of Common Crawl: [below](#wet)",
    id: "the `WARC-Record-ID`",
    cutting: Cutting::Records(|_| Arc::new(Pages), false),
    ..Format::PLAIN
};

/// Bytes of the longest header that is accepted.
const MOST_HEADER_BYTES: usize = 64 << 10;

/// The header of a record, from the blank lines that end the record before it to its own blank line.
struct WarcHeader<'a> {
    lines: &'a [u8],
    bytes: usize,
}

impl<'a> WarcHeader<'a> {
    /// Returns the header that `bytes` begin with; `None` if its end is not among them.
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let begin = blank_bytes(bytes);
        let mut end = begin;
        for line in bytes[begin..].split_inclusive(|&byte| byte == b'\n') {
            end += line.len();
            if matches!(line, b"\n" | b"\r\n") {
                return Some(Self { lines: &bytes[begin..end], bytes: end });
            }
        }
        None
    }

    /// Returns the value of a field; empty if there is none.
    fn field(&self, name: &str) -> &'a [u8] {
        let value = |line: &'a [u8]| {
            let (field, value) = line.split_at_checked(name.len())?;
            let value = value.strip_prefix(b":")?;
            field.eq_ignore_ascii_case(name.as_bytes()).then(|| value.trim_ascii())
        };
        self.lines.split(|&byte| byte == b'\n').find_map(value).unwrap_or_default()
    }

    /// Returns the bytes of the text below; `None` if it is not a header of WARC.
    fn content_bytes(&self) -> Option<u64> {
        let bytes = std::str::from_utf8(self.field("Content-Length")).ok()?.parse().ok()?;
        self.lines.starts_with(b"WARC/").then_some(bytes)
    }
}

/// Returns the length of the line breaks that bytes begin with.
fn blank_bytes(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count()
}

/// A scan for the end of a record.
#[derive(Clone, Copy, Debug, Default)]
enum RecordScan {
    /// Before a header.
    #[default]
    Start,
    /// Within a header.
    Header,
    /// Before this many bytes of a text.
    Text(u64),
    /// Where no record can be found any more.
    Lost,
}

impl Scan for RecordScan {
    fn find_end(&mut self, bytes: &[u8], _: bool) -> Result<usize, usize> {
        let (begin, left) = match *self {
            Self::Lost => return Err(bytes.len()),
            Self::Text(left) => (0, left),
            Self::Start | Self::Header => match WarcHeader::of(bytes) {
                None if bytes.len() <= MOST_HEADER_BYTES => {
                    *self =
                        if blank_bytes(bytes) < bytes.len() { Self::Header } else { Self::Start };
                    return Err(0);
                }
                header => match header.and_then(|it| Some((it.bytes, it.content_bytes()?))) {
                    Some(found) => found,
                    None => {
                        *self = Self::Lost;
                        return Err(bytes.len());
                    }
                },
            },
        };
        let available = (bytes.len() - begin) as u64;
        if available < left {
            *self = Self::Text(left - available);
            return Err(bytes.len());
        }
        *self = Self::Start;
        Ok(begin + left as usize)
    }

    fn unclosed(&self) -> Option<&'static str> {
        match self {
            Self::Start => None,
            Self::Header | Self::Text(_) => Some("the record that begins there is cut off"),
            Self::Lost => {
                Some("the record that begins there has no header of WARC with a Content-Length")
            }
        }
    }
}

/// The records of a file.
struct Pages;

impl Records for Pages {
    fn names(&self) -> ColumnNames {
        ColumnNames::Fixed(&["id", "url", "date", "language", "text"])
    }

    fn scan(&self) -> Box<dyn Scan> {
        Box::<RecordScan>::default()
    }

    fn rows(&self, offset: u64, stretch: &[u8], row: RowSink<'_>) {
        let mut begin = 0;
        for end in record_ends(stretch, self.scan()) {
            let record = &stretch[begin..end];
            let begins = offset + (begin + blank_bytes(record)) as u64;
            begin = end;
            let header = WarcHeader::of(record);
            let is_page = |header: &WarcHeader<'_>| header.field("WARC-Type") == b"conversion";
            if let Some(header) = header.filter(is_page) {
                let id = header.field("WARC-Record-ID");
                let id = id.strip_prefix(b"<").and_then(|id| id.strip_suffix(b">")).unwrap_or(id);
                let [url, date, language] =
                    ["WARC-Target-URI", "WARC-Date", "WARC-Identified-Content-Language"]
                        .map(|name| header.field(name));
                row(begins, Ok(&[id, url, date, language, &record[header.bytes..]]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DocumentStatus;
    use crate::compression::tests::gzip;
    use crate::formats::guess;
    use crate::formats::tests::{one_file, read_all};
    use crate::settings::OnDamage;

    /// Returns a record of this type with this text.
    fn record(kind: &str, number: u32, text: &str) -> String {
        format!(
            "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: http://x.org/{number}\r\n\
             WARC-Date: 2024-05-01T10:00:0{number}Z\r\nWARC-Record-ID: <urn:uuid:{number}>\r\n\
             WARC-Identified-Content-Language: eng\r\nContent-Type: text/plain\r\n\
             content-length: {}\r\n\r\n{text}\r\n\r\n",
            text.len()
        )
    }

    fn crawl() -> String {
        let texts = ["one\nWARC/1.0\r\n\r\ntwo", "", "né"];
        let pages = (1..).zip(texts).map(|(number, text)| record("conversion", number, text));
        record("warcinfo", 0, "software: x\r\n") + &pages.collect::<String>()
    }

    #[test]
    fn a_page_is_a_document_wherever_the_file_is_cut() {
        for (name, bytes) in
            [("a.wet", crawl().into_bytes()), ("a.warc.wet.gz", gzip(crawl().as_bytes()))]
        {
            let (_folder, mut settings) = one_file(name, &bytes);
            settings.metadata = ["url", "date", "language"].map(str::to_owned).to_vec();
            for block_bytes in (1..400).chain([u64::MAX]) {
                settings.block_bytes = Some(block_bytes);
                let seen = read_all(&settings).unwrap();
                let ids: Vec<_> = seen.iter().map(|seen| &*seen.id).collect();
                assert_eq!(ids, ["urn:uuid:1", "urn:uuid:2", "urn:uuid:3"], "{block_bytes}");
                assert_eq!(seen[0].text, "one\nWARC/1.0\r\n\r\ntwo");
                assert_eq!(seen[1].status, Some(DocumentStatus::Empty));
                assert_eq!(seen[2].text, "né");
                let metadata = ["http://x.org/3", "2024-05-01T10:00:03Z", "eng"];
                assert_eq!(seen[2].metadata, metadata.map(|value| Some(value.to_owned())));
            }
        }
        assert_eq!(guess("CC-MAIN-20240501-00001.warc.wet.gz").name, "wet");
        assert_eq!(guess("a.warc.gz").name, "text");
    }

    #[test]
    fn the_address_may_be_the_id_and_a_large_page_is_skipped() {
        let pages = record("conversion", 1, &"x".repeat(5000)) + &record("conversion", 2, "two");
        let (_folder, mut settings) = one_file("a.wet", pages.as_bytes());
        settings.id = "url".into();
        settings.max_document_bytes = 1000;
        let seen = read_all(&settings).unwrap();
        assert_eq!(seen[0].status, Some(DocumentStatus::TooLarge));
        assert_eq!((seen[1].id.as_str(), seen[1].text.as_str()), ("http://x.org/2", "two"));
    }

    #[test]
    fn a_file_that_breaks_off_is_damaged() {
        let whole = crawl();
        let third = whole.rfind("WARC/1.0").unwrap();
        let no_warc = format!("{whole}HTTP/1.1 200 OK\r\n\r\nx");
        let long = format!("{whole}{}", "x".repeat(2 * MOST_HEADER_BYTES));
        for (content, kept, what) in [
            (&whole[..third + 20], 2, "is cut off"),
            (&whole[..whole.len() - 6], 2, "is cut off"),
            (&no_warc, 3, "no header of WARC"),
            (&long, 3, "no header of WARC"),
        ] {
            let (_folder, mut settings) = one_file("a.wet", content.as_bytes());
            let error = read_all(&settings).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
            settings.on_damage = OnDamage::Keep;
            let seen = read_all(&settings).unwrap();
            assert_eq!(seen.len(), kept + 1);
            assert_eq!(seen[kept].status, Some(DocumentStatus::Truncated));
        }
    }
}
