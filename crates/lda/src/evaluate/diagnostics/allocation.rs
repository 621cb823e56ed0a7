//! How a topic is spread over documents: in how many it is first, and in how many it takes more than
//! a little. MALLET's `rank_1_docs`, `allocation_ratio` and `allocation_count`.
//!
//! MALLET counts hard assignments and looks at documents with a token in the topic. Proportions are
//! never 0 here, so a document *contains* a topic when at least one of its tokens can be expected
//! there, θ_dk N_d ≥ 1, or when the topic is its largest. Counts are integers, which add up in any
//! order.

/// The proportions from which on a document counts as much allocated: of `allocation_ratio`'s
/// denominator, of `allocation_count`, and of `allocation_ratio`'s numerator.
pub const LEVELS: [f32; 3] = [0.02, 0.3, 0.5];

/// Documents that hold one topic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// Documents that hold it.
    pub holding: i64,
    /// Of these, documents in which it is the largest.
    pub first: i64,
    /// Of these, documents in which its proportion reaches each of [`LEVELS`].
    pub reaching: [i64; 3],
}

/// Whether a document of `tokens` tokens contains a topic of proportion `weight`.
pub fn holds(weight: f32, tokens: f64, is_first: bool) -> bool {
    is_first || f64::from(weight) * tokens >= 1.0
}

/// How many of [`LEVELS`] a proportion reaches; they ascend.
pub fn levels_reached(weight: f32) -> usize {
    LEVELS.partition_point(|&level| level <= weight)
}

impl Allocation {
    /// Of the documents that hold the topic, the share in which it is the largest (MALLET's
    /// `rank_1_docs`); `None` if none holds it.
    pub fn first_share(&self) -> Option<f64> {
        ratio(self.first, self.holding)
    }

    /// Documents with a proportion of at least 0.5 over those with at least 0.02 (MALLET's
    /// `allocation_ratio`): small for a topic that is everywhere a little.
    pub fn ratio(&self) -> Option<f64> {
        ratio(self.reaching[2], self.reaching[0])
    }

    /// Of the documents that hold the topic, the share with a proportion of at least 0.3 (MALLET's
    /// `allocation_count`).
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

    /// The counts of one topic over documents (proportion, tokens, whether it is the largest).
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
        // The fourth expects 0.6 tokens, and the topic is not its largest.
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
