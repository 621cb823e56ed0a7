//! Drift: how far new documents have moved from those that a model was trained on.
//!
//! Yao, Mimno & McCallum 2009 §6.2: "the training set should contain roughly 70 % of the distinct word
//! types in the 'new' documents"; below that, inferred topics get worse, and the paper advises
//! retraining. Terms pruned as rare count: most terms that occur only in new documents are rare, and
//! without them the share is always near 1. Terms removed as stop words or as too frequent do not
//! count. Shifts of tokens, topics and likelihood are reported with the share.
//!
//! Documents are summed in integers ([`DriftSums`]), in any order; the figures are computed from the
//! sums and a reference, the sums of the training documents.

use serde::{Deserialize, Serialize};

use crate::math::special::ln;

/// The share of known distinct terms below which the paper advises retraining.
pub const LEAST_KNOWN_SHARE: f64 = 0.7;

/// A set of terms as a bit set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TermSet(Vec<u64>);

impl TermSet {
    /// Creates an empty set of terms below `term_count`.
    pub fn new(term_count: usize) -> Self {
        Self(vec![0; term_count.div_ceil(64)])
    }

    /// Adds a term.
    ///
    /// # Panics
    ///
    /// Panics if it is not below `term_count`, rounded up to a multiple of 64.
    pub fn insert(&mut self, term: u32) {
        self.0[term as usize / 64] |= 1 << (term % 64);
    }

    /// Returns whether it contains a term.
    pub fn contains(&self, term: u32) -> bool {
        let word = self.0.get(term as usize / 64);
        word.is_some_and(|bits| bits >> (term % 64) & 1 == 1)
    }

    /// Returns the number of terms in it.
    pub fn len(&self) -> usize {
        self.0.iter().map(|bits| bits.count_ones() as usize).sum()
    }

    /// Returns whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&bits| bits == 0)
    }

    /// Returns the number of terms that are in both.
    pub fn common(&self, other: &Self) -> usize {
        let pairs = self.0.iter().zip(&other.0);
        pairs.map(|(a, b)| (a & b).count_ones() as usize).sum()
    }

    /// Adds all terms of `other`.
    pub fn extend(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    /// Returns the bits of terms 0 to 63, 64 to 127 and so on, which workers exchange.
    pub fn words(&self) -> &[u64] {
        &self.0
    }

    /// Adds the terms of the word at index `place` of another set's [`words`](Self::words).
    ///
    /// # Panics
    ///
    /// Panics if the set has no such word.
    pub fn extend_word(&mut self, place: usize, bits: u64) {
        self.0[place] |= bits;
    }
}

/// Sums over a set of documents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriftSums {
    /// Documents that have terms of the vocabulary.
    pub documents: i64,
    /// Their tokens, except stop words.
    pub tokens: i64,
    /// Those tokens whose terms are kept.
    pub kept_tokens: i64,
    /// Those kept tokens whose terms the model knows.
    pub known_tokens: i64,
    /// Their log-likelihood given their own proportions, in the caller's fixed point.
    pub likelihood: i64,
    /// Σ_d θ_dk N_d for each topic, over the topics listed for a document, in fixed point.
    pub topics: Vec<i64>,
    /// The distinct terms in them, by position in the vocabulary. Not serialized: positions depend on the collection.
    #[serde(skip)]
    pub terms: TermSet,
}

impl DriftSums {
    /// Creates empty sums; terms are below `term_count`.
    pub fn new(topic_count: usize, term_count: usize) -> Self {
        Self { topics: vec![0; topic_count], terms: TermSet::new(term_count), ..Self::default() }
    }

    /// Adds the sums of other documents.
    ///
    /// # Panics
    ///
    /// Panics if the numbers of topics differ.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.topics.len(), other.topics.len(), "the same topics");
        self.documents += other.documents;
        self.tokens += other.tokens;
        self.kept_tokens += other.kept_tokens;
        self.known_tokens += other.known_tokens;
        self.likelihood += other.likelihood;
        let pairs = self.topics.iter_mut().zip(&other.topics);
        pairs.for_each(|(sum, value)| *sum += value);
        self.terms.extend(&other.terms);
    }

    /// Compares these documents with the `reference`, the training documents. `fixed_point`: units of
    /// likelihood per nat.
    pub fn figures(&self, reference: &Self, fixed_point: f64) -> DriftFigures {
        let terms = self.terms.len();
        let share = |part: i64, whole: i64| (whole > 0).then(|| part as f64 / whole as f64);
        let per_token = |sums: &Self| {
            let likelihood = sums.likelihood as f64 / fixed_point;
            (sums.kept_tokens > 0).then(|| likelihood / sums.kept_tokens as f64)
        };
        let own = per_token(self);
        let known_terms = self.terms.common(&reference.terms);
        DriftFigures {
            terms,
            known_terms,
            known_term_share: share(known_terms as i64, terms as i64),
            known_token_share: share(self.known_tokens, self.tokens),
            known_kept_token_share: share(self.known_tokens, self.kept_tokens),
            topic_shift_js: jensen_shannon_distance(&self.topics, &reference.topics),
            topic_shift_hellinger: hellinger_distance(&self.topics, &reference.topics),
            loglik_per_token: own,
            loglik_shift: own.zip(per_token(reference)).map(|(own, of)| own - of),
        }
    }
}

/// How well a model fits some documents: sums over x, their log-likelihood per token.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fit {
    /// Documents.
    pub documents: i64,
    /// Σ x, in nats.
    pub sum: f64,
    /// Σ x².
    pub squares: f64,
}

impl Fit {
    /// Returns the mean of x; `None` without documents.
    pub fn mean(&self) -> Option<f64> {
        (self.documents > 0).then(|| self.sum / self.documents as f64)
    }

    /// Returns the unbiased variance of x; `None` with fewer than two documents.
    fn variance(&self) -> Option<f64> {
        let (mean, documents) = (self.mean()?, self.documents as f64);
        let squares = self.squares - mean * self.sum;
        (self.documents > 1).then(|| (squares / (documents - 1.0)).max(0.0))
    }

    /// Returns the difference of the means from that of a `reference`: in standard deviations of the reference's
    /// documents, and in standard errors of the difference (Welch). `None` for what cannot be estimated.
    ///
    /// ```
    /// # use lda::evaluate::drift::Fit;
    /// let reference = Fit { documents: 4, sum: -28.0, squares: 204.0 }; // −5, −7, −7, −9
    /// let new = Fit { documents: 2, sum: -20.0, squares: 202.0 }; // −9, −11
    /// let [deviations, errors] = new.compared_with(&reference).map(Option::unwrap);
    /// assert!((deviations + 3.0 / (8.0_f64 / 3.0).sqrt()).abs() < 1e-12);
    /// assert!((errors + 3.0 / (8.0_f64 / 12.0 + 1.0).sqrt()).abs() < 1e-12);
    /// ```
    pub fn compared_with(&self, reference: &Self) -> [Option<f64>; 2] {
        let difference = self.mean().zip(reference.mean()).map(|(own, of)| own - of);
        let over = |scale: Option<f64>| {
            let quotient = difference? / scale.filter(|&variance| variance > 0.0)?.sqrt();
            Some(quotient)
        };
        let of_mean = |fit: &Self| fit.variance().map(|variance| variance / fit.documents as f64);
        let error = of_mean(self).zip(of_mean(reference)).map(|(own, of)| own + of);
        [over(reference.variance()), over(error)]
    }
}

/// How far documents are from the training documents; `None` for what cannot be measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DriftFigures {
    /// Distinct terms in them.
    pub terms: usize,
    /// Those that the training documents have.
    pub known_terms: usize,
    /// `known_terms` over `terms`: the paper's measure.
    pub known_term_share: Option<f64>,
    /// The share of tokens, except stop words, that the model knows: tokens of terms that were
    /// pruned, or are in no vocabulary, are unknown.
    pub known_token_share: Option<f64>,
    /// The share of the tokens of kept terms that the model knows.
    pub known_kept_token_share: Option<f64>,
    /// [`jensen_shannon_distance`] of the topics' shares.
    pub topic_shift_js: Option<f64>,
    /// [`hellinger_distance`] of the topics' shares.
    pub topic_shift_hellinger: Option<f64>,
    /// Log-likelihood per token of a kept term given the document's own proportions, in nats.
    pub loglik_per_token: Option<f64>,
    /// `loglik_per_token` minus that of the training documents: below 0 if the model fits worse.
    pub loglik_shift: Option<f64>,
}

impl DriftFigures {
    /// Returns whether the paper's rule advises retraining: less than 70 % of the distinct terms are
    /// known.
    pub fn advises_training(&self) -> bool {
        self.known_term_share.is_some_and(|share| share < LEAST_KNOWN_SHARE)
    }
}

/// Returns the Jensen–Shannon distance of two distributions given by masses: the square root of
/// ½ KL(P‖M) + ½ KL(Q‖M) in bits, M = (P + Q) / 2. From 0 to 1; `None` if one has no mass.
///
/// ```
/// use lda::evaluate::drift::jensen_shannon_distance;
/// assert_eq!(jensen_shannon_distance(&[3, 0], &[0, 7]), Some(1.0));
/// assert_eq!(jensen_shannon_distance(&[3, 6], &[1, 2]), Some(0.0));
/// ```
///
/// # Panics
///
/// Panics if they differ in length.
pub fn jensen_shannon_distance(p: &[i64], q: &[i64]) -> Option<f64> {
    let divergence = over_shares(p, q, jensen_shannon_part)?;
    // Rounding can exceed the range.
    Some((divergence / ln(2.0)).clamp(0.0, 1.0).sqrt())
}

/// Returns the part of one outcome, whose probabilities are p and q, in the Jensen–Shannon divergence, in nats.
pub(super) fn jensen_shannon_part(p: f64, q: f64) -> f64 {
    let mean = 0.5 * (p + q);
    let half = |x: f64| if x > 0.0 { 0.5 * x * ln(x / mean) } else { 0.0 };
    half(p) + half(q)
}

/// Returns the Hellinger distance √(½ Σ (√p − √q)²) of two distributions given by masses. From 0 to
/// 1; `None` if one has no mass.
///
/// # Panics
///
/// Panics if they differ in length.
pub fn hellinger_distance(p: &[i64], q: &[i64]) -> Option<f64> {
    let sum = over_shares(p, q, |p, q| (p.sqrt() - q.sqrt()).powi(2))?;
    Some((0.5 * sum).min(1.0).sqrt())
}

/// Returns Σ f(p_k, q_k) over the shares of two lists of masses.
fn over_shares(p: &[i64], q: &[i64], f: impl Fn(f64, f64) -> f64) -> Option<f64> {
    assert_eq!(p.len(), q.len(), "the same topics");
    let (whole_p, whole_q) = (p.iter().sum::<i64>(), q.iter().sum::<i64>());
    if whole_p <= 0 || whole_q <= 0 {
        return None;
    }
    let share = |mass: i64, whole: i64| mass as f64 / whole as f64;
    let pairs = p.iter().zip(q);
    Some(pairs.map(|(&a, &b)| f(share(a, whole_p), share(b, whole_q))).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(terms: &[u32]) -> TermSet {
        let mut set = TermSet::new(200);
        terms.iter().for_each(|&term| set.insert(term));
        set
    }

    fn sums(terms: &[u32], tokens: [i64; 3], likelihood: i64, topics: &[i64]) -> DriftSums {
        DriftSums {
            documents: 1,
            tokens: tokens[0],
            kept_tokens: tokens[1],
            known_tokens: tokens[2],
            likelihood,
            topics: topics.to_vec(),
            terms: set(terms),
        }
    }

    #[test]
    fn figures_worked_out_by_hand() {
        let trained = sums(&[0, 1, 2, 64], [40, 32, 32], -32 * 6 * 8, &[24, 8]);
        let mut new = sums(&[1, 63], [10, 6, 2], -6 * 7 * 8, &[3, 3]);
        new.merge(&sums(&[1, 64, 199], [10, 4, 3], -4 * 7 * 8, &[1, 1]));
        let figures = new.figures(&trained, 8.0);
        assert_eq!((new.documents, figures.terms, figures.known_terms), (2, 4, 2));
        assert_eq!(figures.known_term_share, Some(0.5));
        assert_eq!(figures.known_token_share, Some(0.25));
        assert_eq!(figures.known_kept_token_share, Some(0.5));
        assert_eq!(figures.loglik_per_token, Some(-7.0));
        assert_eq!(figures.loglik_shift, Some(-1.0));
        assert!(figures.advises_training());
        // Shares (1/2, 1/2) against (3/4, 1/4).
        let m = [0.625_f64, 0.375];
        let part = |p: f64, m: f64| 0.5 * p * ln(p / m);
        let nats = part(0.5, m[0]) + part(0.5, m[1]) + part(0.75, m[0]) + part(0.25, m[1]);
        let js = figures.topic_shift_js.expect("both have topics");
        assert!((js - (nats / ln(2.0)).sqrt()).abs() < 1e-12);
        let squares = (0.5_f64.sqrt() - 0.75_f64.sqrt()).powi(2) + (0.5_f64.sqrt() - 0.5).powi(2);
        let hellinger = figures.topic_shift_hellinger.expect("both have topics");
        assert!((hellinger - (squares / 2.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn the_rule_is_seven_tenths() {
        let share = |known_term_share| DriftFigures { known_term_share, ..DriftFigures::default() };
        assert!(share(Some(0.699)).advises_training());
        assert!(!share(Some(0.7)).advises_training());
        assert!(!share(None).advises_training(), "no new terms, no advice");
    }

    #[test]
    fn without_documents_there_is_nothing_to_tell() {
        let none = DriftSums::new(2, 200);
        let trained = sums(&[0], [4, 4, 4], -8, &[1, 1]);
        let figures = none.figures(&trained, 1.0);
        assert_eq!(figures, DriftFigures::default());
    }

    #[test]
    fn distances_run_from_zero_to_one() {
        assert_eq!(hellinger_distance(&[5, 0], &[0, 1]), Some(1.0));
        assert_eq!(hellinger_distance(&[5, 5], &[1, 1]), Some(0.0));
        assert_eq!(jensen_shannon_distance(&[0, 0], &[1, 1]), None);
    }

    #[test]
    fn sets_travel_as_words() {
        let from = set(&[3, 64, 130]);
        let mut to = TermSet::new(200);
        for (place, &bits) in from.words().iter().enumerate() {
            to.extend_word(place, bits);
        }
        assert_eq!(to, from);
        assert!(to.contains(64) && !to.contains(65) && !to.is_empty());
        assert_eq!((to.len(), to.common(&set(&[64, 65, 130]))), (3, 2));
    }
}
