//! A file is a document: its id is the file's name, its text the file's content.

use super::context::body_of_text;
use super::mail::{MAIL, is_mbox};
use super::{Context, Cutting, DocumentSink, Format, InputFile};
use crate::compression::{Compression, stripped};
use crate::error::InputError;
use crate::settings::CorpusSettings;
use crate::{Body, DocumentStatus};

/// `corpus.format = "text"`. Mail clients keep folders under names such as `Inbox`; UTF-16 is decoded, as a text is decoded
/// as a whole.
pub static TEXT: Format = Format {
    name: "text",
    names: "anything not below",
    document: "a file",
    id: "the file's path",
    cutting: Cutting::Whole(read),
    instead: |start, _| is_mbox(start).then_some(&MAIL),
    refusal: |name, start, _| {
        let name = name.to_ascii_lowercase();
        let is_tar = start.get(TAR_MARK_AT..).is_some_and(|rest| rest.starts_with(b"ustar"))
            || [".tar", ".tgz", ".tbz2"].iter().any(|ending| stripped(&name).ends_with(ending));
        is_tar.then_some([
            "a tar archive",
            "unpack it (tar -xf), or exclude it with `corpus.exclude`",
        ])
    },
    ..Format::PLAIN
};

/// The offset of a tar archive's mark.
const TAR_MARK_AT: usize = 257;

/// Bytes of a text that are searched for NULs.
const START_BYTES: usize = 8 << 10;

/// Reads the file as one document; `held` is a buffer for one file after the other.
fn read(
    file: &InputFile,
    settings: &CorpusSettings,
    held: &mut Vec<u8>,
    emit: DocumentSink<'_>,
) -> Result<(), InputError> {
    let context = Context::new(file, settings);
    if let Some(bytes) = context.read_whole(settings.max_document_bytes, held, emit)? {
        let body = body_of_text(bytes, settings);
        let body = match &body {
            Body::Text { text, .. } => match why_no_text(bytes, text) {
                Some(why) => Body::missing(
                    DocumentStatus::ParseError,
                    &file.name,
                    format!("{why}; convert it, or exclude it with `corpus.exclude`"),
                ),
                None => body,
            },
            _ => body,
        };
        emit(context.without_values(&file.name, body));
    }
    Ok(())
}

/// Returns what shows that a file is not text: how it begins, or NUL bytes near the start of the decoded text.
fn why_no_text(bytes: &[u8], text: &str) -> Option<String> {
    let start = &text.as_bytes()[..text.len().min(START_BYTES)];
    let has_nul =
        || memchr::memchr(0, start).map(|_| "has NUL bytes, so it is not text".to_owned());
    let kind = kind_of_document(bytes);
    kind.map(|kind| format!("is {kind}, not text")).or_else(has_nul)
}

/// Returns the kind of a document that is not text, by the first bytes of its content.
fn kind_of_document(start: &[u8]) -> Option<&'static str> {
    match start {
        [b'%', b'P', b'D', b'F', b'-', ..] => Some("PDF"),
        [b'{', b'\\', b'r', b't', b'f', ..] => Some("RTF"),
        _ => Compression::of(start).err(),
    }
}
