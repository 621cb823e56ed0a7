//! The ASCII scanner: what each byte is, how far a word goes, what must be left to the crate.
//!
//! UAX #29 on ASCII is this: letters, digits and `_` stay together (WB5, WB8–WB10, WB13a/b);
//! `:` `.` `'` join two letters (WB6, WB7), `,` `;` `.` `'` two digits (WB11, WB12); a break is
//! everywhere else. The other two rules are the same scan with other classes.

use crate::corpus::settings::TokenRule;

/// A letter.
pub(super) const LETTER: u8 = 1;
/// A digit.
pub(super) const DIGIT: u8 = 2;
/// Belongs to words without being a letter or a digit: `_` (ExtendNumLet).
pub(super) const JOIN: u8 = 4;
/// An upper-case letter (`LETTER` too).
pub(super) const UPPER: u8 = 8;
/// Joins two letters (MidLetter, MidNumLetQ); `LETTER` shifted by `MID_SHIFT`.
pub(super) const MID_LETTER: u8 = LETTER << MID_SHIFT;
/// Joins two digits (MidNum, MidNumLetQ); `DIGIT` shifted by `MID_SHIFT`.
pub(super) const MID_NUMBER: u8 = DIGIT << MID_SHIFT;
/// Part of a character that is not ASCII.
pub(super) const WIDE: u8 = 64;
/// What a word is made of.
pub(super) const CORE: u8 = LETTER | DIGIT | JOIN;

const MID_SHIFT: u8 = 4;

/// The class of every byte under `rule`. A byte of class 0 stands between words.
pub(super) fn classes(rule: TokenRule, numbers: bool) -> [u8; 256] {
    std::array::from_fn(|byte| class(byte as u8, rule, numbers))
}

fn class(byte: u8, rule: TokenRule, numbers: bool) -> u8 {
    let words = rule == TokenRule::Words;
    match byte {
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
pub(super) struct Run {
    /// Where it ends (exclusive).
    pub(super) end: usize,
    /// Every class that occurs in it.
    pub(super) seen: u8,
    /// A character that is not ASCII has a say in where it ends: nothing is settled.
    pub(super) wide: bool,
}

/// Scans the word that starts at `start`.
#[inline]
pub(super) fn run(classes: &[u8; 256], bytes: &[u8], start: usize) -> Run {
    let class_at = |at: usize| bytes.get(at).map_or(0, |&byte| classes[usize::from(byte)]);
    let (mut end, mut seen, mut last) = (start, 0, 0);
    loop {
        let mut here = class_at(end);
        while here & CORE != 0 {
            seen |= here;
            last = here;
            end += 1;
            here = class_at(end);
        }
        let mut wide = here & WIDE != 0;
        if here & (MID_LETTER | MID_NUMBER) != 0 {
            let next = class_at(end + 1);
            if last & next & (here >> MID_SHIFT) != 0 {
                seen |= here;
                end += 1;
                continue;
            }
            wide = next & WIDE != 0;
        }
        return Run { end, seen, wide };
    }
}

/// The stretch around the wide character that the word starting at `at` meets, as (start, end).
///
/// It starts with the word, or with what stands before a wide character, because a combining
/// mark belongs to it (all spaces of a run: WB3d); never before `floor`. It ends before white
/// space that has no wide character behind it. In NFC nothing composes across either cut.
pub(super) fn stretch(bytes: &[u8], at: usize, floor: usize) -> (usize, usize) {
    let mut start = at;
    if bytes[at] >= 0x80 && at > floor {
        start = at - 1;
        while bytes[start] == b' ' && start > floor && bytes[start - 1] == b' ' {
            start -= 1;
        }
    }
    let blank = |byte: u8| matches!(byte, b' ' | b'\n' | b'\t' | b'\r');
    let cut = |pair: &[u8]| blank(pair[0]) && pair[1] < 0x80;
    let end = bytes[at..]
        .windows(2)
        .position(cut)
        .map_or(bytes.len(), |length| at + length);
    (start, end)
}
