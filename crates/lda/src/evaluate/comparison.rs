//! The similarity of two sets of document proportions: the measures of Yao, Mimno & McCallum 2009
//! §6.1, per document, and their means.
//!
//! P is the reference and Q is compared with it, over the same topics. topicmill's `tables::compare`
//! reads them from two results and matches the topics of different models.

use crate::math::special::ln;

/// The largest share of a document's mass that its main topics hold (§6.1).
pub const MAIN_MASS: f64 = 0.8;

/// The least proportion of Q in [`kl_divergence`], so that a topic that Q rules out has a large but
/// finite cost.
pub const LEAST_PROPORTION: f64 = 1e-9;

/// Returns the cosine of two vectors of proportions (the paper's Eq. 19): 1 for equal directions, 0
/// for disjoint topics, and 0 if a vector is 0.
///
/// ```
/// use lda::evaluate::comparison::cosine;
/// assert_eq!(cosine(&[0.6, 0.8], &[0.6, 0.8]), 1.0);
/// assert_eq!(cosine(&[1.0, 0.0], &[0.0, 1.0]), 0.0);
/// ```
pub fn cosine(p: &[f64], q: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let lengths = (dot(p, p) * dot(q, q)).sqrt();
    if lengths > 0.0 { dot(p, q) / lengths } else { 0.0 }
}

/// Returns D_KL(P‖Q) = Σ_k p_k ln(p_k / q_k) in nats (Eq. 20), with q_k at least [`LEAST_PROPORTION`].
pub fn kl_divergence(p: &[f64], q: &[f64]) -> f64 {
    let pairs = p.iter().zip(q).filter(|(p, _)| **p > 0.0);
    pairs.map(|(&p, &q)| p * ln(p / q.max(LEAST_PROPORTION))).sum()
}

/// Returns the main topics of a document, ascending: the largest ones, as long as their proportions
/// sum to at most [`MAIN_MASS`]. Ties go to the smaller topic.
///
/// If the largest proportion alone exceeds that, the paper's rule leaves the set empty and F1
/// undefined; here the largest topic is always included.
fn main_topics(proportions: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..proportions.len()).collect();
    let heavier = |a: &usize, b: &usize| proportions[*b].total_cmp(&proportions[*a]).then(a.cmp(b));
    order.sort_unstable_by(heavier);
    let mut mass = 0.0;
    let within = order.iter().take_while(|&&topic| {
        mass += proportions[topic];
        mass <= MAIN_MASS
    });
    let count = within.count().max(1).min(order.len());
    order.truncate(count);
    order.sort_unstable();
    order
}

/// Returns F1 of a set against a reference set, both ascending: the harmonic mean of precision and
/// recall, 2 |A ∩ B| / (|A| + |B|). It is 1 for equal sets, including two empty ones.
pub fn f1(reference: &[usize], found: &[usize]) -> f64 {
    let sizes = reference.len() + found.len();
    let is_common = |topic: &&usize| reference.binary_search(topic).is_ok();
    let common = found.iter().filter(is_common).count();
    if sizes == 0 {
        return 1.0;
    }
    2.0 * common as f64 / sizes as f64
}

/// A mean and its standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Figure {
    /// The mean over the documents; 0 if there are none.
    pub mean: f64,
    /// Its standard error, √(sample variance / n); `None` for fewer than two documents.
    pub standard_error: Option<f64>,
}

/// Running mean and variance (Welford 1962). Values are summed in the order in which they are added.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Moments {
    /// Adds a value.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let from_old = value - self.mean;
        self.mean += from_old / self.count as f64;
        self.squares += from_old * (value - self.mean);
    }

    /// Returns the mean and its standard error.
    pub fn figure(&self) -> Figure {
        let n = self.count as f64;
        let enough = self.count > 1;
        Figure {
            mean: self.mean,
            standard_error: enough.then(|| (self.squares / (n - 1.0) / n).sqrt()),
        }
    }
}

/// The measures over many documents.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measures {
    /// The number of documents compared.
    pub documents: u64,
    cosine: Moments,
    kl: Moments,
    f1: Moments,
}

impl Measures {
    /// Compares one document's proportions `q` with its reference `p`.
    ///
    /// # Panics
    ///
    /// Panics if they differ in length.
    pub fn add(&mut self, p: &[f64], q: &[f64]) {
        assert_eq!(p.len(), q.len(), "proportions over the same topics");
        self.documents += 1;
        self.cosine.add(cosine(p, q));
        self.kl.add(kl_divergence(p, q));
        self.f1.add(f1(&main_topics(p), &main_topics(q)));
    }

    /// Returns the mean [`cosine`].
    pub fn cosine(&self) -> Figure {
        self.cosine.figure()
    }

    /// Returns the mean [`kl_divergence`] in nats.
    pub fn kl_divergence(&self) -> Figure {
        self.kl.figure()
    }

    /// Returns the mean [`f1`] of the main topics.
    pub fn f1(&self) -> Figure {
        self.f1.figure()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_worked_out_by_hand() {
        let (p, q) = ([0.5, 0.25, 0.25], [0.25, 0.5, 0.25]);
        let dot = 0.125 + 0.125 + 0.0625;
        assert!((cosine(&p, &q) - dot / 0.375).abs() < 1e-15);
        assert!((kl_divergence(&p, &q) - 0.25 * ln(2.0)).abs() < 1e-15);
        assert_eq!(kl_divergence(&p, &p), 0.0);
        let ruled_out = kl_divergence(&[0.5, 0.5], &[1.0, 0.0]);
        assert!((ruled_out - 0.5 * ln(0.5) - 0.5 * ln(0.5 / 1e-9)).abs() < 1e-12);
        assert_eq!(kl_divergence(&[1.0, 0.0], &[1.0, 0.0]), 0.0);
        assert_eq!(cosine(&[0.0], &[1.0]), 0.0);
    }

    #[test]
    fn main_topics_hold_at_most_four_fifths() {
        assert_eq!(main_topics(&[0.1, 0.5, 0.25, 0.15]), [1, 2]);
        assert_eq!(main_topics(&[0.25, 0.25, 0.25, 0.25]), [0, 1, 2]);
        assert_eq!(main_topics(&[0.5, 0.25, 0.0, 0.25]), [0, 1]);
        assert_eq!(main_topics(&[0.05, 0.9, 0.05]), [1], "never empty");
        assert_eq!(main_topics(&[0.75]), [0]);
        assert_eq!(main_topics(&[]), [] as [usize; 0]);
    }

    #[test]
    fn f1_is_the_harmonic_mean_of_precision_and_recall() {
        let (reference, found) = ([1, 2, 5, 8], [2, 3, 8]);
        let (precision, recall) = (2.0 / 3.0, 2.0 / 4.0);
        let expected = 2.0 * precision * recall / (precision + recall);
        assert!((f1(&reference, &found) - expected).abs() < 1e-15);
        assert_eq!((f1(&[1], &[2]), f1(&[3], &[3]), f1(&[], &[])), (0.0, 1.0, 1.0));
    }

    #[test]
    fn means_and_standard_errors() {
        let mut moments = Moments::default();
        assert_eq!(moments.figure(), Figure::default());
        moments.add(2.0);
        assert_eq!(moments.figure().standard_error, None);
        [4.0, 9.0].into_iter().for_each(|value| moments.add(value));
        let figure = moments.figure();
        assert!((figure.mean - 5.0).abs() < 1e-15);
        // Squared deviations from the mean: 9 + 1 + 16 = 26; √(26 / 2 / 3).
        let error = figure.standard_error.expect("three values");
        assert!((error - (13.0_f64 / 3.0).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn equal_proportions_are_alike_by_every_measure() {
        let mut measures = Measures::default();
        for p in [[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]] {
            measures.add(&p, &p);
        }
        let means = [measures.cosine(), measures.kl_divergence(), measures.f1()].map(|f| f.mean);
        assert!((means[0] - 1.0).abs() < 1e-15 && means[1] == 0.0 && means[2] == 1.0);
        assert_eq!(measures.documents, 3);
    }
}
