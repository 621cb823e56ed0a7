//! Co-occurrence of topics: correlation of their proportions over documents, and of their presence.
//!
//! Both are computed from integer sums over documents, which can be added in any order. Pearson's correlation is of
//! the listed proportions (stm's `topicCorr`, method "simple"; Roberts, Stewart & Tingley 2019); since proportions
//! sum to 1, unrelated topics are slightly below 0. NPMI (Bouma 2009) depends only on which documents list each
//! topic, not on the proportions.

use crate::math::special::ln;

/// Proportions, their squares and products are summed in units of 2⁻³².
pub const UNIT: f64 = (1_u64 << 32) as f64;

/// Sums for one topic over the documents that list it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Presence {
    /// The number of these documents.
    pub documents: i64,
    /// Σ θ_dk, in [`UNIT`]s.
    pub sum: i64,
    /// Σ θ_dk², in [`UNIT`]s.
    pub squares: i64,
}

/// Sums for two topics over the documents that list both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Together {
    /// The number of these documents.
    pub documents: i64,
    /// Σ θ_dj θ_dk, in [`UNIT`]s.
    pub products: i64,
}

/// Converts a proportion, or a product of two, to [`UNIT`]s.
pub fn in_units(value: f64) -> i64 {
    (value * UNIT).round_ties_even() as i64
}

impl Presence {
    /// Adds a document in which the topic has proportion `weight`.
    pub fn add(&mut self, weight: f32) {
        let weight = f64::from(weight);
        self.documents += 1;
        self.sum += in_units(weight);
        self.squares += in_units(weight * weight);
    }

    /// Returns the variance of the proportion over `documents` documents; 0 if rounding to units could explain all of
    /// it.
    fn variance(&self, documents: f64) -> f64 {
        let mean = self.sum as f64 / UNIT / documents;
        let variance = self.squares as f64 / UNIT / documents - mean * mean;
        let rounding = 2.0 * self.documents as f64 / UNIT / documents;
        if variance > rounding { variance } else { 0.0 }
    }
}

impl Together {
    /// Returns Pearson's correlation of the two proportions over `documents` documents, 0 where a topic is not
    /// listed; `None` if one of them is constant.
    pub fn correlation(&self, one: &Presence, other: &Presence, documents: i64) -> Option<f64> {
        let documents = documents as f64;
        let mean = |topic: &Presence| topic.sum as f64 / UNIT / documents;
        let covariance = self.products as f64 / UNIT / documents - mean(one) * mean(other);
        let variances = one.variance(documents) * other.variance(documents);
        (variances > 0.0).then(|| (covariance / variances.sqrt()).clamp(-1.0, 1.0))
    }

    /// Returns ln(p(j, k) / (p(j) p(k))) / −ln p(j, k), where p is the share of `documents` documents that list the
    /// topic or topics; `None` if all or none list both.
    pub fn npmi(&self, one: &Presence, other: &Presence, documents: i64) -> Option<f64> {
        if self.documents == 0 || self.documents == documents {
            return None;
        }
        let share = |count: i64| count as f64 / documents as f64;
        let joint = share(self.documents);
        Some(ln(joint / (share(one.documents) * share(other.documents))) / -ln(joint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sums for two topics over documents.
    fn sums(documents: &[[f32; 2]]) -> (Presence, Presence, Together) {
        let (mut one, mut other) = (Presence::default(), Presence::default());
        let mut both = Together::default();
        for &[a, b] in documents {
            if a > 0.0 {
                one.add(a);
            }
            if b > 0.0 {
                other.add(b);
            }
            if a > 0.0 && b > 0.0 {
                both.documents += 1;
                both.products += in_units(f64::from(a) * f64::from(b));
            }
        }
        (one, other, both)
    }

    #[test]
    fn correlations_are_those_of_the_definition() {
        let documents = [[0.5, 0.25], [0.0, 0.75], [0.25, 0.0], [0.75, 0.25], [0.0, 0.0]];
        let (one, other, both) = sums(&documents);
        // numpy.corrcoef([.5, 0, .25, .75, 0], [.25, .75, 0, .25, 0])[0, 1]
        let found = both.correlation(&one, &other, 5).unwrap();
        assert!((found - -0.156_556_072_771_287_33).abs() < 1e-9, "{found}");
        // ln(0.4 / (0.6 · 0.6)) / −ln 0.4
        let found = both.npmi(&one, &other, 5).unwrap();
        assert!((found - 0.114_985_901_300_480_2).abs() < 1e-12, "{found}");
    }

    #[test]
    fn a_topic_goes_with_itself_and_against_its_complement() {
        let same = [[0.5, 0.5], [0.25, 0.25], [0.0, 0.0]];
        let (one, other, both) = sums(&same);
        assert!((both.correlation(&one, &other, 3).unwrap() - 1.0).abs() < 1e-9);
        assert!((both.npmi(&one, &other, 3).unwrap() - 1.0).abs() < 1e-12);
        let against = [[0.5, 0.5], [0.25, 0.75], [1.0, 0.0]];
        let (one, other, both) = sums(&against);
        assert!((both.correlation(&one, &other, 3).unwrap() + 1.0).abs() < 1e-8);
    }

    #[test]
    fn what_does_not_vary_has_no_correlation() {
        let (one, other, both) = sums(&[[0.5, 0.25], [0.5, 0.75]]);
        assert_eq!(both.correlation(&one, &other, 2), None);
        assert_eq!(both.npmi(&one, &other, 2), None);
        // The squares are not whole numbers of units: both variances are computed as below 0.
        let (one, other, both) = sums(&[[0.3, 0.7]; 200]);
        assert_eq!(both.correlation(&one, &other, 200), None);
    }
}
