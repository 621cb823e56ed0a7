//! What follows from the texts of a column, remembered, because metadata repeat.

use std::collections::HashMap;

/// Bytes at which all is forgotten.
const MOST_BYTES: usize = 8 << 20;
/// Approximate bytes of an entry besides its text.
const ENTRY_BYTES: usize = 128;

/// Results by text.
#[derive(Clone, Debug)]
pub struct Memo<T> {
    found: HashMap<String, T>,
    bytes: usize,
}

impl<T> Default for Memo<T> {
    fn default() -> Self {
        Self { found: HashMap::new(), bytes: 0 }
    }
}

impl<T> Memo<T> {
    /// Returns the result for a text, which is computed unless it is remembered.
    pub fn get(&mut self, text: &str, compute: impl FnOnce(&str) -> T) -> &T {
        if !self.found.contains_key(text) {
            self.bytes += text.len() + ENTRY_BYTES;
            if self.bytes > MOST_BYTES {
                *self = Self::default();
            }
            self.found.insert(text.to_owned(), compute(text));
        }
        &self.found[text]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_computed_once_and_few_are_kept() {
        let (mut memo, mut computed) = (Memo::default(), 0);
        for _ in 0..3 {
            let result = memo.get("text", |text| {
                computed += 1;
                text.len()
            });
            assert_eq!(*result, 4);
        }
        assert_eq!(computed, 1);
        for number in 0..200_000 {
            assert_eq!(*memo.get(&number.to_string(), |_| number), number);
            assert!(memo.found.len() * ENTRY_BYTES <= MOST_BYTES);
        }
    }
}
