//! The topic counts n_dk of the document being sampled, and the topics present, sorted by n_dk if the
//! sampler needs it (the paper's SD).

/// n_dk of one document, reused from document to document.
#[derive(Clone, Debug)]
pub(super) struct Document {
    counts: Vec<u32>,
    /// The topics with n_dk > 0; if sorted, from the most to the least frequent.
    present: Vec<u16>,
    /// The index of each topic in `present`.
    places: Vec<u16>,
    is_sorted: bool,
}

impl Document {
    pub(super) fn new(topic_count: usize, is_sorted: bool) -> Self {
        Self {
            counts: vec![0; topic_count],
            present: Vec::new(),
            places: vec![0; topic_count],
            is_sorted,
        }
    }

    /// Removes all tokens.
    pub(super) fn clear(&mut self) {
        for topic in self.present.drain(..) {
            self.counts[usize::from(topic)] = 0;
        }
    }

    /// Returns n_dk.
    #[inline]
    pub(super) fn count(&self, topic: u16) -> f64 {
        f64::from(self.counts[usize::from(topic)])
    }

    /// Returns the topics with n_dk > 0.
    #[inline]
    pub(super) fn present(&self) -> &[u16] {
        &self.present
    }

    pub(super) fn add(&mut self, topic: u16) {
        let k = usize::from(topic);
        if self.counts[k] == 0 {
            self.places[k] = self.present.len() as u16;
            self.present.push(topic);
        }
        self.counts[k] += 1;
        if self.is_sorted {
            self.settle(usize::from(self.places[k]));
        }
    }

    pub(super) fn remove(&mut self, topic: u16) {
        let k = usize::from(topic);
        self.counts[k] -= 1;
        if self.is_sorted {
            self.settle(usize::from(self.places[k]));
        }
        if self.counts[k] == 0 {
            self.swap(usize::from(self.places[k]), self.present.len() - 1);
            self.present.pop();
        }
    }
}

impl Ranked for Document {
    fn len(&self) -> usize {
        self.present.len()
    }

    fn value(&self, place: usize) -> u64 {
        u64::from(self.counts[usize::from(self.present[place])])
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.present.swap(one, other);
        for place in [one, other] {
            self.places[usize::from(self.present[place])] = place as u16;
        }
    }
}

/// A list in descending order whose values change, mostly by one (the topics of SD, the paths of SW): items, each with a value.
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

#[cfg(test)]
mod tests {
    use super::*;
    use lda::math::random::{Stage, Stream};

    #[test]
    fn topics_present_are_those_counted_and_sorted_if_asked() {
        for is_sorted in [false, true] {
            let mut document = Document::new(9, is_sorted);
            let mut stream = Stream::keyed(1, Stage::Synth, 0, 0);
            let mut tokens: Vec<u16> = Vec::new();
            for _ in 0..2000 {
                if stream.uniform() < 0.5 && !tokens.is_empty() {
                    let gone = stream.below(tokens.len() as u64) as usize;
                    document.remove(tokens.swap_remove(gone));
                } else {
                    tokens.push(stream.below(9).min(stream.below(9)) as u16);
                    document.add(tokens[tokens.len() - 1]);
                }
                let count = |k: u16| tokens.iter().filter(|&&t| t == k).count() as f64;
                assert!((0..9).all(|k| document.count(k) == count(k)));
                let mut present = document.present().to_vec();
                if is_sorted {
                    assert!(present.is_sorted_by(|&a, &b| count(a) >= count(b)));
                }
                present.sort_unstable();
                assert!(present.into_iter().eq((0..9).filter(|&k| count(k) > 0.0)));
            }
            document.clear();
            assert!(document.present().is_empty() && (0..9).all(|k| document.count(k) == 0.0));
        }
    }
}
