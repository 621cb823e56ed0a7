//! The text of a message, from its parts: those that are shown, and of alternatives the one that has text.
//!
//! A message without any, but with text of another kind or with attached messages, has theirs.

use super::parts::{GroupKind, MailLeaf, MailPart, Media};
use crate::encoding::TextEncoding;
use crate::formats::cutter::find_line_end;
use crate::markup::without_markup;
use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::charsets::map::charset_decoder;
use mail_parser::decoders::quoted_printable::quoted_printable_decode;
use std::borrow::Cow;

/// The line between the texts of a message's parts.
pub const PART: &str = "\u{c}\n";

/// The parts that are looked for, each kind if there is no text in those before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WantedText {
    /// Plain text and HTML, and the messages of a digest.
    Shown,
    /// Other text.
    OtherText,
    AttachedMessages,
}

/// A text that was found.
#[derive(Default)]
struct FoundText {
    text: String,
    has_words: bool,
    has_html: bool,
}

/// Returns the text of a message with these parts. Text in no known encoding is in that of the job.
pub(super) fn text_of(message: &MailPart<'_>, encoding: TextEncoding) -> String {
    found_in(message, encoding).text
}

fn found_in(message: &MailPart<'_>, encoding: TextEncoding) -> FoundText {
    let search = |wanted| find(message, wanted, encoding, (GroupKind::Message, 0));
    let shown = search(WantedText::Shown);
    if shown.has_words {
        return shown;
    }
    let others = [WantedText::OtherText, WantedText::AttachedMessages];
    let mut others = others.into_iter().map(search);
    others.find(|found| found.has_words).unwrap_or(shown)
}

/// Returns the text of a part, which is the `index`th in a group of this kind.
fn find(
    part: &MailPart<'_>,
    wanted: WantedText,
    encoding: TextEncoding,
    (within, index): (GroupKind, usize),
) -> FoundText {
    match part {
        MailPart::Leaf(leaf) => {
            let is_beside = within == GroupKind::Alternative
                || index == 0
                || within != GroupKind::Related && !leaf.has_name;
            let is_shown = within == GroupKind::Alternative || !leaf.is_attachment;
            let is_wanted = match leaf.media {
                Media::Plain | Media::Html => wanted == WantedText::Shown,
                Media::Text { .. } => wanted == WantedText::OtherText,
                Media::Other => false,
            };
            if is_wanted && is_shown && is_beside {
                leaf.found(encoding)
            } else {
                FoundText::default()
            }
        }
        MailPart::Group(GroupKind::Message, parts) => match (within, wanted) {
            (GroupKind::Digest, WantedText::Shown) => found_in(&parts[0], encoding),
            (GroupKind::Digest, _) => FoundText::default(),
            (_, WantedText::AttachedMessages) => found_in(&parts[0], encoding),
            _ => FoundText::default(),
        },
        MailPart::Group(kind, parts) => {
            let parts = parts.iter().enumerate();
            let found = parts.map(|(index, part)| find(part, wanted, encoding, (*kind, index)));
            match kind {
                GroupKind::Alternative => best(found),
                _ => together(found),
            }
        }
    }
}

/// Returns the text of alternatives: without HTML, if they have text.
fn best(alternatives: impl Iterator<Item = FoundText>) -> FoundText {
    let (html, plain): (Vec<_>, Vec<_>) = alternatives.partition(|found| found.has_html);
    let plain = together(plain.into_iter());
    if plain.has_words || html.is_empty() { plain } else { together(html.into_iter()) }
}

fn together(found: impl Iterator<Item = FoundText>) -> FoundText {
    found
        .reduce(|before, next| FoundText {
            text: match (&before.text[..], &next.text[..]) {
                ("", _) | (_, "") => before.text + &next.text,
                (before, next) => [before, PART, next].concat(),
            },
            has_words: before.has_words || next.has_words,
            has_html: before.has_html || next.has_html,
        })
        .unwrap_or_default()
}

impl MailLeaf<'_> {
    fn found(&self, encoding: TextEncoding) -> FoundText {
        let decoded = self.decoded(encoding);
        let has_html = self.media == Media::Html;
        let plain = match self.media {
            Media::Html | Media::Text { has_tags: true } => {
                Cow::Owned(without_markup(&decoded).trim().to_owned())
            }
            _ => Cow::Borrowed(&decoded[..]),
        };
        let mut text = String::with_capacity(plain.len());
        for line in plain.lines().map(unescaped) {
            text.push_str(line);
            text.push('\n');
        }
        FoundText {
            text,
            has_words: html_escape::decode_html_entities(&plain).contains(char::is_alphanumeric),
            has_html,
        }
    }

    /// Returns the text as it was written.
    fn decoded(&self, encoding: TextEncoding) -> String {
        let bytes = match &self.transfer[..] {
            "base64" => Cow::Owned(from_base64(self.bytes)),
            "quoted-printable" => Cow::Owned(from_quoted_printable(self.bytes)),
            _ => Cow::Borrowed(self.bytes),
        };
        let text = from_charset(&bytes, self.charset.as_deref(), encoding);
        if self.drops_spaces { text.replace(" \r\n", "").replace(" \n", "") } else { text }
    }
}

/// Decodes base64 up to the first line that is something else, such as what a mailing list adds.
fn from_base64(bytes: &[u8]) -> Vec<u8> {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/= \t\r\n".contains(byte);
    let (mut end, mut decoded) = (0, None);
    while let Some(length) = next_line(&bytes[end..])
        && bytes[end..end + length].iter().all(is_digit)
    {
        end += length;
    }
    if end > 0 {
        decoded = base64_decode(&bytes[..end]);
    }
    let mut decoded = decoded.unwrap_or_default();
    decoded.extend(&bytes[end..]);
    decoded
}

fn next_line(bytes: &[u8]) -> Option<usize> {
    let all = Some(bytes.len()).filter(|&length| length > 0);
    find_line_end(bytes).or(all)
}

/// Decodes quoted-printable, in which an equals sign that begins no code is itself.
fn from_quoted_printable(bytes: &[u8]) -> Vec<u8> {
    let is_code = |rest: &[u8]| match rest {
        [first, second, ..] if first.is_ascii_hexdigit() => second.is_ascii_hexdigit(),
        rest => {
            let mut after_spaces = rest.iter().filter(|byte| !b" \t\r".contains(byte));
            after_spaces.next().is_none_or(|&byte| byte == b'\n')
        }
    };
    let mut valid = Vec::with_capacity(bytes.len());
    for (at, &byte) in bytes.iter().enumerate() {
        valid.push(byte);
        if byte == b'=' && !is_code(&bytes[at + 1..]) {
            valid.extend(b"3D");
        }
    }
    quoted_printable_decode(&valid).unwrap_or(valid)
}

/// Decodes text of this charset, and text of none in the encoding of the job.
fn from_charset(bytes: &[u8], charset: Option<&str>, encoding: TextEncoding) -> String {
    let charset = charset.unwrap_or_default().to_ascii_lowercase();
    let is_ascii =
        matches!(&charset[..], "us-ascii" | "ascii") && std::str::from_utf8(bytes).is_ok();
    let is_utf_8 = is_ascii || matches!(&charset[..], "utf-8" | "utf8");
    match charset_decoder(charset.as_bytes()).filter(|_| !is_utf_8) {
        Some(decode) => decode(bytes),
        None => {
            let named = TextEncoding::of(&charset).unwrap_or_default();
            let encoding = if named == TextEncoding::default() { encoding } else { named };
            encoding.decode(bytes).0.into_owned()
        }
    }
}

/// Returns a line as it was before it came into an mbox, where `>From ` stands for `From `.
fn unescaped(line: &str) -> &str {
    line.strip_prefix('>').filter(|own| own.starts_with("From ")).unwrap_or(line)
}
