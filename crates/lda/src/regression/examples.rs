//! The examples of a regression: each has sparse features and a distribution over classes.

use std::ops::Range;

/// Examples, stored end to end.
#[derive(Clone, Debug, PartialEq)]
pub struct Examples {
    pub(super) class_count: usize,
    /// The end of each example's features.
    pub(super) ends: Vec<usize>,
    pub(super) features: Vec<u32>,
    pub(super) values: Vec<f32>,
    /// The target of each example, class by class.
    pub(super) targets: Vec<f32>,
}

impl Examples {
    /// Creates an empty set of examples of `class_count` classes.
    pub fn new(class_count: usize) -> Self {
        Self {
            class_count,
            ends: Vec::new(),
            features: Vec::new(),
            values: Vec::new(),
            targets: Vec::new(),
        }
    }

    /// Adds an example: distinct features with finite values, and the probability of each class. The
    /// sum of the target, if it is not 1, is the weight of the example.
    ///
    /// # Panics
    /// Panics if the length of the target is not the number of classes.
    pub fn push(&mut self, features: impl IntoIterator<Item = (u32, f32)>, target: &[f32]) {
        assert_eq!(target.len(), self.class_count, "one probability per class");
        self.targets.extend_from_slice(target);
        for (feature, value) in features {
            debug_assert!(value.is_finite(), "feature {feature} is {value}");
            self.features.push(feature);
            self.values.push(value);
        }
        self.ends.push(self.features.len());
    }

    /// Returns the range of an example's features.
    pub(super) fn range(&self, example: usize) -> Range<usize> {
        let from = example.checked_sub(1).map_or(0, |before| self.ends[before]);
        from..self.ends[example]
    }

    /// Returns the features that occur, ascending.
    pub(super) fn distinct_features(&self) -> Vec<u32> {
        let mut features = self.features.clone();
        features.sort_unstable();
        features.dedup();
        features
    }

    /// Returns the number of examples.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no examples.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}
