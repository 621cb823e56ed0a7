//! A document's topics, added up over passes: sparse, because every document has such sums.

use crate::model::factors::FactorTable;
use crate::model::parameters::{Entry, add_to_row};

/// Soft counts below this many tokens are not listed: they would make every document list every topic. The
/// remainder is distributed in proportion to α, from which it came.
const SMALLEST: f32 = 1.0 / 1024.0;

/// The sum over passes of a document's tokens in each topic; 8 bytes per topic.
///
/// Passes are added in one order, so floats add up to the same sum on any worker.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopicSums {
    /// Topic and tokens, ascending by topic.
    entries: Vec<Entry>,
    passes: u32,
}

impl TopicSums {
    /// Returns about the bytes of documents with this many tokens, each of a topic of its own.
    pub fn bytes(tokens: u64, documents: u64) -> u64 {
        tokens * size_of::<Entry>() as u64 + documents * 48
    }

    /// Adds the tokens of a pass, which must ascend by topic.
    pub fn add(&mut self, tokens: &[(u16, f32)]) {
        let changes = tokens.iter();
        let changes = changes.map(|&(topic, tokens)| (u32::from(topic), f64::from(tokens)));
        add_to_row(&mut self.entries, changes);
        self.passes += 1;
    }

    /// Writes θ_dk = (α_k + mean tokens of k) / (A + N_d) of each topic to `proportions`; they add up to 1.
    /// Unlisted tokens are distributed in proportion to α.
    pub fn proportions(&self, token_count: usize, alpha: &[f64], proportions: &mut Vec<f32>) {
        let alpha_sum: f64 = alpha.iter().sum();
        let passes = f64::from(self.passes.max(1));
        let listed: f64 = self.entries.iter().map(|e| f64::from(e.value)).sum();
        let rest = (token_count as f64 - listed / passes).max(0.0);
        let whole = token_count as f64 + alpha_sum;
        // If rounding has listed slightly more than all tokens, they are scaled to add up.
        let scale = (token_count as f64 - rest) / listed.max(f64::MIN_POSITIVE);
        proportions.clear();
        let prior = |&a: &f64| (a * (1.0 + rest / alpha_sum) / whole) as f32;
        proportions.extend(alpha.iter().map(prior));
        for &Entry { topic, value } in &self.entries {
            let k = topic as usize;
            let a = alpha[k] * (1.0 + rest / alpha_sum);
            proportions[k] = ((a + f64::from(value) * scale) / whole) as f32;
        }
    }
}

/// Appends the soft counts of a single sample, θ_dk (A + N_d) − α_k, ascending by topic, to `listed`.
pub(super) fn excess(
    proportions: &[f32],
    token_count: usize,
    table: FactorTable<'_>,
    listed: &mut Vec<(u16, f32)>,
) {
    let alpha = &table.smoothing().alpha;
    let alpha_sum: f64 = alpha.iter().map(|&a| f64::from(a)).sum();
    let whole = token_count as f64 + alpha_sum;
    for (topic, (&share, &a)) in proportions.iter().zip(alpha).enumerate() {
        let tokens = (f64::from(share) * whole - f64::from(a)) as f32;
        if tokens >= SMALLEST {
            listed.push((topic as u16, tokens));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proportions_are_the_mean_over_passes() {
        let mut sums = TopicSums::default();
        sums.add(&[(1, 3.0), (2, 1.0)]);
        sums.add(&[(0, 1.0), (2, 3.0)]);
        let alpha = [0.5, 0.25, 0.25, 1.0];
        let mut proportions = Vec::new();
        sums.proportions(4, &alpha, &mut proportions);
        let expected = [1.0, 1.75, 2.25, 1.0].map(|x: f32| x / 6.0);
        for (found, expected) in proportions.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{proportions:?}");
        }
    }

    #[test]
    fn what_is_not_listed_is_the_priors() {
        let mut sums = TopicSums::default();
        sums.add(&[(0, 7.0)]);
        let mut proportions = Vec::new();
        sums.proportions(10, &[1.0, 1.0, 2.0], &mut proportions);
        // Three tokens are distributed in proportion to α, which is 1, 1 and 2 already.
        let expected = [8.75, 1.75, 3.5].map(|x: f32| x / 14.0);
        assert_eq!(proportions, expected);
        TopicSums::default().proportions(0, &[1.0, 1.0, 2.0], &mut proportions);
        assert_eq!(proportions, [0.25, 0.25, 0.5]);
    }
}
