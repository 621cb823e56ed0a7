//! The examples of a regression: sparse features, and a distribution over classes for each.

use std::ops::Range;

/// Examples, end to end.
#[derive(Clone, Debug, PartialEq)]
pub struct Examples {
    pub(super) class_count: usize,
    /// Where the features of each example end.
    pub(super) ends: Vec<usize>,
    pub(super) features: Vec<u32>,
    pub(super) values: Vec<f32>,
    /// The target of each example, class by class.
    pub(super) targets: Vec<f32>,
}

impl Examples {
    /// None yet, of `class_count` classes.
    pub fn new(class_count: usize) -> Self {
        Self {
            class_count,
            ends: Vec::new(),
            features: Vec::new(),
            values: Vec::new(),
            targets: Vec::new(),
        }
    }

    /// Adds an example: distinct features with their values, finite ones, and the probability of
    /// each class. A target that does not add up to 1 counts with its sum as a weight.
    ///
    /// # Panics
    /// The target is not as long as there are classes.
    pub fn push(&mut self, features: impl IntoIterator<Item = (u32, f32)>, target: &[f32]) {
        assert_eq!(target.len(), self.class_count, "a probability a class");
        self.targets.extend_from_slice(target);
        self.push_features(features);
    }

    /// Adds an example of one class.
    ///
    /// # Panics
    /// There is no such class.
    pub(crate) fn push_class(
        &mut self,
        features: impl IntoIterator<Item = (u32, f32)>,
        class: usize,
    ) {
        assert!(class < self.class_count, "a class");
        let from = self.targets.len();
        self.targets.resize(from + self.class_count, 0.0);
        self.targets[from + class] = 1.0;
        self.push_features(features);
    }

    fn push_features(&mut self, features: impl IntoIterator<Item = (u32, f32)>) {
        for (feature, value) in features {
            debug_assert!(value.is_finite(), "feature {feature} is {value}");
            self.features.push(feature);
            self.values.push(value);
        }
        self.ends.push(self.features.len());
    }

    /// Where an example's features lie.
    pub(super) fn range(&self, example: usize) -> Range<usize> {
        let from = example.checked_sub(1).map_or(0, |before| self.ends[before]);
        from..self.ends[example]
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True without examples.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}
