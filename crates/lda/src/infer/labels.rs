//! The labels of a document whose topics are labels: which ones, ranked by the share of its tokens that each is
//! expected to have, and how many (the Meta-Labeler of Papanikolaou 2017, §6.3).

use std::cmp::Ordering;

use super::Bag;
use crate::math::special::ln;
use crate::regression::Linear;

/// The learnt properties of labels, besides their topics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabelModel {
    /// How many labels a document has, from its [`count_features`].
    pub count: Option<Linear>,
    /// The co-occurrence of labels.
    pub topics: Option<LabelTopics>,
}

/// How many labels a document is predicted to have.
#[derive(Clone, Debug)]
pub enum LabelCount {
    /// This number.
    Fixed(usize),
    /// As many as its terms predict, at least one.
    Estimated(Linear),
    /// Those with at least this share of its tokens.
    Threshold(f32),
}

/// Returns the features from which the number of a document's labels is estimated: its terms, and ln(1 + n) of the
/// tokens of each.
pub fn count_features(bag: Bag<'_>) -> impl Iterator<Item = (u32, f32)> {
    let value = |&tokens: &u32| ln(1.0 + f64::from(tokens)) as f32;
    bag.terms.iter().copied().zip(bag.counts.iter().map(value))
}

/// Fewer expected tokens than this, with a prior of 1 or less, count as none.
const LEAST_TOKENS: f32 = 1e-5;

/// Writes the share of a document's `tokens` tokens that each label is expected to have to `shares`: θ_dk without
/// the prior's part of it, (θ_dk (N_d + A) − α_k) / N_d.
///
/// Labels are predicted by these, not by θ, because a prior that follows frequencies would put frequent labels
/// first in every short document. On bibtex, Prior-LDA ranked by θ comes close to the micro-F1 that Papanikolaou
/// 2017, Table 6, reports for θ, and without the prior's part to the one that it reports for θ^p.
fn token_shares(proportions: &[f32], alpha: &[f32], tokens: u64, shares: &mut Vec<f32>) {
    let tokens = tokens.max(1) as f32;
    let whole = tokens + alpha.iter().sum::<f32>();
    let share = |(theta, alpha): (&f32, &f32)| match theta * whole - alpha {
        // Rounding leaves a tiny remainder where there is nothing.
        expected if expected > LEAST_TOKENS * alpha.max(1.0) => expected / tokens,
        _ => 0.0,
    };
    shares.clear();
    shares.extend(proportions.iter().zip(alpha).map(share));
}

/// A ranker of the labels of documents, one after another, with the same buffers.
#[derive(Clone, Debug)]
pub struct LabelRanker {
    count: LabelCount,
    has_prior: bool,
    shares: Vec<f32>,
    predicted: Vec<u16>,
}

impl LabelRanker {
    /// Creates a ranker that predicts `count` labels; `has_prior`: whether proportions contain α
    /// ([`InferenceMethod::has_prior`](super::InferenceMethod::has_prior)).
    pub fn new(count: LabelCount, has_prior: bool) -> Self {
        Self { count, has_prior, shares: Vec::new(), predicted: Vec::new() }
    }

    /// Ranks the labels of a document with these proportions θ_dk, one per label, that were inferred with α_k.
    pub fn rank<'s>(
        &'s mut self,
        bag: Bag<'_>,
        proportions: &'s [f32],
        alpha: &[f32],
    ) -> RankedLabels<'s> {
        if self.has_prior {
            token_shares(proportions, alpha, bag.token_count(), &mut self.shares)
        } else {
            self.shares.clear();
            self.shares.extend_from_slice(proportions);
        }
        let mut predicted = std::mem::take(&mut self.predicted);
        RankedLabels { shares: &self.shares, proportions, predicted: &[] }
            .first(self.count(bag), &mut predicted);
        self.predicted = predicted;
        RankedLabels { shares: &self.shares, proportions, predicted: &self.predicted }
    }

    fn count(&self, bag: Bag<'_>) -> usize {
        let count = match &self.count {
            LabelCount::Fixed(count) => *count,
            LabelCount::Estimated(linear) => {
                let count = linear.predict(count_features(bag));
                count.round_ties_even().max(1.0) as usize
            }
            LabelCount::Threshold(least) => {
                self.shares.iter().filter(|&share| share >= least).count()
            }
        };
        count.min(self.shares.len())
    }
}

/// The labels of a document in order: by their shares, for equal shares by their proportions (many labels have no
/// token, and the prior tells them apart), and then by number.
#[derive(Clone, Copy, Debug)]
pub struct RankedLabels<'a> {
    /// The share of the document's tokens that each label is expected to have, 0–1.
    pub shares: &'a [f32],
    proportions: &'a [f32],
    /// The predicted labels: the first ones in order.
    pub predicted: &'a [u16],
}

impl RankedLabels<'_> {
    /// Returns the rank of a label, from 1.
    pub fn rank(&self, label: u16) -> u32 {
        let all = 0..self.shares.len() as u16;
        all.filter(|&other| self.compare(other, label).is_le()).count() as u32
    }

    fn compare(&self, a: u16, b: u16) -> Ordering {
        let by = |values: &[f32]| values[usize::from(b)].total_cmp(&values[usize::from(a)]);
        by(self.shares).then_with(|| by(self.proportions)).then(a.cmp(&b))
    }

    /// Writes the first `count` labels, in order, to `first`.
    fn first(&self, count: usize, first: &mut Vec<u16>) {
        first.clear();
        first.extend(0..self.shares.len() as u16);
        if count < first.len() {
            first.select_nth_unstable_by(count, |&a, &b| self.compare(a, b));
            first.truncate(count);
        }
        first.sort_unstable_by(|&a, &b| self.compare(a, b));
    }
}

/// Steps of EM for each mixture.
const STEPS: usize = 10;

/// Labels with fewer expected tokens do not count in a document's mixture.
const LEAST_PRESENT: f32 = 0.01;

/// The prior of every topic of a mixture.
const SMOOTHING: f32 = 0.1;

/// The co-occurrence of labels: topics over labels, and the prior that a document's labels have through them
/// (Dependency-LDA; Rubin, Chambers, Smyth & Steyvers 2012; Papanikolaou 2017, §2.4).
///
/// A document has a mixture θ′ of T topics over labels, φ′. Its labels have the prior of Prior-LDA, with the
/// mixture's label frequencies instead of the collection's:
///
/// ```text
/// α_dk = A Σ_t θ′_dt φ′_tk + 0.6 A / K
/// ```
///
/// Departure: θ′ is estimated from the expected tokens of each label, by EM with φ′ held fixed, in alternation with
/// the tokens given α_d; Rubin et al. sample both.
#[derive(Clone, Debug, PartialEq)]
pub struct LabelTopics {
    /// K, the number of labels, ≥ 1.
    pub labels: usize,
    /// φ′_tk, T × K, topic by topic; T ≥ 1.
    pub weights: Vec<f32>,
    /// A.
    pub alpha_sum: f32,
    /// The additional prior of every label, 0.6 A / K.
    pub shared: f32,
}

impl LabelTopics {
    /// Returns T.
    pub fn topics(&self) -> usize {
        self.weights.len() / self.labels
    }

    /// Writes α_d of a document with these expected tokens of each label to `alpha`.
    pub fn alpha(&self, tokens: &[f32], alpha: &mut Vec<f32>) {
        let topics = self.topics();
        let mut mixture = vec![1.0 / topics as f32; topics];
        let present: Vec<(usize, f32)> = (tokens.iter().copied().enumerate())
            .filter(|&(_, tokens)| tokens >= LEAST_PRESENT)
            .collect();
        for _ in 0..STEPS {
            let mut next = vec![SMOOTHING; topics];
            for &(label, tokens) in &present {
                let of_label = self.weights[label..].iter().step_by(self.labels);
                let masses: Vec<f32> = of_label.zip(&mixture).map(|(w, m)| w * m).collect();
                // Every topic has some of every label.
                let ratio = tokens / masses.iter().sum::<f32>().max(f32::MIN_POSITIVE);
                let all = next.iter_mut().zip(masses);
                all.for_each(|(next, mass)| *next += ratio * mass);
            }
            let whole: f32 = next.iter().sum();
            mixture.clear();
            mixture.extend(next.iter().map(|value| value / whole));
        }
        alpha.clear();
        alpha.resize(self.labels, self.shared);
        for (weights, share) in self.weights.chunks_exact(self.labels).zip(mixture) {
            for (alpha, weight) in alpha.iter_mut().zip(weights) {
                *alpha += self.alpha_sum * share * weight;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_without_tokens_come_by_their_prior() {
        let ranked = RankedLabels {
            shares: &[0.0, 0.4, 0.0, 0.3, 0.0],
            proportions: &[0.1, 0.3, 0.2, 0.2, 0.1],
            predicted: &[],
        };
        let ranks: Vec<u32> = (0..5).map(|label| ranked.rank(label)).collect();
        assert_eq!(ranks, [4, 1, 3, 2, 5]);
        let mut first = vec![9];
        for count in 0..=5 {
            ranked.first(count, &mut first);
            assert_eq!(first, [1, 3, 2, 0, 4][..count]);
        }
    }

    #[test]
    fn shares_are_proportions_without_their_prior() {
        let (alpha, expected) = ([6.0, 1.0, 3.0], [1.0, 3.0, 0.0]);
        let theta: Vec<f32> = alpha.iter().zip(expected).map(|(a, n)| (a + n) / 14.0).collect();
        let (terms, counts) = (&[0, 1][..], &[3, 1][..]);
        let mut ranker = LabelRanker::new(LabelCount::Threshold(0.3), true);
        let ranked = ranker.rank(Bag { terms, counts }, &theta, &alpha);
        for (share, expected) in ranked.shares.iter().zip([0.25, 0.75, 0.0]) {
            assert!((share - expected).abs() < 1e-6, "{:?}", ranked.shares);
        }
        assert_eq!(ranked.predicted, [1]);
    }

    #[test]
    fn as_many_labels_are_predicted_as_the_terms_say() {
        let linear = Linear { bias: 0.4, weights: vec![0.0, 2.0] };
        let mut ranker = LabelRanker::new(LabelCount::Estimated(linear), false);
        let theta = [0.2, 0.5, 0.3];
        for (counts, expected) in [([1, 0], &[1][..]), ([0, 1], &[1, 2]), ([0, 9], &[1, 2, 0])] {
            let terms = &[0, 1];
            let counts = &counts;
            let ranked = ranker.rank(Bag { terms, counts }, &theta, &[]);
            assert_eq!(ranked.predicted, expected);
        }
    }

    #[test]
    fn labels_that_come_together_raise_each_other() {
        let weights = vec![0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5];
        let topics = LabelTopics { labels: 4, weights, alpha_sum: 50.0, shared: 7.5 };
        let mut alpha = Vec::new();
        topics.alpha(&[8.0, 0.0, 0.0, 0.0], &mut alpha);
        assert!(alpha[1] > 30.0 && alpha[2] < 8.5, "{alpha:?}");
        assert!((alpha.iter().sum::<f32>() - 80.0).abs() < 1e-3);
        topics.alpha(&[0.0; 4], &mut alpha);
        assert_eq!(alpha, [20.0; 4]);
    }
}
