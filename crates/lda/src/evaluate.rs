//! The quality of a set of topics: coherence, MALLET's diagnostics, duplicate and junk topics,
//! matching with known topics, and a map of the distances between topics.
//!
//! Topics are passed as plain [`TermDistribution`]s, so that the same code evaluates a model, a table
//! read back and planted topics. Held-out likelihood (`completion`, `left_to_right`) needs inference.

pub mod assignment;
pub mod bootstrap;
pub mod coherence;
pub mod comparison;
pub mod completion;
pub mod correlation;
pub mod diagnostics;
pub mod drift;
pub mod duplicates;
pub mod junk;
pub mod labels;
pub mod left_to_right;
pub mod map;
pub mod matching;
pub mod relevance;
pub mod topic_number;

use crate::model::published::PublishedTopic;

/// One topic's term distribution φ_k, sparse: listed terms have their own weights, each other term
/// has `absent_weight`. Weights are probabilities and sum to 1 over the vocabulary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TermDistribution<'a> {
    /// (term, weight); terms are ascending, distinct and below `vocabulary_size`.
    pub entries: &'a [(u32, f32)],
    /// The probability of each term that is not listed.
    pub absent_weight: f64,
    /// The number of terms in the vocabulary, V.
    pub vocabulary_size: usize,
}

impl<'a> TermDistribution<'a> {
    /// Returns the distribution of a published topic over V = `vocabulary_size` terms.
    pub fn of(topic: &'a PublishedTopic, vocabulary_size: usize) -> Self {
        Self { entries: &topic.weights, absent_weight: topic.absent_weight, vocabulary_size }
    }

    /// Returns the number of terms that are not listed.
    fn absent_terms(&self) -> usize {
        self.vocabulary_size - self.entries.len()
    }

    /// Returns the `count` heaviest listed terms, heaviest first; ties are ordered by term.
    ///
    /// ```
    /// use lda::evaluate::TermDistribution;
    /// let topic = TermDistribution {
    ///     entries: &[(0, 0.2), (3, 0.5), (7, 0.2)],
    ///     absent_weight: 0.1 / 97.0,
    ///     vocabulary_size: 100,
    /// };
    /// assert_eq!(topic.top_terms(2), [3, 0]);
    /// ```
    pub fn top_terms(&self, count: usize) -> Vec<u32> {
        let top = self.top_entries(count).into_iter();
        top.map(|(term, _)| term).collect()
    }

    /// Returns the same terms with their weights.
    fn top_entries(&self, count: usize) -> Vec<(u32, f32)> {
        let heavier = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        let mut entries = self.entries.to_vec();
        if count < entries.len() {
            entries.select_nth_unstable_by(count, heavier);
            entries.truncate(count);
        }
        entries.sort_unstable_by(heavier);
        entries
    }
}

/// Returns a topic in which the terms that are not listed share the rest.
#[cfg(test)]
fn topic(entries: &[(u32, f32)], vocabulary_size: usize) -> TermDistribution<'_> {
    let listed: f64 = entries.iter().map(|e| f64::from(e.1)).sum();
    let absent = vocabulary_size - entries.len();
    TermDistribution {
        entries,
        absent_weight: (1.0 - listed) / absent.max(1) as f64,
        vocabulary_size,
    }
}
