//! The final form of a word: which words are tokens at all, lower case, NFC, length.

use unicode_normalization::UnicodeNormalization;

use super::scan::{DIGIT, FOREIGN, JOIN, LETTER, MID_LETTER, MID_NUMBER, UPPER};
use super::{identifiers, is_nfc, unspaced};
use crate::settings::{TokenRule, TokenSettings};

/// The settings and the buffer for making tokens of words.
#[derive(Clone, Debug)]
pub(super) struct TokenForm {
    pub(super) settings: TokenSettings,
    /// A token must have a character of one of these classes.
    required: u8,
    /// The token being made.
    token: String,
}

impl TokenForm {
    pub(super) fn new(settings: &TokenSettings) -> Self {
        let required = match (settings.numbers, settings.rule) {
            (false, _) => LETTER,
            (true, TokenRule::Whitespace) => LETTER | DIGIT | JOIN,
            (true, _) => LETTER | DIGIT,
        };
        Self { settings: settings.clone(), required, token: String::new() }
    }

    /// Visits the token, or tokens, of a word in which the classes `seen` occur, without `WIDE`.
    #[inline]
    pub(super) fn known(&mut self, word: &str, seen: u8, visit: &mut impl FnMut(&str)) {
        const MAY_SPLIT: u8 = UPPER | JOIN | MID_LETTER | MID_NUMBER | FOREIGN;
        let word = if seen & JOIN == 0 { word } else { self.without_underscores(word) };
        if self.settings.identifiers && seen & MAY_SPLIT != 0 {
            self.split(word, visit);
        } else if self.settings.elisions && seen & MID_LETTER != 0 {
            self.any(word, visit);
        } else if seen & FOREIGN == 0 {
            self.ascii_token(word, seen, visit);
        } else if seen & self.required != 0 {
            self.wide_token(word, visit);
        }
    }

    /// Visits the token, or tokens, of any word.
    pub(super) fn any(&mut self, word: &str, visit: &mut impl FnMut(&str)) {
        let word = self.without_underscores(word);
        let word = if self.settings.elisions { without_elisions(word) } else { word };
        if self.settings.identifiers {
            self.split(word, visit);
        } else {
            self.any_token(word, visit);
        }
    }

    /// Returns a word without the underscores around it, which stand for italics.
    fn without_underscores<'w>(&self, word: &'w str) -> &'w str {
        match self.settings.rule {
            TokenRule::Whitespace => word,
            _ => word.trim_matches('_'),
        }
    }

    #[inline(never)]
    fn split(&mut self, word: &str, visit: &mut impl FnMut(&str)) {
        identifiers::split(word, &mut |piece| self.any_token(piece, visit));
    }

    /// Returns whether a word of letters is a token once it is in lower case; `is_lower` says that it was so already.
    #[inline]
    pub(super) fn is_final(&self, is_lower: bool) -> bool {
        is_lower || self.settings.lower_case && !self.settings.identifiers
    }

    #[inline]
    pub(super) fn has_length(&self, length: usize) -> bool {
        (self.settings.min_length..=self.settings.max_length).contains(&length)
    }

    /// Whether the token is shorter than others must be, but long enough for a word of a dictionary.
    fn is_short_word(&self, length: usize) -> bool {
        self.settings.rule == TokenRule::Dictionary
            && (unspaced::MIN_LENGTH..self.settings.min_length).contains(&length)
            && self.token.contains(unspaced::is_unspaced)
    }

    #[inline]
    fn ascii_token(&mut self, word: &str, seen: u8, visit: &mut impl FnMut(&str)) {
        if seen & self.required == 0 || !self.has_length(word.len()) {
            return;
        }
        if self.settings.lower_case && seen & UPPER != 0 {
            self.token.clear();
            self.token.push_str(word);
            self.token.make_ascii_lowercase();
            visit(&self.token);
        } else {
            visit(word);
        }
    }

    fn any_token(&mut self, word: &str, visit: &mut impl FnMut(&str)) {
        if word.is_ascii() {
            let seen = word.bytes().fold(0, |seen, byte| seen | classify(byte.into()));
            self.ascii_token(word, seen, visit);
        } else if word.chars().any(|c| classify(c) & self.required != 0) {
            self.wide_token(word, visit);
        }
    }

    #[inline(never)]
    fn wide_token(&mut self, word: &str, visit: &mut impl FnMut(&str)) {
        self.token.clear();
        for c in word.chars().map(usual) {
            match c {
                _ if !self.settings.lower_case => self.token.push(c),
                _ if c.is_ascii() => self.token.push(c.to_ascii_lowercase()),
                // Turkish: without the combining dot above, which an i has anyway.
                'İ' => self.token.push('i'),
                // The only letter whose lower case depends on its position in the word.
                'Σ' => return self.greek_token(word, visit),
                _ => self.token.extend(c.to_lowercase()),
            }
        }
        self.finish(visit);
    }

    fn greek_token(&mut self, word: &str, visit: &mut impl FnMut(&str)) {
        let word: String = word.chars().map(usual).collect();
        self.token = word.replace('İ', "i").to_lowercase();
        self.finish(visit);
    }

    fn finish(&mut self, visit: &mut impl FnMut(&str)) {
        if !is_nfc(&self.token) {
            // J + U+030C has no composed form, j + U+030C has.
            self.token = self.token.nfc().collect();
        }
        let length = self.token.chars().count();
        if self.has_length(length) || self.is_short_word(length) {
            visit(&self.token);
        }
    }
}

/// Returns the usual form of an apostrophe or of the long s of old print; other characters are unchanged.
fn usual(c: char) -> char {
    match c {
        '\u{2019}' | '\u{2bc}' => '\'',
        'ſ' => 's',
        _ => c,
    }
}

fn classify(c: char) -> u8 {
    if c.is_ascii_uppercase() {
        LETTER | UPPER
    } else if c.is_alphabetic() {
        LETTER
    } else if c.is_numeric() {
        DIGIT
    } else {
        JOIN
    }
}

/// Elided words of French, Italian, Catalan and Occitan (`l'état`, `dell'arte`): articles, prepositions, pronouns and conjunctions before their apostrophe, without_elisions accents, sorted.
const ELIDED: [&str; 33] = [
    "agl", "all", "anch", "c", "coll", "com", "cos", "d", "dagl", "dall", "degl", "dell", "dov",
    "gl", "j", "jusqu", "l", "lorsqu", "m", "n", "negl", "nell", "pell", "puisqu", "qu", "quell",
    "quest", "quoiqu", "s", "sugl", "sull", "t", "un",
];

/// Returns the word without_elisions elided words before it.
fn without_elisions(mut word: &str) -> &str {
    while let Some((before, after)) = word.split_once(['\'', '\u{2019}', '\u{2bc}']) {
        let is_elided = ELIDED.iter().any(|elided| elided.eq_ignore_ascii_case(before));
        if !is_elided || after.is_empty() {
            break;
        }
        word = after;
    }
    word
}

#[cfg(test)]
mod elisions_tests {
    use super::*;

    #[test]
    fn elided_words_are_dropped_and_compounds_kept() {
        for (word, expected) in [
            ("l'état", "état"),
            ("L’État", "État"),
            ("jusqu'à", "à"),
            ("qu'l'on", "on"),
            ("dell'arte", "arte"),
            ("un'altra", "altra"),
            ("aujourd'hui", "aujourd'hui"),
            ("presqu'île", "presqu'île"),
            ("o'neill", "o'neill"),
            ("l'", "l'"),
            ("dell", "dell"),
        ] {
            assert_eq!(without_elisions(word), expected);
        }
        assert!(ELIDED.is_sorted());
    }
}
