//! Confidence intervals for shares by the Poisson bootstrap.
//!
//! A bootstrap replicate draws as many documents as there are, with replacement. The number of times that it draws
//! a document is approximately Poisson with mean 1, independent of the others (Hanley & MacGibbon 2006; Chamandy et
//! al. 2012). So each document draws its own weights, and any number of workers can sum documents in any order. All
//! sums are integers.

use crate::math::random::{Stage, Stream};

/// The number of replicates, R. With 199, (R + 1) · 0.025 is a whole number (Davison & Hinkley 1997, §5.2.3).
const REPLICATES: usize = 199;

/// A document's weight in a sum, which is 1, and in each replicate of the sum.
pub type Weights = [u8; REPLICATES + 1];

/// A sum over documents, and its replicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum(pub [i64; REPLICATES + 1]);

/// ⌊2¹⁶ P(X ≤ n)⌉ for n = 0, …, 7 and X ~ Poisson(1). The weights drawn with them have mean 1.
const CUMULATIVE: [u16; 8] = [
    24_109, 48_219, 60_273, 64_292, 65_296, 65_497, 65_531, 65_535,
];

/// Returns a document's weights in all replicates: the same for every sum, so that ratios of sums have replicates.
pub fn weights(seed: u64, document: u64) -> Weights {
    let mut stream = Stream::keyed(seed, Stage::Bootstrap, 0, document);
    let mut weights = [1; REPLICATES + 1];
    for four in weights[1..].chunks_mut(4) {
        let word = stream.next_u64();
        for (place, weight) in four.iter_mut().enumerate() {
            let uniform = (word >> (16 * place)) as u16;
            *weight = CUMULATIVE.iter().map(|&n| u8::from(uniform >= n)).sum();
        }
    }
    weights
}

impl Default for Sum {
    fn default() -> Self {
        Self([0; REPLICATES + 1])
    }
}

impl Sum {
    /// Adds a document's value.
    #[inline]
    pub fn add(&mut self, value: i64, weights: &Weights) {
        for (sum, &weight) in self.0.iter_mut().zip(weights) {
            *sum += i64::from(weight) * value;
        }
    }

    /// Adds a sum over other documents.
    pub fn merge(&mut self, other: impl IntoIterator<Item = i64>) {
        self.0.iter_mut().zip(other).for_each(|(sum, n)| *sum += n);
    }

    /// Returns the 95 % percentile interval of this sum's share of `whole`, over the replicates in which `whole` is
    /// not 0; `None` if there are too few of them.
    ///
    /// ```
    /// use lda::evaluate::bootstrap::{Sum, weights};
    /// let (mut part, mut whole) = (Sum::default(), Sum::default());
    /// for document in 0..1000 {
    ///     let weights = weights(1, document);
    ///     part.add(i64::from(document % 4 == 0), &weights);
    ///     whole.add(1, &weights);
    /// }
    /// let (low, high) = part.interval(&whole).unwrap();
    /// assert!(0.21 < low && low < 0.25 && 0.25 < high && high < 0.29);
    /// ```
    pub fn interval(&self, whole: &Self) -> Option<(f64, f64)> {
        let replicates = self.0[1..].iter().zip(&whole.0[1..]);
        let mut shares: Vec<f64> = replicates
            .filter(|&(_, &whole)| whole != 0)
            .map(|(&part, &whole)| part as f64 / whole as f64)
            .collect();
        shares.sort_unstable_by(f64::total_cmp);
        let beyond = (shares.len() + 1) / 40;
        (beyond > 0).then(|| (shares[beyond - 1], shares[shares.len() - beyond]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_poisson_of_mean_one() {
        let thresholds = CUMULATIVE.map(|n| 65_536 - u32::from(n));
        assert_eq!(thresholds.iter().sum::<u32>(), 65_536, "the mean is 1");
        let mut counts = [0_u32; 9];
        let documents = 5_000;
        for document in 0..documents {
            let weights = weights(3, document);
            assert_eq!(weights[0], 1);
            weights[1..]
                .iter()
                .for_each(|&w| counts[usize::from(w)] += 1);
        }
        let drawn = (documents * REPLICATES as u64) as f64;
        let mut expected = crate::math::special::exp(-1.0);
        for (n, &count) in counts.iter().enumerate().take(6) {
            let deviation = (f64::from(count) - drawn * expected) / (drawn * expected).sqrt();
            assert!(deviation.abs() < 4.0, "{n}: {count}");
            expected /= (n + 1) as f64;
        }
    }

    /// Shares of 200 documents of very different lengths: the intervals have about their nominal coverage.
    #[test]
    fn intervals_hold_the_truth_nineteen_times_in_twenty() {
        let (trials, documents) = (400, 200);
        let mut held = 0;
        for trial in 0..trials {
            let mut stream = Stream::keyed(7, Stage::Synth, 0, trial);
            let (mut part, mut whole) = (Sum::default(), Sum::default());
            for document in 0..documents {
                let weights = weights(trial, document);
                let tokens = 10 + stream.below(200) as i64;
                let share = stream.uniform() * 0.4;
                part.add((share * tokens as f64 * 1024.0) as i64, &weights);
                whole.add(tokens * 1024, &weights);
            }
            let (low, high) = part.interval(&whole).unwrap();
            held += u32::from((low..=high).contains(&0.2));
        }
        assert!((365..=395).contains(&held), "{held} of {trials}");
    }

    #[test]
    fn too_few_documents_have_no_interval() {
        let empty = Sum::default();
        assert_eq!(empty.interval(&empty), None);
    }

    #[test]
    fn sums_of_parts_are_the_sum() {
        let (mut all, mut one, mut other) = (Sum::default(), Sum::default(), Sum::default());
        for document in 0..10 {
            let weights = weights(1, document);
            all.add(document as i64, &weights);
            let part = if document % 3 == 0 {
                &mut one
            } else {
                &mut other
            };
            part.add(document as i64, &weights);
        }
        one.merge(other.0);
        assert_eq!((one, all.0[0]), (all, 45));
    }
}
