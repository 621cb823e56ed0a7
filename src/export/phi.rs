//! The Parquet file of φ, with a row per term.

use std::ops::Range;

use super::{Sink, Source};
use crate::failure::Failure;
use crate::tables::FileMetadata;
use crate::tables::wide;

/// Writes φ as a table: `term`, then `topic_0`, `topic_1`, …, one row per kept term, by term id.
pub(super) fn write(source: &Source, sink: &Sink) -> Result<(), Failure> {
    sink.check()?;
    let (phi, terms) = (source.phi()?, source.terms()?);
    let metadata = FileMetadata {
        job_id: source.manifest.job_id.clone(),
        seed: source.manifest.seed,
        model_hash: Some(phi.model_hash.clone()),
        topic_count: Some(phi.topics.len()),
        vocabulary_size: Some(phi.vocabulary_size),
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
    sink.table(|path| wide::write(path, "phi", &metadata, &terms, phi.topics.len(), column))
}
