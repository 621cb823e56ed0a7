//! φ as one wide Parquet file: a row per term, a column of f32 per topic. Only exports are wide; the tables of a result
//! are long.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;

use super::phi::PublishedPhi;
use super::writer::base_properties;
use super::{FileMetadata, unwritten};
use crate::failure::Failure;
use lda::model::published::PublishedTopic;
use store::Writer;

/// Approximate number of values in a batch.
const BATCH_VALUES: usize = 1 << 20;

/// Writes φ: columns `term`, `topic_0`, `topic_1`, …, one row per kept term, by term id. Each batch is a row group, so
/// memory does not grow with the terms. The file is not synced: committing it does that.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write(
    path: &Path,
    metadata: &FileMetadata,
    phi: &PublishedPhi,
) -> Result<(), Failure> {
    let term = Field::new("term", DataType::Utf8, false);
    let topic = |k| Field::new(format!("topic_{k}"), DataType::Float32, false);
    let fields = std::iter::once(term).chain((0..phi.topics.len()).map(topic));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let properties = base_properties("phi", metadata).set_dictionary_enabled(false).build();
    let refuse = unwritten(path);
    let file = Writer::create(path).map_err(Failure::io(path))?;
    let mut writer =
        ArrowWriter::try_new(file, schema.clone(), Some(properties)).map_err(&refuse)?;
    let step = BATCH_VALUES.div_ceil(phi.topics.len().max(1));
    for first in (0..phi.terms.len()).step_by(step) {
        let rows = first..phi.terms.len().min(first + step);
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values(&phi.terms[rows.clone()]));
        let column = |topic: &PublishedTopic| {
            let mut values = vec![topic.absent_weight as f32; rows.len()];
            let start = topic.weights.partition_point(|entry| (entry.0 as usize) < rows.start);
            let listed = topic.weights[start..].iter();
            for &(term, weight) in listed.take_while(|entry| (entry.0 as usize) < rows.end) {
                values[term as usize - rows.start] = weight;
            }
            Arc::new(Float32Array::from(values)) as ArrayRef
        };
        let columns = std::iter::once(texts).chain(phi.topics.iter().map(column)).collect();
        let batch = RecordBatch::try_new(schema.clone(), columns);
        writer.write(&batch.map_err(|e| refuse(e.into()))?).map_err(&refuse)?;
        writer.flush().map_err(&refuse)?;
    }
    writer.into_inner().map(drop).map_err(&refuse)
}
