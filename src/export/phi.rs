//! The Parquet file of φ, with a row per term.

use std::ops::Range;

use super::Sink;
use crate::failure::Failure;
use crate::result::OpenedResult;
use crate::tables::FileMetadata;
use crate::tables::wide;

/// Writes φ as a table: `term`, then `topic_0`, `topic_1`, …, one row per kept term, by term id.
pub(super) fn write(result: &OpenedResult, sink: &Sink) -> Result<(), Failure> {
    sink.check()?;
    let (phi, manifest) = (result.phi()?, result.manifest()?);
    let metadata = FileMetadata {
        job_id: manifest.job_id,
        seed: manifest.seed,
        model_hash: phi.model_hash.clone(),
        topic_count: Some(phi.topics.len()),
        vocabulary_size: Some(phi.terms.len()),
        ..FileMetadata::default()
    };
    let column = |topic: usize, terms: Range<usize>| {
        let topic = &phi.topics[topic];
        let mut values = vec![topic.absent_weight as f32; terms.len()];
        let first = topic.weights.partition_point(|entry| (entry.0 as usize) < terms.start);
        let listed = topic.weights[first..].iter();
        for &(term, weight) in listed.take_while(|entry| (entry.0 as usize) < terms.end) {
            values[term as usize - terms.start] = weight;
        }
        values
    };
    sink.table(|path| wide::write(path, "phi", &metadata, &phi.terms, phi.topics.len(), column))
}
