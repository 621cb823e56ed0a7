//! Which number of topics to take, from models of several numbers, each trained with several seeds.

use std::ops::RangeInclusive;

/// The Hellinger distance up to which topics of two seeds are the same one.
const SAME_ACROSS_SEEDS: f64 = 0.5;

/// The least stability of a recommended number of topics.
pub const LEAST_STABILITY: f64 = 0.6;

/// Whether matched topics of two models at this Hellinger distance are the same topic, found again.
pub fn is_same(distance: f64) -> bool {
    distance <= SAME_ACROSS_SEEDS
}

/// The figures of one number of topics, as means over the models of its seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SizeFigures {
    /// The number of topics.
    pub topics: usize,
    /// The held-out log-likelihood per token less that of the best number, in nats: at most 0.
    pub difference: Option<f64>,
    /// The standard error of the difference.
    pub difference_error: Option<f64>,
    /// The share of topics that other seeds find again.
    pub stability: Option<f64>,
}

/// Why a recommendation ends where it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// More topics predict held-out documents no better.
    Likelihood,
    /// With more topics, too few are found again.
    Stability,
    /// No larger number was tried.
    Tried,
}

/// A recommended number of topics.
#[derive(Clone, Debug, PartialEq)]
pub struct Recommendation {
    /// The number.
    pub topics: usize,
    /// The numbers tried that are as good, as far as the figures say.
    pub range: RangeInclusive<usize>,
    /// Why it is not larger.
    pub limit: Limit,
}

/// Recommends one of several numbers of topics, ascending; `None` without held-out documents.
pub fn recommend(sizes: &[SizeFigures]) -> Option<Recommendation> {
    let is_stable = |size: &&SizeFigures| size.stability.is_none_or(|it| it >= LEAST_STABILITY);
    let stable: Vec<&SizeFigures> = sizes.iter().filter(is_stable).collect();
    let candidates = if stable.is_empty() { sizes.first().into_iter().collect() } else { stable };
    let best = candidates
        .iter()
        .max_by(|a, b| {
            let [a, b] = [a, b].map(|it| it.difference.unwrap_or(f64::NEG_INFINITY));
            a.total_cmp(&b)
        })
        .filter(|best| best.difference.is_some())?;
    let _ = best;
    None
}
