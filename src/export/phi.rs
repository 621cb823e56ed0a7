//! The Parquet file of φ, with a row per term.

use super::{ExportError, Sink, Source};
use crate::tables::FileMetadata;
use crate::tables::wide::WideWriter;

/// Writes φ as a table: `term`, then `topic_0`, `topic_1`, …, one row per kept term, by term id.
pub(super) fn write(source: &Source, sink: &Sink) -> Result<(), ExportError> {
    sink.check(&[])?;
    let (phi, terms) = (source.phi()?, source.terms()?);
    let metadata = FileMetadata {
        job_id: source.manifest.job_id.clone(),
        seed: source.manifest.seed,
        model_hash: Some(phi.model_hash.clone()),
        topic_count: Some(phi.topics.len()),
        vocabulary_size: Some(phi.vocabulary_size),
        ..FileMetadata::default()
    };
    sink.table(|path| {
        let mut table = WideWriter::create(path, "phi", phi.topics.len(), &metadata)?;
        let mut next = vec![0; phi.topics.len()];
        let mut row = vec![0.0; phi.topics.len()];
        for (term, text) in (0_u32..).zip(&terms) {
            for ((weight, next), topic) in row.iter_mut().zip(&mut next).zip(&phi.topics) {
                let listed = topic.weights.get(*next).filter(|entry| entry.0 == term);
                *weight = listed.map_or(topic.absent_weight as f32, |entry| entry.1);
                *next += usize::from(listed.is_some());
            }
            table.push(text, &row)?;
        }
        table.finish()
    })
}
