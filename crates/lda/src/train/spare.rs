//! Spare topics: training starts with more topics than requested. Halfway through the Gibbs passes, near-duplicates and
//! the least coherent topics are dissolved, and their tokens go to the others.
//!
//! With only the requested topics, some remain mixtures of unrelated subjects: the sampler rarely splits or merges topics,
//! because many documents would have to move at once. With more topics there are fewer mixtures, and their low NPMI on
//! the training documents ([`coherence`](crate::evaluate::coherence)) gives them away. If no topic is a mixture, two
//! topics may share a subject, and dissolving the least coherent topic would lose another: near-duplicates come first.
//!
//! Dissolving a topic sets its α_k to 0, so that within the next pass each of its tokens is drawn to another topic.

use crate::evaluate::coherence::{CoherenceCounter, NPMI_TERMS};
use crate::model::parameters::{Parameters, top_terms};

/// By default there is one spare topic for every five requested.
const TOPICS_A_SPARE: usize = 5;

/// The number of shared top terms, of ten, that makes two topics near-duplicates.
const SHARED_TERMS: usize = 7;

/// Returns the number of spare topics, if the settings leave it open.
pub fn default_count(topics: usize) -> usize {
    topics / TOPICS_A_SPARE
}

/// Returns a counter of the training documents in which the topics' top terms occur; `parts` are all parts of the
/// parameters.
pub fn counter(parts: &[&Parameters]) -> CoherenceCounter {
    let terms = top_terms(parts, NPMI_TERMS);
    CoherenceCounter::new(&terms, parts[0].vocabulary_size(), NPMI_TERMS)
}

/// Returns the NPMI of each topic; −1 for a topic of fewer than two terms.
fn coherence(counted: &CoherenceCounter) -> Vec<f64> {
    let npmi = |k| if counted.term_count(k) < 2 { -1.0 } else { counted.npmi(k) };
    (0..counted.topic_count()).map(npmi).collect()
}

/// Returns the mean NPMI of the topics that have not been dissolved, if there are any.
pub fn mean_coherence(counted: &CoherenceCounter, alpha: &[f64]) -> Option<f64> {
    let (coherence, kept) = (coherence(counted), kept(alpha));
    let sum: f64 = kept.iter().map(|&k| coherence[k]).sum();
    (!kept.is_empty()).then(|| sum / kept.len() as f64)
}

/// Dissolves `count` topics: first near-duplicates of more coherent topics, and then the least coherent. The most coherent
/// of several near-duplicates is treated like any other topic.
pub(super) fn dissolve(alpha: &mut [f64], counted: &CoherenceCounter, count: usize) {
    let coherence = coherence(counted);
    let mut topics: Vec<usize> = (0..alpha.len()).collect();
    topics.sort_by(|&a, &b| coherence[a].total_cmp(&coherence[b]));
    let mut is_original = vec![false; alpha.len()];
    for &k in topics.iter().rev() {
        is_original[k] = !counted.topics_sharing(SHARED_TERMS, k).any(|other| is_original[other]);
    }
    topics.sort_by_key(|&k| is_original[k]);
    topics.iter().take(count).for_each(|&k| alpha[k] = 0.0);
}

/// Returns the topics that have not been dissolved, ascending.
pub fn kept(alpha: &[f64]) -> Vec<usize> {
    (0..alpha.len()).filter(|&k| alpha[k] > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts documents of two terms each; a topic has two terms, and the more documents have both, the more coherent it is.
    #[test]
    fn the_least_coherent_topics_are_dissolved() {
        let topics = [vec![0, 1], vec![2, 3], vec![4, 5], vec![6, 7]];
        let mut counter = CoherenceCounter::new(&topics, 8, NPMI_TERMS);
        for document in [[0, 1], [0, 1], [2, 7], [3, 6], [4, 5], [4, 3], [6, 7]] {
            counter.add_document(&document);
        }
        let found = coherence(&counter);
        assert!(found[0] > found[2] && found[2] > found[3] && found[3] > found[1], "{found:?}");
        let mut alpha = vec![0.1, 0.2, 0.3, 0.4];
        dissolve(&mut alpha, &counter, 2);
        assert_eq!(alpha, [0.1, 0.0, 0.3, 0.0]);
        assert_eq!(kept(&alpha), [0, 2]);
        assert_eq!(mean_coherence(&counter, &alpha), Some((found[0] + found[2]) / 2.0));
        assert_eq!(mean_coherence(&counter, &[0.0; 4]), None);
    }

    #[test]
    fn of_near_duplicates_the_most_coherent_is_kept() {
        // The second topic shares seven terms with the first and with the third; the terms of the last never meet.
        let topics = [(0..10).collect(), (3..13).collect(), (6..16).collect(), vec![20, 21]];
        let mut counter = CoherenceCounter::new(&topics, 22, NPMI_TERMS);
        for document in [0..10, 10..16, 20..21, 21..22] {
            counter.add_document(&document.collect::<Vec<u32>>());
        }
        let mut alpha = vec![0.1; 4];
        dissolve(&mut alpha, &counter, 1);
        assert_eq!(kept(&alpha), [0, 2, 3]);
        dissolve(&mut alpha, &counter, 2);
        assert_eq!(kept(&alpha), [0, 2]);
    }

    #[test]
    fn there_is_a_spare_topic_for_every_five() {
        assert_eq!([4, 5, 100].map(default_count), [0, 1, 20]);
    }
}
