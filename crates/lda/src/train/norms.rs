//! The norms of a sample's documents, and the minibatch size that follows from them.

use crate::infer::Bag;

/// Sums over documents of their norms ‖d‖₂ = √(Σ_w n_dw²), as integers that can be added up over workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Norms {
    /// Σ_d ‖d‖₂², the squared Frobenius norm of the sample.
    squared: u64,
    /// Σ_d ‖d‖₂ in units of 2⁻¹⁶, rounded document by document.
    sum: u64,
}

impl Norms {
    const UNIT: f64 = (1u64 << 16) as f64;
    /// The largest norm that counts, squared: that of a document with one term a million times.
    const LARGEST: u64 = 1 << 40;

    /// Counts a document.
    pub fn add(&mut self, bag: Bag<'_>) {
        let squares = bag.counts.iter().map(|&n| u64::from(n).pow(2));
        let squared = squares.fold(0, u64::saturating_add).min(Self::LARGEST);
        self.squared += squared;
        self.sum += ((squared as f64).sqrt() * Self::UNIT).round_ties_even() as u64;
    }

    /// Returns the norms of some documents.
    pub fn of<'a>(bags: impl Iterator<Item = Bag<'a>>) -> Self {
        let mut norms = Self::default();
        bags.for_each(|bag| norms.add(bag));
        norms
    }

    /// Returns the sums as numbers that can be added up over workers.
    pub fn to_words(self) -> [i64; 2] {
        [self.squared as i64, self.sum as i64]
    }

    /// Returns the sums of all workers, from the sums of their [`to_words`](Self::to_words).
    pub fn from_words([squared, sum]: [u64; 2]) -> Self {
        Self { squared, sum }
    }

    /// Returns B = D ‖C‖_F / Σ_d ‖d‖₂, with ‖C‖_F² = Σ_d ‖d‖₂², for D documents (Wahabzada & Kersting 2011, §5): √D
    /// if all norms are equal, as is assumed if none is known, and more the more they differ. At least 1.
    pub fn minibatch(self, documents: u64) -> u64 {
        let size = match self.sum {
            0 => (documents as f64).sqrt(),
            sum => documents as f64 * (self.squared as f64).sqrt() / (sum as f64 / Self::UNIT),
        };
        (size.round_ties_even() as u64).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The heuristic of Wahabzada & Kersting 2011, §5, as printed, over a dense matrix.
    #[test]
    fn the_minibatch_follows_from_the_norms() {
        let corpus = [[3u32, 4, 0], [0, 0, 5], [1, 0, 0], [2, 2, 1], [0, 12, 5]];
        let squares = |counts: &[u32]| counts.iter().map(|&n| f64::from(n * n)).sum::<f64>();
        let frobenius = squares(corpus.as_flattened()).sqrt();
        let norms: f64 = corpus.iter().map(|counts| squares(counts).sqrt()).sum();
        let bags = corpus.iter().map(|counts| Bag { terms: &[0, 1, 2], counts });
        // A thousand copies of the corpus: the norms of its 5 documents add up to 27, its Frobenius norm is √229.
        let documents = 5 * 1000;
        let expected = f64::from(documents) * (1000f64.sqrt() * frobenius) / (1000.0 * norms);
        let copies = (0..1000).flat_map(|_| bags.clone());
        let found = Norms::of(copies);
        assert_eq!(found.minibatch(5000), expected.round_ties_even() as u64);
        assert_eq!(found.minibatch(5000), 89);
        // Parts add up, and equal norms give √D.
        let parts = [Norms::of(bags.clone().take(2)), Norms::of(bags.clone().skip(2))];
        let [a, b] = parts.map(Norms::to_words);
        let sums = [a[0] + b[0], a[1] + b[1]].map(|n| n as u64);
        assert_eq!(Norms::from_words(sums), Norms::of(bags.clone()));
        let equal = Norms::of(bags.take(2).cycle().take(400));
        assert_eq!([equal, Norms::default()].map(|norms| norms.minibatch(400)), [20, 20]);
        assert_eq!(Norms::default().minibatch(0), 1);
    }
}
