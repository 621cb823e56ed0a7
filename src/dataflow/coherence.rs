//! Coherence of the finished topics, counted on the training documents by all workers.

use std::iter;

use timely::worker::Worker;

use super::gather::{joined, sum_blocks};
use super::process::{Process, TRAINING_FILE, Tickets};
use crate::failure::Failure;
use crate::tables::topic_term_diagnostics::CountedTerm;
use corpus::minibatches::Minibatches;
use lda::evaluate::TermDistribution;
use lda::evaluate::coherence::{CoherenceCounter, UMASS_TERMS};
use lda::model::published::PublishedTopic;

/// The coherence of topics on the training documents.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Coherence {
    /// UMass and NPMI of each topic; `None` if it has too few terms.
    pub(crate) topics: Vec<(Option<f64>, Option<f64>)>,
    /// Each topic's heaviest terms, by rank.
    pub(crate) terms: Vec<Vec<CountedTerm>>,
}

/// Counts a minibatch of the training documents; returns their number.
///
/// # Errors
/// The documents cannot be read.
pub(super) fn count(
    process: &Process,
    training: &Minibatches,
    number: u64,
    counter: &mut CoherenceCounter,
) -> Result<u64, Failure> {
    let minibatch = training.read(number);
    let minibatch = minibatch.map_err(|e| process.scratch_error(TRAINING_FILE, e))?;
    minibatch.terms().for_each(|terms| counter.add_document(terms));
    Ok(minibatch.len() as u64)
}

/// Counts the topics' heaviest terms on the training documents of all processes: an idle worker
/// takes the next minibatch. Worker 0 gets the result, the others an empty one.
///
/// # Errors
/// The documents cannot be read.
pub(crate) fn coherence(
    worker: &mut Worker,
    process: &Process,
    (training, tickets): (&Minibatches, &Tickets),
    topics: &[PublishedTopic],
    vocabulary_size: usize,
) -> Result<Coherence, Failure> {
    let documents = training.document_count() as u64;
    process.progress.begin("coherence", "documents", Some(documents));
    let top: Vec<Vec<u32>> = topics
        .iter()
        .map(|t| TermDistribution::of(t, vocabulary_size).top_terms(UMASS_TERMS))
        .collect();
    let mut counter = CoherenceCounter::new(&top, vocabulary_size, UMASS_TERMS);
    let numbers = iter::from_fn(|| Some(tickets.take() as u64));
    for number in numbers.take_while(|number| *number < training.count()) {
        let documents = count(process, training, number, &mut counter)?;
        process.progress.add(documents);
    }
    let sums = sum_blocks(worker, bytemuck::cast_slice(counter.counts()));
    if worker.index() > 0 {
        return Ok(Coherence::default());
    }
    counter.replace_counts(|_| bytemuck::cast_vec(joined(&sums)));
    let finite = |value: f64| value.is_finite().then_some(value);
    let enough = |topic: usize| top[topic].len() >= 2;
    let scores = |k: usize| {
        if enough(k) { (finite(counter.umass(k)), finite(counter.npmi(k))) } else { (None, None) }
    };
    let terms = |k: usize| {
        let ranked = top[k].iter().enumerate();
        let term = |(rank, &term): (usize, &u32)| CountedTerm {
            term,
            documents: counter.document_frequency(k, rank),
            coherence: counter.term_umass(k, rank),
        };
        ranked.map(term).collect()
    };
    Ok(Coherence {
        topics: (0..topics.len()).map(scores).collect(),
        terms: (0..topics.len()).map(terms).collect(),
    })
}
