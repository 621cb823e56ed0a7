//! The names of languages, and the keys of a proposed job that depend on the languages of its texts.

use crate::cli::Failure;
use crate::config::Template;
use crate::plan::preview::Preview;
use corpus::formats;
use corpus::input::hint;
use corpus::language::{COLUMN, WITHOUT_STOP_WORDS};
use corpus::settings::StopWords;
use corpus::stop_words::languages;

/// Languages that are written without spaces between words.
const UNSPACED: [&str; 6] = ["ja", "km", "lo", "my", "th", "zh"];
/// Languages in which words or syllables of two letters are content words.
const SHORT_WORDS: [&str; 2] = ["ko", "vi"];
/// Languages that elide words before vowels, as in `l'état`.
const ELIDING: [&str; 3] = ["ca", "fr", "it"];

/// Sets the stop words and token keys of the language that is requested, or else of those of the texts.
pub(super) fn set(
    template: &mut Template,
    preview: &Preview,
    requested: Option<&str>,
    text: &[String],
) -> Result<Option<(&'static str, String)>, Failure> {
    let is_bag = |word: &&str| {
        formats::named(word).is_some_and(|format| format.is_counts && !format.is_volume())
    };
    if preview.formats.iter().all(is_bag) {
        // Their terms were chosen when they were counted.
        if !template.has("vocabulary.stop_words") {
            template.set("vocabulary.stop_words", "none")?;
        }
        return Ok(None);
    }
    let codes = requested.map_or_else(|| preview.languages(text), |code| vec![code]);
    let has = |those: &[&str]| codes.iter().any(|code| those.contains(code));
    let is_unspaced = has(&UNSPACED);
    // Two letters can be a word or a syllable, and in most texts those of other scripts are short names (AI).
    if has(&SHORT_WORDS) || codes.first().is_some_and(|code| UNSPACED.contains(code)) {
        template.set("tokens.min_length", 2)?;
    }
    if has(&ELIDING) {
        template.set("tokens.elisions", true)?;
    }
    let (unlisted, listed): (Vec<&str>, Vec<&str>) =
        codes.iter().partition(|code| WITHOUT_STOP_WORDS.contains(code));
    if !template.has("vocabulary.stop_words") {
        match listed[..] {
            [] => template.set("vocabulary.stop_words", "none")?,
            [code] => template.set("vocabulary.stop_words", code)?,
            _ => {
                template.set("vocabulary.stop_words", StopWords::BY_LANGUAGE)?;
                let has_column = preview.metadata.iter().any(|name| name == COLUMN);
                if !template.has("corpus.identify_language") && !has_column {
                    template.set("corpus.identify_language", true)?;
                }
            }
        }
    }
    let mut row = match codes[..] {
        [] => "not recognised: no stop words are dropped (--language CODE)".to_owned(),
        [code] if requested.is_some() => format!("{code}, as requested"),
        [code] => format!("{code}, the language of most texts"),
        _ => format!(
            "mostly {}: each document loses the stop words of its own language",
            codes.join(", ")
        ),
    };
    if is_unspaced {
        row.push_str("; words are those of a dictionary");
    }
    if !unlisted.is_empty() {
        row.push_str(&format!("; there is no list of stop words for {}", unlisted.join(", ")));
    }
    Ok(Some(("language", row)))
}

/// The English names of languages.
#[rustfmt::skip]
const NAMES: [(&str, &str); 70] = [
    ("af", "afrikaans"), ("ar", "arabic"), ("az", "azerbaijani"), ("be", "belarusian"), ("bg", "bulgarian"), ("bn", "bengali"), ("br", "breton"),
    ("ca", "catalan"), ("cs", "czech"), ("da", "danish"), ("de", "german"), ("el", "greek"),
    ("en", "english"), ("eo", "esperanto"), ("es", "spanish"), ("et", "estonian"), ("eu", "basque"),
    ("fa", "persian"), ("fi", "finnish"), ("fr", "french"), ("ga", "irish"), ("gl", "galician"),
    ("gu", "gujarati"), ("ha", "hausa"), ("he", "hebrew"), ("hi", "hindi"), ("hr", "croatian"),
    ("hu", "hungarian"), ("hy", "armenian"), ("id", "indonesian"), ("it", "italian"), ("ja", "japanese"),
    ("km", "khmer"), ("kk", "kazakh"), ("ko", "korean"), ("ku", "kurdish"), ("la", "latin"), ("lo", "lao"),
    ("lt", "lithuanian"), ("lv", "latvian"), ("mr", "marathi"), ("ms", "malay"), ("my", "burmese"),
    ("ne", "nepali"), ("nl", "dutch"), ("no", "norwegian"), ("pl", "polish"), ("pt", "portuguese"), ("ro", "romanian"),
    ("ru", "russian"), ("sk", "slovak"), ("sl", "slovenian"), ("so", "somali"), ("sq", "albanian"), ("st", "sotho"),
    ("sv", "swedish"), ("sw", "swahili"), ("ta", "tamil"), ("tg", "tajik"), ("th", "thai"), ("tl", "tagalog"), ("tr", "turkish"),
    ("uk", "ukrainian"), ("ur", "urdu"), ("uz", "uzbek"), ("vi", "vietnamese"), ("yo", "yoruba"), ("zh", "chinese"),
    ("zu", "zulu"), ("rust", "rust"),
];

/// Returns the code of a language, given that or its English name.
///
/// # Errors
/// It is not known.
pub(in crate::cli) fn code_of(typed: &str) -> Result<String, String> {
    let typed = typed.to_lowercase();
    let named = NAMES.iter().find(|(_, name)| *name == typed);
    let code = named.map_or(typed.as_str(), |(code, _)| code);
    let codes: Vec<&str> = languages().chain(WITHOUT_STOP_WORDS).collect();
    if codes.contains(&code) {
        return Ok(code.to_owned());
    }
    let is_known = |(code, _): &&(&str, &str)| codes.contains(code);
    let names = NAMES.iter().filter(is_known);
    let names: Vec<String> = names.map(|(_, name)| (*name).to_owned()).collect();
    let hint = hint(&typed, &names);
    Err(format!("not a language that is known{hint}; the languages are: {}", codes.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_named_in_english_or_by_its_code() {
        for (typed, code) in [("en", "en"), ("english", "en"), ("German", "de"), ("rust", "rust")] {
            assert_eq!(code_of(typed).as_deref(), Ok(code));
        }
        for (typed, hint) in [
            ("englsh", "did you mean `english`?"),
            ("frensh", "did you mean `french`?"),
            ("xx", "known; the languages are: af ar"),
        ] {
            let error = code_of(typed).unwrap_err();
            assert!(error.contains(hint), "{error}");
        }
        let is_named = |code: &str| NAMES.iter().any(|(known, _)| *known == code);
        assert!(languages().chain(WITHOUT_STOP_WORDS).filter(|code| *code != "nb").all(is_named));
    }
}
