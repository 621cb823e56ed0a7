//! Coherence of the finished topics, counted on the training documents by all workers.

use timely::worker::Worker;

use super::process::{Process, Tickets};
use super::record::TopTerm;
use super::sum::sum;
use lda::bags::Bags;
use lda::evaluate::TermDistribution;
use lda::evaluate::coherence::{CoherenceCounter, UMASS_TERMS};
use lda::model::published::PublishedTopic;

/// Documents that a worker takes at a time.
const DOCUMENTS_A_TICKET: usize = 256;

/// What the training documents say of the topics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coherence {
    /// UMass and NPMI of each topic; `None` where it has too few terms to tell.
    pub topics: Vec<(Option<f64>, Option<f64>)>,
    /// Each topic's heaviest terms, by rank.
    pub terms: Vec<Vec<TopTerm>>,
}

/// Counts the topics' heaviest terms on the training documents of all processes.
pub fn coherence(
    worker: &mut Worker,
    process: &Process,
    tickets: &Tickets,
    training: &Bags,
    topics: &[PublishedTopic],
    vocabulary_size: usize,
) -> Coherence {
    process
        .progress
        .begin("coherence", "documents", Some(training.len() as u64));
    let top: Vec<Vec<u32>> = topics
        .iter()
        .map(|t| distribution(t, vocabulary_size).top_terms(UMASS_TERMS))
        .collect();
    let mut counter = CoherenceCounter::new(&top, vocabulary_size);
    loop {
        let from = tickets.take() * DOCUMENTS_A_TICKET;
        if from >= training.len() {
            break;
        }
        let to = (from + DOCUMENTS_A_TICKET).min(training.len());
        (from..to).for_each(|index| counter.add_document(training.bag(index).0));
        process.progress.add((to - from) as u64);
    }
    let mine: Vec<i64> = counter.counts().iter().map(|&n| n as i64).collect();
    let all: Vec<u64> = sum(worker, &mine).into_iter().map(|n| n as u64).collect();
    let mut merged = CoherenceCounter::new(&top, vocabulary_size);
    merged.add_counts(&all);
    let finite = |value: f64| value.is_finite().then_some(value);
    let enough = |topic: usize| top[topic].len() >= 2;
    let scores = |k: usize| match enough(k) {
        true => (finite(merged.umass(k)), finite(merged.npmi(k))),
        false => (None, None),
    };
    let terms = |k: usize| {
        let ranked = top[k].iter().enumerate();
        let term = |(rank, &term): (usize, &u32)| TopTerm {
            term,
            documents: merged.document_frequency(k, rank),
            coherence: merged.term_umass(k, rank),
        };
        ranked.map(term).collect()
    };
    Coherence {
        topics: (0..topics.len()).map(scores).collect(),
        terms: (0..topics.len()).map(terms).collect(),
    }
}

/// A published topic as the evaluation sees it.
pub fn distribution(topic: &PublishedTopic, vocabulary_size: usize) -> TermDistribution<'_> {
    TermDistribution {
        entries: &topic.weights,
        absent_weight: topic.absent_weight,
        vocabulary_size,
    }
}
