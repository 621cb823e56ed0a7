//! The documents of one file, and their problems, whatever its format.
//!
//! Every record of the input becomes exactly one document: an unreadable one has a [`Body::Missing`] with its status and
//! the reason.

use super::{DocumentSink, InputFile, keeps_damaged};
use crate::compression::read_into;
use crate::error::InputError;
use crate::settings::CorpusSettings;
use crate::{Body, DocumentStatus, RawDocument};
use std::borrow::Cow;
use std::io;

/// Bytes of a one-letter word in a text, with the space after it.
const LETTER_BYTES: u64 = 2;

/// The properties that the documents of one file share.
pub struct Context<'a> {
    pub(super) file: &'a InputFile,
    pub(super) settings: &'a CorpusSettings,
}

impl<'a> Context<'a> {
    pub(crate) fn new(file: &'a InputFile, settings: &'a CorpusSettings) -> Self {
        Self { file, settings }
    }

    /// Returns the id of a record that has none: its file and where it begins.
    pub(super) fn place(&self, offset: u64) -> String {
        format!("{}@{offset}", self.file.name)
    }

    /// Returns a document whose record has no group and metadata, or none that can be read.
    pub(super) fn without_values<'d>(
        &self,
        source_id: impl Into<Cow<'d, str>>,
        body: Body<'d>,
    ) -> RawDocument<'d> {
        RawDocument {
            source_id: source_id.into(),
            group: None,
            metadata: vec![None; self.settings.metadata.len()],
            body,
        }
    }

    /// Returns the document of a record of which only the place is known.
    pub(super) fn unknown(&self, offset: u64, body: Body<'static>) -> RawDocument<'static> {
        self.without_values(self.place(offset), body)
    }

    /// Returns the body of a record that is not in the file's format.
    pub(super) fn unparsable(&self, offset: u64, what: &str) -> Body<'static> {
        Body::missing(DocumentStatus::ParseError, self.place(offset), what)
    }

    /// Returns the body of a record without this.
    pub(super) fn empty(&self, offset: u64, what: &str) -> Body<'static> {
        Body::missing(DocumentStatus::Empty, self.place(offset), format!("no {what}"))
    }

    /// Replaces counts that are more than a text within the limit can have, even in one-letter words.
    pub(crate) fn within_limit<'d>(&self, mut document: RawDocument<'d>) -> RawDocument<'d> {
        let tokens: u64 = match &document.body {
            Body::Counts { counts, .. } => counts.iter().map(|&(_, count)| u64::from(count)).sum(),
            Body::Text { .. } | Body::Missing { .. } => return document,
        };
        let limit = self.settings.max_document_bytes;
        if tokens.saturating_mul(LETTER_BYTES) <= limit {
            return document;
        }
        let problem = format!(
            "{tokens} tokens, more than {} MiB of text (corpus.max_document_mib) can have; correct its counts, or \
             raise the limit",
            mebibytes(limit)
        );
        document.body = Body::missing(DocumentStatus::TooLarge, &document.source_id, problem);
        document
    }

    /// Returns the body of a record over the limit.
    pub(super) fn too_large(&self, source_id: &str, bytes: u64) -> Body<'static> {
        self.larger_than(self.settings.max_document_bytes, source_id, bytes)
    }

    /// Returns the body of a record over `limit`, which is what `corpus.max_document_mib` comes to.
    pub(super) fn larger_than(&self, limit: u64, source_id: &str, bytes: u64) -> Body<'static> {
        let problem = format!(
            "{} MiB, and corpus.max_document_mib allows {}; raise it, or split the document",
            mebibytes(bytes),
            mebibytes(limit)
        );
        Body::missing(DocumentStatus::TooLarge, source_id, problem)
    }

    /// Returns the document of a record at `offset` over the limit.
    pub(super) fn too_large_at(&self, offset: u64, bytes: u64) -> RawDocument<'static> {
        self.unknown(offset, self.too_large(&self.place(offset), bytes))
    }

    /// Returns the body of a document that represents the rest of a file that failed.
    pub(super) fn truncated(&self, source_id: &str, reason: &str) -> Body<'static> {
        let problem =
            format!("the rest of the file is lost: {reason}; repair the file, or copy it again");
        Body::missing(DocumentStatus::Truncated, source_id, problem)
    }

    /// Returns the document that represents the rest of a file from `offset` on.
    pub(super) fn truncated_at(&self, offset: u64, reason: &str) -> RawDocument<'static> {
        self.unknown(offset, self.truncated(&self.place(offset), reason))
    }

    /// Returns the body of a file without content.
    pub(super) fn no_content(&self) -> Body<'static> {
        Body::missing(DocumentStatus::Empty, &self.file.name, "the file is empty")
    }

    /// Returns the content of the file, at most `limit` bytes. If it is empty, too large or damaged, emits a document
    /// with that status instead.
    pub(super) fn read_whole<'h>(
        &self,
        limit: u64,
        held: &'h mut Vec<u8>,
        emit: DocumentSink<'_>,
    ) -> Result<Option<&'h [u8]>, InputError> {
        let file = self.file;
        let body = match read_all(file, limit, held)? {
            Ok(()) if held.is_empty() => self.no_content(),
            Ok(()) if held.len() as u64 > limit => {
                let bytes = file.bytes.max(held.len() as u64);
                self.larger_than(limit, &file.name, bytes)
            }
            Ok(()) => return Ok(Some(held)),
            Err(error) if keeps_damaged(self.settings) => {
                self.truncated(&file.name, &error.to_string())
            }
            Err(error) => {
                return Err(InputError::Damaged {
                    path: file.path.clone(),
                    offset: 0,
                    unit: "bytes",
                    reason: error.to_string(),
                });
            }
        };
        emit(self.without_values(&file.name, body));
        Ok(None)
    }
}

/// Reads all that the file contains, or `limit` + 1 bytes of it; the inner error is the decoder's, for damage.
pub(super) fn read_all(
    file: &InputFile,
    limit: u64,
    held: &mut Vec<u8>,
) -> Result<io::Result<()>, InputError> {
    let content = file.content()?;
    Ok(read_into(held, content, limit.saturating_add(1)))
}

/// Joins the texts of several columns with line breaks; `None` without any text.
pub(super) fn join_texts<'a>(
    mut texts: impl Iterator<Item = Cow<'a, str>>,
) -> Option<Cow<'a, str>> {
    let mut joined = texts.next()?;
    for text in texts {
        let whole = joined.to_mut();
        whole.push('\n');
        whole.push_str(&text);
    }
    Some(joined)
}

/// Returns the body of a document whose text is a whole file.
pub(crate) fn body_of_text<'b>(bytes: &'b [u8], settings: &CorpusSettings) -> Body<'b> {
    let (text, repaired) = settings.encoding.decode_file(bytes);
    Body::Text { text: settings.markup.apply(text), repaired }
}

/// Returns the body of a document with this text, if it has one; its record begins at `offset`.
pub(super) fn body<'a>(
    context: &Context<'_>,
    offset: u64,
    text: Option<Cow<'a, str>>,
    repaired: bool,
) -> Body<'a> {
    match text {
        Some(text) => Body::Text { text: context.settings.markup.apply(text), repaired },
        None => {
            context.empty(offset, &format!("text under `{}`", context.settings.text.join("`, `")))
        }
    }
}

/// Formats bytes as a number of MiB in the form of the keys, rounded up to four digits.
fn mebibytes(bytes: u64) -> String {
    let mib = bytes as f64 / f64::from(1 << 20);
    let mut unit = 1000.0;
    while mib * unit < 1000.0 && unit < 1e12 {
        unit *= 10.0;
    }
    ((mib * unit).ceil() / unit).to_string()
}
