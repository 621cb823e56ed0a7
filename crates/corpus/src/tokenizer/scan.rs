//! The scanner: the class of each character, the extent of a word, and the stretches that are left to the crate.
//!
//! On ASCII, UAX #29 amounts to this: letters, digits and `_` stay together (WB5, WB8–WB10, WB13a/b); `:` `.` `'` join
//! two letters (WB6, WB7), `,` `;` `.` `'` two digits (WB11, WB12); everywhere else is a break. The other two rules are
//! the same scan with other classes.
//!
//! The plain loop looks up the class of one character at a time. Departures: eight bytes at a time are tested for being
//! letters (one branch per word instead of one per letter), and the letters of Latin, Greek and Cyrillic and the usual
//! quotes and dashes are known here too, because the crate takes ten times as long for them. Anything else is `WIDE`:
//! unknown.

use super::short::{HIGH_BITS, ShortToken, letter_bits};
use crate::settings::TokenRule;

pub(super) const LETTER: u8 = 1;
pub(super) const DIGIT: u8 = 2;
/// Belongs to words without being a letter or a digit: `_` (ExtendNumLet).
pub(super) const JOIN: u8 = 4;
/// An upper-case letter (also `LETTER`).
pub(super) const UPPER: u8 = 8;
/// Joins two letters (MidLetter, MidNumLetQ); `LETTER` shifted by `MID_SHIFT`.
pub(super) const MID_LETTER: u8 = LETTER << MID_SHIFT;
/// Joins two digits (MidNum, MidNumLetQ); `DIGIT` shifted by `MID_SHIFT`.
pub(super) const MID_NUMBER: u8 = DIGIT << MID_SHIFT;
/// A character that is not known here.
pub(super) const WIDE: u8 = 64;
/// A character that is known here but not ASCII.
pub(super) const FOREIGN: u8 = 128;
/// The characters of words.
pub(super) const CORE: u8 = LETTER | DIGIT | JOIN;

const MID_SHIFT: u8 = 4;

/// The class of every known character under a rule. Class 0 separates words.
#[derive(Clone, Debug)]
pub(super) struct Classes {
    bytes: [u8; 256],
    /// Quotation marks, dashes, the ellipsis, × and ÷.
    sign: u8,
    /// U+2018 and U+2019.
    apostrophe: u8,
}

impl Classes {
    pub(super) fn new(rule: TokenRule, numbers: bool) -> Self {
        let (sign, apostrophe) = match rule {
            TokenRule::Words | TokenRule::Dictionary => (0, MID_LETTER | MID_NUMBER | FOREIGN),
            TokenRule::Letters => (0, 0),
            TokenRule::Whitespace => (JOIN | FOREIGN, JOIN | FOREIGN),
        };
        let bytes = std::array::from_fn(|byte| class(byte as u8, rule, numbers));
        Self { bytes, sign, apostrophe }
    }

    /// Returns the class and length in bytes of the character at `at`; (0, 1) at the end.
    #[inline]
    pub(super) fn at(&self, bytes: &[u8], at: usize) -> (u8, usize) {
        match bytes.get(at) {
            None => (0, 1),
            Some(&byte) if byte < 0x80 => (self.bytes[usize::from(byte)], 1),
            Some(_) => self.foreign(&bytes[at..]),
        }
    }

    /// Returns the word of one to eleven ASCII letters that these bytes begin with, in lower case, and whether it was so
    /// already; `None` if it may have more characters, or has none.
    #[inline]
    pub(super) fn short(&self, sixteen: &[u8; 16]) -> Option<(ShortToken, bool)> {
        let found = ShortToken::of_letters(sixteen)?;
        let end = found.0.len();
        let [here, next] = [end, end + 1].map(|at| self.bytes[usize::from(sixteen[at])]);
        let joins = here & (MID_LETTER | MID_NUMBER) != 0 && next & (CORE | WIDE) != 0;
        (here & (CORE | WIDE) == 0 && !joins).then_some(found)
    }

    /// Classifies a character beyond ASCII. The letters here are ALetter, alphabetic, not numeric, starters, and
    /// already NFC; a test checks each of them with the crates.
    fn foreign(&self, bytes: &[u8]) -> (u8, usize) {
        match *bytes {
            [0xC3, 0x97 | 0xB7, ..] | [0xC2, 0xAB | 0xBB, ..] => (self.sign, 2),
            // U+00C0 to U+023F.
            [0xC3..=0xC8, ..] => (LETTER | FOREIGN, 2),
            // Greek.
            [0xCE, 0x86 | 0x88..=0x8A | 0x8C | 0x8E..=0xA1 | 0xA3..=0xBF, ..]
            | [0xCF, 0x80..=0x8E, ..] => (LETTER | FOREIGN, 2),
            // Cyrillic: U+0400 to U+047F.
            [0xD0 | 0xD1, ..] => (LETTER | FOREIGN, 2),
            [0xE2, 0x80, 0x98 | 0x99, ..] => (self.apostrophe, 3),
            [0xE2, 0x80, 0x93 | 0x94 | 0x9C | 0x9D | 0xA6, ..] => (self.sign, 3),
            _ => (WIDE, 1),
        }
    }
}

fn class(byte: u8, rule: TokenRule, numbers: bool) -> u8 {
    let words = matches!(rule, TokenRule::Words | TokenRule::Dictionary);
    match byte {
        // `foreign` classifies these.
        0x80.. => WIDE,
        b'A'..=b'Z' => LETTER | UPPER,
        b'a'..=b'z' => LETTER,
        b'0'..=b'9' if rule == TokenRule::Letters && !numbers => 0,
        b'0'..=b'9' => DIGIT,
        b'_' if words => JOIN,
        b'.' | b'\'' if words => MID_LETTER | MID_NUMBER,
        b':' if words => MID_LETTER,
        b',' | b';' if words => MID_NUMBER,
        _ if rule == TokenRule::Whitespace && !char::from(byte).is_whitespace() => JOIN,
        _ => 0,
    }
}

/// A word as the scanner sees it.
pub(super) struct WordRun {
    /// Where it ends (exclusive).
    pub(super) end: usize,
    /// Every class that occurs in it.
    pub(super) seen: u8,
    /// Whether an unknown character affects where it ends, so that nothing is settled.
    pub(super) wide: bool,
}

/// Scans the word that starts at `start`.
#[inline(always)]
pub(super) fn run(classes: &Classes, bytes: &[u8], start: usize) -> WordRun {
    let (mut end, mut seen, mut last) = (start, 0, 0);
    loop {
        let (length, found) = letters(bytes, end);
        if length > 0 {
            (end, seen, last) = (end + length, seen | found, found);
        }
        let (mut here, mut length) = classes.at(bytes, end);
        while here & CORE != 0 {
            (end, seen, last) = (end + length, seen | here, here);
            (here, length) = classes.at(bytes, end);
        }
        let mut wide = here & WIDE != 0;
        if here & (MID_LETTER | MID_NUMBER) != 0 {
            let (next, _) = classes.at(bytes, end + length);
            if last & next & (here >> MID_SHIFT) & CORE != 0 {
                (end, seen) = (end + length, seen | here);
                continue;
            }
            wide = next & WIDE != 0;
        }
        return WordRun { end, seen, wide };
    }
}

/// Returns the number of ASCII letters at `at`, and their classes together. Tests eight bytes at a time, and so not the
/// last seven of a text: 0 letters only means to look closer.
#[inline]
fn letters(bytes: &[u8], at: usize) -> (usize, u8) {
    let (mut length, mut upper) = (0, 0);
    while let Some(eight) = bytes.get(at + length..).and_then(<[u8]>::first_chunk::<8>) {
        let eight = u64::from_le_bytes(*eight);
        let letters = letter_bits(eight);
        let others = !letters & HIGH_BITS;
        // 0x20 is the bit that distinguishes upper from lower case.
        let uppers = letters & !(eight << 2);
        if others != 0 {
            length += others.trailing_zeros() as usize / 8;
            upper |= uppers & (others ^ (others - 1)) & !others;
            break;
        }
        length += 8;
        upper |= uppers;
    }
    (length, LETTER | if upper != 0 { UPPER } else { 0 })
}

/// Returns the (start, end) of the stretch around the unknown character that the word starting at `at` meets.
///
/// It starts with the word, or with the character before an unknown one, because a combining mark belongs to it (all
/// spaces of a run: WB3d); never before `floor`. It ends before white space that is followed by ASCII. In NFC nothing
/// composes across either cut.
pub(super) fn stretch(bytes: &[u8], at: usize, floor: usize) -> (usize, usize) {
    let mut start = at;
    if bytes[at] >= 0x80 && at > floor {
        start = at - 1;
        while start > floor && bytes[start] & 0xC0 == 0x80 {
            start -= 1;
        }
        while bytes[start] == b' ' && start > floor && bytes[start - 1] == b' ' {
            start -= 1;
        }
    }
    let blank = |byte: u8| matches!(byte, b' ' | b'\n' | b'\t' | b'\r');
    let cut = |pair: &[u8]| blank(pair[0]) && pair[1] < 0x80;
    let end = bytes[at..].windows(2).position(cut).map_or(bytes.len(), |length| at + length);
    (start, end)
}

#[cfg(test)]
mod tests {
    use unicode_normalization::{IsNormalized, char::canonical_combining_class, is_nfc_quick};
    use unicode_segmentation::UnicodeSegmentation;

    use super::*;

    #[test]
    fn eight_bytes_at_a_time_find_what_one_at_a_time_does() {
        for byte in 0..=255_u8 {
            for place in 0..8 {
                let mut text = *b"aZaZaZaZ";
                text[place] = byte;
                let bits = letter_bits(u64::from_le_bytes(text)).to_le_bytes();
                let naive = text.map(|b| if b.is_ascii_alphabetic() { 0x80 } else { 0 });
                assert_eq!(bits, naive, "{byte} at {place}");
            }
        }
        assert_eq!(letters(b"abcDefghijkl-Zabcdef", 0), (12, LETTER | UPPER));
        assert_eq!(letters(b"abc-DEFG", 0), (3, LETTER));
        assert_eq!(letters(b"short", 0), (0, LETTER));
    }

    #[test]
    fn known_characters_are_what_the_crates_say() {
        let classes = Classes::new(TokenRule::Words, true);
        let mut letters = 0;
        for c in '\u{80}'..=char::MAX {
            let text = c.to_string();
            let (class, length) = classes.at(text.as_bytes(), 0);
            if class & WIDE != 0 {
                continue;
            }
            assert_eq!(length, text.len(), "{c:?}");
            assert_eq!(canonical_combining_class(c), 0, "{c:?}");
            assert_eq!(is_nfc_quick(text.chars()), IsNormalized::Yes, "{c:?}");
            assert!(!c.is_whitespace() && !c.is_numeric(), "{c:?}");
            assert_eq!(c.is_alphabetic(), class & LETTER != 0, "{c:?}");
            let between = |a: &str, b: &str| format!("{a}{c}{b}").split_word_bounds().count();
            let expected = match class & !FOREIGN {
                LETTER => [1, 1, 1, 3],
                0 => [3, 3, 3, 3],
                _ => [1, 1, 3, 3],
            };
            let found =
                [between("a", "b"), between("1", "2"), between("_", "_"), between("-", "-")];
            assert_eq!(found, expected, "{c:?}");
            letters += usize::from(class & LETTER != 0);
        }
        assert!(letters > 500, "{letters}");
    }
}
