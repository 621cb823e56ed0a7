//! The spread of a topic over documents: in how many it is the largest topic, and in how many it has
//! a considerable share. MALLET's `rank_1_docs`, `allocation_ratio` and `allocation_count`.
//!
//! MALLET counts hard assignments, over documents with a token in the topic. Proportions are never 0
//! here, so a document *contains* a topic if at least one of its tokens is expected to be in it,
//! θ_dk N_d ≥ 1, or if the topic is its largest. Counts are integers and can be added in any order.

/// The proportions at which a document starts to count: for `allocation_ratio`'s denominator, for
/// `allocation_count`, and for `allocation_ratio`'s numerator.
pub const LEVELS: [f32; 3] = [0.02, 0.3, 0.5];

/// Counts of the documents that contain one topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// Documents that contain it.
    pub holding: i64,
    /// Those in which it is the largest topic.
    pub first: i64,
    /// Those in which its proportion reaches each of [`LEVELS`].
    pub reaching: [i64; 3],
}

/// Returns whether a document of `tokens` tokens contains a topic of proportion `weight`.
pub fn holds(weight: f32, tokens: f64, is_first: bool) -> bool {
    is_first || f64::from(weight) * tokens >= 1.0
}

/// Returns how many of [`LEVELS`], which ascend, a proportion reaches.
pub fn levels_reached(weight: f32) -> usize {
    LEVELS.partition_point(|&level| level <= weight)
}

impl Allocation {
    /// Returns the share of the documents containing the topic in which it is the largest (MALLET's
    /// `rank_1_docs`); `None` if no document contains it.
    pub fn first_share(&self) -> Option<f64> {
        ratio(self.first, self.holding)
    }

    /// Returns the number of documents with a proportion of at least 0.5 over those with at least
    /// 0.02 (MALLET's `allocation_ratio`): small for a topic with a small share everywhere.
    pub fn ratio(&self) -> Option<f64> {
        ratio(self.reaching[2], self.reaching[0])
    }

    /// Returns the share of the documents containing the topic with a proportion of at least 0.3
    /// (MALLET's `allocation_count`).
    pub fn count_share(&self) -> Option<f64> {
        ratio(self.reaching[1], self.holding)
    }
}

fn ratio(part: i64, whole: i64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counts for one topic over documents (proportion, tokens, whether it is the largest).
    fn count(documents: &[(f32, f64, bool)]) -> Allocation {
        let mut allocation = Allocation::default();
        for &(weight, tokens, is_first) in documents {
            if holds(weight, tokens, is_first) {
                allocation.holding += 1;
                allocation.first += i64::from(is_first);
                (0..levels_reached(weight)).for_each(|l| allocation.reaching[l] += 1);
            }
        }
        allocation
    }

    #[test]
    fn shares_of_documents_counted_by_hand() {
        let allocation = count(&[
            (0.6, 10.0, true),
            (0.5, 10.0, false),
            (0.3, 3.0, true),
            (0.2, 3.0, false),
            (0.1, 10.0, false),
            (0.01, 200.0, false),
            (0.4, 100.0, false),
        ]);
        // The fourth document expects 0.6 tokens, and the topic is not its largest.
        assert_eq!(allocation.holding, 6);
        assert_eq!((allocation.first, allocation.reaching), (2, [5, 4, 2]));
        assert_eq!(allocation.first_share(), Some(2.0 / 6.0));
        assert_eq!(allocation.ratio(), Some(2.0 / 5.0));
        assert_eq!(allocation.count_share(), Some(4.0 / 6.0));
    }

    #[test]
    fn nothing_is_said_of_a_topic_that_no_document_holds() {
        let none = Allocation::default();
        assert_eq!((none.first_share(), none.ratio()), (None, None));
        assert_eq!(none.count_share(), None);
    }

    #[test]
    fn a_level_is_reached_from_its_value_on() {
        let reached = [0.0, 0.0199, 0.02, 0.29, 0.3, 0.499, 0.5, 1.0].map(levels_reached);
        assert_eq!(reached, [0, 0, 1, 1, 2, 2, 3, 3]);
    }
}
