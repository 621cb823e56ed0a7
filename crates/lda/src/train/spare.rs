//! Spare topics: training starts with more topics than requested. Halfway through the Gibbs passes, the least coherent
//! are dissolved, and their tokens go to the others.
//!
//! With only the requested topics, some remain mixtures of unrelated subjects: the sampler rarely splits or merges topics,
//! because many documents would have to move at once. With more topics there are fewer mixtures, and their low NPMI on
//! the training documents ([`coherence`](crate::evaluate::coherence)) gives them away.
//!
//! Dissolving a topic sets its α_k to 0, so that within the next pass each of its tokens is drawn to another topic.

use crate::evaluate::coherence::{CoherenceCounter, NPMI_TERMS};
use crate::model::parameters::{Parameters, top_terms};

/// By default there is one spare topic for every five requested, and none below ten: with so few, the least coherent
/// topic may be the only one on its subject.
const TOPICS_A_SPARE: usize = 5;
const LEAST_TOPICS: usize = 10;

/// Returns the number of spare topics, if the settings leave it open.
pub fn default_count(topics: usize) -> usize {
    if topics < LEAST_TOPICS { 0 } else { topics / TOPICS_A_SPARE }
}

/// Returns a counter of the training documents in which the topics' top terms occur; `parts` are all parts of the
/// parameters.
pub fn counter(parts: &[&Parameters]) -> CoherenceCounter {
    let terms = top_terms(parts, NPMI_TERMS);
    CoherenceCounter::new(&terms, parts[0].vocabulary_size(), NPMI_TERMS)
}

/// Returns the NPMI of each topic; −1 for a topic of fewer than two terms.
pub fn coherence(counted: &CoherenceCounter, topics: usize) -> Vec<f64> {
    let npmi = |k| if counted.term_count(k) < 2 { -1.0 } else { counted.npmi(k) };
    (0..topics).map(npmi).collect()
}

/// Returns the mean coherence of the topics that have not been dissolved; `None` if none was counted.
pub fn mean(coherence: &[f64], alpha: &[f64]) -> Option<f64> {
    let kept = || coherence.iter().zip(alpha).filter(|(_, alpha)| **alpha > 0.0);
    let sum: f64 = kept().map(|(coherence, _)| coherence).sum();
    (kept().count() > 0).then(|| sum / kept().count() as f64)
}

/// Dissolves the `count` least coherent topics; of equally coherent ones, the first.
pub(super) fn dissolve(alpha: &mut [f64], coherence: &[f64], count: usize) {
    let mut topics: Vec<usize> = (0..alpha.len()).collect();
    topics.sort_by(|&a, &b| coherence[a].total_cmp(&coherence[b]));
    topics.iter().take(count).for_each(|&k| alpha[k] = 0.0);
}

/// Returns the topics that have not been dissolved, ascending.
pub fn kept(alpha: &[f64]) -> Vec<usize> {
    (0..alpha.len()).filter(|&k| alpha[k] > 0.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_coherent_topics_are_dissolved() {
        let mut alpha = vec![0.1, 0.2, 0.3, 0.4];
        dissolve(&mut alpha, &[0.3, 0.1, 0.1, 0.2], 1);
        assert_eq!(alpha, [0.1, 0.0, 0.3, 0.4]);
        assert_eq!(mean(&[0.25, 0.1, 0.5, 0.75], &alpha), Some(0.5));
        assert_eq!(mean(&[], &alpha), None);
        dissolve(&mut alpha, &[0.3, 0.1, 0.1, 0.2], 3);
        assert_eq!(kept(&alpha), [0]);
        assert_eq!([9, 10, 100].map(default_count), [0, 2, 20]);
    }
}
