//! Figures that tell good topics from bad ones without a reference corpus: size, entropy,
//! effective number of terms, exclusivity, and whether a topic is dead or a duplicate.
//!
//! The measures are those of MALLET's `TopicModelDiagnostics`, which people know, taken of the
//! smoothed φ that the tables publish (MALLET takes entropy-like ones of the raw counts).

use std::collections::BTreeMap;

use crate::evaluate::TermDistribution;
use crate::math::special::ln;

/// Top terms that exclusivity and flatness look at: MALLET's default number of top words.
pub const TOP_TERMS: usize = 20;

/// A topic with less than this share of the average topic's tokens is dead.
pub const DEAD_SHARE_OF_AVERAGE: f64 = 0.01;

/// A topic whose top terms weigh at most this many times what they would in a uniform
/// distribution is flat.
pub const FLAT_FACTOR: f64 = 3.0;

/// Top terms that, as a set, make two topics duplicates of each other.
pub const DUPLICATE_TERMS: usize = 10;

/// One topic's figures.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicDiagnostics {
    /// Share of all tokens that are in this topic; 0 when there are none at all.
    pub share: f64,
    /// See [`entropy`]; in nats.
    pub entropy: f64,
    /// See [`effective_terms`].
    pub effective_terms: f64,
    /// See [`exclusivity`].
    pub exclusivity: f64,
    /// See [`is_dead`] and [`is_flat`]: true if either holds.
    pub dead: bool,
    /// The smallest other topic with the same top terms, if that one is smaller. See [`duplicates`].
    pub duplicate_of: Option<usize>,
}

/// Every topic's figures. `tokens`: tokens (or expected tokens) assigned to each topic.
///
/// # Panics
///
/// If `topics` and `tokens` differ in length, or topics in their vocabulary's size.
pub fn diagnose(topics: &[TermDistribution<'_>], tokens: &[f64]) -> Vec<TopicDiagnostics> {
    assert_eq!(topics.len(), tokens.len(), "a token count for each topic");
    let total: f64 = tokens.iter().sum();
    let sums = column_sums(topics);
    topics
        .iter()
        .zip(tokens)
        .zip(duplicates(topics))
        .map(|((topic, &tokens), duplicate_of)| TopicDiagnostics {
            share: if total > 0.0 { tokens / total } else { 0.0 },
            entropy: entropy(topic),
            effective_terms: effective_terms(topic),
            exclusivity: exclusivity(topic, &sums),
            dead: is_dead(tokens, total, topics.len()) || is_flat(topic),
            duplicate_of,
        })
        .collect()
}

/// Entropy of a topic's term distribution, −Σ_w φ_kw ln φ_kw, in nats: from 0 (one term) to ln V.
pub fn entropy(topic: &TermDistribution<'_>) -> f64 {
    let surprise = |weight: f64| {
        if weight > 0.0 {
            -weight * ln(weight)
        } else {
            0.0
        }
    };
    let listed: f64 = topic.entries.iter().map(|e| surprise(f64::from(e.1))).sum();
    listed + topic.absent_terms() as f64 * surprise(topic.absent_weight)
}

/// Effective number of terms, 1 / Σ_w φ_kw²: how many equally likely terms would be as
/// concentrated (MALLET's `eff_num_words`; the inverse Simpson index). Not exp of the entropy,
/// which heeds the tail more.
pub fn effective_terms(topic: &TermDistribution<'_>) -> f64 {
    let square = |weight: f64| weight * weight;
    let listed: f64 = topic.entries.iter().map(|e| square(f64::from(e.1))).sum();
    1.0 / (listed + topic.absent_terms() as f64 * square(topic.absent_weight))
}

/// Σ_k φ_kw for each term, over all topics: what [`exclusivity`] compares with.
///
/// # Panics
///
/// If topics differ in their vocabulary's size.
pub fn column_sums(topics: &[TermDistribution<'_>]) -> Vec<f64> {
    let vocabulary_size = topics.first().map_or(0, |t| t.vocabulary_size);
    let absent: f64 = topics.iter().map(|t| t.absent_weight).sum();
    let mut sums = vec![absent; vocabulary_size];
    for topic in topics {
        assert_eq!(
            topic.vocabulary_size, vocabulary_size,
            "topics over one vocabulary"
        );
        for &(term, weight) in topic.entries {
            sums[term as usize] += f64::from(weight) - topic.absent_weight;
        }
    }
    sums
}

/// Exclusivity: the mean, over a topic's 20 heaviest terms, of φ_kw / Σ_k' φ_k'w (MALLET's
/// `exclusivity`; Bischof & Airoldi, ICML 2012, where the idea is from). From about 1/K, terms that all topics
/// share alike, to 1, terms that no other topic has. A topic without a listed term gets 0.
///
/// `sums`: [`column_sums`] of all topics.
pub fn exclusivity(topic: &TermDistribution<'_>, sums: &[f64]) -> f64 {
    let top = top_entries(topic, TOP_TERMS);
    if top.is_empty() {
        return 0.0;
    }
    let ratio = |&(term, weight): &(u32, f32)| f64::from(weight) / sums[term as usize];
    top.iter().map(ratio).sum::<f64>() / top.len() as f64
}

/// Whether a topic has fewer tokens than a hundredth of the average topic's.
pub fn is_dead(tokens: f64, total_tokens: f64, topic_count: usize) -> bool {
    tokens < DEAD_SHARE_OF_AVERAGE * total_tokens / topic_count as f64 || total_tokens <= 0.0
}

/// Whether a topic is nearly uniform: its 20 heaviest terms together weigh at most 3 × 20 / V. In
/// a vocabulary of up to 200 terms no topic is called flat, as the bound would mean little.
pub fn is_flat(topic: &TermDistribution<'_>) -> bool {
    if topic.vocabulary_size <= 200 {
        return false;
    }
    let top = top_entries(topic, TOP_TERMS);
    let listed: f64 = top.iter().map(|e| f64::from(e.1)).sum();
    let weight = listed + (TOP_TERMS - top.len()) as f64 * topic.absent_weight;
    weight <= FLAT_FACTOR * TOP_TERMS as f64 / topic.vocabulary_size as f64
}

/// For each topic, the smallest earlier topic whose 10 heaviest terms are the same set; a topic
/// without a listed term is nobody's duplicate.
pub fn duplicates(topics: &[TermDistribution<'_>]) -> Vec<Option<usize>> {
    let mut first_with: BTreeMap<Vec<u32>, usize> = BTreeMap::new();
    topics
        .iter()
        .enumerate()
        .map(|(topic, distribution)| {
            let mut top = distribution.top_terms(DUPLICATE_TERMS);
            top.sort_unstable();
            if top.is_empty() {
                return None;
            }
            let first = *first_with.entry(top).or_insert(topic);
            (first != topic).then_some(first)
        })
        .collect()
}

/// The `count` heaviest entries, heaviest first.
fn top_entries(topic: &TermDistribution<'_>, count: usize) -> Vec<(u32, f32)> {
    topic
        .top_terms(count)
        .into_iter()
        .filter_map(|term| {
            let place = topic.entries.binary_search_by_key(&term, |e| e.0).ok()?;
            Some(topic.entries[place])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(entries: &[(u32, f32)], vocabulary_size: usize) -> TermDistribution<'_> {
        let listed: f64 = entries.iter().map(|e| f64::from(e.1)).sum();
        let absent = (vocabulary_size - entries.len()) as f64;
        TermDistribution {
            entries,
            absent_weight: if absent > 0.0 {
                (1.0 - listed) / absent
            } else {
                0.0
            },
            vocabulary_size,
        }
    }

    #[test]
    fn entropy_and_effective_terms_of_known_distributions() {
        let one = topic(&[(2, 1.0)], 10);
        assert_eq!((entropy(&one), effective_terms(&one)), (0.0, 1.0));
        let uniform = topic(&[], 1000);
        assert!((entropy(&uniform) - ln(1000.0)).abs() < 1e-12);
        assert!((effective_terms(&uniform) - 1000.0).abs() < 1e-9);
        let halves = topic(&[(0, 0.5), (1, 0.25)], 4);
        let expected = 0.5 * ln(2.0) + 0.25 * ln(4.0) + 2.0 * 0.125 * ln(8.0);
        assert!((entropy(&halves) - expected).abs() < 1e-15);
        assert_eq!(effective_terms(&halves), 1.0 / (0.25 + 0.0625 + 2.0 / 64.0));
    }

    #[test]
    fn exclusivity_is_a_term_s_share_of_the_topics() {
        let entries = [(0, 0.75), (1, 0.25)];
        let other = [(1, 0.75), (2, 0.25)];
        let topics = [topic(&entries, 3), topic(&other, 3)];
        let sums = column_sums(&topics);
        assert_eq!(sums, [0.75, 1.0, 0.25]);
        assert_eq!(exclusivity(&topics[0], &sums), (1.0 + 0.25) / 2.0);
        assert_eq!(exclusivity(&topics[1], &sums), (0.75 + 1.0) / 2.0);
        assert_eq!(exclusivity(&topic(&[], 3), &sums), 0.0);
    }

    #[test]
    fn only_the_twenty_heaviest_terms_count() {
        let mut entries: Vec<(u32, f32)> = (0..20).map(|w| (w, 0.04)).collect();
        entries.extend((20..40).map(|w| (w, 0.01)));
        let tail: Vec<(u32, f32)> = (20..40).map(|w| (w, 0.05)).collect();
        let topics = [topic(&entries, 40), topic(&tail, 40)];
        let sums = column_sums(&topics);
        assert!((exclusivity(&topics[0], &sums) - 1.0).abs() < 1e-6);
        assert!((exclusivity(&topics[1], &sums) - 5.0 / 6.0).abs() < 1e-6);
    }

    #[test]
    fn column_sums_count_absent_weights_once() {
        let entries = [(1, 0.4), (3, 0.2)];
        let topics = [topic(&entries, 5), topic(&[], 5)];
        let sums = column_sums(&topics);
        let expected = [1.0, 3.0, 1.0, 2.0, 1.0].map(|x| 0.2 + x * 0.4 / 3.0);
        let exact = [0.4 / 3.0 + 0.2, 0.6, expected[2], 0.4, expected[4]];
        for (sum, want) in sums.iter().zip(exact) {
            assert!((sum - want).abs() < 1e-7, "{sums:?}");
        }
    }

    #[test]
    fn dead_and_flat_topics_are_called_so() {
        assert!(is_dead(0.0, 1000.0, 10) && is_dead(0.9, 1000.0, 10));
        assert!(!is_dead(1.1, 1000.0, 10));
        assert!(
            is_dead(0.0, 0.0, 10),
            "a model without tokens has no live topic"
        );
        assert!(is_flat(&topic(&[], 1000)));
        assert!(!is_flat(&topic(&[(5, 0.1)], 1000)));
        assert!(!is_flat(&topic(&[], 200)), "small vocabularies are let be");
    }

    #[test]
    fn duplicates_have_the_same_ten_terms_in_any_order() {
        let rising: Vec<(u32, f32)> = (0..10).map(|w| (w, 0.01 * (w + 1) as f32)).collect();
        let falling: Vec<(u32, f32)> = (0..10).map(|w| (w, 0.01 * (10 - w) as f32)).collect();
        let shifted: Vec<(u32, f32)> = (1..11).map(|w| (w, 0.05)).collect();
        let topics = [&shifted, &rising, &falling, &shifted].map(|e| topic(e, 50));
        assert_eq!(duplicates(&topics), [None, None, Some(1), Some(0)]);
        assert_eq!(duplicates(&[topic(&[], 9), topic(&[], 9)]), [None, None]);
    }

    #[test]
    fn diagnose_brings_the_figures_together() {
        let entries: Vec<(u32, f32)> = (0..10).map(|w| (w, 0.08)).collect();
        let topics = [topic(&entries, 300), topic(&[], 300)];
        let figures = diagnose(&topics, &[999.0, 1.0]);
        assert_eq!((figures[0].share, figures[1].share), (0.999, 0.001));
        assert_eq!((figures[0].dead, figures[1].dead), (false, true));
        assert_eq!(figures[0].duplicate_of, None);
        assert_eq!(figures[0].entropy, entropy(&topics[0]));
        assert!(figures[0].exclusivity > 0.9);
    }
}
