//! The words of generated corpora: any number of pronounceable ones.

use sha2::{Digest, Sha256};

const ONSETS: &[u8; 16] = b"bcdfghklmnprstvz";
const VOWELS: &[u8; 5] = b"aeiou";
/// A word never ends in e, to avoid English stop words such as "more" and "before".
const LAST_VOWELS: &[u8; 4] = b"aiou";

/// Syllables within a word, and at its end.
const SYLLABLES: u64 = (ONSETS.len() * VOWELS.len()) as u64;
const LAST_SYLLABLES: u64 = (ONSETS.len() * LAST_VOWELS.len()) as u64;

/// Returns `count` distinct words of two or more syllables (consonant, vowel), the first 5,120 of two, the next 409,600
/// of three, and so on. They are always the same.
///
/// ```
/// use corpus::synth::words::pronounceable;
/// assert_eq!(pronounceable(3), ["baba", "nogu", "feno"]);
/// ```
pub fn pronounceable(count: usize) -> Vec<String> {
    let mut words = Vec::with_capacity(count);
    let mut syllables = 1;
    let mut class = SYLLABLES * LAST_SYLLABLES;
    while words.len() < count {
        let left = (count - words.len()) as u64;
        for i in 0..left.min(class) {
            // A step of 0.618 of the class, prime to it: neighbours look different.
            let number = u128::from(i) * u128::from(golden_step(class)) % u128::from(class);
            words.push(spell(number as u64, syllables));
        }
        syllables += 1;
        class *= SYLLABLES;
    }
    words
}

/// Returns about 0.618 of `class`, without a common factor: `class` is a product of 2s and 5s.
fn golden_step(class: u64) -> u64 {
    let step = (class / 1000 * 618) | 1;
    if step.is_multiple_of(5) { step + 2 } else { step }
}

/// Spells the word with this number among those of `before_last` + 1 syllables: a number in mixed radix.
fn spell(number: u64, before_last: u32) -> String {
    let mut word = String::with_capacity(2 * before_last as usize + 2);
    let mut push = |syllable: u64, vowels: &[u8]| {
        let count = vowels.len() as u64;
        word.push(char::from(ONSETS[(syllable / count) as usize]));
        word.push(char::from(vowels[(syllable % count) as usize]));
    };
    let mut rest = number / LAST_SYLLABLES;
    for _ in 0..before_last {
        push(rest % SYLLABLES, VOWELS);
        rest /= SYLLABLES;
    }
    push(number % LAST_SYLLABLES, LAST_VOWELS);
    word
}

/// Returns the SHA-256 of the words, in hexadecimal, which shows whether two corpora have the same ones.
pub(super) fn digest(words: &[String]) -> String {
    let mut hasher = Sha256::new();
    for word in words {
        hasher.update(word.as_bytes());
        hasher.update(b"\n");
    }
    hex::encode(hasher.finalize())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn made_up_words_are_distinct_and_pronounceable() {
        let words = pronounceable(450_000);
        let distinct: HashSet<&String> = words.iter().collect();
        assert_eq!(distinct.len(), words.len());
        assert!(words[..5120].iter().all(|w| w.len() == 4));
        assert!(words[5120..414_720].iter().all(|w| w.len() == 6));
        assert!(words[414_720..].iter().all(|w| w.len() == 8));
        assert!(words.iter().all(|w| !w.ends_with('e')));
        assert_eq!(pronounceable(7), words[..7]);
    }
}
