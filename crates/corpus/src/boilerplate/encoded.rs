//! Files in the form of text: uuencoded, in base64, in BinHex, or in the armour of OpenPGP.

use std::ops::Range;

use super::lines_of;

/// Consecutive lines that show a code.
const FEWEST: usize = 3;
/// Bytes of a full line: of uuencode, and at least of other codes.
const UU_LINE: usize = 61;
const LONG_LINE: usize = 60;
/// The signs of BinHex, and the one around a file.
const BINHEX: &[u8] = b"!\"#$%&'()*+,-012345689@ABCDEFGHIJKLMNPQRSTUVXYZ[`abcdefhijklmpqr:";
/// Distinct bytes in a line of a code; a rule has fewer.
const DISTINCT: u32 = 16;
/// The most bytes of an armour of OpenPGP.
const ARMOUR: usize = 64 << 10;

/// The kind of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CodeLine {
    /// `begin 644 name`.
    Begin,
    End,
    /// A full line of uuencode.
    Uu,
    /// A long one of another code, and its length.
    Long(usize),
    /// A line that may be the last one of a file in uuencode or in base64.
    Rest,
    Other,
}

/// Returns the lines of each file, with those that name it and end it.
pub(super) fn lines(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let (mut run, mut armour) = (Vec::new(), None);
    for line in lines_of(text) {
        let it = &text[line.clone()];
        if it.starts_with("-----END PGP ")
            && let Some(begin) = armour.take().filter(|begin| line.end - begin <= ARMOUR)
        {
            found.retain(|code| code.end <= begin);
            found.push(begin..line.end);
            run.clear();
            continue;
        }
        let kind = kind(&text.as_bytes()[line.clone()]);
        let continues = run.last().is_none_or(|&(_, last)| match (last, kind) {
            (CodeLine::Begin, CodeLine::Uu | CodeLine::Rest) => true,
            (CodeLine::Uu, CodeLine::Uu | CodeLine::Rest | CodeLine::End) => true,
            (CodeLine::Long(one), CodeLine::Long(other)) => one == other,
            (CodeLine::Long(_), CodeLine::Rest) => true,
            (CodeLine::Rest, CodeLine::Rest | CodeLine::End) => true,
            _ => false,
        });
        if !continues {
            found.extend(code(&run));
            run.clear();
        }
        if !(run.is_empty() && matches!(kind, CodeLine::Rest | CodeLine::End | CodeLine::Other)) {
            run.push((line, kind));
        } else if it.starts_with("-----BEGIN PGP SIGNED") {
            found.push(line);
        } else if it.starts_with("-----BEGIN PGP ") {
            armour = Some(line.start);
        }
    }
    found.extend(code(&run));
    found
}

/// Returns the lines of a run that is a code.
fn code(run: &[(Range<usize>, CodeLine)]) -> Option<Range<usize>> {
    let is_full = |&&(_, kind): &&(_, CodeLine)| matches!(kind, CodeLine::Uu | CodeLine::Long(_));
    let is_named = || run[0].1 == CodeLine::Begin && run[run.len() - 1].1 == CodeLine::End;
    let is_code = run.iter().filter(is_full).count() >= FEWEST || run.len() > 2 && is_named();
    is_code.then(|| run[0].0.start..run[run.len() - 1].0.end)
}

fn kind(line: &[u8]) -> CodeLine {
    let code = line.strip_suffix(b"\n").unwrap_or(line);
    let code = code.strip_suffix(b"\r").unwrap_or(code);
    match code {
        b"end" => CodeLine::End,
        [b'b', b'e', b'g', b'i', b'n', b' ', mode @ ..]
            if mode.len() > 4 && mode[..3].iter().all(u8::is_ascii_digit) && mode[3] == b' ' =>
        {
            CodeLine::Begin
        }
        // Shell archives have an `X` before each line.
        [b'M', rest @ ..] | [b'X', b'M', rest @ ..]
            if is_uu(rest) && (UU_LINE - 2..=UU_LINE).contains(&rest.len()) && has_signs(rest) =>
        {
            CodeLine::Uu
        }
        [] => CodeLine::Other,
        _ if code.len() >= LONG_LINE && is_long(code) => CodeLine::Long(code.len()),
        [length, rest @ ..] if is_uu(code) => {
            // A line begins with the number of its bytes; four characters are three. Another may check them.
            let bytes = usize::from((length - b' ') & 63);
            let most = bytes.div_ceil(3) * 4;
            let is_rest = bytes < 45 && (rest.len() == most || rest.len() == most + 1 && most > 0);
            if is_rest { CodeLine::Rest } else { of_base64(code) }
        }
        _ => of_base64(code),
    }
}

/// The last line of base64 is filled up with equals signs; OpenPGP adds one that begins with it.
fn of_base64(code: &[u8]) -> CodeLine {
    let is_rest = (code.ends_with(b"=") || code.starts_with(b"=")) && code.iter().all(is_base64);
    if is_rest { CodeLine::Rest } else { CodeLine::Other }
}

fn is_uu(code: &[u8]) -> bool {
    code.iter().all(|byte| (b' '..=b'`').contains(byte))
}

/// Returns whether a line in capitals has more signs than a sentence.
fn has_signs(code: &[u8]) -> bool {
    let is_sign = |byte: &&u8| !byte.is_ascii_alphanumeric() && !b" .,'\"-!?".contains(byte);
    code.iter().filter(is_sign).count() >= 5
}

fn is_base64(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(byte)
}

fn is_long(code: &[u8]) -> bool {
    let is_code = code.iter().all(is_base64) || code.iter().all(|byte| BINHEX.contains(byte));
    let seen = code.iter().fold(0u128, |seen, byte| seen | 1 << (byte & 127));
    is_code && seen.count_ones() >= DISTINCT
}
