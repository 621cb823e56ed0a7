//! E-mail: a message, or an mbox of messages, each between lines that begin with `From `.
//!
//! The text is that of a message's body, HTML without tags; attachments are left out, and so are attached messages unless
//! there is no other text. The sender and the recipient are the first of each.

mod mbox;
mod parts;
mod text;

pub use mbox::EnvelopeScan;
pub(super) use mbox::is_mbox;

use super::cutter::{Scan, find_line_end, record_ends};
use super::records::{ColumnNames, Header, Records};
use super::{Context, Cutting, DocumentSink, Format};
use crate::Body;
use crate::encoding::TextEncoding;
use mail_parser::Address;
use parts::{PartScan, header};
use std::sync::Arc;
pub use text::PART;
use text::text_of;

/// `corpus.format = "mail"`.
pub static MAIL: Format = Format {
    name: "mail",
    endings: &["eml", "emlx", "mbox", "mbx"],
    names: ", and an mbox of any name",
    document: "an e-mail, alone or in an mbox: [below](#e-mail)",
    id: "the `Message-ID`",
    cutting: Cutting::Records(|_| Arc::new(MailRecords), false),
    ..Format::PLAIN
};

/// The columns of a message.
pub const COLUMNS: [&str; 6] = ["id", "date", "from", "to", "subject", "text"];

/// The messages of a file, which is at least one.
struct MailRecords;

/// Why a text is no message.
const NO_HEADER: &str = "not an e-mail: it does not begin with headers";

impl Records for MailRecords {
    fn names(&self) -> ColumnNames {
        ColumnNames::Fixed(&COLUMNS)
    }

    fn scan(&self) -> Box<dyn Scan> {
        Box::<EnvelopeScan>::default()
    }

    fn is_never_empty(&self) -> bool {
        true
    }

    fn read(
        &self,
        context: &Context<'_>,
        header: &Header,
        (offset, stretch): (u64, &[u8]),
        emit: DocumentSink<'_>,
    ) {
        for (begins, message) in messages(offset, stretch) {
            if message.trim_ascii().is_empty() {
                emit(context.unknown(begins, context.empty(begins, "message")));
                continue;
            }
            match fields(message, context.settings.encoding) {
                Ok(fields) => {
                    let fields = fields.each_ref().map(String::as_bytes);
                    let mut document = header.document(context, begins, &fields, "");
                    if let Body::Text { text, repaired } = &mut document.body {
                        *repaired = text.contains(char::REPLACEMENT_CHARACTER);
                    }
                    emit(document);
                }
                Err(what) => emit(context.unknown(begins, context.unparsable(begins, &what))),
            }
        }
    }
}

/// Returns the messages in `bytes`, each with its offset, without the lines between them.
pub fn messages(offset: u64, bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let mut begin = 0;
    let ends = record_ends(bytes, Box::<EnvelopeScan>::default()).map(|end| (end, true));
    ends.chain([(bytes.len(), false)]).filter_map(move |(end, has_envelope)| {
        let begins = std::mem::replace(&mut begin, end);
        let record = &bytes[begins..end];
        let message = if has_envelope { without_last_line(record) } else { record };
        let begins = offset + begins as u64;
        // Blank lines before the first envelope, and after the last message, are none.
        let is_message = !message.trim_ascii().is_empty() || has_envelope && begins > 0;
        is_message.then_some((begins, message))
    })
}

/// Returns lines that end with a line break without the last of them.
fn without_last_line(lines: &[u8]) -> &[u8] {
    let before = &lines[..lines.len() - 1];
    let last = before.iter().rposition(|&byte| byte == b'\n');
    &lines[..last.map_or(0, |at| at + 1)]
}

/// Returns the id, date, sender, recipient, subject and text of a message, or why it has none. What is in no known
/// encoding is in that of the job.
pub fn fields(message: &[u8], encoding: TextEncoding) -> Result<[String; 6], String> {
    let message = without_count(message);
    let parsed = liveness::contained(|| parsed(message, encoding));
    parsed.unwrap_or_else(|panic| Err(format!("its parser failed: {panic}; exclude the file")))
}

fn parsed(message: &[u8], encoding: TextEncoding) -> Result<[String; 6], String> {
    let (head, parts) = PartScan::new(message, encoding).message()?;
    let header = header(&head).ok_or(NO_HEADER)?;
    let first_of = |address: Option<&Address<'_>>| {
        let first = address.and_then(Address::first)?;
        let name = first.address.as_deref().or(first.name.as_deref())?;
        Some(name.to_owned())
    };
    let [from, to] = [header.from(), header.to()].map(first_of);
    let date =
        header.date().map(mail_parser::DateTime::to_rfc3339).or_else(|| value(&head, "Date:"));
    if from.is_none() && date.is_none() && header.subject().is_none() {
        return Err(NO_HEADER.to_owned());
    }
    let subject = header.subject().unwrap_or_default().to_owned();
    let id = header.message_id().unwrap_or_default().to_owned();
    let [date, from, to] = [date, from, to].map(Option::unwrap_or_default);
    Ok([id, date, from, to, subject, text_of(&parts, encoding)])
}

/// Returns the value of a header field as it is written, such as a date without a zone.
fn value(head: &[u8], field: &str) -> Option<String> {
    let head = String::from_utf8_lossy(head);
    let is_field =
        |line: &&str| line.get(..field.len()).is_some_and(|name| name.eq_ignore_ascii_case(field));
    let value = head.lines().find(is_field)?[field.len()..].trim();
    (!value.is_empty()).then(|| value.to_owned())
}

/// Returns a message without what Apple Mail adds to it in a file of its own: the number of its bytes, and properties.
fn without_count(message: &[u8]) -> &[u8] {
    let message = message.trim_ascii_start();
    let counted = || {
        let (count, rest) = message.split_at_checked(find_line_end(message)?)?;
        let count: usize = std::str::from_utf8(count).ok()?.trim().parse().ok()?;
        Some(&rest[..count.min(rest.len())])
    };
    counted().unwrap_or(message)
}
