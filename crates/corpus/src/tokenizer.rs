//! Text to tokens: without addresses, NFC, words of UAX #29 (or another [`TokenRule`]), lower case, length limits.
//!
//! ASCII and the most common letters are cut by our own scanner (`scan`), which agrees with the crate
//! `unicode-segmentation` (tests compare them). Around a character that the scanner does not know, the *stretch* from
//! one ASCII white space to the next goes to the crate. `form` gives a word its final form, `identifiers` splits the
//! names of source code, and `rewriter` replaces sequences of tokens.
//!
//! By UAX #29 each ideograph is a separate word; [`TokenRule::Dictionary`] leaves stretches with a script that has no
//! spaces between words (`unspaced`) to ICU4X. Stop words are removed elsewhere (`stop_words`); tokens are not stemmed.

mod addresses;
mod form;
pub mod hyphens;
mod identifiers;
mod rewriter;
mod scan;
mod short;
pub mod unspaced;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

use icu_segmenter::WordSegmenter;
use icu_segmenter::options::WordBreakInvariantOptions;
use unicode_normalization::char::decompose_compatible;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};
use unicode_segmentation::UnicodeSegmentation;

use self::form::TokenForm;
use self::rewriter::Rewriting;
pub use self::rewriter::{Rewriter, Rule, Token};
use self::scan::{CORE, Classes, WIDE};
pub use self::short::ShortToken;
use super::settings::{TokenRule, TokenSettings};

/// A tokenizer of texts; one per worker, so that its buffers are reused.
///
/// The form of a token, beyond [`TokenSettings`]:
/// - an apostrophe between letters belongs to the word (`don't`, `library's`; nothing is
///   stripped), and U+2019 (’) becomes `'`, so that both spellings are one term;
/// - underscores around a word do not belong to it, except with [`TokenRule::Whitespace`];
/// - lower-casing is [`str::to_lowercase`] of the token (final sigma included), except that the Turkish İ becomes i;
///   the token is in NFC afterwards too;
/// - soft hyphens and other invisible characters are left out, and so are Arabic's tatweel and vowel marks; ligatures
///   (ﬁ), the long s, and full-width and presentation forms become the usual letters;
/// - lengths count characters of the final form; longer tokens are dropped, not cut. Two characters are enough for a
///   word of a dictionary. The cost is linear in the length of any text.
///
/// ```
/// use corpus::settings::TokenSettings;
/// use corpus::tokenizer::Tokenizer;
///
/// let mut tokenizer = Tokenizer::new(&TokenSettings {
///     min_length: 2,
///     max_length: 64,
///     ..TokenSettings::DEFAULT
/// });
/// let mut tokens = Vec::new();
/// tokenizer.tokens("Don’t stop: CAFE\u{301} e 42 città!", &mut |t| tokens.push(t.to_owned()));
/// assert_eq!(tokens, ["don't", "stop", "café", "città"]);
/// ```
#[derive(Clone, Debug)]
pub struct Tokenizer {
    /// The class of each character, under the rule.
    classes: Classes,
    form: TokenForm,
    /// A stretch that had to be normalised.
    normalized: String,
    /// The rewriting of a text's tokens, if there are rules.
    rewriting: Option<Rewriting>,
}

/// A receiver of tokens, in order.
pub trait TokenSink {
    /// Takes a token.
    fn token(&mut self, token: &str);

    /// Takes a token that the scanner has found to be short.
    #[inline]
    fn short(&mut self, token: ShortToken) {
        token.visit(|text| self.token(text));
    }
}

impl<F: FnMut(&str)> TokenSink for F {
    #[inline]
    fn token(&mut self, token: &str) {
        self(token);
    }
}

impl Tokenizer {
    /// Creates a tokenizer for these settings.
    pub fn new(settings: &TokenSettings) -> Self {
        Self {
            classes: Classes::new(settings.rule, settings.numbers),
            form: TokenForm::new(settings),
            normalized: String::new(),
            rewriting: None,
        }
    }

    /// Makes the tokenizer rewrite the tokens of each text by these passes of rules.
    #[must_use]
    pub fn with_rules(mut self, passes: &[Vec<Rule>]) -> Self {
        let rewriter = || Rewriting::new(Arc::new(Rewriter::new(passes)));
        self.rewriting = (!passes.is_empty()).then(rewriter);
        self
    }

    /// Calls `visit` with every token of `text`, in order.
    #[inline]
    pub fn tokens(&mut self, text: &str, visit: &mut impl FnMut(&str)) {
        self.pass(text, visit);
    }

    /// Passes every token of `text` to `sink`, in order.
    #[inline]
    pub fn pass(&mut self, text: &str, sink: &mut impl TokenSink) {
        let Some(mut rewriting) = self.rewriting.take() else {
            return self.cut(text, sink);
        };
        self.cut(text, &mut |token: &str| rewriting.push(token));
        rewriting.finish(&mut |token| sink.token(token));
        self.rewriting = Some(rewriting);
    }

    #[inline]
    fn cut(&mut self, text: &str, sink: &mut impl TokenSink) {
        let settings = &self.form.settings;
        let joined =
            if settings.join_hyphens { hyphens::joined(text) } else { Cow::Borrowed(text) };
        if !settings.addresses && settings.rule != TokenRule::Whitespace {
            addresses::without(&joined, &mut |part| self.scan(part, sink))
        } else {
            self.scan(&joined, sink)
        }
    }

    #[inline]
    fn scan(&mut self, text: &str, sink: &mut impl TokenSink) {
        let bytes = text.as_bytes();
        let mut at = 0;
        // Everything before `floor`, the end of the last cut, is settled.
        let mut floor = 0;
        while at < bytes.len() {
            let (class, length) = self.classes.at(bytes, at);
            if class & (CORE | WIDE) == 0 {
                at += length;
                continue;
            }
            if let Some(sixteen) = bytes[at..].first_chunk::<16>()
                && let Some((token, is_lower)) = self.classes.short(sixteen)
                && self.form.is_final(is_lower)
            {
                at += token.len();
                if self.form.has_length(token.len()) {
                    sink.short(token);
                }
            } else {
                let run = scan::run(&self.classes, bytes, at);
                let visit = &mut |token: &str| sink.token(token);
                if run.wide {
                    let (start, end) = scan::stretch(bytes, at, floor);
                    self.stretch(&text[start..end], visit);
                    at = end;
                } else {
                    self.form.known(&text[at..run.end], run.seen, visit);
                    at = run.end;
                }
            }
            floor = at;
        }
    }

    /// Calls `visit` with counted terms and their counts: with the tokens of each term, if they are `words` of a text,
    /// else with the term itself. A term may be visited more than once.
    pub fn counted(
        &mut self,
        counts: &[(Cow<'_, str>, u32)],
        words: bool,
        visit: &mut impl FnMut(&str, u32),
    ) {
        for &(ref term, count) in counts {
            if words {
                self.tokens(term, &mut |token| visit(token, count))
            } else {
                visit(term, count)
            }
        }
    }

    /// Cuts a stretch that has characters the scanner does not know.
    #[inline(never)]
    fn stretch(&mut self, stretch: &str, visit: &mut impl FnMut(&str)) {
        let text = normalized(stretch, &mut self.normalized);
        let form = &mut self.form;
        match form.settings.rule {
            TokenRule::Dictionary if text.contains(unspaced::is_unspaced) => {
                dictionary_words(text).for_each(|word| form.any(word.trim(), visit));
            }
            // A mark after spaces forms a word with them.
            TokenRule::Words | TokenRule::Dictionary => {
                text.unicode_words().for_each(|word| form.any(word.trim(), visit));
            }
            TokenRule::Whitespace => text.split_whitespace().for_each(|w| form.any(w, visit)),
            TokenRule::Letters => {
                let numbers = form.settings.numbers;
                text.split(|c: char| !(c.is_alphabetic() || numbers && c.is_numeric()))
                    .filter(|word| !word.is_empty())
                    .for_each(|word| form.any(word, visit));
            }
        }
    }
}

/// Returns the words of UAX #29, but those of a dictionary in scripts without spaces between words.
fn dictionary_words(text: &str) -> impl Iterator<Item = &str> {
    let segmenter = WordSegmenter::new_dictionary(WordBreakInvariantOptions::default());
    let ends = segmenter.segment_str(text).skip(1);
    let segments = ends.scan(0, |begin, end| Some(&text[std::mem::replace(begin, end)..end]));
    segments.filter(|segment| segment.chars().any(char::is_alphanumeric))
}

/// Returns `text` in NFC, without ignorable characters and variants of letters; in `buffer` if it was not so already.
fn normalized<'a>(text: &'a str, buffer: &'a mut String) -> &'a str {
    let is_plain = |c: char| !is_ignorable(c) && !is_variant(c);
    if is_nfc(text) && text.chars().all(is_plain) {
        return text;
    }
    let mut plain = String::with_capacity(text.len());
    for c in text.chars().filter(|&c| !is_ignorable(c)) {
        if is_variant(c) { decompose_compatible(c, |part| plain.push(part)) } else { plain.push(c) }
    }
    buffer.clear();
    buffer.extend(plain.nfc());
    buffer
}

/// Returns whether a character can be within a word without making it another one: the soft hyphen, marks of direction,
/// the word joiner and other invisible operators, a byte order mark, variation selectors, and Arabic's tatweel and
/// vowel marks.
fn is_ignorable(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{640}'
            | '\u{64b}'..='\u{652}'
            | '\u{200e}' | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{e0100}'..='\u{e01ef}'
    )
}

/// Returns whether a character is a ligature, or an Arabic, full-width or half-width form of a usual letter.
fn is_variant(c: char) -> bool {
    matches!(
        c,
        '\u{fb00}'..='\u{fb06}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{ff01}'..='\u{ff9f}'
    )
}

/// Returns whether `text` is certainly in NFC. Characters below U+0300 always are: their lead bytes are below 0xCC.
fn is_nfc(text: &str) -> bool {
    text.bytes().all(|byte| byte < 0xCC) || is_nfc_quick(text.chars()) == IsNormalized::Yes
}
