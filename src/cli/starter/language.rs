//! The keys of a proposed job that depend on the languages of its texts.

use crate::cli::Failure;
use crate::cli::args::StarterArgs;
use crate::job::Template;
use crate::plan::preview::Preview;
use corpus::formats;
use corpus::language::WITHOUT_STOP_WORDS;

/// Languages that are written without spaces between words.
const UNSPACED: [&str; 6] = ["ja", "km", "lo", "my", "th", "zh"];
/// Languages in which words or syllables of two letters are content words.
const SHORT_WORDS: [&str; 2] = ["ko", "vi"];
/// Languages that elide words before vowels, as in `l'état`.
const ELIDING: [&str; 3] = ["ca", "fr", "it"];

/// Sets the language's stop words and token keys.
pub(super) fn set(
    template: &mut Template,
    preview: &Preview,
    args: &StarterArgs,
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
    let codes = match &args.language {
        Some(code) => vec![code.as_str()],
        None => preview.languages(text),
    };
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
            _ => template.set("vocabulary.stop_words", listed.clone())?,
        }
    }
    let mut row = match codes[..] {
        [] => "not recognised: no stop words are dropped (--language CODE)".to_owned(),
        [code] if args.language.is_some() => format!("{code}, as requested"),
        [code] => format!("{code}, the language of most texts"),
        _ => format!("{}: stop words of each are dropped", codes.join(", ")),
    };
    if is_unspaced {
        row.push_str("; words are those of a dictionary");
    }
    if !unlisted.is_empty() {
        row.push_str(&format!("; there is no list of stop words for {}", unlisted.join(", ")));
    }
    Ok(Some(("language", row)))
}
