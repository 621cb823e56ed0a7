//! A dense matrix as one Parquet file: a row per term, a column of f32 per topic. Only exports are wide; the tables
//! of a result are long.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::{FileMetadata, unwritten};
use crate::failure::Failure;
use store::Writer;

/// Approximate number of values in a batch.
const BATCH_VALUES: usize = 1 << 20;

/// Writes the file: columns `term` and `topic_0` … of `topics` topics. `column` returns a topic's values for terms.
/// Each batch is a row group, so memory does not grow with the terms. The file is not synced: committing it does that.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write(
    path: &Path,
    table: &str,
    metadata: &FileMetadata,
    terms: &[String],
    topics: usize,
    column: impl Fn(usize, Range<usize>) -> Vec<f32>,
) -> Result<(), Failure> {
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
    let refuse = unwritten(path);
    let file = Writer::create(path).map_err(Failure::io(path))?;
    let mut writer =
        ArrowWriter::try_new(file, schema.clone(), Some(properties)).map_err(&refuse)?;
    let step = BATCH_VALUES.div_ceil(topics.max(1));
    for first in (0..terms.len()).step_by(step) {
        let rows = first..terms.len().min(first + step);
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values(&terms[rows.clone()]));
        let values =
            (0..topics).map(|k| Arc::new(Float32Array::from(column(k, rows.clone()))) as ArrayRef);
        let columns = std::iter::once(texts).chain(values).collect();
        let batch = RecordBatch::try_new(schema.clone(), columns);
        let batch = batch.map_err(|e| refuse(e.into()))?;
        writer.write(&batch).map_err(&refuse)?;
        writer.flush().map_err(&refuse)?;
    }
    writer.into_inner().map(drop).map_err(&refuse)
}
