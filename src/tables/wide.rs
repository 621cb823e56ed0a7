//! A dense matrix as one Parquet file: a row per term, a column of f32 per topic. Exports alone are
//! wide; the tables of a result are long.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{Float32Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::{FileMetadata, TableError};
use store::Writer;

/// Values in a batch, about.
const BATCH_VALUES: usize = 1 << 20;

/// Writes the file, batch by batch.
pub(crate) struct WideWriter {
    path: PathBuf,
    schema: SchemaRef,
    writer: ArrowWriter<Writer>,
    terms: StringBuilder,
    columns: Vec<Float32Builder>,
    rows: usize,
}

impl WideWriter {
    /// Creates the file (or empties it): columns `term` and `topic_0` … of `topics` topics.
    ///
    /// # Errors
    /// The disk.
    pub(crate) fn create(
        path: &Path,
        table: &str,
        topics: usize,
        metadata: &FileMetadata,
    ) -> Result<Self, TableError> {
        let term = Field::new("term", DataType::Utf8, false);
        let topic = |k| Field::new(format!("topic_{k}"), DataType::Float32, false);
        let fields = std::iter::once(term).chain((0..topics).map(topic));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let level = ZstdLevel::try_new(3).expect("3 is a level that zstd has");
        let properties = WriterProperties::builder()
            .set_created_by(concat!("topicmill ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::ZSTD(level))
            .set_dictionary_enabled(false)
            .set_key_value_metadata(Some(metadata.key_values(table)))
            .build();
        let file = Writer::create(path).map_err(|e| TableError::io(path, e))?;
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties));
        Ok(Self {
            path: path.to_owned(),
            schema,
            writer: writer.map_err(|e| TableError::parquet(path, e))?,
            terms: StringBuilder::new(),
            columns: (0..topics).map(|_| Float32Builder::new()).collect(),
            rows: 0,
        })
    }

    /// Appends a term and its value in each topic.
    ///
    /// # Errors
    /// The disk.
    pub(crate) fn push(&mut self, term: &str, values: &[f32]) -> Result<(), TableError> {
        self.terms.append_value(term);
        for (column, &value) in self.columns.iter_mut().zip(values) {
            column.append_value(value);
        }
        self.rows += 1;
        match self.rows * self.columns.len() >= BATCH_VALUES {
            true => self.write_batch(),
            false => Ok(()),
        }
    }

    /// Writes the rest and the footer. The file is not synced: committing it does that.
    ///
    /// # Errors
    /// The disk.
    pub(crate) fn finish(mut self) -> Result<(), TableError> {
        self.write_batch()?;
        let closed = self.writer.into_inner().map(|_| ());
        closed.map_err(|e| TableError::parquet(&self.path, e))
    }

    /// Each batch is a row group: memory does not grow with the rows.
    fn write_batch(&mut self) -> Result<(), TableError> {
        self.rows = 0;
        let terms: ArrayRef = Arc::new(self.terms.finish());
        let topics = self.columns.iter_mut();
        let topics = topics.map(|column| Arc::new(column.finish()) as ArrayRef);
        let columns = std::iter::once(terms).chain(topics).collect();
        let batch = RecordBatch::try_new(self.schema.clone(), columns);
        let batch = batch.map_err(|e| TableError::parquet(&self.path, e.into()))?;
        let written = self.writer.write(&batch).and_then(|()| self.writer.flush());
        written.map_err(|e| TableError::parquet(&self.path, e))
    }
}
