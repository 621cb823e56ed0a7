//! The parts of a message (RFC 2045 to 2047), found by one scan over its lines before anything is decoded.
//!
//! The scan bounds what the parser of header fields sees: fields of a bounded length, and each once. Parts are nested at
//! most [`MOST_NESTED`] deep.

use crate::encoding::TextEncoding;
use crate::formats::cutter::find_line_end;
use mail_parser::{ContentType, Message, MessageParser, MimeHeaders};
use memchr::memmem::{self, Finder};
use std::borrow::Cow;

/// How deep parts may be nested.
pub const MOST_NESTED: usize = 100;
/// Maximum number of parts.
pub const MOST_PARTS: usize = 10_000;
/// The header fields that are read, and how many bytes of each: a list of recipients may be long, and in a field
/// that describes a part, what follows is its name.
const FIELDS: [(&str, usize); 8] = [
    ("From", 10_000),
    ("To", 10_000),
    ("Subject", 10_000),
    ("Date", 1_000),
    ("Message-ID", 1_000),
    ("Content-Type", 1_000),
    ("Content-Transfer-Encoding", 100),
    ("Content-Disposition", 100),
];
/// Subtypes of text that are written for programs.
const NO_PROSE: [&str; 6] = ["calendar", "css", "directory", "rfc822-headers", "rtf", "vcard"];

/// A part, with the parts in it.
pub(super) enum MailPart<'m> {
    Leaf(MailLeaf<'m>),
    Group(GroupKind, Vec<Self>),
}

/// What parts are together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum GroupKind {
    /// One of them is shown, the last that can be.
    Alternative,
    /// They are messages.
    Digest,
    /// The first is shown, and refers to the others.
    Related,
    /// They are shown one after the other.
    Mixed,
    /// There is one: the content of an attached message.
    Message,
}

/// A part without others in it.
pub(super) struct MailLeaf<'m> {
    pub(super) media: Media,
    pub(super) is_attachment: bool,
    pub(super) has_name: bool,
    pub(super) charset: Option<String>,
    pub(super) transfer: String,
    /// Whether spaces at the ends of lines are not part of the text (RFC 3676).
    pub(super) drops_spaces: bool,
    pub(super) bytes: &'m [u8],
}

/// What a part without others in it contains.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Media {
    Plain,
    Html,
    /// Another text, with or without tags.
    Text {
        has_tags: bool,
    },
    Other,
}

/// What the header of a part says it contains.
enum PartContent {
    Leaf(Media),
    Message,
    Parts(GroupKind, Vec<u8>),
}

impl PartContent {
    /// What is not valid is plain text (RFC 2045, 5.2), and so is a part without a type, except in a digest.
    fn of(declared: Option<&ContentType<'_>>, is_in_digest: bool) -> Self {
        let Some(declared) = declared else {
            return if is_in_digest { Self::Message } else { Self::Leaf(Media::Plain) };
        };
        let is_end = |c: char| !c.is_ascii_graphic() || "()<>@,;:\\\"/[]?=".contains(c);
        let subtype = declared.subtype().unwrap_or_default().to_ascii_lowercase();
        let subtype = subtype.split(is_end).next().unwrap_or_default();
        match (&declared.ctype().to_ascii_lowercase()[..], subtype) {
            ("multipart", kind) => {
                let boundary = declared.attribute("boundary").unwrap_or_default().trim();
                let kind = match kind {
                    "alternative" => GroupKind::Alternative,
                    "digest" => GroupKind::Digest,
                    "related" => GroupKind::Related,
                    _ => GroupKind::Mixed,
                };
                match boundary {
                    "" => Self::Leaf(Media::Plain),
                    _ => Self::Parts(kind, boundary.as_bytes().to_vec()),
                }
            }
            ("message", "rfc822" | "global") => Self::Message,
            ("text", "" | "plain") => Self::Leaf(Media::Plain),
            ("text", "html") => Self::Leaf(Media::Html),
            ("text", kind) if NO_PROSE.contains(&kind.trim_start_matches("x-")) => {
                Self::Leaf(Media::Other)
            }
            ("text", kind) => Self::Leaf(Media::Text {
                has_tags: matches!(kind, "enriched" | "richtext") || kind.ends_with("html"),
            }),
            (_, "") => Self::Leaf(Media::Plain),
            _ => Self::Leaf(Media::Other),
        }
    }
}

/// A line that ends a part: the number of the boundary on it, and whether it is the last one.
struct Delimiter {
    level: usize,
    is_last: bool,
}

/// A part, and the line that ended it.
type Ended<'m> = (MailPart<'m>, Option<Delimiter>);

/// A scan over the lines of a message.
pub(super) struct PartScan<'m> {
    bytes: &'m [u8],
    at: usize,
    encoding: TextEncoding,
    /// The boundaries of the parts that are open, the outermost first.
    boundaries: Vec<Vec<u8>>,
    parts: usize,
    delimiter: Finder<'static>,
}

impl<'m> PartScan<'m> {
    pub(super) fn new(bytes: &'m [u8], encoding: TextEncoding) -> Self {
        Self {
            bytes,
            at: 0,
            encoding,
            boundaries: Vec::new(),
            parts: 0,
            delimiter: Finder::new(b"\n--"),
        }
    }

    /// Returns the whole message: its header fields that are read, and its parts.
    pub(super) fn message(mut self) -> Result<(Vec<u8>, MailPart<'m>), String> {
        let (head, ended) = self.head();
        let (part, _) = self.content(&head, ended, 0, false)?;
        Ok((head, part))
    }

    fn part(&mut self, depth: usize, is_in_digest: bool) -> Result<Ended<'m>, String> {
        let (head, ended) =
            if self.begins_with_header() { self.head() } else { (Vec::new(), None) };
        self.content(&head, ended, depth, is_in_digest)
    }

    /// Returns the part with this header, after which `ended` ended it if there is nothing else.
    fn content(
        &mut self,
        head: &[u8],
        ended: Option<Delimiter>,
        depth: usize,
        is_in_digest: bool,
    ) -> Result<Ended<'m>, String> {
        self.parts += 1;
        if depth > MOST_NESTED {
            return Err(too_many(MOST_NESTED, "levels of parts"));
        }
        if self.parts > MOST_PARTS {
            return Err(too_many(MOST_PARTS, "parts"));
        }
        let header = header(head);
        let declared = header.as_ref().and_then(Message::content_type);
        let leaf = |media| leaf(header.as_ref(), media);
        if ended.is_some() {
            return Ok((MailPart::Leaf(leaf(Media::Other)), ended));
        }
        match PartContent::of(declared, is_in_digest) {
            PartContent::Parts(kind, boundary) => self.parts_of(kind, boundary, depth),
            PartContent::Message if leaf(Media::Other).transfer.is_empty() => {
                let (part, ended) = self.part(depth + 1, false)?;
                Ok((MailPart::Group(GroupKind::Message, vec![part]), ended))
            }
            PartContent::Message => Ok(self.leaf(leaf(Media::Other))),
            PartContent::Leaf(media) => Ok(self.leaf(leaf(media))),
        }
    }

    fn leaf(&mut self, leaf: MailLeaf<'static>) -> Ended<'m> {
        let (bytes, ended) = self.body();
        (MailPart::Leaf(MailLeaf { bytes, ..leaf }), ended)
    }

    /// Returns parts with this boundary between them. Without one, what is there is plain text.
    fn parts_of(
        &mut self,
        kind: GroupKind,
        boundary: Vec<u8>,
        depth: usize,
    ) -> Result<Ended<'m>, String> {
        let level = self.boundaries.len();
        self.boundaries.push(boundary);
        let (before, mut ended) = self.body();
        let mut parts = Vec::new();
        while ended.as_ref().is_some_and(|end| end.level == level && !end.is_last) {
            let (part, next) = self.part(depth + 1, kind == GroupKind::Digest)?;
            parts.push(part);
            ended = next;
        }
        self.boundaries.truncate(level);
        if ended.as_ref().is_some_and(|end| end.level == level) {
            ended = self.body().1;
        }
        if parts.is_empty() {
            let bytes = before;
            let plain = leaf(None, Media::Plain);
            return Ok((MailPart::Leaf(MailLeaf { bytes, ..plain }), ended));
        }
        Ok((MailPart::Group(kind, parts), ended))
    }

    /// Returns whether a part has a header; one that some program wrote without it is text.
    fn begins_with_header(&self) -> bool {
        let rest = &self.bytes[self.at..];
        let line = &rest[..find_line_end(rest).unwrap_or(rest.len())];
        let name = memchr::memchr(b':', line).map(|colon| line[..colon].trim_ascii_end());
        let is_name = |name: &[u8]| !name.is_empty() && name.iter().all(u8::is_ascii_graphic);
        name.map_or(line.trim_ascii().is_empty(), is_name)
    }

    /// Returns the next line, with its line break.
    fn line(&mut self) -> Option<&'m [u8]> {
        let rest = &self.bytes[self.at..];
        let length = find_line_end(rest).unwrap_or(rest.len());
        self.at += length;
        Some(&rest[..length]).filter(|line| !line.is_empty())
    }

    /// Reads a header, and the blank line after it, or the line that ends the part within it. Returns the last field of
    /// each name in [`FIELDS`], decoded if it is not UTF-8.
    fn head(&mut self) -> (Vec<u8>, Option<Delimiter>) {
        let mut found = [const { None }; FIELDS.len()];
        let (mut ended, mut open) = (None, None);
        loop {
            let begin = self.at;
            let Some(line) = self.line() else { break };
            if matches!(line, b"\n" | b"\r\n") {
                break;
            }
            ended = self.delimiter_of(line);
            if ended.is_some() {
                break;
            }
            if !line[0].is_ascii_whitespace() {
                let colon = memchr::memchr(b':', line);
                let name = colon.map(|colon| line[..colon].trim_ascii());
                let is_named = |(field, _): &(&str, usize)| {
                    name.is_some_and(|name| name.eq_ignore_ascii_case(field.as_bytes()))
                };
                open = FIELDS.iter().position(is_named);
                if let Some(place) = open {
                    found[place] = Some(begin..begin);
                }
            }
            if let Some(range) = open.and_then(|place| found[place].as_mut()) {
                range.end = self.at;
            }
        }
        let mut head = Vec::new();
        for (range, (_, most)) in found.into_iter().zip(FIELDS) {
            if let Some(range) = range {
                let field = self.bytes[range].trim_ascii_end();
                // Within an encoded word, bytes are in its charset.
                let decoded = match memmem::find(field, b"=?") {
                    Some(_) => Cow::Borrowed(field),
                    None => in_utf_8(field, self.encoding),
                };
                head.extend(&decoded[..decoded.len().min(most)]);
                head.push(b'\n');
            }
        }
        head.push(b'\n');
        (head, ended)
    }

    /// Reads up to the line that ends the part.
    fn body(&mut self) -> (&'m [u8], Option<Delimiter>) {
        let begin = self.at;
        while !self.boundaries.is_empty() {
            let line = self.at;
            let ended = self.line().and_then(|line| self.delimiter_of(line));
            if ended.is_some() {
                return (without_break(&self.bytes[begin..line]), ended);
            }
            // The next line that may be one, after the line break before it.
            let from = self.at.saturating_sub(1).max(line);
            match self.delimiter.find(&self.bytes[from..]) {
                Some(found) => self.at = from + found + 1,
                None => break,
            }
        }
        self.at = self.bytes.len();
        (&self.bytes[begin..], None)
    }

    /// Returns what a line ends, if it has one of the boundaries.
    fn delimiter_of(&self, line: &[u8]) -> Option<Delimiter> {
        let text = line.strip_prefix(b"--")?.trim_ascii_end();
        let last = text.strip_suffix(b"--");
        let is_here = |boundary: &Vec<u8>| text == boundary || last == Some(boundary);
        let level = self.boundaries.iter().rposition(is_here)?;
        let is_last = text != self.boundaries[level];
        Some(Delimiter { level, is_last })
    }
}

fn too_many(most: usize, what: &str) -> String {
    format!("more than {most} {what}; take attachments out of the message, or exclude its file")
}

/// Returns bytes in UTF-8, from the encoding of the job unless they are in it already.
fn in_utf_8(bytes: &[u8], encoding: TextEncoding) -> Cow<'_, [u8]> {
    match encoding.decode(bytes).0 {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// Parses the fields of a header.
pub(super) fn header(head: &[u8]) -> Option<Message<'_>> {
    MessageParser::default().parse_headers(head)
}

/// Returns an empty part with this header.
fn leaf(header: Option<&Message<'_>>, media: Media) -> MailLeaf<'static> {
    let declared = header.and_then(Message::content_type);
    let value = |name| declared.and_then(|declared| declared.attribute(name));
    let is = |name, wanted| value(name).is_some_and(|value| value.eq_ignore_ascii_case(wanted));
    let disposition = header.and_then(Message::content_disposition);
    let transfer = header.and_then(Message::content_transfer_encoding);
    let transfer = transfer.unwrap_or_default().to_ascii_lowercase();
    let is_encoded = matches!(&transfer[..], "base64" | "quoted-printable");
    MailLeaf {
        media,
        is_attachment: disposition.is_some_and(ContentType::is_attachment),
        has_name: value("name").is_some(),
        charset: value("charset").map(str::to_owned),
        transfer: if is_encoded { transfer } else { String::new() },
        drops_spaces: is("format", "flowed") && is("delsp", "yes"),
        bytes: &[],
    }
}

/// Returns lines without the last line break, which belongs to the delimiter after it.
fn without_break(lines: &[u8]) -> &[u8] {
    let lines = lines.strip_suffix(b"\n").unwrap_or(lines);
    lines.strip_suffix(b"\r").unwrap_or(lines)
}
