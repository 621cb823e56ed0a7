//! Topics that repeat an earlier one.
//!
//! Comparing all pairs would take hours for 10,000 topics over a large vocabulary. Two topics of the
//! same words share top terms, so an index of top terms finds a topic's candidates.

use std::collections::BTreeMap;

use crate::evaluate::TermDistribution;
use crate::evaluate::matching::{SAME_TOPIC_WITHIN, hellinger};

/// The number of top terms that make two topics duplicates if equal as sets, and that find candidates.
const DUPLICATE_TERMS: usize = 10;

/// Maximum number of earlier topics that a topic is compared with: those that share most top terms.
const MOST_COMPARED: usize = 8;

/// Returns, for each topic, the smallest earlier topic that it repeats, if any: their 10 heaviest
/// terms are the same set, or their Hellinger distance is at most [`SAME_TOPIC_WITHIN`].
///
/// A topic is compared with the 8 earlier ones that share most of its 10 heaviest terms (ties go to
/// the smaller topic), and with none that shares none. A topic without a listed term is not a
/// duplicate. A `dead` topic is neither a duplicate nor repeated.
///
/// Takes at most 8 Hellinger distances per topic, and time proportional to the pairs that share a
/// top term.
///
/// # Panics
///
/// Panics if `topics` and `dead` differ in length, or topics in vocabulary size.
pub fn duplicates(topics: &[TermDistribution<'_>], dead: &[bool]) -> Vec<Option<usize>> {
    assert_eq!(topics.len(), dead.len(), "dead or not, for each topic");
    let mut index = TopTermIndex::new(topics.len());
    let repeated = |(topic, distribution): (usize, &TermDistribution<'_>)| {
        if dead[topic] {
            return None;
        }
        let top = distribution.top_terms(DUPLICATE_TERMS);
        let candidates = index.candidates(&top);
        let count = top.len();
        index.add(topic, top);
        let repeats = |&(earlier, shared): &(usize, usize)| {
            let same_terms = shared == count && shared == index.top_count[earlier];
            same_terms || hellinger(&topics[earlier], distribution) <= SAME_TOPIC_WITHIN
        };
        candidates.into_iter().filter(repeats).map(|c| c.0).min()
    };
    topics.iter().enumerate().map(repeated).collect()
}

/// An index from terms to the topics that have them as top terms.
struct TopTermIndex {
    /// Term → topics, ascending.
    holders: BTreeMap<u32, Vec<usize>>,
    /// Topic → its number of top terms.
    top_count: Vec<usize>,
    /// Topic → number of top terms in common with the current topic; all 0 between topics.
    shared: Vec<usize>,
}

impl TopTermIndex {
    fn new(topic_count: usize) -> Self {
        Self {
            holders: BTreeMap::new(),
            top_count: vec![0; topic_count],
            shared: vec![0; topic_count],
        }
    }

    fn add(&mut self, topic: usize, top: Vec<u32>) {
        self.top_count[topic] = top.len();
        for term in top {
            self.holders.entry(term).or_default().push(topic);
        }
    }

    /// Returns the topics so far that share most of these terms, in any order, each with the number
    /// of shared terms.
    fn candidates(&mut self, top: &[u32]) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        for &topic in top.iter().filter_map(|term| self.holders.get(term)).flatten() {
            if self.shared[topic] == 0 {
                found.push(topic);
            }
            self.shared[topic] += 1;
        }
        let mut candidates: Vec<(usize, usize)> = found
            .into_iter()
            .map(|topic| (topic, std::mem::take(&mut self.shared[topic])))
            .collect();
        if candidates.len() > MOST_COMPARED {
            candidates
                .select_nth_unstable_by(MOST_COMPARED, |a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
            candidates.truncate(MOST_COMPARED);
        }
        candidates
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::topic;

    fn of_live(topics: &[TermDistribution<'_>]) -> Vec<Option<usize>> {
        duplicates(topics, &vec![false; topics.len()])
    }

    #[test]
    fn duplicates_have_the_same_ten_terms_in_any_order() {
        let rising: Vec<(u32, f32)> = (0..10).map(|w| (w, 0.018 * (w + 1) as f32)).collect();
        let falling: Vec<(u32, f32)> = (0..10).map(|w| (w, 0.018 * (10 - w) as f32)).collect();
        let shifted: Vec<(u32, f32)> = (1..11).map(|w| (w, 0.09)).collect();
        let topics = [&shifted, &rising, &falling, &shifted].map(|e| topic(e, 50));
        assert!(hellinger(&topics[1], &topics[2]) > SAME_TOPIC_WITHIN);
        assert_eq!(of_live(&topics), [None, None, Some(1), Some(0)]);
        assert_eq!(of_live(&[topic(&[], 9), topic(&[], 9)]), [None, None]);
    }

    #[test]
    fn duplicates_are_near_each_other() {
        // Σ √(p q) is ½ + √(½ × 0.405) = 0.95 with the second, at distance √0.05 = 0.22, and
        // ½ + √(½ × 0.32) = 0.9 with the third, at distance √0.1 = 0.32.
        let first = [(0, 0.5), (1, 0.5)];
        let second = [(0, 0.5), (1, 0.405), (2, 0.095)];
        let third = [(0, 0.5), (1, 0.32), (3, 0.18)];
        let topics = [&first[..], &second, &third].map(|e| topic(e, 9));
        assert!((hellinger(&topics[0], &topics[1]) - 0.05_f64.sqrt()).abs() < 1e-6);
        assert!((hellinger(&topics[0], &topics[2]) - 0.1_f64.sqrt()).abs() < 1e-6);
        assert_eq!(of_live(&topics), [None, Some(0), None]);
    }

    #[test]
    fn topics_without_a_common_top_term_are_not_compared() {
        let weights = |from: u32| (from..from + 10).map(|w| (w, 0.0101)).collect::<Vec<_>>();
        let (first, second) = (weights(0), weights(10));
        let topics = [topic(&first, 100), topic(&second, 100)];
        assert!(hellinger(&topics[0], &topics[1]) < 0.01);
        assert_eq!(of_live(&topics), [None, None]);
    }

    #[test]
    fn dead_topics_neither_repeat_nor_are_repeated() {
        let entries: Vec<(u32, f32)> = (0..10).map(|w| (w, 0.05)).collect();
        let topics = [topic(&entries, 50); 4];
        assert_eq!(duplicates(&topics, &[true, false, true, false]), [None, None, None, Some(1)]);
    }

    #[test]
    fn those_that_share_most_are_compared() {
        // The last repeats topic 9; topics 0 to 8 share one term with it, and are far away.
        let mut entries: Vec<Vec<(u32, f32)>> =
            (0..9).map(|k| vec![(0, 0.1), (10 + 2 * k, 0.4), (11 + 2 * k, 0.5)]).collect();
        entries.push(vec![(0, 0.1), (1, 0.45), (2, 0.45)]);
        entries.push(vec![(0, 0.1), (1, 0.5), (2, 0.4)]);
        let topics: Vec<_> = entries.iter().map(|e| topic(e, 40)).collect();
        let mut expected = vec![None; 10];
        expected.push(Some(9));
        assert_eq!(of_live(&topics), expected);
        // Ten equal topics: the first is among the eight that the last is compared with.
        let alike = vec![topics[0]; 10];
        assert_eq!(of_live(&alike)[1..], [Some(0); 9]);
    }
}
