//! Proportions from a classifier: a multinomial logistic regression from term counts to topics (MaxEnt; Yao, Mimno
//! & McCallum 2009, §5.1). No iterations: one row of weights per distinct term.
//!
//! `regression` fits the weights; topicmill's `dataflow::maxent` chooses the documents that it is fitted to.

use super::settings::InferSettings;
use super::{Bag, ImpossibleDraw, InferenceMethod, Inferred, Inferrer, Target, TokenWork, gibbs};
use crate::math::random::Stream;
use crate::math::special::exp;
use crate::regression::Fitted;

/// The classifier's proportions.
pub const METHOD: InferenceMethod = InferenceMethod {
    name: "maxent",
    doc: "predicts topics from terms, by a classifier that is trained on the sample",
    work: TokenWork::Once,
    needs_classifier: true,
    inferrer: || Box::new(MaxEnt::default()),
    ..gibbs::ALONE
};

/// Prediction of proportions, document after document, with the same buffer.
#[derive(Debug, Default)]
struct MaxEnt(Vec<f32>);

impl Inferrer for MaxEnt {
    fn infer<'s>(
        &'s mut self,
        bag: Bag<'_>,
        target: Target<'s>,
        settings: &InferSettings,
        _: &mut Stream,
    ) -> Result<Inferred<'s>, ImpossibleDraw> {
        target.classifier().predict(bag, settings.temperature, &mut self.0);
        Ok(target.inferred(&self.0))
    }
}

/// A term without weights.
const NO_ROW: u32 = u32::MAX;

/// The classifier: a bias per topic, and a weight per topic for each term of the documents that it was trained on.
#[derive(Clone, Debug, PartialEq)]
pub struct Classifier {
    bias: Vec<f32>,
    /// The terms with weights, ascending.
    terms: Vec<u32>,
    /// The terms' weights, term by term, K each.
    weights: Vec<f32>,
    /// The row of each term of the vocabulary, or [`NO_ROW`].
    rows: Vec<u32>,
}

impl Classifier {
    /// Creates a classifier from its parts: `terms`, distinct, ascending and below `vocabulary_size`, and K weights
    /// for each. `None` if they do not fit together, or a number is not finite.
    pub fn new(
        vocabulary_size: usize,
        bias: Vec<f32>,
        terms: Vec<u32>,
        weights: Vec<f32>,
    ) -> Option<Self> {
        let ascend = terms.is_sorted_by(|a, b| a < b);
        let is_inside = terms.last().is_none_or(|&w| (w as usize) < vocabulary_size);
        let is_whole = !bias.is_empty() && weights.len() == terms.len() * bias.len();
        let is_finite = bias.iter().chain(&weights).all(|value| value.is_finite());
        if !(ascend && is_inside && is_whole && is_finite) {
            return None;
        }
        let mut rows = vec![NO_ROW; vocabulary_size];
        for (row, &term) in terms.iter().enumerate() {
            rows[term as usize] = row as u32;
        }
        Some(Self { bias, terms, weights, rows })
    }

    /// Creates a classifier in f32 from a regression whose features are terms. `None` if a feature is not a term of
    /// the vocabulary, or a weight is beyond f32.
    pub fn from_fitted(fitted: &Fitted, vocabulary_size: usize) -> Option<Self> {
        let narrow = |values: &[f64]| values.iter().map(|&value| value as f32).collect();
        Self::new(
            vocabulary_size,
            narrow(&fitted.bias),
            fitted.features.clone(),
            narrow(&fitted.weights),
        )
    }

    /// Returns K.
    pub fn topic_count(&self) -> usize {
        self.bias.len()
    }

    /// Returns V.
    pub fn vocabulary_size(&self) -> usize {
        self.rows.len()
    }

    /// Returns the bias of each topic.
    pub fn bias(&self) -> &[f32] {
        &self.bias
    }

    /// Returns the terms with weights, ascending.
    pub fn terms(&self) -> &[u32] {
        &self.terms
    }

    /// Returns their weights, term by term, K each.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// Writes θ̂_dk of each topic to `proportions`; they add up to 1 (Eq. 13):
    ///
    /// ```text
    /// θ̂_k ∝ exp(b_k + Σ_w n_w W_kw / τ)        τ: `temperature`, above 0
    /// ```
    ///
    /// Terms without weights are skipped. A temperature above 1 evens the proportions out.
    pub fn predict(&self, bag: Bag<'_>, temperature: f64, proportions: &mut Vec<f32>) {
        let topics = self.bias.len();
        let per_token = (1.0 / temperature) as f32;
        proportions.clear();
        proportions.extend_from_slice(&self.bias);
        for (&term, &count) in bag.terms.iter().zip(bag.counts) {
            let row = self.rows[term as usize];
            if row != NO_ROW {
                let weights = &self.weights[row as usize * topics..][..topics];
                let value = count as f32 * per_token;
                for (score, weight) in proportions.iter_mut().zip(weights) {
                    *score += value * weight;
                }
            }
        }
        softmax(proportions);
    }
}

fn softmax(scores: &mut [f32]) {
    let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        let mass = exp(f64::from(*score - largest));
        sum += mass;
        *score = mass as f32;
    }
    let scale = (1.0 / sum) as f32;
    scores.iter_mut().for_each(|score| *score *= scale);
}

/// The largest norm of an example's features; longer ones are scaled down to it.
const MOST_NORM: f64 = 8192.0;

/// Returns the features of a document for the regression: its terms and their counts. Those of a giant document,
/// whose Euclidean norm is beyond 8,192, are scaled down to it, because its slope would hide those of all others
/// from the line search, and the fit would end where it starts.
pub fn features(bag: Bag<'_>) -> impl Iterator<Item = (u32, f32)> {
    let counts = bag.counts.iter().map(|&n| f64::from(n));
    let norm = counts.map(|n| n * n).sum::<f64>().sqrt();
    let scale = (MOST_NORM / norm.max(MOST_NORM)) as f32;
    let pairs = bag.terms.iter().zip(bag.counts);
    pairs.map(move |(&term, &count)| (term, count as f32 * scale))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::special::ln;

    /// Weights are logarithms, so that proportions are easily predicted: topic 1 is twice as likely from the start,
    /// term 2 favours topic 0 by 8 to 1, and term 5 favours topic 2 by 2 to 1.
    fn classifier() -> Classifier {
        let log = |value: f64| ln(value) as f32;
        let bias = vec![0.0, log(2.0), 0.0];
        let weights = vec![log(8.0), 0.0, 0.0, 0.0, 0.0, log(2.0)];
        Classifier::new(7, bias, vec![2, 5], weights).unwrap()
    }

    fn predicted(terms: &[u32], counts: &[u32], temperature: f64) -> Vec<f32> {
        let mut proportions = vec![0.5; 9];
        classifier().predict(Bag { terms, counts }, temperature, &mut proportions);
        let sum: f32 = proportions.iter().sum();
        assert!((sum - 1.0).abs() < 1e-6);
        proportions
    }

    fn near(found: &[f32], expected: [f32; 3]) {
        let sum: f32 = expected.iter().sum();
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected / sum).abs() < 1e-6, "{found} {expected}");
        }
    }

    #[test]
    fn proportions_are_the_softmax_of_counted_weights() {
        near(&predicted(&[2, 3, 5], &[1, 9, 2], 1.0), [8.0, 2.0, 4.0]);
        // A temperature of 3 takes the cube root of the terms' odds, not of the bias.
        near(&predicted(&[2], &[1], 3.0), [2.0, 2.0, 1.0]);
        near(&predicted(&[2], &[1], 0.5), [64.0, 2.0, 1.0]);
    }

    #[test]
    fn without_known_terms_the_bias_is_all_there_is() {
        near(&predicted(&[], &[], 1.0), [1.0, 2.0, 1.0]);
        near(&predicted(&[0, 6], &[3, 4], 1.0), [1.0, 2.0, 1.0]);
    }

    #[test]
    fn a_very_long_document_gives_no_overflow() {
        near(&predicted(&[2], &[4_000_000], 0.01), [1.0, 0.0, 0.0]);
    }

    #[test]
    fn a_regression_and_its_classifier_say_the_same() {
        let fitted = Fitted {
            features: vec![1, 3],
            weights: vec![0.5, -0.5, -1.25, 1.25],
            bias: vec![0.125, -0.125],
            loss: 0.0,
            iterations: 0,
            is_converged: true,
        };
        let classifier = Classifier::from_fitted(&fitted, 4).unwrap();
        let (mut expected, mut found) = (Vec::new(), Vec::new());
        fitted.predict([(1, 2.0), (3, 1.0)], &mut expected);
        let (terms, counts) = ([1, 2, 3], [2, 8, 1]);
        let bag = Bag { terms: &terms, counts: &counts };
        classifier.predict(bag, 1.0, &mut found);
        for (found, expected) in found.iter().zip(&expected) {
            assert!((f64::from(*found) - expected).abs() < 1e-6);
        }
        assert_eq!(Classifier::from_fitted(&fitted, 3), None);
    }

    #[test]
    fn parts_that_do_not_fit_make_no_classifier() {
        let new = |terms: &[u32], weights: &[f32]| {
            Classifier::new(5, vec![0.0; 2], terms.to_vec(), weights.to_vec())
        };
        assert!(new(&[1, 4], &[0.0; 4]).is_some() && new(&[], &[]).is_some());
        assert!(new(&[1, 4], &[0.0; 3]).is_none() && new(&[1, 5], &[0.0; 4]).is_none());
        assert!(new(&[2, 2], &[0.0; 4]).is_none() && new(&[1], &[0.0, f32::NAN]).is_none());
        assert!(Classifier::new(5, vec![], vec![], vec![]).is_none());
    }

    #[test]
    fn a_giant_document_does_not_keep_the_others_from_being_learnt() {
        use crate::math::random::{Stage, Stream};
        use crate::math::special::ln;
        use crate::regression::{Examples, Settings, fit};
        for (classes, terms, giant) in [(5, 20, 1_000_000), (5, 2000, 10_000), (20, 2000, 1000)] {
            let mut stream = Stream::keyed(5, Stage::Synth, 1, 2);
            let mut examples = Examples::new(classes);
            let target = |class: usize, share: f32| {
                let mut target = vec![(1.0 - share) / (classes - 1) as f32; classes];
                target[class] = share;
                target
            };
            let all: Vec<u32> = (0..terms).collect();
            let counts: Vec<u32> =
                all.iter().map(|_| giant + stream.below(giant.into()) as u32).collect();
            let bag = Bag { terms: &all, counts: &counts };
            examples.push(features(bag), &target(0, 0.9));
            for class in (0..classes).cycle().take(200) {
                let terms = [stream.below(terms.into()) as u32, 5000 + class as u32];
                let bag = Bag { terms: &terms, counts: &[1, 3] };
                assert_eq!(features(bag).collect::<Vec<_>>(), [(terms[0], 1.0), (terms[1], 3.0)]);
                examples.push(features(bag), &target(class, 0.8));
            }
            let fitted = fit(&examples, &Settings::default(), &mut |_| {}).unwrap();
            assert!(
                fitted.loss < 0.6 * ln(classes as f64),
                "{classes} {terms} {giant}: {}",
                fitted.loss
            );
        }
    }
}
