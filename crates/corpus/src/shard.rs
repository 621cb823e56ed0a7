//! Bags of words on disk: one Parquet file per block of the input, one row per document.
//!
//! Ingest writes each shard twice: as an uncompressed draft with a worker's own term ids and, once the vocabulary is
//! known, compressed and with final ids. Later stages read only shards. The memory for writing and reading is bounded
//! by the size of a batch and of a row group, not of the file; a single document may be larger than either.
//! docs/FORMATS.md lists the columns.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::iter::zip;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, BinaryBuilder, Int32Builder, Int64Builder, ListBuilder, StringBuilder,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray,
};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, RowGroupMetaData};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use sha2::{Digest, Sha256};
use store::Writer;

use crate::document::set;
pub use crate::formats::columnar::io_error;
use crate::settings::ShardColumns;
use crate::{CorpusError, DocumentStatus, ShardDocument};

/// Maximum number of documents in a record batch, which the reader holds decoded.
const BATCH_ROWS: usize = 1024;
/// Bytes of values at which a record batch is closed.
const BATCH_BYTES: usize = 4 << 20;
/// Maximum number of documents in a row group.
const GROUP_ROWS: usize = 1 << 16;
/// Bytes of values at which a row group is closed: 4 Mi (term, count) pairs.
const GROUP_BYTES: usize = 32 << 20;
/// Maximum number of bytes of text in one document (ids and metadata): Arrow's offsets are 32 bits wide.
const DOCUMENT_TEXT_BYTES: usize = 1 << 30;

/// Key of the file metadata that marks a shard, and the version of its layout.
const FORMAT_KEY: &str = "topicmill.shard";
const FORMAT_VERSION: &str = "4";
/// Prefix of the name of a metadata column, so that it cannot clash with ours.
const METADATA_PREFIX: &str = "metadata.";
/// Columns before the pass-through ones, in order.
const FIXED_COLUMNS: [&str; 12] = [
    "source_id",
    "group",
    "status",
    "tokens_total",
    "tokens_stopped",
    "terms",
    "counts",
    "pruned",
    "pruned_counts",
    "stopped",
    "stopped_counts",
    "duplicate_of",
];
/// The fixed columns that are lists, in pairs: ids and counts.
const LISTS: Range<usize> = 5..11;
/// The column after the metadata, if texts are kept.
const TEXT: &str = "text";
/// The last column of drafts, which shards lack.
const SIGNATURE: &str = "signature";

fn reading(path: &Path, source: impl Into<ParquetError>) -> CorpusError {
    match io_error(source.into()) {
        Ok(source) => CorpusError::io(path)(source),
        Err(source) => damaged(path, source),
    }
}

fn writing(path: &Path, source: impl Into<ParquetError>) -> CorpusError {
    CorpusError::io(path)(write_error(source.into()))
}

/// Returns the constructor of the error that a shard that must be there cannot be opened.
pub(crate) fn opening(path: &Path) -> impl FnOnce(io::Error) -> CorpusError {
    move |source| match source.kind() {
        io::ErrorKind::NotFound => damaged(path, source),
        _ => CorpusError::io(path)(source),
    }
}

/// Returns the error of a shard that is not there, or is damaged.
pub(crate) fn damaged(path: &Path, problem: impl Display) -> CorpusError {
    let remedy =
        "`topicmill run --overwrite` makes the collection again, and all that follows from it";
    CorpusError::data(path, format!("{problem}; {remedy}"))
}

/// Returns the error of sound Parquet that is not a shard of this version.
fn not_a_shard(path: &Path, problem: impl Display) -> CorpusError {
    let path = path.display();
    CorpusError::Data(format!(
        "{path} is not a shard of this version: {problem}; restart with --overwrite"
    ))
}

/// Returns the size and SHA-256 of a file.
///
/// # Errors
/// It cannot be read.
pub fn hash_file(path: &Path) -> io::Result<(u64, [u8; 32])> {
    let mut file = File::open(path)?;
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    let mut chunk = vec![0; 1 << 18];
    loop {
        liveness::tick();
        match file.read(&mut chunk)? {
            0 => return Ok((bytes, hash.finalize().into())),
            read => {
                hash.update(&chunk[..read]);
                bytes += read as u64;
            }
        }
    }
}

/// Converts an error of writing: as a rule the disk failed, even where Parquet says so in its own words.
pub fn write_error(error: ParquetError) -> io::Error {
    io_error(error).unwrap_or_else(io::Error::other)
}

#[cfg(test)]
mod tests;

// Reads a shard, one document at a time, in the order in which it was written.
//
// Row groups are opened one by one and their batches sized by their content, so that neither a long file nor a file of
// huge documents increases the decoded data in memory.

/// The columns that are decoded, besides `status` and `duplicate_of`; the other fields are left empty or 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Columns {
    /// Everything but signatures.
    All,
    /// Everything but signatures and texts.
    WithoutTexts,
    /// `terms`, `counts` and texts.
    Texts,
    /// `terms` and `counts`.
    Counts,
    /// Like `Counts`, and the metadata column at this index; the others are `None`.
    CountsAnd(usize),
    /// The metadata columns.
    Metadata,
    /// The signatures of a draft.
    Signatures,
    /// No others.
    Status,
}

/// A reader of one shard, from its first document to its last.
pub struct ShardReader {
    path: PathBuf,
    file: File,
    footer: ArrowReaderMetadata,
    columns: Columns,
    metadata_names: Vec<String>,
    next_group: usize,
    batches: Option<ParquetRecordBatchReader>,
    batch: Option<ShardBatch>,
    row: usize,
}

impl ShardReader {
    /// Opens a shard and checks its schema; fails if it is missing, damaged, or not a shard.
    pub fn open(path: &Path, columns: Columns) -> Result<Self, CorpusError> {
        let file = File::open(path).map_err(opening(path))?;
        let footer = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())
            .map_err(|e| reading(path, e))?;
        let metadata_names = check_schema(path, &footer)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            footer,
            columns,
            metadata_names,
            next_group: 0,
            batches: None,
            batch: None,
            row: 0,
        })
    }

    /// Returns the number of documents in the whole shard.
    pub fn documents(&self) -> u64 {
        self.footer.metadata().file_metadata().num_rows() as u64
    }

    /// Reads the next document over `document`, reusing its buffers; returns false after the last. On an error or at
    /// the end, the content of `document` is unspecified.
    pub fn read_into(&mut self, document: &mut ShardDocument) -> Result<bool, CorpusError> {
        loop {
            if let Some(batch) = &self.batch
                && self.row < batch.rows
            {
                batch
                    .read_into(self.row, document)
                    .map_err(|reason| not_a_shard(&self.path, reason))?;
                self.row += 1;
                return Ok(true);
            }
            if !self.advance()? {
                return Ok(false);
            }
        }
    }

    /// Makes the next batch the current one; returns false if there is none.
    fn advance(&mut self) -> Result<bool, CorpusError> {
        self.batch = None;
        self.row = 0;
        loop {
            if let Some(batches) = &mut self.batches {
                if let Some(batch) = batches.next() {
                    let batch = batch.map_err(|e| reading(&self.path, e))?;
                    let batch = ShardBatch::new(&batch, &self.metadata_names);
                    let named = |reason| not_a_shard(&self.path, reason);
                    self.batch = Some(batch.map_err(named)?);
                    return Ok(true);
                }
                self.batches = None;
            }
            if self.next_group == self.footer.metadata().num_row_groups() {
                return Ok(false);
            }
            self.batches = Some(self.open_group(self.next_group)?);
            self.next_group += 1;
        }
    }

    fn open_group(&self, group: usize) -> Result<ParquetRecordBatchReader, CorpusError> {
        let file = self.file.try_clone().map_err(CorpusError::io(&self.path))?;
        let first = FIXED_COLUMNS.len();
        let metadata = first..first + self.metadata_names.len();
        let roots: Vec<usize> = match self.columns {
            Columns::All => (0..metadata.end).chain(self.place_of(TEXT)).collect(),
            Columns::WithoutTexts => (0..metadata.end).collect(),
            Columns::Texts => [5, 6].into_iter().chain(self.place_of(TEXT)).collect(),
            Columns::Counts => vec![5, 6],
            Columns::CountsAnd(place) => vec![5, 6, first + place],
            Columns::Metadata => metadata.collect(),
            Columns::Signatures => self.place_of(SIGNATURE).into_iter().collect(),
            Columns::Status => Vec::new(),
        };
        let roots = roots.into_iter().chain([2, first - 1]);
        let mask = ProjectionMask::roots(self.footer.parquet_schema(), roots);
        ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.footer.clone())
            .with_row_groups(vec![group])
            .with_batch_size(batch_rows(self.footer.metadata().row_group(group)))
            .with_projection(mask)
            .build()
            .map_err(|e| reading(&self.path, e))
    }

    /// Returns the place of a column that not all shards have.
    fn place_of(&self, name: &str) -> Option<usize> {
        self.footer.schema().fields().iter().position(|field| field.name() == name)
    }
}

/// Returns the rows whose values take about [`BATCH_BYTES`] once decoded, 1 to [`BATCH_ROWS`].
fn batch_rows(group: &RowGroupMetaData) -> usize {
    let rows = usize::try_from(group.num_rows()).unwrap_or(0).max(1);
    let lists: i64 = group.columns()[LISTS].iter().map(|c| c.num_values()).sum();
    let bytes = 4 * lists.max(0) as usize + group.total_byte_size().max(0) as usize;
    let row_bytes = (bytes / rows).max(1);
    (BATCH_BYTES / row_bytes).clamp(1, BATCH_ROWS)
}

/// Checks the schema, and returns the names of the pass-through columns.
fn check_schema(path: &Path, footer: &ArrowReaderMetadata) -> Result<Vec<String>, CorpusError> {
    let pairs = footer.metadata().file_metadata().key_value_metadata();
    let version = pairs
        .into_iter()
        .flatten()
        .find(|pair| pair.key == FORMAT_KEY)
        .and_then(|pair| pair.value.as_deref());
    if version != Some(FORMAT_VERSION) {
        let found = version.unwrap_or("no");
        let reason = format!("its layout version is {found} instead of {FORMAT_VERSION}");
        return Err(not_a_shard(path, reason));
    }
    let fields = footer.schema().fields();
    for (index, name) in FIXED_COLUMNS.iter().enumerate() {
        if fields.get(index).is_none_or(|field| field.name() != name) {
            let reason = format!("column {index} should be {name}");
            return Err(not_a_shard(path, reason));
        }
    }
    let names = fields.iter().skip(FIXED_COLUMNS.len()).map(|field| field.name());
    let names = names.filter(|name| ![TEXT, SIGNATURE].contains(&name.as_str())).map(|name| {
        name.strip_prefix(METADATA_PREFIX)
            .map(str::to_owned)
            .ok_or_else(|| not_a_shard(path, format!("unknown column {name}")))
    });
    names.collect()
}

/// A decoded batch. The columns that were not requested are absent.
struct ShardBatch {
    rows: usize,
    status: StringArray,
    source_id: Option<StringArray>,
    group: Option<StringArray>,
    /// `tokens_total` and `tokens_stopped`.
    tokens: [Option<Int64Array>; 2],
    /// Those of [`LISTS`].
    lists: [[Option<Lists>; 2]; 3],
    duplicate_of: Int64Array,
    text: Option<StringArray>,
    signature: Option<BinaryArray>,
    /// By index; empty if none was requested.
    metadata: Vec<Option<StringArray>>,
}

/// A list<i32> column, none of whose values is negative.
struct Lists {
    ends: ListArray,
    values: Int32Array,
}

impl ShardBatch {
    fn new(batch: &RecordBatch, metadata_names: &[String]) -> Result<Self, String> {
        let metadata = metadata_names.iter();
        let metadata = metadata.map(|name| column(batch, &format!("{METADATA_PREFIX}{name}")));
        let mut metadata = metadata.collect::<Result<Vec<Option<_>>, _>>()?;
        if metadata.iter().all(Option::is_none) {
            metadata.clear();
        }
        let mut lists = <[[Option<Lists>; 2]; 3]>::default();
        for (list, name) in zip(lists.as_flattened_mut(), &FIXED_COLUMNS[LISTS]) {
            *list = Lists::new(batch, name)?;
        }
        Ok(Self {
            rows: batch.num_rows(),
            status: column(batch, "status")?.ok_or("column status is missing")?,
            source_id: column(batch, "source_id")?,
            group: column(batch, "group")?,
            tokens: [column(batch, "tokens_total")?, column(batch, "tokens_stopped")?],
            lists,
            duplicate_of: column(batch, "duplicate_of")?.ok_or("column duplicate_of is missing")?,
            text: column(batch, TEXT)?,
            signature: column(batch, SIGNATURE)?,
            metadata,
        })
    }

    fn read_into(&self, row: usize, document: &mut ShardDocument) -> Result<(), String> {
        let name = self.status.value(row);
        document.status =
            DocumentStatus::from_name(name).ok_or_else(|| format!("unknown status {name:?}"))?;
        document.source_id.clear();
        if let Some(ids) = &self.source_id {
            document.source_id.push_str(ids.value(row));
        }
        set(&mut document.group, text(self.group.as_ref(), row));
        document.metadata.resize(self.metadata.len(), None);
        for (column, value) in self.metadata.iter().zip(&mut document.metadata) {
            set(value, text(column.as_ref(), row));
        }
        let totals = [&mut document.tokens_total, &mut document.tokens_stopped];
        for (column, total) in self.tokens.iter().zip(totals) {
            let value = column.as_ref().map_or(0, |column| column.value(row));
            *total = u32::try_from(value).map_err(|_| format!("{value} tokens in a document"))?;
        }
        for (columns, mut lists) in zip(&self.lists, document.lists_mut()) {
            for (column, list) in zip(columns, &mut lists) {
                list.clear();
                list.extend_from_slice(column.as_ref().map_or(&[], |column| column.of(row)));
            }
            let [ids, counts] = lists.map(|list| list.len());
            if columns[1].is_some() && ids != counts {
                return Err(format!("a document has {ids} terms but {counts} counts"));
            }
        }
        let original = Some(&self.duplicate_of).filter(|column| column.is_valid(row));
        document.duplicate_of = original.map(|column| column.value(row) as u64);
        set(&mut document.text, text(self.text.as_ref(), row));
        document.signature.clear();
        if let Some(signatures) = &self.signature {
            document.signature.extend_from_slice(signatures.value(row));
        }
        Ok(())
    }
}

impl Lists {
    fn new(batch: &RecordBatch, name: &str) -> Result<Option<Self>, String> {
        let Some(ends) = column::<ListArray>(batch, name)? else {
            return Ok(None);
        };
        let values = ends.values().as_any().downcast_ref::<Int32Array>();
        let values = values.ok_or_else(|| format!("{name} should hold i32"))?;
        if values.values().iter().any(|&value| value < 0) {
            return Err(format!("{name} holds a negative number"));
        }
        let values = values.clone();
        Ok(Some(Self { ends, values }))
    }

    /// Returns the list of a row.
    fn of(&self, row: usize) -> &[u32] {
        let ends = self.ends.value_offsets();
        bytemuck::cast_slice(&self.values.values()[ends[row] as usize..ends[row + 1] as usize])
    }
}

fn text(column: Option<&StringArray>, row: usize) -> Option<&str> {
    let column = column.filter(|column| column.is_valid(row))?;
    Some(column.value(row))
}

/// Returns the column of this name, if it was requested.
fn column<T: Array + Clone + 'static>(
    batch: &RecordBatch,
    name: &str,
) -> Result<Option<T>, String> {
    let typed = |column: &ArrayRef| {
        let array = column.as_any().downcast_ref::<T>().cloned();
        array.ok_or_else(|| format!("column {name} has another type"))
    };
    batch.column_by_name(name).map(typed).transpose()
}

// Writes a shard: documents are buffered column by column into a record batch, batches into a row
// group; both are closed when they reach their limit of rows or bytes.

/// The compression of a shard's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardCompression {
    /// None, for drafts, which are read soon and removed.
    None,
    /// Zstandard, for shards that stay on disk.
    Zstd,
}

/// The content of a finished shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShardInfo {
    /// Rows.
    pub documents: u64,
    /// Tokens in the stored counts.
    pub tokens: u64,
    /// Documents by status, indexed by `DocumentStatus as usize`.
    pub by_status: [u64; DocumentStatus::ALL.len()],
}

/// A writer of one shard. If it is dropped before [`finish`](Self::finish), it leaves an unreadable file behind: write
/// to a temporary name and rename.
pub struct ShardWriter {
    path: PathBuf,
    schema: SchemaRef,
    writer: ArrowWriter<Writer>,
    buffer: Buffer,
    group_rows: usize,
    group_bytes: usize,
    info: ShardInfo,
}

/// Returns about the bytes of memory of a Parquet file of `rows` bytes before compression while it is written: a row
/// group and its batches.
pub fn writing_bytes(rows: u64) -> u64 {
    (2 * rows).clamp(8 << 20, 96 << 20)
}

impl ShardWriter {
    /// Creates the file (or empties it).
    pub fn create(
        path: &Path,
        columns: ShardColumns<'_>,
        compression: ShardCompression,
    ) -> Result<Self, CorpusError> {
        let file = Writer::create(path).map_err(CorpusError::io(path))?;
        let schema = Arc::new(schema(columns, has_signatures(compression)));
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties(compression)))
            .map_err(|e| writing(path, e))?;
        Ok(Self {
            path: path.to_owned(),
            schema,
            writer,
            buffer: Buffer::new(columns, has_signatures(compression)),
            group_rows: 0,
            group_bytes: 0,
            info: ShardInfo::default(),
        })
    }

    /// Appends a document. An error omits this document and nothing else, unless the disk failed.
    ///
    /// Term ids and counts must be at most `i32::MAX`, `terms` as long as `counts`, and `metadata`
    /// as long as the names given to [`create`](Self::create).
    pub fn push(&mut self, document: &ShardDocument) -> Result<(), CorpusError> {
        self.check(document)?;
        self.info.documents += 1;
        self.info.tokens += document.tokens_in_vocabulary();
        self.info.by_status[document.status as usize] += 1;
        self.buffer.push(document);
        if self.buffer.rows() >= BATCH_ROWS || self.buffer.bytes >= BATCH_BYTES {
            self.write_batch()?;
        }
        Ok(())
    }

    /// Writes the buffered documents and the footer. The file is not synced: publishing it does that.
    pub fn finish(mut self) -> Result<ShardInfo, CorpusError> {
        self.write_batch()?;
        self.writer.finish().map_err(|e| writing(&self.path, e))?;
        Ok(self.info)
    }

    fn check(&self, document: &ShardDocument) -> Result<(), CorpusError> {
        let limit = i32::MAX as u32;
        let lists = document.lists();
        let is_above = |list: &Vec<u32>| list.iter().any(|&value| value > limit);
        let reason = if lists.iter().any(|[ids, counts]| ids.len() != counts.len()) {
            "it has a different number of counts and terms"
        } else if lists.iter().any(|[ids, _]| ids.len() > i32::MAX as usize) {
            "it has more than 2,147,483,647 distinct terms"
        } else if lists.iter().any(|[ids, _]| is_above(ids)) {
            "a term id is above 2,147,483,647"
        } else if lists.iter().any(|[_, counts]| is_above(counts)) {
            "it holds a term more than 2,147,483,647 times"
        } else if document.metadata.len() != self.buffer.metadata.len() {
            "it has a different number of metadata values than the job has columns"
        } else if text_bytes(document) > DOCUMENT_TEXT_BYTES {
            "its id, group, metadata and text take more than 1 GiB"
        } else {
            return Ok(());
        };
        let id: String = document.source_id.chars().take(200).collect();
        let problem = format!("document {id:?} cannot be stored: {reason}");
        Err(CorpusError::data(&self.path, problem))
    }

    fn write_batch(&mut self) -> Result<(), CorpusError> {
        if self.buffer.rows() == 0 {
            return Ok(());
        }
        self.group_rows += self.buffer.rows();
        self.group_bytes += self.buffer.bytes;
        let batch = RecordBatch::try_new(self.schema.clone(), self.buffer.take())
            .map_err(|e| writing(&self.path, e))?;
        let written = self.writer.write(&batch).and_then(|()| {
            if self.group_rows >= GROUP_ROWS || self.group_bytes >= GROUP_BYTES {
                self.group_rows = 0;
                self.group_bytes = 0;
                self.writer.flush()?;
            }
            Ok(())
        });
        written.map_err(|e| writing(&self.path, e))
    }
}

/// A batch being filled, with a buffer per column.
struct Buffer {
    source_id: StringBuilder,
    group: StringBuilder,
    status: StringBuilder,
    tokens_total: Int64Builder,
    tokens_stopped: Int64Builder,
    lists: [ListBuilder<Int32Builder>; 6],
    duplicate_of: Int64Builder,
    metadata: Vec<StringBuilder>,
    text: Option<StringBuilder>,
    signature: Option<BinaryBuilder>,
    bytes: usize,
}

impl Buffer {
    fn new(columns: ShardColumns<'_>, has_signatures: bool) -> Self {
        let list = |_| ListBuilder::new(Int32Builder::new()).with_field(element());
        Self {
            source_id: StringBuilder::new(),
            group: StringBuilder::new(),
            status: StringBuilder::new(),
            tokens_total: Int64Builder::new(),
            tokens_stopped: Int64Builder::new(),
            lists: std::array::from_fn(list),
            duplicate_of: Int64Builder::new(),
            metadata: columns.metadata.iter().map(|_| StringBuilder::new()).collect(),
            text: columns.has_texts.then(StringBuilder::new),
            signature: has_signatures.then(BinaryBuilder::new),
            bytes: 0,
        }
    }

    fn rows(&self) -> usize {
        self.tokens_total.len()
    }

    /// Appends a document that has passed [`ShardWriter::check`].
    fn push(&mut self, document: &ShardDocument) {
        self.source_id.append_value(&document.source_id);
        self.group.append_option(document.group.as_deref());
        self.status.append_value(document.status.name());
        self.tokens_total.append_value(document.tokens_total.into());
        self.tokens_stopped.append_value(document.tokens_stopped.into());
        for (column, values) in zip(&mut self.lists, document.lists().into_iter().flatten()) {
            // All were checked: a u32 up to i32::MAX has the same bits as the i32.
            column.values().append_slice(bytemuck::cast_slice(values));
            column.append(true);
            self.bytes += 4 * values.len();
        }
        for (column, value) in self.metadata.iter_mut().zip(&document.metadata) {
            column.append_option(value.as_deref());
        }
        self.duplicate_of.append_option(document.duplicate_of.map(|number| number as i64));
        if let Some(texts) = &mut self.text {
            texts.append_option(document.text.as_deref());
        }
        if let Some(signatures) = &mut self.signature {
            signatures.append_value(&document.signature);
        }
        self.bytes += text_bytes(document) + document.signature.len();
    }

    /// Returns the columns in the schema's order, and empties the buffer.
    fn take(&mut self) -> Vec<ArrayRef> {
        self.bytes = 0;
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(self.source_id.finish()),
            Arc::new(self.group.finish()),
            Arc::new(self.status.finish()),
            Arc::new(self.tokens_total.finish()),
            Arc::new(self.tokens_stopped.finish()),
        ];
        for column in &mut self.lists {
            columns.push(Arc::new(column.finish()));
        }
        columns.push(Arc::new(self.duplicate_of.finish()));
        for column in &mut self.metadata {
            columns.push(Arc::new(column.finish()));
        }
        if let Some(texts) = &mut self.text {
            columns.push(Arc::new(texts.finish()));
        }
        if let Some(signatures) = &mut self.signature {
            columns.push(Arc::new(signatures.finish()));
        }
        columns
    }
}

fn text_bytes(document: &ShardDocument) -> usize {
    let metadata = document.metadata.iter().flatten().map(String::len);
    document.source_id.len()
        + document.group.as_ref().map_or(0, String::len)
        + document.text.as_ref().map_or(0, String::len)
        + metadata.sum::<usize>()
}

fn element() -> FieldRef {
    Arc::new(Field::new("element", DataType::Int32, false))
}

/// Only drafts have the signatures of documents.
fn has_signatures(compression: ShardCompression) -> bool {
    compression == ShardCompression::None
}

fn schema(columns: ShardColumns<'_>, has_signatures: bool) -> Schema {
    use DataType::{Binary, Int64, Utf8};
    let lists = LISTS.map(|_| DataType::List(element()));
    let kinds = [Utf8, Utf8, Utf8, Int64, Int64].into_iter().chain(lists).chain([Int64]);
    let fixed = FIXED_COLUMNS.into_iter().zip(kinds);
    let fixed = fixed.map(|(name, kind)| (name, kind, ["group", "duplicate_of"].contains(&name)));
    let fixed = fixed.map(|(name, kind, is_nullable)| Field::new(name, kind, is_nullable));
    let metadata = columns.metadata.iter();
    let metadata = metadata.map(|name| Field::new(format!("{METADATA_PREFIX}{name}"), Utf8, true));
    let text = columns.has_texts.then(|| Field::new(TEXT, Utf8, true));
    let signature = has_signatures.then(|| Field::new(SIGNATURE, Binary, false));
    Schema::new(fixed.chain(metadata).chain(text).chain(signature).collect::<Vec<_>>())
}

/// Drafts are written for speed, final shards for size. Statistics are useless, because every reader reads every row.
fn properties(compression: ShardCompression) -> WriterProperties {
    let column = |name: &str| ColumnPath::new(vec![name.into(), "list".into(), "element".into()]);
    let marker = KeyValue::new(FORMAT_KEY.to_owned(), FORMAT_VERSION.to_owned());
    let builder = WriterProperties::builder()
        .set_created_by(concat!("topicmill ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(vec![marker]))
        .set_max_row_group_row_count(None)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_dictionary_enabled(false)
        .set_column_dictionary_enabled(ColumnPath::from("status"), true)
        .set_column_dictionary_enabled(ColumnPath::from("group"), true);
    match compression {
        ShardCompression::None => builder.set_compression(Compression::UNCOMPRESSED),
        ShardCompression::Zstd => builder
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_column_encoding(column("terms"), Encoding::DELTA_BINARY_PACKED)
            .set_column_encoding(column("pruned"), Encoding::DELTA_BINARY_PACKED)
            .set_column_dictionary_enabled(column("counts"), true)
            .set_column_dictionary_enabled(column("pruned_counts"), true)
            .set_column_dictionary_enabled(column("stopped"), true)
            .set_column_dictionary_enabled(column("stopped_counts"), true),
    }
    .build()
}
