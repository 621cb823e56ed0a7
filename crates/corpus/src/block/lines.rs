//! Blocks of files of records: byte ranges of plain files, pieces of files that must be streamed.

use super::cutter::{Boundary, Dialect, Piece, RecordCutter, names_delimiter};
use super::header::Header;
use super::{Content, LineRange};
use crate::compression::Compression;
use crate::input::{InputError, InputFile};
use crate::settings::{CorpusSettings, Format, OnDamage};
use std::io::Read;
use std::sync::Arc;

/// Returns whether any range of the file can be read without the preceding ones.
pub(super) fn is_divisible(file: &InputFile) -> bool {
    use Format::{JsonLines, LdaC, Mallet, SvmLight, Tsv, Vw};
    let lines = matches!(file.format, JsonLines | Tsv | Mallet | SvmLight | Vw | LdaC);
    lines && file.compression == Compression::Plain
}

/// A file of records, open at the first record.
pub(crate) struct Records {
    /// The bytes after the header.
    pub(crate) cutter: RecordCutter<Box<dyn Read + Send>>,
    /// The columns of a file that has some; `None` if the file should begin with a header but is empty.
    header: Option<Arc<Header>>,
    /// What was read instead of a header, if anything: the first row of a file without one, or a break.
    first: Vec<Piece>,
}

impl Records {
    /// Opens the file, and reads the header of a delimited one.
    ///
    /// Records of more than `limit` bytes are skipped.
    pub(crate) fn open(
        file: &InputFile,
        settings: &CorpusSettings,
        limit: u64,
    ) -> Result<Self, InputError> {
        let boundary = match file.format {
            Format::Json => Boundary::Object,
            Format::Mail => Boundary::Envelope,
            _ => Boundary::Line,
        };
        let mut cutter = RecordCutter::new(file.content()?, 0, boundary, limit);
        cutter.skip_byte_order_mark();
        let dialect = match file.format {
            Format::Csv => cutter.adopt_dialect(),
            _ => Dialect::TABS,
        };
        let mut records = Self { cutter, header: None, first: Vec::new() };
        match file.format {
            Format::Csv | Format::Tsv => records.read_header(dialect, file, settings)?,
            _ => records.header = Header::fixed(file, settings)?.map(Arc::new),
        }
        Ok(records)
    }

    /// Takes as the header the first line that is not blank and does not name the delimiter.
    fn read_header(
        &mut self,
        dialect: Dialect,
        file: &InputFile,
        settings: &CorpusSettings,
    ) -> Result<(), InputError> {
        self.cutter.skip_blank_lines();
        loop {
            let pieces = self.cutter.next_pieces(self.cutter.offset() + 1);
            match pieces.first() {
                None | Some(Piece::Truncated { .. }) => {
                    self.first = pieces;
                    return Ok(());
                }
                Some(Piece::TooLarge { bytes, .. }) => {
                    let problem = format!("it has {bytes} bytes; check for an unclosed quote");
                    return Err(InputError::header(&file.path, problem));
                }
                Some(Piece::Records { bytes, .. })
                    if bytes.trim_ascii().is_empty() || names_delimiter(bytes) => {}
                Some(Piece::Records { bytes, .. }) => {
                    self.header = Some(Arc::new(Header::parse(bytes, dialect, file, settings)?));
                    self.first = pieces.into_iter().filter(|_| !settings.header).collect();
                    return Ok(());
                }
            }
        }
    }
}

/// Refuses a broken stream, unless the job keeps damaged files.
pub(crate) fn check_damage(
    pieces: &[Piece],
    file: &InputFile,
    on_damage: OnDamage,
) -> Result<(), InputError> {
    match pieces.last() {
        Some(Piece::Truncated { offset, reason }) if on_damage == OnDamage::Fail => {
            Err(InputError::Damaged {
                path: file.path.clone(),
                offset: *offset,
                unit: "bytes",
                reason: reason.clone(),
            })
        }
        _ => Ok(()),
    }
}

/// Returns whether the job keeps the readable part of damaged files.
pub(crate) fn keeps_damaged(settings: &CorpusSettings) -> bool {
    settings.on_damage == OnDamage::Keep
}

/// The blocks of a file that must be read from its start.
pub(super) struct RecordStream {
    records: Records,
    file: InputFile,
    block_bytes: u64,
    on_damage: OnDamage,
}

impl RecordStream {
    pub(super) fn open(
        file: &InputFile,
        settings: &CorpusSettings,
        block_bytes: u64,
    ) -> Result<Self, InputError> {
        Ok(Self {
            records: Records::open(file, settings, settings.max_document_bytes)?,
            file: file.clone(),
            block_bytes,
            on_damage: settings.on_damage,
        })
    }
}

impl super::Cut for RecordStream {
    fn next(&mut self) -> Result<Option<(u64, Content)>, InputError> {
        let number = self.records.cutter.offset() / self.block_bytes;
        let mut pieces = std::mem::take(&mut self.records.first);
        if !matches!(pieces.last(), Some(Piece::Truncated { .. })) {
            let end = (number + 1).saturating_mul(self.block_bytes);
            pieces.extend(self.records.cutter.next_pieces(end));
        }
        check_damage(&pieces, &self.file, self.on_damage)?;
        let header = self.records.header.clone();
        Ok((!pieces.is_empty()).then_some((number, Content::Pieces { pieces, header })))
    }
}

/// The blocks of a plain file of lines; only its start is read.
pub(super) struct LineRanges {
    header: Option<Arc<Header>>,
    /// Where the first record begins, after a byte order mark and the header.
    start: u64,
    bytes: u64,
    block_bytes: u64,
    number: u64,
}

impl LineRanges {
    pub(super) fn open(
        file: &InputFile,
        settings: &CorpusSettings,
        block_bytes: u64,
    ) -> Result<Self, InputError> {
        let records = Records::open(file, settings, settings.max_document_bytes)?;
        let start = match records.first.first() {
            Some(Piece::Truncated { reason, .. }) => {
                let source = std::io::Error::other(reason.clone());
                return Err(InputError::unreadable(&file.path)(source));
            }
            Some(Piece::Records { offset, .. }) => *offset,
            _ => records.cutter.offset(),
        };
        Ok(Self {
            header: records.header,
            start,
            bytes: file.bytes,
            block_bytes,
            number: start / block_bytes,
        })
    }
}

impl super::Cut for LineRanges {
    fn next(&mut self) -> Result<Option<(u64, Content)>, InputError> {
        let number = self.number;
        let begin = number.saturating_mul(self.block_bytes).max(self.start);
        if begin >= self.bytes {
            return Ok(None);
        }
        self.number += 1;
        let end = self.number.saturating_mul(self.block_bytes).min(self.bytes);
        let range = LineRange {
            begin,
            end,
            begins_record: begin == self.start,
            header: self.header.clone(),
        };
        Ok(Some((number, Content::Lines(range))))
    }
}
