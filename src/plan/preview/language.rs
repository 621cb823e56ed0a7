//! The languages of a collection.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use corpus::language::{WITHOUT_STOP_WORDS, identify};
use corpus::stop_words::languages;
use corpus::tokenizer::unspaced;

/// Maximum number of texts that are identified, evenly spread over those that were read.
const MOST_TEXTS: usize = 200;

/// The least share of the texts at which a language counts. Fewer texts of one language are taken for another.
const LEAST_SHARE: f64 = 0.15;

/// Characters needed to identify a language; shorter texts are joined.
const ENOUGH: usize = 200;
/// The same for scripts without spaces, in which a character says as much as several letters.
const ENOUGH_UNSPACED: usize = 50;

/// Returns the codes of the languages with a fair share of the texts, the most frequent first: of those with a stop
/// list or without spaces between words.
pub(super) fn of(texts: &[&str]) -> Vec<&'static str> {
    let step = texts.len().div_ceil(MOST_TEXTS).max(1);
    let texts = texts.iter().copied().step_by(step);
    let (unspaced, spaced): (Vec<&str>, Vec<&str>) =
        texts.partition(|text| unspaced::is_most_of(text));
    let mut joined = joined(&spaced, ENOUGH);
    joined.extend(self::joined(&unspaced, ENOUGH_UNSPACED));
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    for text in &joined {
        *counts.entry(identify(text)).or_default() += 1;
    }
    let is_frequent = |(code, count): &(&'static str, usize)| {
        *count as f64 >= LEAST_SHARE * joined.len() as f64
            && languages().chain(WITHOUT_STOP_WORDS).any(|known| known == *code)
    };
    let mut found: Vec<_> = counts.into_iter().filter(is_frequent).collect();
    found.sort_by_key(|&(_, count)| Reverse(count));
    found.into_iter().map(|(code, _)| code).collect()
}

/// Joins texts of fewer than `enough` characters.
fn joined(texts: &[&str], enough: usize) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    for text in texts {
        match joined.last_mut() {
            Some(last) if last.chars().nth(enough).is_none() => last.extend([" ", text]),
            _ => joined.push((*text).to_owned()),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_of_single_texts_do_not_count() {
        let english = "It is a truth universally acknowledged, that a single man in possession of a good fortune, must \
                       be in want of a wife. However little known the feelings or views of such a man may be on his \
                       first entering a neighbourhood.";
        let german = "Als Gregor Samsa eines Morgens aus unruhigen Träumen erwachte, fand er sich in seinem Bett zu \
                      einem ungeheueren Ungeziefer verwandelt. Er lag auf seinem panzerartig harten Rücken und sah, \
                      wenn er den Kopf ein wenig hob, seinen gewölbten, braunen Bauch.";
        let titles = [
            "The Trial of the King",
            "A Room with a View",
            "The Way of All Flesh",
            "Sons and Lovers",
        ];
        assert_eq!(of(&[english, german, english]), ["en", "de"]);
        assert_eq!(of(&[&[german][..], &[english; 7]].concat()), ["en"]);
        assert_eq!(of(&[german]), ["de"]);
        assert_eq!(of(&titles.repeat(9)), ["en"]);
        assert!(of(&["f017 f044 f9921 f112 f77", ""]).is_empty());
        assert!(of(&[]).is_empty());
        let chinese = "今天天气很好我们去海边散步看见了很多船";
        assert_eq!(of(&[[english; 7].as_slice(), &[chinese; 9]].concat()), ["en", "zh"]);
        assert_eq!(of(&["ພາສາລາວເປັນພາສາທາງການຂອງລາວ"]), ["lo"]);
        assert_eq!(of(&["ភាសាខ្មែរជាភាសាផ្លូវការ"]), ["km"]);
    }
}
