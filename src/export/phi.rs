//! φ as the result publishes it, and the Parquet file with a row per term.

use super::{ExportError, Sink, Source};
use crate::checkpoint::Saved;
use crate::tables::FileMetadata;
use crate::tables::wide::WideWriter;
use lda::evaluate::TermDistribution;
use lda::model::published::{PublishedTopic, publish};
use lda::train::publish::published;

/// The topics' term distributions, α, and where they come from.
#[derive(Clone, Debug)]
pub struct Phi {
    /// Each topic's listed terms.
    pub topics: Vec<PublishedTopic>,
    /// V.
    pub vocabulary_size: usize,
    /// α_k of each topic.
    pub alpha: Vec<f64>,
    /// The model's hash.
    pub model_hash: String,
}

impl Phi {
    /// Of a finished model.
    pub(super) fn new(saved: &Saved) -> Self {
        let header = &saved.header;
        let eta = header.published_eta.unwrap_or(header.priors.eta);
        Self {
            topics: publish(&[&saved.parameters(0, 1)], &published(&header.priors, eta)),
            vocabulary_size: header.vocabulary_size,
            alpha: header.priors.alpha.clone(),
            model_hash: saved.hash.clone(),
        }
    }

    /// The topics as the mathematics takes them.
    pub(super) fn distributions(&self) -> Vec<TermDistribution<'_>> {
        let topics = self.topics.iter();
        topics
            .map(|topic| TermDistribution::of(topic, self.vocabulary_size))
            .collect()
    }

    /// φ_kw of every term of a topic, into `row`.
    pub(super) fn dense(&self, topic: &PublishedTopic, row: &mut Vec<f32>) {
        row.clear();
        row.resize(self.vocabulary_size, topic.absent_weight as f32);
        for &(term, weight) in &topic.weights {
            row[term as usize] = weight;
        }
    }
}

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
