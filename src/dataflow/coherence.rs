//! Coherence of the finished topics, counted on the training documents by all workers.

use timely::worker::Worker;

use super::process::{Process, Tickets};
use super::sum::sum;
use crate::corpus::sample::Bags;
use crate::evaluate::TermDistribution;
use crate::evaluate::coherence::{CoherenceCounter, UMASS_TERMS};
use crate::model::published::PublishedTopic;

/// Documents that a worker takes at a time.
const DOCUMENTS_A_TICKET: usize = 256;

/// UMass and NPMI coherence of each topic; `None` where a topic has too few terms to tell.
pub fn coherence(
    worker: &mut Worker,
    process: &Process,
    tickets: &Tickets,
    training: &Bags,
    topics: &[PublishedTopic],
    vocabulary_size: usize,
) -> Vec<(Option<f64>, Option<f64>)> {
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
    (0..topics.len())
        .map(|k| match enough(k) {
            true => (finite(merged.umass(k)), finite(merged.npmi(k))),
            false => (None, None),
        })
        .collect()
}

/// A published topic as the evaluation sees it.
pub fn distribution(topic: &PublishedTopic, vocabulary_size: usize) -> TermDistribution<'_> {
    TermDistribution {
        entries: &topic.weights,
        absent_weight: topic.absent_weight,
        vocabulary_size,
    }
}
