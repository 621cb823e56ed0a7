//! From a block to its documents: one file per format.
//!
//! Every record of the input becomes exactly one document: an unreadable one has a
//! [`Body::Missing`] with its status and the reason. Documents borrow from the block being read.

pub mod columnar;
mod counts;
mod delimited;
pub mod htrc;
mod jsonl;
mod ldac;
pub mod line;
pub mod mail;
pub mod mallet;
pub mod mend;
mod svmlight;
mod text;
mod uci;
mod vw;

/// Formats bytes as a number of MiB in the form of the keys, rounded up to four digits.
fn mebibytes(bytes: u64) -> String {
    let mib = bytes as f64 / f64::from(1 << 20);
    let mut unit = 1000.0;
    while mib * unit < 1000.0 && unit < 1e12 {
        unit *= 10.0;
    }
    ((mib * unit).ceil() / unit).to_string()
}

#[cfg(test)]
pub(crate) mod tests;

use super::block::cutter::{Boundary, Piece, RecordCutter, lines};
use super::block::header::{Columns, Header};
use super::block::{Block, Content, LineRange, check_damage, open};
use super::input::partition::adding;
use super::input::{Input, InputError, InputFile};
use super::settings::{CorpusSettings, Format};
use super::{Body, DocumentStatus, RawDocument, language};
use std::borrow::Cow;
use std::io::{Seek, SeekFrom};

pub use htrc::{Candidate, candidate, metadata_keys};

/// Bytes of a file of records that are held at a time.
const STRETCH_BYTES: u64 = 1 << 20;

/// Bytes of a one-letter word in a text, with the space after it.
const LETTER_BYTES: u64 = 2;

/// A receiver of the documents of a block, one after the other.
pub(crate) type DocumentSink<'s> = &'s mut dyn FnMut(RawDocument<'_>);

/// Passes every document of the block to `emit`, in the input's order, with its language if that is to be identified.
///
/// Fails if a file cannot be opened, has changed, or is damaged while the job says `on_damage = "fail"`; problems of
/// single documents are in their bodies instead.
pub fn read_block(
    block: &Block,
    settings: &CorpusSettings,
    emit: DocumentSink<'_>,
) -> Result<(), InputError> {
    let context = Context::new(block.file(), settings);
    let read = |emit: DocumentSink<'_>| {
        let file = (&*block.input, block.file());
        read_content(file, &block.content, settings, &mut |document| {
            emit(context.within_limit(document));
        })
    };
    match &settings.languages {
        None => read(emit),
        Some(kept) => read(&mut |mut document| {
            language::add_to(&mut document, kept);
            emit(document);
        }),
    }
}

/// Reads documents of `file` or, if the content is a range of files, of all these.
fn read_content(
    (input, file): (&Input, &InputFile),
    content: &Content,
    settings: &CorpusSettings,
    emit: DocumentSink<'_>,
) -> Result<(), InputError> {
    match content {
        Content::Files(files) => {
            let mut held = Vec::new();
            let mut files = input.files[files.clone()].iter();
            files.try_for_each(|file| match file.format {
                Format::Htrc => htrc::read(file, settings, &mut held, emit),
                Format::Text => {
                    text::read(file, settings, &mut held, &mut adding(file, settings, emit))
                }
                _ => {
                    let mut has_documents = false;
                    let mut parts = open(file, settings, STRETCH_BYTES)?;
                    while let Some((_, part)) = parts.next()? {
                        read_content((input, file), &part, settings, &mut |document| {
                            has_documents = true;
                            emit(document);
                        })?;
                    }
                    if !has_documents && file.format == Format::Mail {
                        // A file of e-mail is at least one message.
                        let empty = text::empty(file);
                        let context = Context::new(file, settings);
                        adding(file, settings, emit)(context.without_values(&file.name, empty));
                    }
                    Ok(())
                }
            })
        }
        Content::Counts(counts) => {
            uci::read(counts, file, settings, emit);
            Ok(())
        }
        Content::Lines(range) => {
            read_range(file, range, settings, &mut adding(file, settings, emit))
        }
        Content::Pieces { pieces, header } => {
            let context = Context::new(file, settings);
            context.read_pieces(pieces, header.as_deref(), &mut adding(file, settings, emit));
            Ok(())
        }
        Content::RowGroups(groups) => {
            columnar::read(groups, file, settings, &mut adding(file, settings, emit))
        }
    }
}

/// Reads a range of a plain file, a stretch at a time.
fn read_range(
    file: &InputFile,
    range: &LineRange,
    settings: &CorpusSettings,
    emit: DocumentSink<'_>,
) -> Result<(), InputError> {
    let begin = range.begin - u64::from(!range.begins_record);
    let mut opened = file.open()?;
    opened.seek(SeekFrom::Start(begin)).map_err(InputError::unreadable(&file.path))?;
    let mut cutter = RecordCutter::new(opened, begin, Boundary::Line, settings.max_document_bytes);
    if !range.begins_record {
        cutter.skip_line(range.end);
    }
    let context = Context::new(file, settings);
    loop {
        let end = range.end.min(cutter.offset().saturating_add(STRETCH_BYTES));
        let pieces = cutter.next_pieces(end);
        check_damage(&pieces, file, settings.on_damage)?;
        if pieces.is_empty() {
            return Ok(());
        }
        context.read_pieces(&pieces, range.header.as_deref(), emit);
    }
}

/// The properties that the documents of one file share.
struct Context<'a> {
    file: &'a InputFile,
    settings: &'a CorpusSettings,
}

impl<'a> Context<'a> {
    fn new(file: &'a InputFile, settings: &'a CorpusSettings) -> Self {
        Self { file, settings }
    }

    /// Returns the id of a record that has none: its file and where it begins.
    fn place(&self, offset: u64) -> String {
        format!("{}@{offset}", self.file.name)
    }

    /// Returns the columns of the record that begins at `offset`; its body is yet to be read.
    fn record<'d>(
        &self,
        columns: &Columns,
        offset: u64,
        value: impl Fn(usize) -> Option<Cow<'d, str>>,
    ) -> RawDocument<'d> {
        let filled =
            |column: Option<usize>| column.and_then(&value).filter(|text| !text.is_empty());
        let metadata = columns.metadata.iter();
        RawDocument {
            source_id: filled(columns.id).unwrap_or_else(|| Cow::Owned(self.place(offset))),
            group: filled(columns.group),
            metadata: metadata.map(|place| place.and_then(&value)).collect(),
            body: Body::Text { text: Cow::Borrowed(""), repaired: false },
        }
    }

    /// Returns a document whose record has no group and metadata, or none that can be read.
    fn without_values<'d>(
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
    fn unknown(&self, offset: u64, body: Body<'static>) -> RawDocument<'static> {
        self.without_values(self.place(offset), body)
    }

    /// Returns the body of a record that is not in the file's format.
    fn unparsable(&self, offset: u64, what: &str) -> Body<'static> {
        Body::missing(DocumentStatus::ParseError, self.place(offset), what)
    }

    /// Returns the body of a record without this.
    fn empty(&self, offset: u64, what: &str) -> Body<'static> {
        Body::missing(DocumentStatus::Empty, self.place(offset), format!("no {what}"))
    }

    /// Replaces counts that are more than a text within the limit can have, even in one-letter words.
    fn within_limit<'d>(&self, mut document: RawDocument<'d>) -> RawDocument<'d> {
        let tokens: u64 = match &document.body {
            Body::Bag { counts, .. } => counts.iter().map(|&(_, count)| u64::from(count)).sum(),
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
    fn too_large(&self, source_id: &str, bytes: u64) -> Body<'static> {
        self.larger_than(self.settings.max_document_bytes, source_id, bytes)
    }

    /// Returns the body of a record over `limit`, which is what `corpus.max_document_mib` comes to.
    fn larger_than(&self, limit: u64, source_id: &str, bytes: u64) -> Body<'static> {
        let problem = format!(
            "{} MiB, and corpus.max_document_mib allows {}; raise it, or split the document",
            mebibytes(bytes),
            mebibytes(limit)
        );
        Body::missing(DocumentStatus::TooLarge, source_id, problem)
    }

    /// Returns the document of a record at `offset` over the limit.
    fn too_large_at(&self, offset: u64, bytes: u64) -> RawDocument<'static> {
        self.unknown(offset, self.too_large(&self.place(offset), bytes))
    }

    /// Returns the body of a document that represents the rest of a file that failed.
    fn truncated(&self, source_id: &str, reason: &str) -> Body<'static> {
        let problem =
            format!("the rest of the file is lost: {reason}; repair the file, or copy it again");
        Body::missing(DocumentStatus::Truncated, source_id, problem)
    }

    /// Returns the document that represents the rest of a file from `offset` on.
    fn truncated_at(&self, offset: u64, reason: &str) -> RawDocument<'static> {
        self.unknown(offset, self.truncated(&self.place(offset), reason))
    }

    /// Reads the documents of stretches of records.
    fn read_pieces(&self, pieces: &[Piece], header: Option<&Header>, emit: DocumentSink<'_>) {
        for piece in pieces {
            match piece {
                Piece::TooLarge { offset, bytes } => emit(self.too_large_at(*offset, *bytes)),
                Piece::Truncated { offset, reason } => emit(self.truncated_at(*offset, reason)),
                Piece::Records { offset, bytes } => {
                    self.read_records(header, *offset, bytes, emit);
                }
            }
        }
    }

    /// Reads the documents of a stretch of records that begins at `offset`; only JSON has no header.
    fn read_records(
        &self,
        header: Option<&Header>,
        offset: u64,
        bytes: &[u8],
        emit: DocumentSink<'_>,
    ) {
        let Some(header) = header else {
            return jsonl::read(self, offset, bytes, emit);
        };
        let mut document = |begins, fields: &[&[u8]]| emit(header.document(self, begins, fields));
        match self.file.format {
            Format::Tsv => lines(offset, bytes).for_each(|(begins, line)| {
                let fields = line.split(|&byte| byte == header.dialect.delimiter);
                document(begins, &fields.collect::<Vec<_>>());
            }),
            Format::Mallet => lines(offset, bytes)
                .filter(|(_, line)| !line.trim_ascii().is_empty())
                .for_each(|(begins, line)| document(begins, &mallet::fields(line))),
            Format::Mail => mail::read(self, header, offset, bytes, emit),
            Format::SvmLight => counts::read(self, header, (offset, bytes), svmlight::parse, emit),
            Format::Vw => counts::read(self, header, (offset, bytes), vw::parse, emit),
            Format::LdaC => counts::read(self, header, (offset, bytes), ldac::parse, emit),
            _ => delimited::read_csv(self, header, offset, bytes, emit),
        }
    }
}

/// Joins the texts of several columns with line breaks; `None` without any text.
fn join_texts<'a>(mut texts: impl Iterator<Item = Cow<'a, str>>) -> Option<Cow<'a, str>> {
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
fn body<'a>(
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
