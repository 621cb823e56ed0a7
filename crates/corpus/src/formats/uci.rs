//! Blocks of a UCI bag of words or a Matrix Market file: ranges of document numbers, including documents without any
//! line.
//!
//! The file begins with the numbers of documents (D), terms (W) and entries, one per line, or for Matrix Market on one
//! line below comments. One entry per line follows: document (1…D, never decreasing), term (1…W), count. Since the
//! header gives the number of documents, even a truncated file accounts for each of them, unless the header promises so
//! many more than the entries found that it must be wrong. Entries are parsed in order, as blocks are cut.

use super::cutter::{Piece, RecordCutter, line_scans};
use super::records::check_damage;
use super::vocabulary::read_vocabulary as read_terms;
use super::{
    Context, Cut, Cutting, DocumentSink, Format, InputFile, Numbered, Part, VocabularyName,
};
use crate::compression::stripped;
use crate::document::count_of;
use crate::error::InputError;
use crate::settings::{CorpusSettings, OnDamage};
use crate::{Body, DocumentStatus};
use std::borrow::Cow;
use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

/// `corpus.format = "uci"`.
pub static UCI: Format = Format {
    name: "uci",
    names: "`docword*.txt` beside `vocab*.txt`",
    document: "a document number, including those without any line",
    id: "the number",
    is_counts: true,
    vocabulary: Some(VocabularyName::ForDocword),
    cutting: Cutting::Entries(|file, settings, part_bytes| {
        let mut lines = EntryLines::open(file)?;
        let mut number = |line, what| lines.number(line, what);
        let sizes = [number(1, "documents")?, number(2, "terms")?, number(3, "entries")?];
        EntryStream::open(lines, [1, 2, 3], sizes, settings, part_bytes)
    }),
    claims: |_, name| name.contains("docword") && stripped(name).ends_with(".txt"),
    ..Format::PLAIN
};

/// `corpus.format = "mtx"`.
pub static MATRIX_MARKET: Format = Format {
    name: "mtx",
    endings: &["mtx"],
    names: " beside `vocab*.txt` or `<name>.vocab*`",
    document: "a row of a Matrix Market file, `coordinate` `integer` or `real`, entries sorted by row",
    id: "the number",
    is_counts: true,
    vocabulary: Some(VocabularyName::WithEnding { is_optional: false }),
    cutting: Cutting::Entries(|file, settings, part_bytes| {
        let mut lines = EntryLines::open(file)?;
        let (line, sizes) = lines.sizes()?;
        EntryStream::open(lines, [line; 3], sizes, settings, part_bytes)
    }),
    ..Format::PLAIN
};

/// Bytes of the longest line that is accepted; no line of the format is nearly as long.
const MAX_LINE_BYTES: u64 = 4096;

/// More documents per entry than this, with an allowance of [`FEW_ENTRIES`], are refused: a document without an entry
/// takes a row, but no byte of the file.
const DOCUMENTS_PER_ENTRY: u64 = 1000;
const FEW_ENTRIES: u64 = 1000;

/// How a Matrix Market file begins.
const BANNER: &str = "%%MatrixMarket matrix coordinate integer general";

/// A block of documents, and the counts of those with entries.
struct DocumentRun {
    /// The terms, in the order of their numbers.
    vocabulary: Arc<Vec<String>>,
    /// The documents' numbers, from 1.
    documents: Range<u64>,
    /// Those with entries, ascending.
    bags: Vec<DocumentEntries>,
    /// The first lost document, and the reason.
    lost: Option<(u64, String)>,
}

/// The entries of a document.
struct DocumentEntries {
    document: u64,
    /// The places of terms in the vocabulary, and their counts; none of a document that is too large.
    counts: Vec<(u32, u32)>,
    /// Bytes of its lines, without the last line break.
    bytes: u64,
    /// Bytes of its lines.
    whole_bytes: u64,
}

/// The blocks of a bag of words, whose entries are parsed in order.
struct EntryStream {
    lines: EntryLines,
    vocabulary: Arc<Vec<String>>,
    /// Lines before the first entry.
    header_lines: u64,
    document_count: u64,
    entry_count: u64,
    block_bytes: u64,
    max_document_bytes: u64,
    on_damage: OnDamage,
    /// Entries so far.
    entries: u64,
    /// Documents with entries that are not in a block yet; the last may continue.
    bags: Vec<DocumentEntries>,
    /// The first document not in a block yet.
    next_document: u64,
    /// The last line, if it cannot be parsed: the file may be cut off within it.
    malformed: Option<String>,
    blocks: u64,
    ended: bool,
}

impl EntryStream {
    /// Opens a file after its header, whose lines with the numbers of documents, terms and entries are these.
    fn open(
        lines: EntryLines,
        [documents_line, terms_line, header_lines]: [u64; 3],
        [document_count, term_count, entry_count]: [u64; 3],
        settings: &CorpusSettings,
        block_bytes: u64,
    ) -> Result<Box<dyn Cut>, InputError> {
        check_documents(&lines.file, documents_line, document_count, entry_count)?;
        Ok(Box::new(Self {
            vocabulary: Arc::new(read_vocabulary(&lines.file, term_count, terms_line)?),
            lines,
            header_lines,
            document_count,
            entry_count,
            block_bytes,
            max_document_bytes: settings.max_document_bytes,
            on_damage: settings.on_damage,
            entries: 0,
            bags: Vec::new(),
            next_document: 1,
            malformed: None,
            blocks: 0,
            ended: false,
        }))
    }

    /// Parses another stretch of entries; returns the reason if the stream broke.
    fn read_on(&mut self) -> Result<Option<String>, InputError> {
        let end = self.lines.cutter.offset().saturating_add(self.block_bytes);
        let pieces = self.lines.cutter.next_pieces(end);
        check_damage(&pieces, &self.lines.file, self.on_damage)?;
        self.ended = pieces.is_empty();
        for piece in pieces {
            match piece {
                Piece::Records { bytes, .. } => {
                    let text = String::from_utf8_lossy(&bytes);
                    text.split_inclusive('\n').try_for_each(|line| self.add(line))?;
                }
                Piece::TooLarge { bytes, .. } => {
                    self.entries += 1;
                    let reason = format!("a line of {bytes} bytes; expected `document term count`");
                    return Err(self.error(reason));
                }
                Piece::Truncated { reason, .. } => {
                    self.ended = true;
                    return Ok(Some(reason));
                }
            }
        }
        Ok(None)
    }

    /// Adds the entry on a line. Blank lines may follow the last one.
    fn add(&mut self, line: &str) -> Result<(), InputError> {
        if let Some(before) = self.malformed.take_if(|_| !line.trim().is_empty()) {
            return Err(self.error(not_an_entry(&before)));
        }
        if self.malformed.is_some() || line.trim().is_empty() && self.entries == self.entry_count {
            return Ok(());
        }
        self.entries += 1;
        let Some((document, term, count)) = parse(line) else {
            self.malformed = Some(line.trim().to_owned());
            return Ok(());
        };
        let expected = self.last()..=self.document_count;
        if !expected.contains(&document) {
            let (first, last) = (expected.start(), expected.end());
            return Err(self.error(format!(
                "document {document}, but {first} to {last} is expected: numbers must not decrease, or exceed the \
                 number of documents in the header; sort the entries by document"
            )));
        }
        let term_count = self.vocabulary.len();
        if term == 0 || term > term_count as u64 {
            return Err(self.error(format!("term {term} is not one of 1 to {term_count}")));
        }
        if self.bags.last().is_none_or(|bag| bag.document != document) {
            self.bags.push(DocumentEntries {
                document,
                counts: Vec::new(),
                bytes: 0,
                whole_bytes: 0,
            });
        }
        if let Some(bag) = self.bags.last_mut() {
            bag.bytes = bag.whole_bytes + line.trim_ascii_end().len() as u64;
            bag.whole_bytes += line.len() as u64;
            if bag.bytes > self.max_document_bytes {
                bag.counts = Vec::new();
            } else if count > 0 {
                // In range: a vocabulary of 2³² terms does not fit into memory.
                bag.counts.push(((term - 1) as u32, count));
            }
        }
        Ok(())
    }

    /// Returns the document of the last entry, or the first one of the next block.
    fn last(&self) -> u64 {
        self.bags.last().map_or(self.next_document, |bag| bag.document)
    }

    /// Takes the documents before `end`; refuses them if there are too many for the entries so far.
    fn block(&mut self, end: u64) -> Result<DocumentRun, InputError> {
        let line = self.header_lines + self.entries;
        check_documents(&self.lines.file, line, end - 1, self.entries)?;
        let rest = self.bags.split_off(self.bags.partition_point(|bag| bag.document < end));
        Ok(DocumentRun {
            vocabulary: Arc::clone(&self.vocabulary),
            documents: std::mem::replace(&mut self.next_document, end)..end,
            bags: std::mem::replace(&mut self.bags, rest),
            lost: None,
        })
    }

    /// Takes the last block: every document up to the number in the header.
    fn last_block(&mut self, broken: Option<String>) -> Result<DocumentRun, InputError> {
        // Blank lines, fewer than the missing entries or more.
        if self.malformed.take_if(|line| line.is_empty()).is_some() {
            self.entries -= 1;
        }
        let reason = match broken {
            Some(reason) => Some(reason),
            None if self.entries == self.entry_count => None,
            None => Some(self.explain_entries()?),
        };
        let mut first_lost = self.last();
        if let Some(line) = self.malformed.take() {
            if reason.is_none() {
                return Err(self.error(not_an_entry(&line)));
            }
            first_lost = document_of(&line).map_or(first_lost, |document| document.max(first_lost));
        }
        let mut block = self.block(self.document_count + 1)?;
        block.lost = reason.map(|reason| (first_lost, reason));
        Ok(block)
    }

    /// Explains a number of entries that differs from the header's; an error, unless entries are missing and the job
    /// keeps damaged files.
    fn explain_entries(&self) -> Result<String, InputError> {
        let (found, wanted) = (self.entries, self.entry_count);
        let reason = format!("the file has {found} entries, but its header says {wanted}");
        if found < wanted && self.on_damage == OnDamage::Keep {
            return Ok(reason);
        }
        let remedy = "copy the file again, or set corpus.on_damage = \"keep\" if it is truncated";
        let line = self.header_lines + found.min(wanted);
        let reason = format!("{reason}; {remedy}");
        Err(InputError::counts(&self.lines.file.path, line, reason))
    }

    /// Returns an error at the line of the last entry.
    fn error(&self, reason: String) -> InputError {
        InputError::counts(&self.lines.file.path, self.header_lines + self.entries, reason)
    }
}

impl Cut for EntryStream {
    fn next(&mut self) -> Result<Option<Numbered>, InputError> {
        if self.ended {
            return Ok(None);
        }
        let block = loop {
            let broken = self.read_on()?;
            if self.ended {
                break self.last_block(broken)?;
            }
            // The last document may continue.
            if self.bags.len() > 1 {
                break self.block(self.last())?;
            }
        };
        self.blocks += 1;
        Ok(Some((self.blocks - 1, Box::new(block))))
    }
}

/// Parses an entry.
fn parse(line: &str) -> Option<(u64, u64, u32)> {
    let mut fields = line.split_ascii_whitespace();
    let mut number = || fields.next()?.parse().ok();
    let (document, term) = (number()?, number()?);
    let count = count_of(fields.next()?)?;
    fields.next().is_none().then_some((document, term, count))
}

/// Explains a line that is not an entry.
fn not_an_entry(line: &str) -> String {
    format!("expected `document term count`, three whole numbers, not `{line}`")
}

/// Parses the number that a line begins with.
fn document_of(line: &str) -> Option<u64> {
    line.split_ascii_whitespace().next()?.parse().ok()
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

/// The lines of a file.
struct EntryLines {
    file: InputFile,
    cutter: RecordCutter<Box<dyn Read + Send>>,
}

impl EntryLines {
    fn open(file: &InputFile) -> Result<Self, InputError> {
        let mut cutter = RecordCutter::new(file.content()?, 0, line_scans(), MAX_LINE_BYTES);
        cutter.skip_byte_order_mark();
        Ok(Self { file: file.clone(), cutter })
    }

    /// Reads line `line` of the header, if there is one; a line that is too long is returned as empty. A file that
    /// breaks off here has no document to keep.
    fn next(&mut self, line: u64) -> Result<Option<String>, InputError> {
        match self.cutter.next_pieces(self.cutter.offset() + 1).first() {
            None => Ok(None),
            Some(Piece::Truncated { reason, .. }) => {
                let reason = format!("the file breaks off in its header ({reason}); copy it again");
                Err(self.error(line, &reason))
            }
            Some(Piece::Records { bytes, .. }) => {
                Ok(Some(String::from_utf8_lossy(bytes).trim().to_owned()))
            }
            Some(Piece::TooLarge { .. }) => Ok(Some(String::new())),
        }
    }

    fn error(&self, line: u64, reason: &str) -> InputError {
        InputError::counts(&self.file.path, line, reason)
    }

    /// Reads one of the three numbers that a UCI bag of words begins with.
    fn number(&mut self, line: u64, what: &str) -> Result<u64, InputError> {
        let number = self.next(line)?.and_then(|text| text.parse().ok());
        number.ok_or_else(|| {
            let reason = format!(
                "expected the number of {what}; a UCI bag of words begins with the number of documents, terms and \
                 entries, a line each"
            );
            self.error(line, &reason)
        })
    }

    /// Reads the lines of a Matrix Market file before its entries. Returns how many there are, and the numbers of rows,
    /// columns and entries.
    fn sizes(&mut self) -> Result<(u64, [u64; 3]), InputError> {
        let banner = self.next(1)?.unwrap_or_default();
        let words: Vec<_> = banner.split_ascii_whitespace().collect();
        let banner = words.join(" ").to_lowercase();
        if banner.replace(" real ", " integer ") != BANNER.to_lowercase() {
            let reason = format!(
                "expected `{BANNER}`; write the counts as a sparse matrix with a row for each document"
            );
            return Err(self.error(1, &reason));
        }
        let mut line = 1;
        while let Some(text) = self.next(line + 1)? {
            line += 1;
            if text.is_empty() || text.starts_with('%') {
                continue;
            }
            let numbers: Option<Vec<u64>> =
                text.split_ascii_whitespace().map(|number| number.parse().ok()).collect();
            let sizes = numbers.and_then(|numbers| numbers.try_into().ok());
            let reason = "expected the numbers of documents (rows), terms (columns) and entries";
            return sizes.map(|sizes| (line, sizes)).ok_or_else(|| self.error(line, reason));
        }
        Err(self.error(line, "the file ends before its entries; copy it again"))
    }
}

/// Reads the vocabulary, which must have as many terms as the file.
fn read_vocabulary(
    file: &InputFile,
    term_count: u64,
    line: u64,
) -> Result<Vec<String>, InputError> {
    let path = file.vocabulary.as_deref().unwrap_or(&file.path);
    let terms = read_terms(path)?;
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

impl Part for DocumentRun {
    fn bytes(&self) -> u64 {
        self.bags.iter().map(|bag| bag.bytes).sum()
    }

    /// Reads every document, including those without entries.
    fn read(&self, context: &Context<'_>, emit: DocumentSink<'_>) -> Result<(), InputError> {
        let (file, settings) = (context.file, context.settings);
        let term = |&(place, count): &(u32, u32)| {
            (Cow::Borrowed(&self.vocabulary[place as usize][..]), count)
        };
        let mut bags = self.bags.iter().peekable();
        for number in self.documents.clone() {
            let bag = bags.next_if(|bag| bag.document == number);
            let id = number.to_string();
            let missing = |status, problem: String| {
                Body::missing(status, format!("{}, document {id}", file.name), problem)
            };
            let body = match (bag, &self.lost) {
                (_, Some((first, reason))) if number >= *first => missing(
                    DocumentStatus::Truncated,
                    format!("lost: {reason}; copy the file again"),
                ),
                (Some(DocumentEntries { bytes, .. }), _)
                    if *bytes > settings.max_document_bytes =>
                {
                    context.too_large(&id, *bytes)
                }
                (Some(DocumentEntries { counts, .. }), _) if !counts.is_empty() => Body::Counts {
                    counts: counts.iter().map(term).collect(),
                    words: false,
                    repaired: false,
                },
                _ => missing(DocumentStatus::Empty, "no entries".to_owned()),
            };
            emit(context.without_values(id, body));
        }
        Ok(())
    }
}
