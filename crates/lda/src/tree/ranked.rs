//! Lists in descending order whose values change, mostly by one: SD's topics, SW's paths.

/// A list of items, each with a value.
pub(super) trait Ranked {
    fn len(&self) -> usize;
    fn value(&self, place: usize) -> u64;
    fn swap(&mut self, one: usize, other: usize);

    /// Moves the item at `place`, whose value has changed, to its new position, by one swap for each
    /// run of equal values that it passes.
    fn settle(&mut self, mut place: usize) {
        let value = self.value(place);
        while place > 0 && self.value(place - 1) < value {
            let passed = self.value(place - 1);
            let mut first = place - 1;
            while first > 0 && self.value(first - 1) == passed {
                first -= 1;
            }
            self.swap(first, place);
            place = first;
        }
        while place + 1 < self.len() && self.value(place + 1) > value {
            let passed = self.value(place + 1);
            let mut last = place + 1;
            while last + 1 < self.len() && self.value(last + 1) == passed {
                last += 1;
            }
            self.swap(place, last);
            place = last;
        }
    }
}
