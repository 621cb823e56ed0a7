//! E-mail: a message, or an mbox of messages, each between lines that begin with `From `.
//!
//! The text is that of a message's body, HTML without tags; lines quoted from other messages and attachments, messages
//! among them, are left out. The sender and the recipient are the first of each.

use super::{Context, DocumentSink};
use crate::block::cutter::{Boundary, record_ends};
use crate::block::header::Header;
use mail_parser::{Address, MessageParser};

/// Reads the messages of a stretch that begins at `offset`.
pub(super) fn read(
    context: &Context<'_>,
    header: &Header,
    offset: u64,
    bytes: &[u8],
    emit: DocumentSink<'_>,
) {
    for (begins, message) in messages(offset, bytes) {
        match fields(message) {
            Some(fields) => {
                let fields = fields.each_ref().map(String::as_bytes);
                emit(header.document(context, begins, &fields));
            }
            None => {
                let what = "not an e-mail: it does not begin with headers";
                emit(context.unknown(begins, context.unparsable(begins, what)));
            }
        }
    }
}

/// Returns the messages in `bytes`, each with its offset, without the lines between them.
pub fn messages(offset: u64, bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let mut begin = 0;
    let ends = record_ends(bytes, Boundary::Envelope).map(|end| (end, true));
    ends.chain([(bytes.len(), false)])
        .map(move |(end, has_envelope)| {
            let begins = std::mem::replace(&mut begin, end);
            let record = &bytes[begins..end];
            let message = match has_envelope {
                true => without_last_line(record),
                false => record,
            };
            (offset + begins as u64, message)
        })
        .filter(|(_, message)| !message.trim_ascii().is_empty())
}

/// Returns lines that end with a line break without the last of them.
fn without_last_line(lines: &[u8]) -> &[u8] {
    let before = &lines[..lines.len() - 1];
    let last = before.iter().rposition(|&byte| byte == b'\n');
    &lines[..last.map_or(0, |at| at + 1)]
}

/// Returns the id, date, sender, recipient, subject and text of a message; `None` if it is not one.
pub fn fields(message: &[u8]) -> Option<[String; 6]> {
    let message = MessageParser::default().parse(message)?;
    let sender_of = |address: Option<&Address<'_>>| {
        let first = address.and_then(Address::first)?;
        let name = first.address.as_deref().or(first.name.as_deref())?;
        Some(name.to_owned())
    };
    let [from, to] = [message.from(), message.to()].map(sender_of);
    let date = message.date().map(mail_parser::DateTime::to_rfc3339);
    if from.is_none() && date.is_none() && message.subject().is_none() {
        return None;
    }
    let mut text = String::new();
    for part in 0..message.text_body_count() {
        let body = message.body_text(part).unwrap_or_default();
        for line in body.lines().filter_map(own_line) {
            text.push_str(line);
            text.push('\n');
        }
    }
    let subject = message.subject().unwrap_or_default().to_owned();
    let id = message.message_id().unwrap_or_default().to_owned();
    let [date, from, to] = [date, from, to].map(Option::unwrap_or_default);
    Some([id, date, from, to, subject, text])
}

/// Returns a line unless it is quoted. In an mbox, a line of the message's own is `>From ` if it begins with `From `.
fn own_line(line: &str) -> Option<&str> {
    match line.strip_prefix('>') {
        Some(own) => own.starts_with("From ").then_some(own),
        None => Some(line),
    }
}
