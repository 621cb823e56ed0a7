//! The names of languages.

use corpus::input::hint;
use corpus::language::WITHOUT_STOP_WORDS;
use corpus::stop_words::languages;

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
