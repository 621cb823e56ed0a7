//! Writes a shard: documents are buffered column by column into a record batch, batches into a row
//! group; both are closed when they reach their limit of rows or bytes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{ArrayBuilder, Int32Builder, Int64Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use super::{
    BATCH_BYTES, BATCH_ROWS, DOCUMENT_TEXT_BYTES, FIXED_COLUMNS, FORMAT_KEY, FORMAT_VERSION,
    GROUP_BYTES, GROUP_ROWS, METADATA_PREFIX, writing,
};
use crate::{CorpusError, DocumentStatus, ShardDocument};
use store::Writer;

/// The compression of a shard's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardCompression {
    /// None, for drafts, which are read once and removed.
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
    /// Creates the file (or empties it). `metadata_names` are the pass-through columns, in the order of every
    /// document's `metadata`.
    pub fn create(
        path: &Path,
        metadata_names: &[String],
        compression: ShardCompression,
    ) -> Result<Self, CorpusError> {
        let file = Writer::create(path).map_err(CorpusError::io(path))?;
        let schema = Arc::new(schema(metadata_names));
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties(compression)))
            .map_err(|e| writing(path, e))?;
        Ok(Self {
            path: path.to_owned(),
            schema,
            writer,
            buffer: Buffer::new(metadata_names.len()),
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
        let reason = if document.terms.len() != document.counts.len() {
            "it has a different number of counts and terms"
        } else if document.terms.len() > i32::MAX as usize {
            "it has more than 2,147,483,647 distinct terms"
        } else if document.terms.iter().chain(&document.pruned).any(|&t| t > limit) {
            "a term id is above 2,147,483,647"
        } else if document.counts.iter().any(|&c| c > limit) {
            "it holds a term more than 2,147,483,647 times"
        } else if document.metadata.len() != self.buffer.metadata.len() {
            "it has a different number of metadata values than the job has columns"
        } else if text_bytes(document) > DOCUMENT_TEXT_BYTES {
            "its id, group and metadata take more than 1 GiB"
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
    terms: ListBuilder<Int32Builder>,
    counts: ListBuilder<Int32Builder>,
    pruned: ListBuilder<Int32Builder>,
    metadata: Vec<StringBuilder>,
    bytes: usize,
}

impl Buffer {
    fn new(metadata_count: usize) -> Self {
        let list = || ListBuilder::new(Int32Builder::new()).with_field(element());
        Self {
            source_id: StringBuilder::new(),
            group: StringBuilder::new(),
            status: StringBuilder::new(),
            tokens_total: Int64Builder::new(),
            tokens_stopped: Int64Builder::new(),
            terms: list(),
            counts: list(),
            pruned: list(),
            metadata: (0..metadata_count).map(|_| StringBuilder::new()).collect(),
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
        for (column, values) in [
            (&mut self.terms, &document.terms),
            (&mut self.counts, &document.counts),
            (&mut self.pruned, &document.pruned),
        ] {
            // Both ranges were checked: a u32 up to i32::MAX has the same bits as the i32.
            column.values().append_slice(bytemuck::cast_slice(values));
            column.append(true);
        }
        for (column, value) in self.metadata.iter_mut().zip(&document.metadata) {
            column.append_option(value.as_deref());
        }
        self.bytes += 8 * document.terms.len() + 4 * document.pruned.len() + text_bytes(document);
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
            Arc::new(self.terms.finish()),
            Arc::new(self.counts.finish()),
            Arc::new(self.pruned.finish()),
        ];
        for column in &mut self.metadata {
            columns.push(Arc::new(column.finish()));
        }
        columns
    }
}

fn text_bytes(document: &ShardDocument) -> usize {
    let metadata = document.metadata.iter().flatten().map(String::len);
    document.source_id.len()
        + document.group.as_ref().map_or(0, String::len)
        + metadata.sum::<usize>()
}

fn element() -> FieldRef {
    Arc::new(Field::new("element", DataType::Int32, false))
}

fn schema(metadata_names: &[String]) -> Schema {
    use DataType::{Int64, Utf8};
    let list = || DataType::List(element());
    let kinds = [Utf8, Utf8, Utf8, Int64, Int64, list(), list(), list()];
    let fixed = FIXED_COLUMNS.into_iter().zip(kinds);
    let fixed = fixed.map(|(name, kind)| Field::new(name, kind, name == "group"));
    let metadata = metadata_names.iter();
    let metadata = metadata.map(|name| Field::new(format!("{METADATA_PREFIX}{name}"), Utf8, true));
    Schema::new(fixed.chain(metadata).collect::<Vec<_>>())
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
            .set_column_dictionary_enabled(column("counts"), true),
    }
    .build()
}
