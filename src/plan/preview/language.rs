//! The language of a collection: that of most of its texts.

use std::collections::BTreeMap;

use corpus::language::identify;
use corpus::stop_words::languages;

/// Texts that are looked at, evenly spread over those that were read.
const MOST_TEXTS: usize = 200;

/// Characters needed to identify a language; shorter texts are joined.
const ENOUGH: usize = 200;

/// The code of the language that more than half of the texts are in, if there is a stop list for it.
pub(super) fn of(texts: &[&str]) -> Option<&'static str> {
    let step = texts.len().div_ceil(MOST_TEXTS).max(1);
    let mut joined = vec![String::new()];
    for text in texts.iter().step_by(step) {
        match joined.last_mut() {
            Some(last) if last.chars().nth(ENOUGH).is_none() => last.extend([" ", text]),
            _ => joined.push((*text).to_owned()),
        }
    }
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    for text in &joined {
        *counts.entry(identify(text)).or_default() += 1;
    }
    let has_list = |code: &str| languages().any(|known| known == code);
    let is_most = |(code, count): (&'static str, usize)| {
        (2 * count > joined.len() && has_list(code)).then_some(code)
    };
    counts.into_iter().find_map(is_most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_is_that_of_most_texts() {
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
        assert_eq!(of(&[english, german, english]), Some("en"));
        assert_eq!(of(&[german]), Some("de"));
        assert_eq!(of(&titles.repeat(9)), Some("en"));
        assert_eq!(of(&[english, german]), None);
        assert_eq!(of(&["f017 f044 f9921 f112 f77", ""]), None);
        assert_eq!(of(&[]), None);
    }
}
