//! Junk topics: topics with tokens but without information.
//!
//! After AlSumait, Barbará, Gentle & Domeniconi 2009, *Topic significance ranking of LDA generative models* (ECML
//! PKDD), who measure a topic's distance from distributions that are certainly junk: that of the whole corpus (their
//! W-Vacuous; MALLET says of its `corpus_dist`: "low-quality topics may be very similar to the global distribution"),
//! and the uniform one (W-Uniform; MALLET's `uniform_dist`). Their third criterion, an even spread over documents, is
//! not used: with few topics or a large α, every good topic is in every document. The spread is published with the
//! other figures for users to judge.

use crate::evaluate::TermDistribution;
use crate::math::special::ln;

/// A topic is junk below this share of its greatest possible distance.
///
/// Chosen on trained models of seven collections (20 to 1000 topics over 5000 to 40,000 terms): their
/// topics are at 0.16 to 0.99 of the greatest distance from the corpus and 0.15 to 0.69 of that from
/// the uniform distribution; topics of a collection of random words are at 0.02 of the latter.
const JUNK_SHARE_OF_GREATEST: f64 = 0.1;

/// The collection's term distribution p_w: each term's share of all tokens.
#[derive(Clone, Debug)]
pub struct CorpusDistribution {
    /// −ln p_w of each term, in nats; infinite for a term without tokens.
    surprisals: Vec<f64>,
    /// Their sum.
    total: f64,
}

impl CorpusDistribution {
    /// Computes the distribution from the tokens of each term.
    pub fn new(term_tokens: &[u64]) -> Self {
        let all = term_tokens.iter().sum::<u64>() as f64;
        let surprisal = |&tokens: &u64| -ln(tokens as f64 / all);
        let surprisals: Vec<f64> = term_tokens.iter().map(surprisal).collect();
        let total = surprisals.iter().sum();
        Self { surprisals, total }
    }

    /// Returns −ln p_w of a term, in nats; infinite for a term without tokens.
    pub(crate) fn surprisal(&self, term: u32) -> f64 {
        self.surprisals[term as usize]
    }

    /// Returns a topic's distance from the corpus: the Kullback–Leibler divergence
    /// Σ_w φ_kw ln(φ_kw / p_w) in nats, MALLET's `corpus_dist`. `None` if a term has no tokens.
    /// `entropy`: the topic's.
    ///
    /// It ranges from 0 (the corpus itself) to ln(1 / share) if the topics, weighted by their shares,
    /// add up to the corpus: then p_w ≥ share × φ_kw, with equality for terms that only this topic has.
    ///
    /// # Panics
    ///
    /// Panics if the topic and the corpus differ in vocabulary size.
    pub fn distance(&self, topic: &TermDistribution<'_>, entropy: f64) -> Option<f64> {
        assert_eq!(topic.vocabulary_size, self.surprisals.len(), "one vocabulary");
        let (mut listed, mut elsewhere) = (0.0, self.total);
        for &(term, weight) in topic.entries {
            let surprisal = self.surprisals[term as usize];
            listed += f64::from(weight) * surprisal;
            elsewhere -= surprisal;
        }
        let absent = match topic.absent_terms() {
            0 => 0.0,
            _ => topic.absent_weight * elsewhere,
        };
        let distance = listed + absent - entropy;
        distance.is_finite().then_some(distance.max(0.0))
    }
}

/// Returns a topic's distance from the uniform distribution: the Kullback–Leibler divergence
/// ln V − entropy in nats, MALLET's `uniform_dist`; from 0 (uniform) to ln V (one term).
/// `entropy`: the topic's.
pub fn uniform_distance(topic: &TermDistribution<'_>, entropy: f64) -> f64 {
    (ln(topic.vocabulary_size as f64) - entropy).max(0.0)
}

/// Returns whether a topic is junk: nearer to the corpus, or to the uniform distribution, than a
/// tenth of the greatest distance, which is ln(1 / share) from the corpus and ln V from the uniform
/// distribution.
///
/// Distances are in nats, from [`CorpusDistribution::distance`] and [`uniform_distance`]; `share` is
/// the topic's share of all tokens, above 0. A topic with all tokens equals the corpus, but is not
/// junk for that reason.
pub fn is_junk(
    corpus_distance: Option<f64>,
    share: f64,
    uniform_distance: f64,
    vocabulary_size: usize,
) -> bool {
    let farthest = -ln(share);
    let is_corpus = corpus_distance.is_some_and(|d| d < JUNK_SHARE_OF_GREATEST * farthest);
    is_corpus || uniform_distance < JUNK_SHARE_OF_GREATEST * ln(vocabulary_size as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::diagnostics::entropy;

    /// A half, a quarter, an eighth and an eighth of all tokens.
    const TERM_TOKENS: [u64; 4] = [4, 2, 1, 1];

    fn topic<'a>(entries: &'a [(u32, f32)], absent_weight: f64) -> TermDistribution<'a> {
        TermDistribution { entries, absent_weight, vocabulary_size: 4 }
    }

    fn distances(topic: &TermDistribution<'_>) -> (f64, f64) {
        let corpus = CorpusDistribution::new(&TERM_TOKENS);
        let entropy = entropy(topic);
        let distance = corpus.distance(topic, entropy).expect("all have tokens");
        (distance, uniform_distance(topic, entropy))
    }

    fn near(found: (f64, f64), expected: (f64, f64)) {
        let apart = (found.0 - expected.0).abs().max((found.1 - expected.1).abs());
        assert!(apart < 1e-12, "{found:?} is not {expected:?}");
    }

    #[test]
    fn distances_of_topics_worked_out_by_hand() {
        let bit = ln(2.0);
        // The corpus itself: entropy ½·1 + ¼·2 + 2·⅛·3 = 1¾ bits, of 2.
        near(distances(&topic(&[(0, 0.5), (1, 0.25)], 0.125)), (0.0, 0.25 * bit));
        // Uniform: ¼ (ln ½ + ln 1 + 2 ln 2).
        near(distances(&topic(&[], 0.25)), (0.25 * bit, 0.0));
        near(distances(&topic(&[(0, 0.25), (3, 0.25)], 0.25)), (0.25 * bit, 0.0));
        // One term with an eighth of the tokens.
        near(distances(&topic(&[(2, 1.0)], 0.0)), (3.0 * bit, 2.0 * bit));
        // ½ on term 0, ¼ each on 1 and 2; the corpus has ⅛ on 2: ¼ ln 2; 1½ bits of 2.
        let entries = [(0, 0.5), (1, 0.25), (2, 0.25)];
        near(distances(&topic(&entries, 0.0)), (0.25 * bit, 0.5 * bit));
    }

    #[test]
    fn topics_without_a_common_term_are_as_far_as_their_share_lets_them() {
        // Term 0 has half of the tokens; 1, 2 and 3 have the other half.
        let (first, _) = distances(&topic(&[(0, 1.0)], 0.0));
        let (second, _) = distances(&topic(&[(0, 0.0), (1, 0.5)], 0.25));
        assert!((first - ln(2.0)).abs() < 1e-12 && (second - ln(2.0)).abs() < 1e-12);
    }

    #[test]
    fn a_term_without_tokens_leaves_the_distance_open() {
        let corpus = CorpusDistribution::new(&[3, 0, 1, 1]);
        for unclear in [topic(&[(1, 0.5)], 0.5 / 3.0), topic(&[(0, 0.4)], 0.2)] {
            assert_eq!(corpus.distance(&unclear, entropy(&unclear)), None);
        }
        assert!(!is_junk(None, 0.5, 1.0, 4));
    }

    #[test]
    fn topics_near_the_corpus_or_the_uniform_distribution_are_junk() {
        let judge = |topic: TermDistribution<'_>, share: f64| {
            let (from_corpus, from_uniform) = distances(&topic);
            is_junk(Some(from_corpus), share, from_uniform, 4)
        };
        // The bounds are a tenth of ln(1 / share) from the corpus, 0.2 bits from the uniform one.
        let corpus = [(0, 0.5), (1, 0.25)];
        assert!(judge(topic(&corpus, 0.125), 0.25), "0 < 0.2 bits");
        assert!(!judge(topic(&corpus, 0.125), 1.0), "it is all there is");
        let narrower = [(0, 0.5), (1, 0.25), (2, 0.25)];
        assert!(!judge(topic(&narrower, 0.0), 0.25), "0.25 > 0.2 bits");
        assert!(judge(topic(&narrower, 0.0), 0.125), "0.25 < 0.3 bits");
        assert!(judge(topic(&[], 0.25), 0.9), "uniform");
        assert!(!judge(topic(&[(2, 1.0)], 0.0), 0.001), "one term");
    }
}
