//! Spare topics: more topics are trained than are asked for; halfway through the Gibbs passes the least coherent are
//! dissolved, and the others take their tokens.
//!
//! As many topics as were asked for, trained alone, include some that are made of unrelated documents: the sampler
//! rarely divides a topic and rarely unites two, because that means to move many documents at once. Among more topics
//! fewer are of this kind, and those can be told by their NPMI on the training documents
//! ([`coherence`](crate::evaluate::coherence)).
//!
//! A topic is dissolved by setting its α_k to 0: within the next pass each of its tokens is drawn to another topic.

use crate::evaluate::coherence::{CoherenceCounter, NPMI_TERMS};
use crate::model::parameters::{Parameters, top_terms};

/// Without a setting, one spare topic is trained for this many others, but none for fewer than the least number: few
/// topics are broad, and the least coherent of them is a subject of its own.
const TOPICS_A_SPARE: usize = 5;
const LEAST_TOPICS: usize = 10;

/// Returns the number of spare topics, if the settings leave it open.
pub fn default_count(topics: usize) -> usize {
    if topics < LEAST_TOPICS { 0 } else { topics / TOPICS_A_SPARE }
}

/// Returns a counter of the documents that contain the terms by which topics are compared. It takes any document of the
/// sample; `parts` are all parts of the parameters.
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

/// Dissolves the `count` topics of the least `coherence`; of equal ones, the first.
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
