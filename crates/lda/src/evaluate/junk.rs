//! Junk topics: topics with tokens but without information.
//!
//! After AlSumait, Barbará, Gentle & Domeniconi 2009, *Topic significance ranking of LDA generative models* (ECML
//! PKDD), who measure how far a topic is from distributions that are certainly junk: that of the whole corpus (their
//! W-Vacuous; "low-quality topics may be very similar to the global distribution", says MALLET of its `corpus_dist`),
//! and the uniform one (W-Uniform; MALLET's `uniform_dist`). Their third, even spread over the documents, does not
//! count as junk here: with few topics, or a large α, every sound topic is in every document. The spread is published
//! beside the other figures, for people to judge.

use crate::evaluate::TermDistribution;
use crate::math::special::ln;

/// A topic is junk below this share of the greatest distance that it could have.
///
/// Chosen on trained models of seven collections (20 to 1000 topics over 5000 to 40,000 terms): their
/// topics have 0.16 to 0.99 of it from the corpus and 0.15 to 0.69 of it from the uniform
/// distribution; the topics of a collection of random words have 0.02 of it from the latter.
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
    /// From the tokens of each term.
    pub fn new(term_tokens: &[u64]) -> Self {
        let all = term_tokens.iter().sum::<u64>() as f64;
        let surprisal = |&tokens: &u64| -ln(tokens as f64 / all);
        let surprisals: Vec<f64> = term_tokens.iter().map(surprisal).collect();
        let total = surprisals.iter().sum();
        Self { surprisals, total }
    }

    /// −ln p_w of a term, in nats; infinite for a term without tokens.
    pub(crate) fn surprisal(&self, term: u32) -> f64 {
        self.surprisals[term as usize]
    }

    /// How far a topic is from the corpus: the Kullback–Leibler divergence Σ_w φ_kw ln(φ_kw / p_w)
    /// in nats, MALLET's `corpus_dist`. `None` if a term has no tokens. `entropy`: the topic's.
    ///
    /// From 0 (the corpus itself) to ln(1 / share), for topics that with their shares as weights
    /// add up to the corpus: then p_w ≥ share × φ_kw, with equality where the terms are this
    /// topic's alone.
    ///
    /// # Panics
    ///
    /// If the topic and the corpus differ in their vocabulary's size.
    pub fn distance(&self, topic: &TermDistribution<'_>, entropy: f64) -> Option<f64> {
        assert_eq!(
            topic.vocabulary_size,
            self.surprisals.len(),
            "one vocabulary"
        );
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

/// How far a topic is from the uniform distribution: the Kullback–Leibler divergence
/// ln V − entropy in nats, MALLET's `uniform_dist`; from 0 (uniform) to ln V (one term).
/// `entropy`: the topic's.
pub fn uniform_distance(topic: &TermDistribution<'_>, entropy: f64) -> f64 {
    (ln(topic.vocabulary_size as f64) - entropy).max(0.0)
}

/// Whether a topic is junk: nearer to the corpus, or to the uniform distribution, than a tenth of
/// the greatest distance: ln(1 / share) from the corpus, ln V from the uniform one.
///
/// Distances in nats, as [`CorpusDistribution::distance`] and [`uniform_distance`] give them;
/// `share`: the topic's share of all tokens, above 0. A topic that has all tokens is the corpus,
/// and not junk for that.
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

    /// Half, a quarter, and twice an eighth of all tokens.
    const TERM_TOKENS: [u64; 4] = [4, 2, 1, 1];

    fn topic<'a>(entries: &'a [(u32, f32)], absent_weight: f64) -> TermDistribution<'a> {
        TermDistribution {
            entries,
            absent_weight,
            vocabulary_size: 4,
        }
    }

    fn distances(topic: &TermDistribution<'_>) -> (f64, f64) {
        let corpus = CorpusDistribution::new(&TERM_TOKENS);
        let entropy = entropy(topic);
        let distance = corpus.distance(topic, entropy).expect("all have tokens");
        (distance, uniform_distance(topic, entropy))
    }

    fn near(found: (f64, f64), expected: (f64, f64)) {
        let apart = (found.0 - expected.0)
            .abs()
            .max((found.1 - expected.1).abs());
        assert!(apart < 1e-12, "{found:?} is not {expected:?}");
    }

    #[test]
    fn distances_of_topics_worked_out_by_hand() {
        let bit = ln(2.0);
        // The corpus itself: entropy ½·1 + ¼·2 + 2·⅛·3 = 1¾ bits, of 2.
        near(
            distances(&topic(&[(0, 0.5), (1, 0.25)], 0.125)),
            (0.0, 0.25 * bit),
        );
        // Uniform: ¼ (ln ½ + ln 1 + 2 ln 2).
        near(distances(&topic(&[], 0.25)), (0.25 * bit, 0.0));
        near(
            distances(&topic(&[(0, 0.25), (3, 0.25)], 0.25)),
            (0.25 * bit, 0.0),
        );
        // One term, of an eighth of the tokens.
        near(distances(&topic(&[(2, 1.0)], 0.0)), (3.0 * bit, 2.0 * bit));
        // Half 0, a quarter each 1 and 2, where the corpus has an eighth: ¼ ln 2; 1½ bits of 2.
        let entries = [(0, 0.5), (1, 0.25), (2, 0.25)];
        near(distances(&topic(&entries, 0.0)), (0.25 * bit, 0.5 * bit));
    }

    #[test]
    fn topics_without_a_common_term_are_as_far_as_their_share_lets_them() {
        // 0 alone has half of the tokens; 1, 2 and 3 the other half.
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
