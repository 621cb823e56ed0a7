//! The reported figures of a document's proportions: the topics that are listed, the heaviest one, the
//! entropy, the likelihood. The same for a collection and for a stream of documents.

use super::Bag;
use crate::math::lanes::{dot, dot_at, entropy};
use crate::math::special::ln;
use crate::model::factors::FactorTable;

/// Which of a document's topics are listed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Listing {
    /// The smallest proportion that is listed.
    pub threshold: f32,
    /// The maximum number of topics; 0: all.
    pub top: usize,
}

/// A document's proportions, summarized.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Projection {
    /// The listed topics, weight and topic, the heaviest first; of equal weights the smaller topic first.
    pub topics: Vec<(f32, u16)>,
    /// The largest proportion and its topic.
    pub top: (f32, u16),
    /// Entropy of the proportions, in nats.
    pub entropy: f32,
    /// log p(w | θ, φ) of the tokens that have factors, in nats.
    pub log_likelihood: f64,
    /// Tokens that have factors.
    pub tokens: u64,
}

impl Projection {
    /// Summarizes the proportions of `bag`, θ_d for each topic, replacing the previous summary. The table must hold
    /// the mean geometry, as for [`log_likelihood`].
    pub fn describe(
        &mut self,
        proportions: &[f32],
        bag: Bag<'_>,
        table: FactorTable<'_>,
        listing: Listing,
    ) {
        list(proportions, listing.threshold, listing.top, &mut self.topics);
        self.top = heaviest(proportions);
        self.entropy = entropy(proportions);
        (self.log_likelihood, self.tokens) = log_likelihood(bag, proportions, table);
    }

    /// Returns the log-likelihood per token, in nats.
    pub fn loglik_per_token(&self) -> f64 {
        self.log_likelihood / self.tokens.max(1) as f64
    }

    /// Returns 1 − Σ of the listed weights: the mass that the list leaves out.
    pub fn dropped_mass(&self) -> f32 {
        let listed = self.topics.iter().map(|&(weight, _)| f64::from(weight));
        (1.0 - listed.sum::<f64>()).max(0.0) as f32
    }
}

/// Lists the topics at or above the threshold, the heaviest first, at most `top` of them (0: all); of equal weights
/// the smaller topic first. `proportions` has one weight per topic; `listed` is emptied first.
fn list(proportions: &[f32], threshold: f32, top: usize, listed: &mut Vec<(f32, u16)>) {
    listed.clear();
    let heavy = proportions.iter().enumerate().filter(|&(_, &weight)| weight >= threshold);
    listed.extend(heavy.map(|(topic, &weight)| (weight, topic as u16)));
    listed.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    if top > 0 {
        listed.truncate(top);
    }
}

/// Returns the largest proportion and its topic; of equal ones the smaller topic.
fn heaviest(proportions: &[f32]) -> (f32, u16) {
    let mut best = (f32::NEG_INFINITY, 0);
    for (topic, &weight) in proportions.iter().enumerate() {
        if weight > best.0 {
            best = (weight, topic as u16);
        }
    }
    best
}

/// How many terms have their rows looked up before any is read, and read before any logarithm is taken: rows are
/// far apart, so several are fetched from memory at a time.
const TERMS: usize = 16;

/// Returns log p(w | θ, φ) = Σ_w n_w ln Σ_k θ_k φ_kw of the tokens of `bag` that have factors, and how many there
/// are. The table must hold the mean geometry, so that factors are φ.
pub fn log_likelihood(bag: Bag<'_>, proportions: &[f32], table: FactorTable<'_>) -> (f64, u64) {
    let smoothing = &table.smoothing().factors;
    let everywhere: f64 =
        proportions.iter().zip(smoothing).map(|(t, h)| f64::from(*t) * f64::from(*h)).sum();
    let probability = |row| match table.dense(row) {
        Some(dense) => f64::from(dot(proportions, &dense[..proportions.len()])),
        None => {
            let sparse = table.sparse(row);
            everywhere + f64::from(dot_at(proportions, sparse.topics, sparse.weights))
        }
    };
    let (mut sum, mut product, mut tokens) = (0.0, 1.0, 0);
    for (terms, counts) in bag.terms.chunks(TERMS).zip(bag.counts.chunks(TERMS)) {
        let mut rows = [None; TERMS];
        for (row, &term) in rows.iter_mut().zip(terms) {
            *row = table.find(term);
        }
        rows.iter().flatten().for_each(|&row| table.fetch(row));
        let probabilities = rows.map(|row| row.map(probability));
        for (&count, probability) in counts.iter().zip(probabilities) {
            let Some(probability) = probability else { continue };
            tokens += u64::from(count);
            if count > MULTIPLIED {
                sum += f64::from(count) * ln(probability);
                continue;
            }
            for _ in 0..count {
                product *= probability;
            }
            if product < SMALL {
                sum += ln(product);
                product = 1.0;
            }
        }
    }
    (sum + ln(product), tokens)
}

/// Probabilities of terms with at most this many tokens are multiplied, instead of adding up their logarithms, until
/// the product is small: no probability in f32 takes it to 0.
const MULTIPLIED: u32 = 4;
const SMALL: f64 = 1e-120;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_listed_by_weight_and_the_limits_hold() {
        let proportions = [0.1, 0.4, 0.05, 0.4, 0.05];
        let mut projection = Projection::default();
        list(&proportions, 0.1, 0, &mut projection.topics);
        assert_eq!(projection.topics, [(0.4, 1), (0.4, 3), (0.1, 0)]);
        assert!((projection.dropped_mass() - 0.1).abs() < 1e-6);
        list(&proportions, 0.0, 2, &mut projection.topics);
        assert_eq!(projection.topics, [(0.4, 1), (0.4, 3)]);
        assert_eq!(heaviest(&proportions), (0.4, 1));
        assert!((entropy(&[0.5, 0.5]) - std::f32::consts::LN_2).abs() < 1e-6);
    }
}
