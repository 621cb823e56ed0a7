//! One Parquet part of any table. Rows are buffered into small batches, batches into row groups that are closed when
//! full, and the bytes are hashed as they are written, so that the manifest needs no second read. Memory is bounded
//! by a row group.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::schema::types::ColumnPath;
use serde::{Deserialize, Serialize};
use sha2::Digest;

use super::schema::{Builder, Kind, Row, TableSpec};
use super::{FileMetadata, unwritten};
use crate::checkpoint::Hashing;
use crate::failure::Failure;
use corpus::value_type::ValueType;

/// Maximum number of rows in a batch.
const BATCH_ROWS: usize = 8192;
/// Bytes of text after which a batch is closed.
const BATCH_TEXT_BYTES: usize = 8 << 20;
/// Maximum number of rows in a row group.
const GROUP_ROWS: usize = 1 << 20;
/// Encoded bytes after which a row group is closed.
const GROUP_BYTES: usize = 64 << 20;
/// How often a Bloom filter does not tell that a row group lacks a value: rarely enough that a thousand new ids are
/// compared with few of the parts.
const LOOKED_UP_IN_VAIN: f64 = 1e-5;
/// Maximum number of bytes of text in one row: Arrow's offsets are 32 bits wide.
const ROW_TEXT_BYTES: usize = 1 << 30;

/// A finished part, as the manifest records it; serializable, so that processes can exchange it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartInfo {
    pub(crate) rows: u64,
    /// Size of the file.
    pub(crate) bytes: u64,
    /// SHA-256 of the file, in hexadecimal.
    pub(crate) sha256: String,
}

/// Writes a part of a table from its rows.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write_part<R: Row>(
    path: &Path,
    metadata: &FileMetadata,
    rows: impl IntoIterator<Item = R>,
) -> Result<PartInfo, Failure> {
    let mut writer = TableWriter::create(path, &R::SPEC, metadata)?;
    for row in rows {
        writer.push(&row)?;
    }
    writer.finish()
}

/// Writes a part of a table, row by row, in bounded memory.
pub struct TableWriter {
    table: &'static str,
    path: PathBuf,
    schema: SchemaRef,
    writer: ArrowWriter<Hashing<store::Writer>>,
    builders: Vec<Builder>,
    /// The types of the further columns.
    extra: Vec<ValueType>,
    batch_rows: usize,
    batch_text_bytes: usize,
    rows: u64,
}

impl TableWriter {
    /// Creates the file, or empties it.
    ///
    /// # Errors
    /// The file cannot be written; the same for the methods below.
    pub fn create(path: &Path, spec: &TableSpec, metadata: &FileMetadata) -> Result<Self, Failure> {
        Self::with_columns(path, spec, &[], metadata)
    }

    /// Creates the file with the further columns `extra`.
    pub(crate) fn with_columns(
        path: &Path,
        spec: &TableSpec,
        extra: &[(String, ValueType)],
        metadata: &FileMetadata,
    ) -> Result<Self, Failure> {
        let schema = Arc::new(spec.schema(extra));
        let file = Hashing::new(store::Writer::create(path).map_err(Failure::io(path))?);
        let properties = properties(spec, metadata);
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties))
            .map_err(unwritten(path))?;
        let kinds = spec.columns.iter().map(|column| column.kind);
        let extra: Vec<ValueType> = extra.iter().map(|(_, value_type)| *value_type).collect();
        let extra_kinds = extra.iter().map(|value_type| Kind::of_values(*value_type));
        Ok(Self {
            table: spec.name,
            path: path.to_owned(),
            schema,
            writer,
            builders: kinds.chain(extra_kinds).map(Builder::new).collect(),
            extra,
            batch_rows: 0,
            batch_text_bytes: 0,
            rows: 0,
        })
    }

    /// Appends a row of the table. After an error the part is lost.
    pub fn push(&mut self, row: &impl Row) -> Result<(), Failure> {
        self.push_with(row, &[])
    }

    /// Appends a row and the values of the further columns.
    pub(crate) fn push_with<R: Row>(
        &mut self,
        row: &R,
        extra: &[Option<String>],
    ) -> Result<(), Failure> {
        debug_assert_eq!(R::SPEC.name, self.table, "a row of the table");
        let (own, others) = self.builders.split_at_mut(R::SPEC.columns.len());
        if extra.len() != others.len() {
            let message = format!("{} metadata values for {} columns", extra.len(), others.len());
            return Err(Failure::file(&self.path, message));
        }
        let extra_bytes: usize = extra.iter().flatten().map(String::len).sum();
        if extra_bytes > ROW_TEXT_BYTES {
            let message = "a row has more than 1 GiB of metadata; name fewer columns in the job";
            return Err(Failure::file(&self.path, message));
        }
        self.batch_text_bytes += row.append(own);
        for ((builder, value_type), value) in others.iter_mut().zip(&self.extra).zip(extra) {
            self.batch_text_bytes += builder.append_value(*value_type, value.as_deref());
        }
        self.rows += 1;
        self.batch_rows += 1;
        if self.batch_rows == BATCH_ROWS || self.batch_text_bytes >= BATCH_TEXT_BYTES {
            self.write_batch()?;
        }
        Ok(())
    }

    /// Writes the remaining rows and the footer. The file is not synced; publishing it does that.
    pub fn finish(mut self) -> Result<PartInfo, Failure> {
        self.write_batch()?;
        let file = self.writer.into_inner().map_err(unwritten(&self.path))?;
        Ok(PartInfo {
            rows: self.rows,
            bytes: file.bytes,
            sha256: hex::encode(file.hash.finalize()),
        })
    }

    fn write_batch(&mut self) -> Result<(), Failure> {
        if self.batch_rows == 0 {
            return Ok(());
        }
        self.batch_rows = 0;
        self.batch_text_bytes = 0;
        let columns = self.builders.iter_mut().map(Builder::finish).collect();
        RecordBatch::try_new(self.schema.clone(), columns)
            .map_err(|e| unwritten(&self.path)(e.into()))
            .and_then(|batch| self.writer.write(&batch).map_err(unwritten(&self.path)))
    }
}

/// Returns what all files have in common: the compression, the program, the origin.
pub(super) fn base_properties(table: &str, metadata: &FileMetadata) -> WriterPropertiesBuilder {
    let level = ZstdLevel::try_new(3).expect("3 is a level that zstd has");
    WriterProperties::builder()
        .set_created_by(concat!("topicmill ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::ZSTD(level))
        .set_key_value_metadata(Some(metadata.key_values(table)))
}

fn properties(spec: &TableSpec, metadata: &FileMetadata) -> WriterProperties {
    let position = |name: &&str| spec.columns.iter().position(|c| c.name == *name);
    let sorting = spec.sorted_by.iter().filter_map(position).map(|index| SortingColumn {
        column_idx: index as i32,
        descending: false,
        nulls_first: false,
    });
    let mut builder = base_properties(spec.name, metadata)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_max_row_group_bytes(Some(GROUP_BYTES))
        .set_sorting_columns(Some(sorting.collect()).filter(|s: &Vec<_>| !s.is_empty()));
    for column in spec.columns {
        builder = encode(builder, column.name, column.kind);
    }
    for name in spec.looked_up_by {
        let path = ColumnPath::from(*name);
        builder = builder
            .set_column_bloom_filter_fpp(path.clone(), LOOKED_UP_IN_VAIN)
            .set_column_bloom_filter_max_ndv(path, GROUP_ROWS as u64);
    }
    builder.build()
}

/// Chooses a column's encoding: ascending ids are stored as differences, floats byte by byte (which compresses far
/// better); everything else keeps Parquet's dictionary.
fn encode(builder: WriterPropertiesBuilder, name: &str, kind: Kind) -> WriterPropertiesBuilder {
    let path = ColumnPath::from(name);
    let encoding = match kind {
        Kind::I64 if name == "doc_id" => Encoding::DELTA_BINARY_PACKED,
        Kind::F32 | Kind::F64 => Encoding::BYTE_STREAM_SPLIT,
        _ => return builder,
    };
    builder.set_column_dictionary_enabled(path.clone(), false).set_column_encoding(path, encoding)
}
