//! Files of records: the columns of a file, its cutting into byte ranges (plain files of lines) or runs of records
//! (streams), and the documents of a run.
//!
//! A format of records implements [`Records`]. A record becomes one document, whatever is wrong with it.

use super::context::{Context, body, join_texts};
use super::cutter::{LineScan, Piece, RecordCutter, Scan, line_scans, record_ends};
use super::partition::gives_column;
use super::vocabulary::read_vocabulary;
use super::{Cut, DocumentSink, InputFile, Numbered, Part, STRETCH_BYTES};
use crate::error::InputError;
use crate::settings::{CorpusSettings, OnDamage};
use crate::{Body, RawDocument};
use std::borrow::Cow;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;

/// The default id column, which a file may lack.
const DEFAULT_ID: &str = "id";

/// The remedy for lines that end with carriage returns, as on an old Macintosh.
pub(super) const RETURNS_REMEDY: &str =
    "if these alone end its lines, convert them: tr '\\r' '\\n' < FILE > NEW";

/// The source of the names of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnNames {
    /// Every record has its own, as keys.
    Keys,
    /// They are the same in every file, and there is no header.
    Fixed(&'static [&'static str]),
    /// The first line names them, unless `corpus.header` is false.
    Header,
}

/// A receiver of the rows of a stretch: where each begins, at its first byte that is not blank, and its fields, or what
/// is wrong with it.
pub type RowSink<'s> = &'s mut dyn FnMut(u64, Result<&[&[u8]], String>);

/// The records of a file.
pub trait Records: Send + Sync {
    /// Returns the source of the names of columns.
    fn names(&self) -> ColumnNames;

    /// Returns a scan for the end of a record.
    fn scan(&self) -> Box<dyn Scan> {
        Box::new(LineScan)
    }

    /// Splits the rows of a stretch that begins at `offset`. The end of the stretch ends its last record, even where
    /// the scan finds no end. What is no document, such as a record about the file, is left out; what should be one is a
    /// row with an error, which has neither id nor metadata ([`read`](Self::read) may keep them).
    fn rows(&self, _offset: u64, _stretch: &[u8], _row: RowSink<'_>) {}

    /// Returns what to do about a row whose number of fields is not the header's.
    fn remedy(&self) -> &'static str {
        "correct the row"
    }

    /// Returns whether a file is at least one document, even if it is empty.
    fn is_never_empty(&self) -> bool {
        false
    }

    /// Returns whether the line is not part of the table below it, but about it.
    fn is_above_header(&self, _line: &[u8]) -> bool {
        false
    }

    /// Returns why a line that should be the header cannot be.
    fn header_problem(&self, _line: &[u8]) -> Option<String> {
        None
    }

    /// Counts the complete records at a file's start, and their bytes; `is_whole` says that the file is no longer.
    fn count(&self, start: &[u8], is_whole: bool) -> (u64, u64) {
        count_records(self, start, is_whole)
    }

    /// Reads the documents of a stretch that begins at `offset`.
    fn read(
        &self,
        context: &Context<'_>,
        header: &Header,
        (offset, stretch): (u64, &[u8]),
        emit: DocumentSink<'_>,
    ) {
        self.rows(offset, stretch, &mut |begins, row| {
            emit(match row {
                Ok(fields) => header.document(context, begins, fields, self.remedy()),
                Err(what) => context.unknown(begins, context.unparsable(begins, &what)),
            });
        });
    }
}

/// Counts the complete records at a file's start, and their bytes. The last record needs no end if the start is the
/// whole file; a first record longer than the start counts too.
pub(super) fn count_records(
    records: &(impl Records + ?Sized),
    start: &[u8],
    is_whole: bool,
) -> (u64, u64) {
    let is_filled = |record: &[u8]| !record.trim_ascii().is_empty();
    let (mut count, mut begin) = (0u64, 0);
    for end in record_ends(start, records.scan()) {
        count += u64::from(is_filled(&start[begin..end]));
        begin = end;
    }
    if is_filled(&start[begin..]) && (is_whole || count == 0) {
        count += 1;
        begin = start.len();
    }
    (count, begin as u64)
}

/// The roles of a file's columns; none, if the records have keys, or the file should begin with a header but is empty.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Header {
    fields: usize,
    columns: ColumnRoles,
    /// The terms that numbers in the file refer to, if it has a vocabulary.
    pub(super) vocabulary: Option<Vec<String>>,
}

/// The indices of the columns that the job names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ColumnRoles {
    pub(crate) id: Option<usize>,
    pub(crate) text: Vec<usize>,
    pub(crate) group: Option<usize>,
    pub(crate) metadata: Vec<Option<usize>>,
}

impl ColumnRoles {
    /// Finds the job's columns among those of a file.
    pub(crate) fn find(
        names: &[String],
        file: &InputFile,
        settings: &CorpusSettings,
    ) -> Result<Self, InputError> {
        let place = |wanted: &String| {
            let mut found = (0..names.len()).filter(|&place| names[place] == *wanted);
            match (found.next(), found.next()) {
                (Some(place), None) => Ok(place),
                (Some(first), Some(second)) => {
                    let problem = format!(
                        "columns {} and {} are both `{wanted}`; rename one of them, or name another column in the job",
                        first + 1,
                        second + 1
                    );
                    Err(InputError::refused(&file.path, problem))
                }
                _ => Err(InputError::missing_column(&file.path, wanted, names)),
            }
        };
        let is_missing = |error: &InputError| matches!(error, InputError::MissingColumn(_));
        // A folder's name may supply the value.
        let place_or_folder = |wanted: &String| match place(wanted) {
            Err(error) if is_missing(&error) && gives_column(file, wanted) => Ok(None),
            place => place.map(Some),
        };
        let may_lack_id = settings.id.is_empty() || settings.id == DEFAULT_ID;
        let id = match place(&settings.id) {
            Err(error) if is_missing(&error) && may_lack_id => None,
            id => Some(id?),
        };
        Ok(Self {
            id,
            text: settings.text.iter().map(place).collect::<Result<_, _>>()?,
            group: (settings.group.as_ref()).map(place_or_folder).transpose()?.flatten(),
            metadata: settings.metadata.iter().map(place_or_folder).collect::<Result<_, _>>()?,
        })
    }

    /// Returns the columns of the record that begins at `offset`; its body is yet to be read.
    pub(super) fn record<'d>(
        &self,
        context: &Context<'_>,
        offset: u64,
        value: impl Fn(usize) -> Option<Cow<'d, str>>,
    ) -> RawDocument<'d> {
        let filled =
            |column: Option<usize>| column.and_then(&value).filter(|text| !text.is_empty());
        let metadata = self.metadata.iter();
        RawDocument {
            source_id: filled(self.id).unwrap_or_else(|| Cow::Owned(context.place(offset))),
            group: filled(self.group),
            metadata: metadata.map(|place| place.and_then(&value)).collect(),
            body: Body::Text { text: Cow::Borrowed(""), repaired: false },
        }
    }

    /// Returns every index.
    pub(crate) fn places(&mut self) -> impl Iterator<Item = &mut usize> {
        let metadata = self.metadata.iter_mut().flatten();
        let values = self.text.iter_mut().chain(metadata);
        self.id.iter_mut().chain(values).chain(&mut self.group)
    }
}

impl Header {
    fn new(
        names: &[String],
        file: &InputFile,
        settings: &CorpusSettings,
    ) -> Result<Self, InputError> {
        Ok(Self {
            fields: names.len(),
            columns: ColumnRoles::find(names, file, settings)?,
            vocabulary: file.vocabulary.as_deref().map(read_vocabulary).transpose()?,
        })
    }

    /// Parses the header line; without a header, names the fields of the first row by their numbers.
    pub(super) fn parse(
        line: &[u8],
        records: &dyn Records,
        file: &InputFile,
        settings: &CorpusSettings,
    ) -> Result<Self, InputError> {
        let problem = records.header_problem(line).filter(|_| settings.header);
        let names = problem.map_or_else(|| names(line, records, settings), Err);
        let names = names.map_err(|problem| InputError::header(&file.path, problem))?;
        Self::new(&names, file, settings)
    }

    /// Returns the document of a row; `remedy` says what to do if it has another number of fields.
    pub(super) fn document<'a>(
        &self,
        context: &Context<'_>,
        offset: u64,
        fields: &[&'a [u8]],
        remedy: &str,
    ) -> RawDocument<'a> {
        if fields.len() != self.fields {
            let what =
                format!("{} fields, where the header has {}; {remedy}", fields.len(), self.fields);
            return context.unknown(offset, context.unparsable(offset, &what));
        }
        let mut repaired = false;
        let texts = self.columns.text.iter().filter_map(|&place| {
            let (text, is_repaired) = context.settings.encoding.decode(fields[place]);
            repaired |= is_repaired;
            Some(text).filter(|text| !text.is_empty())
        });
        let text = join_texts(texts);
        let body = body(context, offset, text, repaired);
        self.with_body(context, offset, fields, body)
    }

    /// Returns the document of a row whose body has already been read.
    pub(super) fn with_body<'a>(
        &self,
        context: &Context<'_>,
        offset: u64,
        fields: &[&'a [u8]],
        body: Body<'a>,
    ) -> RawDocument<'a> {
        let document = self.columns.record(context, offset, |place| {
            let (text, _) = context.settings.encoding.decode(fields[place]);
            Some(text).filter(|text| !text.is_empty())
        });
        RawDocument { body, ..document }
    }
}

/// Returns the names in a header line, or without a header the numbers of the fields of a first row.
fn names(
    line: &[u8],
    records: &dyn Records,
    settings: &CorpusSettings,
) -> Result<Vec<String>, String> {
    let mut names: Option<Result<Vec<String>, String>> = None;
    records.rows(0, line, &mut |_, row| {
        let name = |field: &&[u8]| settings.encoding.decode(field).0.trim().to_owned();
        names.get_or_insert_with(|| Ok(row?.iter().map(name).collect()));
    });
    let names = names.unwrap_or_else(|| Ok(Vec::new()))?;
    if settings.header {
        return Ok(names);
    }
    Ok((1..=names.len()).map(|number| number.to_string()).collect())
}

/// The records of one file, and their columns.
pub(super) struct FileRecords {
    pub(super) records: Arc<dyn Records>,
    pub(super) header: Header,
}

impl FileRecords {
    /// Reads the documents of runs of records.
    pub(super) fn read(&self, context: &Context<'_>, pieces: &[Piece], emit: DocumentSink<'_>) {
        for piece in pieces {
            match piece {
                Piece::TooLarge { offset, bytes } => emit(context.too_large_at(*offset, *bytes)),
                Piece::Truncated { offset, reason } => emit(context.truncated_at(*offset, reason)),
                Piece::Records { offset, bytes } => {
                    self.records.read(context, &self.header, (*offset, bytes), emit);
                }
            }
        }
    }
}

/// A file of records, open at the first record.
pub(super) struct OpenRecords {
    /// The bytes after the header.
    pub(super) cutter: RecordCutter<Box<dyn Read + Send>>,
    pub(super) form: FileRecords,
    /// What was read instead of a header, if anything: the first row of a file without one, or a break.
    pub(super) first: Vec<Piece>,
}

/// Returns the records of a file that begins with these bytes.
pub type RecordsOf = fn(&[u8]) -> Arc<dyn Records>;

impl OpenRecords {
    /// Opens the file, and reads the header if it has one. Records of more than `limit` bytes are skipped.
    pub(super) fn new(
        of: RecordsOf,
        file: &InputFile,
        settings: &CorpusSettings,
        limit: u64,
    ) -> Result<Self, InputError> {
        let mut cutter = RecordCutter::new(file.content()?, 0, line_scans(), limit);
        cutter.skip_byte_order_mark();
        let records = of(cutter.start());
        let of_records = Arc::clone(&records);
        cutter.end_records_by(Box::new(move || of_records.scan()));
        let names = records.names();
        let mut opened = Self {
            cutter,
            form: FileRecords { records, header: Header::default() },
            first: Vec::new(),
        };
        match names {
            ColumnNames::Keys => {}
            ColumnNames::Fixed(names) => {
                let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
                opened.form.header = Header::new(&names, file, settings)?;
            }
            ColumnNames::Header => opened.read_header(file, settings)?,
        }
        Ok(opened)
    }

    /// Takes as the header the first line that is not blank and not about the table.
    fn read_header(
        &mut self,
        file: &InputFile,
        settings: &CorpusSettings,
    ) -> Result<(), InputError> {
        let records = Arc::clone(&self.form.records);
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
                    if bytes.trim_ascii().is_empty() || records.is_above_header(bytes) => {}
                Some(Piece::Records { bytes, .. }) => {
                    self.form.header = Header::parse(bytes, &*records, file, settings)?;
                    self.first = pieces.into_iter().filter(|_| !settings.header).collect();
                    return Ok(());
                }
            }
        }
    }
}

/// Refuses a broken stream, unless the job keeps damaged files.
pub(super) fn check_damage(
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

/// Opens a file to be cut: into byte ranges unless it must be read from its start.
pub(super) fn cut(
    of: RecordsOf,
    is_streamed: bool,
    file: &InputFile,
    settings: &CorpusSettings,
    part_bytes: u64,
) -> Result<Box<dyn Cut>, InputError> {
    let opened = OpenRecords::new(of, file, settings, settings.max_document_bytes)?;
    if is_streamed {
        return Ok(Box::new(RecordStream {
            cutter: opened.cutter,
            form: Arc::new(opened.form),
            first: opened.first,
            file: file.clone(),
            part_bytes,
            on_damage: settings.on_damage,
        }));
    }
    let start = match opened.first.first() {
        Some(Piece::Truncated { reason, .. }) => {
            let source = std::io::Error::other(reason.clone());
            return Err(InputError::unreadable(&file.path)(source));
        }
        Some(Piece::Records { offset, .. }) => *offset,
        _ => opened.cutter.offset(),
    };
    Ok(Box::new(LineRanges {
        form: Arc::new(opened.form),
        start,
        bytes: file.bytes,
        part_bytes,
        number: start / part_bytes,
    }))
}

/// Reads a whole file from its start.
pub(super) fn read_file(
    of: RecordsOf,
    file: &InputFile,
    settings: &CorpusSettings,
    emit: DocumentSink<'_>,
) -> Result<(), InputError> {
    let mut stream = cut(of, true, file, settings, STRETCH_BYTES)?;
    let context = Context::new(file, settings);
    let mut has_documents = false;
    while let Some((_, part)) = stream.next()? {
        part.read(&context, &mut |document| {
            has_documents = true;
            emit(document);
        })?;
    }
    if !has_documents && of(b"").is_never_empty() {
        emit(context.without_values(&file.name, context.no_content()));
    }
    Ok(())
}

/// A file that must be read from its start, cut into runs of records.
struct RecordStream {
    cutter: RecordCutter<Box<dyn Read + Send>>,
    form: Arc<FileRecords>,
    first: Vec<Piece>,
    file: InputFile,
    part_bytes: u64,
    on_damage: OnDamage,
}

impl Cut for RecordStream {
    fn next(&mut self) -> Result<Option<Numbered>, InputError> {
        let number = self.cutter.offset() / self.part_bytes;
        let mut pieces = std::mem::take(&mut self.first);
        if !matches!(pieces.last(), Some(Piece::Truncated { .. })) {
            let end = (number + 1).saturating_mul(self.part_bytes);
            pieces.extend(self.cutter.next_pieces(end));
        }
        check_damage(&pieces, &self.file, self.on_damage)?;
        if pieces.is_empty() {
            return Ok(None);
        }
        Ok(Some((number, Box::new(RecordRun { pieces, form: Arc::clone(&self.form) }))))
    }
}

/// Records cut from a stream.
struct RecordRun {
    pieces: Vec<Piece>,
    form: Arc<FileRecords>,
}

impl Part for RecordRun {
    fn bytes(&self) -> u64 {
        self.pieces.iter().map(Piece::content_bytes).sum()
    }

    fn read(&self, context: &Context<'_>, emit: DocumentSink<'_>) -> Result<(), InputError> {
        self.form.read(context, &self.pieces, emit);
        Ok(())
    }
}

/// A plain file of lines, cut into byte ranges; only its start is read.
struct LineRanges {
    form: Arc<FileRecords>,
    /// Where the first record begins, after a byte order mark and the header.
    start: u64,
    bytes: u64,
    part_bytes: u64,
    number: u64,
}

impl Cut for LineRanges {
    fn next(&mut self) -> Result<Option<Numbered>, InputError> {
        let number = self.number;
        let begin = number.saturating_mul(self.part_bytes).max(self.start);
        if begin >= self.bytes {
            return Ok(None);
        }
        self.number += 1;
        let end = self.number.saturating_mul(self.part_bytes).min(self.bytes);
        let begins_record = begin == self.start;
        let range = LineRange { begin, end, begins_record, form: Arc::clone(&self.form) };
        Ok(Some((number, Box::new(range))))
    }
}

/// The records of a plain file that begin in a range of bytes, read by the thread that parses them.
struct LineRange {
    begin: u64,
    end: u64,
    /// Whether a record begins at `begin`; else the first one begins after a line break.
    begins_record: bool,
    form: Arc<FileRecords>,
}

impl Part for LineRange {
    fn bytes(&self) -> u64 {
        self.end - self.begin
    }

    /// Reads the range a stretch at a time.
    fn read(&self, context: &Context<'_>, emit: DocumentSink<'_>) -> Result<(), InputError> {
        let (file, settings) = (context.file, context.settings);
        let begin = self.begin - u64::from(!self.begins_record);
        let mut opened = file.open()?;
        opened.seek(SeekFrom::Start(begin)).map_err(InputError::unreadable(&file.path))?;
        let limit = settings.max_document_bytes;
        let mut cutter = RecordCutter::new(opened, begin, line_scans(), limit);
        if !self.begins_record {
            cutter.skip_line(self.end);
        }
        loop {
            let end = self.end.min(cutter.offset().saturating_add(STRETCH_BYTES));
            let pieces = cutter.next_pieces(end);
            check_damage(&pieces, file, settings.on_damage)?;
            if pieces.is_empty() {
                return Ok(());
            }
            self.form.read(context, &pieces, emit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::mallet::MalletLines;

    #[test]
    fn a_record_beyond_the_start_counts_once() {
        assert_eq!(MalletLines.count(b"xxxxxxxx", false), (1, 8));
        assert_eq!(MalletLines.count(b"ab\ncd\nef", false), (2, 6));
    }
}
