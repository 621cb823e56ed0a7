//! The language of texts, by the stop words in them.

use std::collections::BTreeMap;

use corpus::settings::{StopWords, TokenRule, TokenSettings};
use corpus::stop_words::{StopList, languages};
use corpus::tokenizer::Tokenizer;

/// The share of the words that are stop words, in a text of the language, at least.
const LEAST_SHARE: f64 = 0.1;
/// Characters that are looked at.
const MOST_CHARACTERS: usize = 1 << 17;

/// The code of the language whose stop words are the most frequent.
pub(super) fn of(texts: &[&str]) -> Option<&'static str> {
    let tokens = TokenSettings {
        rule: TokenRule::Words,
        lower_case: true,
        min_length: 1,
        max_length: 40,
        numbers: false,
        identifiers: false,
    };
    let (words, count) = words_of(texts, &tokens);
    let mut best = (LEAST_SHARE, None);
    // Lists of programming languages have longer names.
    for code in languages().filter(|code| code.len() == 2) {
        let list = [StopWords::Language(code.to_owned())];
        let Ok(list) = StopList::load(&list, &tokens) else {
            continue;
        };
        let stopped = words.iter().filter(|(word, _)| list.contains(word));
        let share = stopped.map(|(_, n)| n).sum::<usize>() as f64 / count.max(1) as f64;
        if share > best.0 {
            best = (share, Some(code));
        }
    }
    best.1
}

/// How often each word occurs, and how many there are.
fn words_of(texts: &[&str], tokens: &TokenSettings) -> (BTreeMap<String, usize>, usize) {
    let mut tokenizer = Tokenizer::new(tokens);
    let (mut words, mut count, mut characters) = (BTreeMap::new(), 0, 0);
    for text in texts {
        if characters > MOST_CHARACTERS {
            break;
        }
        characters += text.len();
        tokenizer.tokens(text, &mut |token| {
            *words.entry(token.to_owned()).or_insert(0) += 1;
            count += 1;
        });
    }
    (words, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_told_by_its_small_words() {
        for (code, text) in [
            (
                "en",
                "It is a truth universally acknowledged, that a single man in possession of a \
                    good fortune, must be in want of a wife.",
            ),
            (
                "de",
                "Als Gregor Samsa eines Morgens aus unruhigen Träumen erwachte, fand er sich in \
                    seinem Bett zu einem ungeheueren Ungeziefer verwandelt.",
            ),
            (
                "fr",
                "Longtemps, je me suis couché de bonne heure. Parfois, à peine ma bougie éteinte, \
                    mes yeux se fermaient si vite que je n'avais pas le temps de me dire.",
            ),
            (
                "it",
                "Nel mezzo del cammin di nostra vita mi ritrovai per una selva oscura, ché la \
                    diritta via era smarrita.",
            ),
            (
                "es",
                "En un lugar de la Mancha, de cuyo nombre no quiero acordarme, no ha mucho tiempo \
                    que vivía un hidalgo de los de lanza en astillero.",
            ),
            (
                "ru",
                "Все счастливые семьи похожи друг на друга, каждая несчастливая семья несчастлива \
                    по-своему. Жена узнала, что муж был в связи с бывшею в их доме \
                    француженкою-гувернанткой, и объявила мужу, что не может жить с ним в одном доме.",
            ),
        ] {
            assert_eq!(of(&[text]), Some(code), "{text}");
        }
        assert_eq!(of(&["f017 f044 f9921 f112 f77", ""]), None);
    }
}
