//! Blocks of a UCI bag of words or a Matrix Market file: ranges of document numbers, including documents without any
//! line.
//!
//! The file begins with the numbers of documents (D), terms (W) and entries, one per line, or for Matrix Market on one
//! line below comments. One entry per line follows: document (1…D, never decreasing), term (1…W), count. Since the
//! header gives the number of documents, even a truncated file accounts for each of them, unless the header promises so
//! many more than the entries found that it must be wrong. Entries are parsed in `reader::uci`.

use super::cutter::Piece;
use super::lines::{Records, check_damage};
use super::{Content, Cut};
use crate::input::{InputError, InputFile, vocabulary};
use crate::settings::{CorpusSettings, Format, OnDamage};
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

/// Bytes of the longest line that is accepted; no line of the format is nearly as long.
const MAX_LINE_BYTES: u64 = 4096;

/// More documents per entry than this, with an allowance of [`FEW_ENTRIES`], are refused: a document without an entry
/// takes a row, but no byte of the file.
const DOCUMENTS_PER_ENTRY: u64 = 1000;
const FEW_ENTRIES: u64 = 1000;

/// How a Matrix Market file begins.
const BANNER: &str = "%%MatrixMarket matrix coordinate integer general";

/// A block's documents and their entries.
pub(crate) struct Counts {
    /// The terms, in the order of their numbers.
    pub(crate) vocabulary: Arc<Vec<String>>,
    /// The documents' numbers, from 1.
    pub(crate) documents: Range<u64>,
    /// The line of the first entry, from 1.
    pub(crate) line: u64,
    /// The entries' lines.
    pub(crate) entries: Vec<u8>,
    /// Documents with more bytes of entries than allowed, which are left out, and the bytes; others may be too large as
    /// well.
    pub(crate) too_large: Vec<(u64, u64)>,
    /// The first lost document, and the reason.
    pub(crate) lost: Option<(u64, String)>,
}

/// The blocks of a bag of words.
pub(super) struct CountStream {
    records: Records,
    file: InputFile,
    vocabulary: Arc<Vec<String>>,
    /// Lines before the first entry.
    header_lines: u64,
    document_count: u64,
    entry_count: u64,
    block_bytes: u64,
    max_document_bytes: u64,
    on_damage: OnDamage,
    /// Entries of the last document seen, which may continue.
    held: Vec<u8>,
    /// Entries before `held`.
    entries_before: u64,
    /// The first document not in a block yet.
    next_document: u64,
    /// A document whose entries are being dropped, and their bytes so far.
    dropping: Option<(u64, u64)>,
    /// The dropped documents of the next block, and their bytes.
    too_large: Vec<(u64, u64)>,
    blocks: u64,
    ended: bool,
}

impl CountStream {
    pub(super) fn open(
        file: &InputFile,
        settings: &CorpusSettings,
        block_bytes: u64,
    ) -> Result<Self, InputError> {
        let mut records = Records::open(file, settings, MAX_LINE_BYTES)?;
        let (documents_line, terms_line, header_lines, sizes) = match file.format {
            Format::MatrixMarket => {
                let (line, sizes) = read_size(&mut records, file)?;
                (line, line, line, sizes)
            }
            _ => {
                let mut number = |line, what| read_number(&mut records, file, line, what);
                let sizes = [number(1, "documents")?, number(2, "terms")?, number(3, "entries")?];
                (1, 2, 3, sizes)
            }
        };
        let [document_count, term_count, entry_count] = sizes;
        check_documents(file, documents_line, document_count, entry_count)?;
        Ok(Self {
            records,
            file: file.clone(),
            vocabulary: Arc::new(read_vocabulary(file, term_count, terms_line)?),
            header_lines,
            document_count,
            entry_count,
            block_bytes,
            max_document_bytes: settings.max_document_bytes,
            on_damage: settings.on_damage,
            held: Vec::new(),
            entries_before: 0,
            next_document: 1,
            dropping: None,
            too_large: Vec::new(),
            blocks: 0,
            ended: false,
        })
    }

    /// Appends another stretch of entries to `held`; returns the reason if the stream broke.
    fn read_on(&mut self) -> Result<Option<String>, InputError> {
        let end = self.records.cutter.offset().saturating_add(self.block_bytes);
        let pieces = self.records.cutter.next_pieces(end);
        check_damage(&pieces, &self.file, self.on_damage)?;
        self.ended = pieces.is_empty();
        for piece in pieces {
            match piece {
                Piece::Records { bytes, .. } => self.hold(&bytes),
                Piece::TooLarge { bytes, .. } => {
                    let reason = format!("a line of {bytes} bytes; expected `document term count`");
                    return Err(self.error(count_lines(&self.held), reason));
                }
                Piece::Truncated { reason, .. } => {
                    self.ended = true;
                    return Ok(Some(reason));
                }
            }
        }
        Ok(None)
    }

    /// Appends entries to `held`, except those of the document being dropped.
    fn hold(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let (Some((dropped, before)), false) = (self.dropping, rest.is_empty()) {
            let end = super::cutter::find_line_end(rest).unwrap_or(rest.len());
            if document_of(&rest[..end]) != Some(dropped) {
                self.dropping = None;
                break;
            }
            self.entries_before += 1;
            if let Some((_, bytes)) = self.too_large.last_mut() {
                *bytes = before + rest[..end].trim_ascii_end().len() as u64;
            }
            self.dropping = Some((dropped, before + end as u64));
            rest = &rest[end..];
        }
        self.held.extend_from_slice(rest);
    }

    /// Returns the number of the last document in `held`, and where its entries begin there.
    fn last_document(&self) -> Result<(u64, usize), InputError> {
        // Blank lines may follow the last entry.
        let mut start = self.held.trim_ascii_end().len();
        let mut last = None;
        while start > 0 {
            let before = self.held[..start - 1].iter().rposition(|&byte| byte == b'\n');
            let line_start = before.map_or(0, |at| at + 1);
            let document = document_of(&self.held[line_start..start]);
            if last.is_some() && document != last {
                break;
            }
            let malformed = || {
                let reason = "expected `document term count`".to_owned();
                self.error(count_lines(&self.held[..line_start]), reason)
            };
            last = Some(document.ok_or_else(malformed)?);
            start = line_start;
        }
        let last = last.unwrap_or(self.next_document);
        let range = self.next_document..=self.document_count;
        if !self.held.is_empty() && !range.contains(&last) {
            let reason = out_of_order(last, &range);
            return Err(self.error(count_lines(&self.held[..start]), reason));
        }
        Ok((last, start))
    }

    /// Leaves out the entries of a document that is too large.
    fn drop_document(&mut self, number: u64) {
        self.entries_before += count_lines(&self.held);
        let bytes = self.held.trim_ascii_end().len() as u64;
        self.too_large.push((number, bytes));
        self.dropping = Some((number, self.held.len() as u64));
        self.held.clear();
    }

    /// Refuses documents before `end` that the entries held and before do not justify.
    fn check_block(&self, end: u64) -> Result<(), InputError> {
        let entries = self.entries_before + count_lines(&self.held);
        let line = self.header_lines + entries;
        check_documents(&self.file, line, end - 1, entries)
    }

    /// Takes a block: the first `length` bytes held, and the documents before `end`.
    fn block(&mut self, length: usize, end: u64) -> Counts {
        let rest = self.held.split_off(length);
        let entries = std::mem::replace(&mut self.held, rest);
        let block = Counts {
            vocabulary: Arc::clone(&self.vocabulary),
            documents: self.next_document..end,
            line: self.header_lines + 1 + self.entries_before,
            entries,
            too_large: std::mem::take(&mut self.too_large),
            lost: None,
        };
        self.entries_before += count_lines(&block.entries);
        self.next_document = end;
        block
    }

    /// Takes the last block: everything held, and every document up to the number in the header.
    fn last_block(&mut self, broken: Option<String>) -> Result<Counts, InputError> {
        let length = self.held.trim_ascii_end().len();
        self.held.truncate(length);
        let found = self.entries_before + count_lines(&self.held);
        let reason = match broken {
            Some(reason) => Some(reason),
            None if found == self.entry_count => None,
            None => Some(self.check_entries(found)?),
        };
        let after_dropped = self.dropping.map_or(0, |(dropped, _)| dropped + 1);
        let (last, start) = match reason {
            Some(_) if !self.held.is_empty() => self.last_document()?,
            _ => (self.next_document.max(after_dropped), self.held.len()),
        };
        self.check_block(self.document_count + 1)?;
        let mut block = self.block(start, self.document_count + 1);
        block.lost = reason.map(|reason| (last, reason));
        Ok(block)
    }

    /// Explains a number of entries that differs from the header's; an error, unless entries are missing and the job
    /// keeps damaged files.
    fn check_entries(&self, found: u64) -> Result<String, InputError> {
        let wanted = self.entry_count;
        let reason = format!("the file has {found} entries, but its header says {wanted}");
        if found < wanted && self.on_damage == OnDamage::Keep {
            return Ok(reason);
        }
        let remedy = "copy the file again, or set corpus.on_damage = \"keep\" if it is truncated";
        let line = self.header_lines + found.min(wanted);
        let reason = format!("{reason}; {remedy}");
        Err(InputError::counts(&self.file.path, line, reason))
    }

    /// Returns an error at the line that is `lines` after the first one held.
    fn error(&self, lines: u64, reason: String) -> InputError {
        let line = self.header_lines + 1 + self.entries_before + lines;
        InputError::counts(&self.file.path, line, reason)
    }
}

impl Cut for CountStream {
    fn next(&mut self) -> Result<Option<(u64, Content)>, InputError> {
        if self.ended {
            return Ok(None);
        }
        let block = loop {
            let broken = self.read_on()?;
            if self.ended {
                break self.last_block(broken)?;
            }
            let (last, start) = self.last_document()?;
            if start > 0 {
                self.check_block(last)?;
                break self.block(start, last);
            }
            if self.held.trim_ascii_end().len() as u64 > self.max_document_bytes {
                self.drop_document(last);
            }
        };
        self.blocks += 1;
        Ok(Some((self.blocks - 1, Content::Counts(block))))
    }
}

/// Returns the most documents that a file with this number of entries may have.
pub fn most_documents(entries: u64) -> u64 {
    let entries = entries.saturating_add(FEW_ENTRIES);
    entries.saturating_mul(DOCUMENTS_PER_ENTRY) - 1
}

/// Refuses more documents than a file with this number of entries may have.
fn check_documents(
    file: &InputFile,
    line: u64,
    documents: u64,
    entries: u64,
) -> Result<(), InputError> {
    if documents <= most_documents(entries) {
        return Ok(());
    }
    let reason = format!(
        "too many documents ({documents}) for the number of entries ({entries}); copy the file again, or correct its header"
    );
    Err(InputError::counts(&file.path, line, reason))
}

/// Explains why a document cannot follow where those of the range can.
pub(crate) fn out_of_order(document: u64, range: &RangeInclusive<u64>) -> String {
    let (first, last) = (range.start(), range.end());
    format!(
        "document {document}, but {first} to {last} is expected: numbers must not decrease, or exceed the number of \
         documents in the header; sort the entries by document"
    )
}

/// Parses the number that a line begins with.
fn document_of(line: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(line).ok()?;
    text.split_ascii_whitespace().next()?.parse().ok()
}

/// Counts the lines in `bytes`, the last one with or without its line break.
fn count_lines(bytes: &[u8]) -> u64 {
    let breaks = bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
    breaks + u64::from(bytes.last().is_some_and(|&byte| byte != b'\n'))
}

/// Reads line `line` of the header, if there is one; a line that is too long is returned as empty. A file that breaks
/// off here has no document to keep.
fn next_line(
    records: &mut Records,
    file: &InputFile,
    line: u64,
) -> Result<Option<String>, InputError> {
    let end = records.cutter.offset() + 1;
    match records.cutter.next_pieces(end).first() {
        None => Ok(None),
        Some(Piece::Truncated { reason, .. }) => {
            let reason = format!("the file breaks off in its header ({reason}); copy it again");
            Err(InputError::counts(&file.path, line, reason))
        }
        Some(Piece::Records { bytes, .. }) => {
            Ok(Some(String::from_utf8_lossy(bytes).trim().to_owned()))
        }
        Some(Piece::TooLarge { .. }) => Ok(Some(String::new())),
    }
}

/// Reads one of the three numbers that a UCI bag of words begins with.
fn read_number(
    records: &mut Records,
    file: &InputFile,
    line: u64,
    what: &str,
) -> Result<u64, InputError> {
    let number = next_line(records, file, line)?.and_then(|text| text.parse().ok());
    number.ok_or_else(|| {
        let reason = format!(
            "expected the number of {what}; a UCI bag of words begins with the number of documents, terms and entries, \
             a line each"
        );
        InputError::counts(&file.path, line, reason)
    })
}

/// Reads the lines of a Matrix Market file before its entries. Returns how many there are, and the numbers of rows,
/// columns and entries.
fn read_size(records: &mut Records, file: &InputFile) -> Result<(u64, [u64; 3]), InputError> {
    let error = |line, reason: &str| InputError::counts(&file.path, line, reason);
    let banner = next_line(records, file, 1)?.unwrap_or_default();
    let words: Vec<_> = banner.split_ascii_whitespace().collect();
    let banner = words.join(" ").to_lowercase();
    if banner.replace(" real ", " integer ") != BANNER.to_lowercase() {
        let reason = format!(
            "expected `{BANNER}`; write the counts as a sparse matrix with a row for each document"
        );
        return Err(error(1, &reason));
    }
    let mut line = 1;
    while let Some(text) = next_line(records, file, line + 1)? {
        line += 1;
        if text.is_empty() || text.starts_with('%') {
            continue;
        }
        let numbers: Option<Vec<u64>> =
            text.split_ascii_whitespace().map(|number| number.parse().ok()).collect();
        let sizes = numbers.and_then(|numbers| numbers.try_into().ok());
        let reason = "expected the numbers of documents (rows), terms (columns) and entries";
        return sizes.map(|sizes| (line, sizes)).ok_or_else(|| error(line, reason));
    }
    Err(error(line, "the file ends before its entries; copy it again"))
}

/// Reads the vocabulary, which must have as many terms as the file.
fn read_vocabulary(
    file: &InputFile,
    term_count: u64,
    line: u64,
) -> Result<Vec<String>, InputError> {
    let path = file.vocabulary.as_deref().unwrap_or(&file.path);
    let terms = vocabulary::read(path)?;
    if terms.len() as u64 != term_count {
        let reason = format!(
            "the file has {term_count} terms, but {} has {}; put the vocabulary that belongs to it beside it",
            path.display(),
            terms.len()
        );
        return Err(InputError::counts(&file.path, line, reason));
    }
    Ok(terms)
}
