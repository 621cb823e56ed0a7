//! Figures that separate good topics from bad ones without a reference corpus: size, entropy,
//! effective number of terms, exclusivity, distance from the corpus, and whether a topic is dead,
//! a duplicate or junk.
//!
//! The measures are those of MALLET's `TopicModelDiagnostics`, computed from the smoothed φ that the tables publish
//! (MALLET computes the entropy-like ones from raw counts). [`terms`] has the figures of single top terms,
//! [`allocation`] those of a topic's spread over documents. Each documents its differences from MALLET.

pub mod allocation;
pub mod terms;

use crate::evaluate::TermDistribution;
use crate::evaluate::duplicates::duplicates;
use crate::evaluate::junk::{CorpusDistribution, is_junk, uniform_distance};
use crate::math::special::ln;

/// The number of top terms that exclusivity uses: MALLET's default number of top words.
pub const TOP_TERMS: usize = 20;

/// A topic with less than this share of the average topic's tokens is dead.
const DEAD_SHARE_OF_AVERAGE: f64 = 0.01;

/// One topic's figures.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicDiagnostics {
    /// The share of all tokens that are in this topic; 0 if there are no tokens.
    pub share: f64,
    /// See [`entropy`]; in nats.
    pub entropy: f64,
    /// See [`effective_terms`].
    pub effective_terms: f64,
    /// See [`exclusivity`].
    pub exclusivity: f64,
    /// See [`CorpusDistribution::distance`]; in nats.
    pub corpus_distance: Option<f64>,
    /// See [`uniform_distance`]; in nats.
    pub uniform_distance: f64,
    /// Whether the topic has fewer tokens than a hundredth of the average topic's.
    pub dead: bool,
    /// See [`duplicates`].
    pub duplicate_of: Option<usize>,
    /// See [`is_junk`]; false for a dead topic.
    pub junk: bool,
}

/// Returns every topic's figures. `tokens`: tokens (or expected tokens) assigned to each topic;
/// `term_tokens`: the collection's tokens of each term.
///
/// # Panics
///
/// Panics if `topics` and `tokens` differ in length, or topics and `term_tokens` in vocabulary size.
pub fn diagnose(
    topics: &[TermDistribution<'_>],
    tokens: &[f64],
    term_tokens: &[u64],
) -> Vec<TopicDiagnostics> {
    assert_eq!(topics.len(), tokens.len(), "a token count for each topic");
    let total: f64 = tokens.iter().sum();
    let sums = column_sums(topics);
    let corpus = CorpusDistribution::new(term_tokens);
    let dead_or_not = |&tokens: &f64| is_dead(tokens, total, topics.len());
    let dead: Vec<bool> = tokens.iter().map(dead_or_not).collect();
    let duplicates = duplicates(topics, &dead);
    let diagnosis = |topic: usize| {
        let distribution = &topics[topic];
        let share = if total > 0.0 { tokens[topic] / total } else { 0.0 };
        let entropy = entropy(distribution);
        let corpus_distance = corpus.distance(distribution, entropy);
        let from_uniform = uniform_distance(distribution, entropy);
        let vocabulary_size = distribution.vocabulary_size;
        let says_nothing = is_junk(corpus_distance, share, from_uniform, vocabulary_size);
        TopicDiagnostics {
            share,
            entropy,
            effective_terms: effective_terms(distribution),
            exclusivity: exclusivity(distribution, &sums),
            corpus_distance,
            uniform_distance: from_uniform,
            dead: dead[topic],
            duplicate_of: duplicates[topic],
            junk: says_nothing && !dead[topic],
        }
    };
    (0..topics.len()).map(diagnosis).collect()
}

/// Returns the entropy of a topic's term distribution, −Σ_w φ_kw ln φ_kw, in nats: from 0 (one
/// term) to ln V.
pub fn entropy(topic: &TermDistribution<'_>) -> f64 {
    let surprise = |weight: f64| {
        if weight > 0.0 { -weight * ln(weight) } else { 0.0 }
    };
    let listed: f64 = topic.entries.iter().map(|e| surprise(f64::from(e.1))).sum();
    listed + topic.absent_terms() as f64 * surprise(topic.absent_weight)
}

/// Returns the effective number of terms, 1 / Σ_w φ_kw²: how many equally likely terms would be as
/// concentrated (MALLET's `eff_num_words`; the inverse Simpson index). It is not exp of the
/// entropy, which gives the tail more weight.
pub fn effective_terms(topic: &TermDistribution<'_>) -> f64 {
    let square = |weight: f64| weight * weight;
    let listed: f64 = topic.entries.iter().map(|e| square(f64::from(e.1))).sum();
    1.0 / (listed + topic.absent_terms() as f64 * square(topic.absent_weight))
}

/// Returns Σ_k φ_kw for each term, over all topics, for [`exclusivity`].
///
/// # Panics
///
/// Panics if topics differ in vocabulary size.
pub fn column_sums(topics: &[TermDistribution<'_>]) -> Vec<f64> {
    let vocabulary_size = topics.first().map_or(0, |t| t.vocabulary_size);
    let absent: f64 = topics.iter().map(|t| t.absent_weight).sum();
    let mut sums = vec![absent; vocabulary_size];
    for topic in topics {
        assert_eq!(topic.vocabulary_size, vocabulary_size, "topics over one vocabulary");
        for &(term, weight) in topic.entries {
            sums[term as usize] += f64::from(weight) - topic.absent_weight;
        }
    }
    sums
}

/// Returns a topic's exclusivity: the mean of φ_kw / Σ_k' φ_k'w over its 20 heaviest terms (MALLET's `exclusivity`;
/// the idea is from Bischof & Airoldi, ICML 2012). It ranges from about 1/K, for terms that all topics share equally,
/// to 1, for terms that no other topic has. A topic without a listed term gets 0.
///
/// `sums`: [`column_sums`] of all topics.
pub fn exclusivity(topic: &TermDistribution<'_>, sums: &[f64]) -> f64 {
    let top = topic.top_entries(TOP_TERMS);
    if top.is_empty() {
        return 0.0;
    }
    let ratio = |&(term, weight): &(u32, f32)| f64::from(weight) / sums[term as usize];
    top.iter().map(ratio).sum::<f64>() / top.len() as f64
}

fn is_dead(tokens: f64, total_tokens: f64, topic_count: usize) -> bool {
    tokens < DEAD_SHARE_OF_AVERAGE * total_tokens / topic_count as f64 || total_tokens <= 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::topic;

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
    fn dead_topics_are_called_so() {
        assert!(is_dead(0.0, 1000.0, 10) && is_dead(0.9, 1000.0, 10));
        assert!(!is_dead(1.1, 1000.0, 10));
        assert!(is_dead(0.0, 0.0, 10), "a model without tokens has no live topic");
    }

    #[test]
    fn diagnose_brings_the_figures_together() {
        let entries: Vec<(u32, f32)> = (0..10).map(|w| (w, 0.08)).collect();
        let shifted: Vec<(u32, f32)> = (0..10).map(|w| (w + 10, 0.08)).collect();
        let topics = [
            topic(&entries, 300),
            topic(&shifted, 300),
            topic(&entries, 300),
            topic(&[], 300),
            topic(&[], 300),
        ];
        let mut term_tokens = [1; 300];
        term_tokens[..20].fill(35);
        let figures = diagnose(&topics, &[250.0, 500.0, 100.0, 149.0, 1.0], &term_tokens);
        assert_eq!((figures[0].share, figures[4].share), (0.25, 0.001));
        assert_eq!(
            figures.iter().map(|f| f.dead).collect::<Vec<_>>(),
            [false, false, false, false, true]
        );
        assert_eq!(
            figures.iter().map(|f| f.junk).collect::<Vec<_>>(),
            [false, false, false, true, false]
        );
        assert_eq!(
            figures.iter().map(|f| f.duplicate_of).collect::<Vec<_>>(),
            [None, None, Some(0), None, None]
        );
        assert_eq!(figures[0].entropy, entropy(&topics[0]));
        assert!(figures[1].exclusivity > 0.9 && figures[0].exclusivity < 0.5);
        // The corpus has 980 tokens: 35 of each of 20 terms, one of each of 280. The topic gives ten
        // of the former 0.08 each, and all other terms 0.2 / 290 each.
        let a = 0.2 / 290.0;
        let expected = 0.8 * ln(0.08 * 28.0) + 10.0 * a * ln(a * 28.0) + 280.0 * a * ln(a * 980.0);
        let found = figures[0].corpus_distance.expect("every term has tokens");
        assert!((found - expected).abs() < 1e-6, "{found} is not {expected}");
        let even = 0.8 * ln(0.08 * 300.0) + 290.0 * a * ln(a * 300.0);
        assert!((figures[0].uniform_distance - even).abs() < 1e-6);
    }
}
