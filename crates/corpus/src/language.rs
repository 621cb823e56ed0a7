//! The language of a text, identified from its beginning by the trigrams and the letters of 70 languages (crate
//! `whatlang`, after Cavnar & Trenkle 1994), and Lao by its script.

use std::borrow::Cow;

use whatlang::Lang::{self, *};

use super::{Body, DocumentStatus, RawDocument};

/// The column of `documents` with the language.
pub const COLUMN: &str = "language";
/// The code for a text whose language cannot be identified.
pub const UNDETERMINED: &str = "und";
/// Characters of a text that are examined. On English mail, documentation and prose, 1,000 are as good as the whole
/// text, and 400 are not. Comparing with each language's profile takes most of the time, whatever the length; leaving
/// out languages that the job does not keep would assign texts in them to the nearest language that it keeps.
const CHARACTERS: usize = 1000;
/// The least confidence at which a language counts as identified. Fewer than 1 in 100 of the English texts and
/// sentences in docs/FORMATS.md that reach it are assigned to another language.
const LEAST_CONFIDENCE: f64 = 0.5;

/// The languages that can be identified, by their ISO 639-1 codes, ascending.
#[rustfmt::skip]
const LANGUAGES: [(&str, Lang); 70] = [
    ("af", Afr), ("ak", Aka), ("am", Amh), ("ar", Ara), ("az", Aze), ("be", Bel), ("bg", Bul),
    ("bn", Ben), ("ca", Cat), ("cs", Ces), ("cy", Cym), ("da", Dan), ("de", Deu), ("el", Ell),
    ("en", Eng), ("eo", Epo), ("es", Spa), ("et", Est), ("fa", Pes), ("fi", Fin), ("fr", Fra),
    ("gu", Guj), ("he", Heb), ("hi", Hin), ("hr", Hrv), ("hu", Hun), ("hy", Hye), ("id", Ind),
    ("it", Ita), ("ja", Jpn), ("jv", Jav), ("ka", Kat), ("km", Khm), ("kn", Kan), ("ko", Kor),
    ("la", Lat), ("lt", Lit), ("lv", Lav), ("mk", Mkd), ("ml", Mal), ("mr", Mar), ("my", Mya),
    ("nb", Nob), ("ne", Nep), ("nl", Nld), ("or", Ori), ("pa", Pan), ("pl", Pol), ("pt", Por),
    ("ro", Ron), ("ru", Rus), ("si", Sin), ("sk", Slk), ("sl", Slv), ("sn", Sna), ("sr", Srp),
    ("sv", Swe), ("ta", Tam), ("te", Tel), ("th", Tha), ("tk", Tuk), ("tl", Tgl), ("tr", Tur),
    ("uk", Ukr), ("ur", Urd), ("uz", Uzb), ("vi", Vie), ("yi", Yid), ("zh", Cmn), ("zu", Zul),
];

/// Lao, which alone is written in its script.
const LAO: &str = "lo";
/// The languages without spaces between words that have no list of stop words.
pub const WITHOUT_STOP_WORDS: [&str; 3] = ["km", LAO, "my"];

/// Returns whether a code is that of a language that can be identified, or [`UNDETERMINED`].
pub fn is_code(code: &str) -> bool {
    [UNDETERMINED, LAO].contains(&code)
        || LANGUAGES.binary_search_by_key(&code, |known| known.0).is_ok()
}

/// Identifies the language of a text: its ISO 639-1 code, or [`UNDETERMINED`].
///
/// ```
/// use corpus::language::identify;
///
/// assert_eq!(identify("Als Gregor Samsa eines Morgens aus unruhigen Träumen erwachte, fand er sich in seinem Bett"), "de");
/// assert_eq!(identify("f017 f044 f9921"), "und");
/// ```
pub fn identify(text: &str) -> &'static str {
    let found = detect(text).filter(|&(_, confidence)| confidence >= LEAST_CONFIDENCE);
    found.map_or(UNDETERMINED, |(code, _)| code)
}

/// Returns the code of the language that a document is most likely in, however unsure; `None` without words.
pub(crate) fn nearest(body: &Body<'_>) -> Option<&'static str> {
    detect(&words_of(body)?).map(|(code, _)| code)
}

/// Returns the code of the nearest language of a text's beginning, and the confidence in it, 0 to 1.
fn detect(text: &str) -> Option<(&'static str, f64)> {
    let end = text.char_indices().nth(CHARACTERS);
    let start = end.map_or(text, |(end, _)| &text[..end]);
    if is_lao(start) {
        return Some((LAO, 1.0));
    }
    let found = whatlang::detect(start)?;
    let known = LANGUAGES.iter().find(|known| known.1 == found.lang())?;
    Some((known.0, found.confidence()))
}

/// Returns a document's text; of counts of words the most frequent ones, which are function words, in any text.
fn words_of<'b>(body: &'b Body<'_>) -> Option<Cow<'b, str>> {
    match body {
        Body::Text { text, .. } => Some(Cow::Borrowed(text)),
        Body::Counts { counts, words: true, .. } => {
            let mut sorted: Vec<_> = counts.iter().map(|(word, count)| (!count, &**word)).collect();
            let frequent = sorted.len().min(CHARACTERS);
            if frequent < sorted.len() {
                sorted.select_nth_unstable(frequent);
            }
            sorted[..frequent].sort_unstable();
            let words: Vec<&str> = sorted[..frequent].iter().map(|&(_, word)| word).collect();
            Some(Cow::Owned(words.join(" ")))
        }
        Body::Counts { .. } | Body::Missing { .. } => None,
    }
}

/// Returns whether most letters of a text are Lao.
fn is_lao(text: &str) -> bool {
    let letters = || text.chars().filter(|c| c.is_alphabetic());
    let lao = letters().filter(|c| ('\u{e80}'..='\u{eff}').contains(c));
    2 * lao.count() > letters().count()
}

/// Adds the language of its words to a document, as its last column; drops the words if `kept` has languages, but not
/// this one.
pub(super) fn add_to(document: &mut RawDocument<'_>, kept: &[String]) {
    let Some(language) = words_of(&document.body).map(|words| identify(&words)) else {
        document.metadata.push(None);
        return;
    };
    document.metadata.push(Some(Cow::Borrowed(language)));
    if !kept.is_empty() && kept.iter().all(|code| code != language) {
        let problem = format!("its language is {language}");
        document.body = Body::missing(DocumentStatus::Filtered, &document.source_id, problem);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn languages_are_told_apart_and_what_is_none_is_not() {
        for (code, text) in [
            (
                "en",
                "It is a truth universally acknowledged, that a single man in possession of a good fortune, must be \
                    in want of a wife.",
            ),
            (
                "fr",
                "Longtemps, je me suis couché de bonne heure. Parfois, à peine ma bougie éteinte, mes yeux se \
                    fermaient si vite que je n'avais pas le temps de me dire.",
            ),
            (
                "it",
                "Nel mezzo del cammin di nostra vita mi ritrovai per una selva oscura, ché la diritta via era smarrita.",
            ),
            (
                "la",
                "Gallia est omnis divisa in partes tres, quarum unam incolunt Belgae, aliam Aquitani, tertiam qui \
                    ipsorum lingua Celtae, nostra Galli appellantur.",
            ),
            (
                "ru",
                "Все счастливые семьи похожи друг на друга, каждая несчастливая семья несчастлива по-своему. Жена узнала, что \
                    муж был в связи с бывшею в их доме француженкою-гувернанткой, и объявила мужу, что не может жить с \
                    ним в одном доме.",
            ),
            ("ja", "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"),
            ("zh", "道可道，非常道。名可名，非常名。"),
            ("lo", "ພາສາລາວ ເປັນພາສາທາງການຂອງ ສປປ ລາວ (Laos)"),
            ("km", "ភាសាខ្មែរ ជាភាសាផ្លូវការរបស់ប្រទេសកម្ពុជា"),
            ("my", "မြန်မာဘာသာစကားသည် မြန်မာနိုင်ငံ၏ ရုံးသုံးဘာသာစကား ဖြစ်သည်"),
            ("und", ""),
            ("und", "42 -- 17.5 %, (3)"),
            ("und", "hm"),
        ] {
            assert_eq!(identify(text), code, "{text}");
        }
    }

    #[test]
    fn every_language_has_a_code_of_its_own() {
        assert!(LANGUAGES.is_sorted_by(|a, b| a.0 < b.0));
        for lang in Lang::all() {
            assert_eq!(LANGUAGES.iter().filter(|known| known.1 == *lang).count(), 1, "{lang}");
        }
        assert!(WITHOUT_STOP_WORDS.into_iter().all(is_code));
        assert!(is_code("de") && is_code("und") && !is_code("deu") && !is_code(""));
    }

    #[test]
    fn only_the_beginning_of_a_text_counts() {
        let english =
            "The quick brown fox jumps over the lazy dog, and nobody knows why it does so. ";
        let german =
            "Der schnelle braune Fuchs springt über den faulen Hund, und niemand weiß, warum. ";
        let text = english.repeat(1000 / english.len() + 1) + &german.repeat(100);
        assert_eq!(identify(&text), "en");
    }

    proptest! {
        #[test]
        fn any_text_has_a_language(text in "\\PC{0,40}|[a-zéßıřжøå中かナ한ไहমא ]{0,30}|(?s).{0,20}") {
            prop_assert!(is_code(identify(&text)));
        }
    }
}
