//! Confidence intervals for shares by the bootstrap over random groups of documents.
//!
//! Each document belongs to one of G groups, drawn at random, and a sum is kept by group: a document is added once,
//! however many replicates there are. A replicate draws G groups with replacement. As the groups' sums are independent
//! and of one distribution, their bootstrap estimates the variance that the bootstrap over documents does (the method of
//! random groups, Wolter 2007, chapter 2; for streams, Chamandy et al. 2012). Sums are integers, which any number of
//! workers can add in any order.

use crate::math::random::{Stage, Stream};

/// The number of groups, G.
pub const GROUPS: usize = 200;
/// The number of replicates, R. With 199, (R + 1) · 0.025 is a whole number (Davison & Hinkley 1997, §5.2.3).
const REPLICATES: usize = 199;

/// Returns a document's group: the same for every sum, so that ratios of sums have replicates.
pub fn group(seed: u64, document: u64) -> usize {
    Stream::keyed(seed, Stage::Bootstrap, 0, document).below(GROUPS as u64) as usize
}

/// A sum over documents, by group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum(pub [i64; GROUPS]);

impl Default for Sum {
    fn default() -> Self {
        Self([0; GROUPS])
    }
}

impl Sum {
    /// Returns the sum over all documents.
    pub fn total(&self) -> i64 {
        self.0.iter().sum()
    }

    /// Adds a sum over other documents.
    pub fn merge(&mut self, other: impl IntoIterator<Item = i64>) {
        self.0.iter_mut().zip(other).for_each(|(sum, n)| *sum += n);
    }
}

/// The groups that each replicate draws.
#[derive(Clone, Debug)]
pub struct Replicates(Vec<[u8; GROUPS]>);

impl Replicates {
    /// Draws them.
    pub fn new(seed: u64) -> Self {
        let draw = |replicate: u64| {
            let mut stream = Stream::keyed(seed, Stage::Bootstrap, 1, replicate);
            std::array::from_fn(|_| stream.below(GROUPS as u64) as u8)
        };
        Self((0..REPLICATES as u64).map(draw).collect())
    }

    /// Returns a sum in each replicate.
    pub fn of(&self, sum: &Sum) -> Vec<i64> {
        let in_group = |&group: &u8| sum.0[usize::from(group)];
        let replicates = self.0.iter();
        replicates.map(|drawn| drawn.iter().map(in_group).sum()).collect()
    }
}

/// Returns the 95 % percentile interval of the share that one sum has of another, given their replicates; leaves out
/// those in which `whole` is 0, and returns `None` if too few are left.
///
/// ```
/// use lda::evaluate::bootstrap::{Replicates, Sum, group, interval};
/// let (mut part, mut whole) = (Sum::default(), Sum::default());
/// for document in 0..1000 {
///     part.0[group(1, document)] += i64::from(document % 4 == 0);
///     whole.0[group(1, document)] += 1;
/// }
/// assert_eq!((part.total(), whole.total()), (250, 1000));
/// let replicates = Replicates::new(1);
/// let (low, high) = interval(&replicates.of(&part), &replicates.of(&whole)).unwrap();
/// assert!(0.21 < low && low < 0.25 && 0.25 < high && high < 0.29);
/// ```
pub fn interval(part: &[i64], whole: &[i64]) -> Option<(f64, f64)> {
    let mut shares: Vec<f64> = part
        .iter()
        .zip(whole)
        .filter(|&(_, &whole)| whole != 0)
        .map(|(&part, &whole)| part as f64 / whole as f64)
        .collect();
    shares.sort_unstable_by(f64::total_cmp);
    let beyond = (shares.len() + 1) / 40;
    (beyond > 0).then(|| (shares[beyond - 1], shares[shares.len() - beyond]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_draws_are_uniform() {
        let mut counts = [[0_u32; GROUPS]; 2];
        (0..40_000).for_each(|document| counts[0][group(3, document)] += 1);
        let replicates = Replicates::new(3);
        let drawn = replicates.0.iter().flatten();
        drawn.for_each(|&group| counts[1][usize::from(group)] += 1);
        for counts in counts {
            let expected = f64::from(counts.iter().sum::<u32>()) / GROUPS as f64;
            let squares = counts.map(|n| (f64::from(n) - expected).powi(2) / expected);
            let chi_square: f64 = squares.iter().sum();
            assert!((chi_square - 199.0).abs() < 4.0 * 20.0, "{chi_square}");
        }
    }

    /// Shares of documents of very different lengths: the intervals have about their nominal coverage, whether
    /// groups have several documents or most of them none.
    #[test]
    fn intervals_hold_the_truth_nineteen_times_in_twenty() {
        let trials = 400;
        for documents in [50, 200, 2000] {
            let mut held = 0;
            for trial in 0..trials {
                let mut stream = Stream::keyed(7, Stage::Synth, documents, trial);
                let (mut part, mut whole) = (Sum::default(), Sum::default());
                for document in 0..documents {
                    let group = group(trial, document);
                    let tokens = 10 + stream.below(200) as i64;
                    let share = stream.uniform() * 0.4;
                    part.0[group] += (share * tokens as f64 * 1024.0) as i64;
                    whole.0[group] += tokens * 1024;
                }
                let replicates = Replicates::new(trial);
                let replicated = [part, whole].map(|sum| replicates.of(&sum));
                let (low, high) = interval(&replicated[0], &replicated[1]).unwrap();
                held += u32::from((low..=high).contains(&0.2));
            }
            assert!((360..=395).contains(&held), "{documents}: {held} of {trials}");
        }
    }

    #[test]
    fn too_few_documents_have_no_interval() {
        let empty = Replicates::new(1).of(&Sum::default());
        assert_eq!(interval(&empty, &empty), None);
    }
}
