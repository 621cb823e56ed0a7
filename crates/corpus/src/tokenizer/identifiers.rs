//! Splits the names of source code into words: `max_document_bytes`, `HTTPServer`, `Vec3Add`.
//!
//! The rule, read from left to right:
//! - `_` and any other character that is neither alphanumeric nor a combining mark ends a piece and is left out
//!   (`self.terms`, `std:io`, `foo-bar`), but an apostrophe between letters or digits stays (`don't`), and so does a
//!   period, comma or semicolon between digits (`3.14`, `1,000`);
//! - an upper-case letter begins a piece after a character that is not upper-case (`camelCase`),
//!   and, before a lower-case letter, after an upper-case one too (`HTTPServer`: http, server);
//! - a digit continues the current piece (`utf8`, `sha256sum`, `x86`); an upper-case letter after
//!   it begins a new one (`Int32Array`: int32, array).

use unicode_normalization::char::is_combining_mark;

/// Visits the pieces of `word`. The whole word is visited only if it is one piece.
pub(super) fn split(word: &str, visit: &mut impl FnMut(&str)) {
    let mut start = 0;
    let mut before: Option<char> = None;
    let mut rest = word.char_indices().peekable();
    while let Some((at, here)) = rest.next() {
        let after = rest.peek().map(|&(_, c)| c);
        if !belongs(before, here, after) {
            piece(&word[start..at], visit);
            start = at + here.len_utf8();
        } else if begins(before, here, after) {
            piece(&word[start..at], visit);
            start = at;
        }
        before = Some(here);
    }
    piece(&word[start..], visit);
}

fn piece(piece: &str, visit: &mut impl FnMut(&str)) {
    if !piece.is_empty() {
        visit(piece);
    }
}

/// Returns whether `here` is part of a piece at all.
fn belongs(before: Option<char>, here: char, after: Option<char>) -> bool {
    let both = |test: fn(char) -> bool| before.is_some_and(test) && after.is_some_and(test);
    match here {
        '\'' | '\u{2019}' => both(char::is_alphanumeric),
        '.' | ',' | ';' => both(char::is_numeric),
        _ if here.is_ascii() => here.is_ascii_alphanumeric(),
        // U+200C and U+200D shape letters in Persian and Indic words.
        '\u{200C}' | '\u{200D}' => true,
        _ => here.is_alphanumeric() || is_combining_mark(here),
    }
}

/// Returns whether a piece begins at `here`, which belongs to one.
fn begins(before: Option<char>, here: char, after: Option<char>) -> bool {
    let Some(before) = before else { return false };
    here.is_uppercase()
        && (!before.is_uppercase() || after.is_some_and(char::is_lowercase))
        && before.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::split;

    fn pieces(word: &str) -> Vec<String> {
        let mut pieces = Vec::new();
        split(word, &mut |piece| pieces.push(piece.to_owned()));
        pieces
    }

    #[test]
    fn snake_camel_and_acronyms() {
        assert_eq!(pieces("max_document_bytes"), ["max", "document", "bytes"]);
        assert_eq!(pieces("__init__"), ["init"]);
        assert_eq!(pieces("camelCase"), ["camel", "Case"]);
        assert_eq!(pieces("HTTPServer"), ["HTTP", "Server"]);
        assert_eq!(pieces("parseHTTP"), ["parse", "HTTP"]);
        assert_eq!(pieces("MAX_LENGTH"), ["MAX", "LENGTH"]);
        assert_eq!(pieces("aBC"), ["a", "BC"]);
        assert_eq!(pieces("größeÄndern"), ["größe", "Ändern"]);
        assert_eq!(pieces("word"), ["word"]);
        assert_eq!(pieces("___"), Vec::<String>::new());
    }

    #[test]
    fn digits_go_on_with_their_piece() {
        assert_eq!(pieces("utf8"), ["utf8"]);
        assert_eq!(pieces("sha256sum"), ["sha256sum"]);
        assert_eq!(pieces("x86_64"), ["x86", "64"]);
        assert_eq!(pieces("Int32Array"), ["Int32", "Array"]);
        assert_eq!(pieces("HTML5Parser"), ["HTML5", "Parser"]);
        assert_eq!(pieces("3.14"), ["3.14"]);
    }

    #[test]
    fn punctuation_splits_but_apostrophes_stay() {
        assert_eq!(pieces("self.terms.len"), ["self", "terms", "len"]);
        assert_eq!(pieces("std:io"), ["std", "io"]);
        assert_eq!(pieces("don't"), ["don't"]);
        assert_eq!(pieces("don\u{2019}t"), ["don\u{2019}t"]);
        assert_eq!(pieces("x\u{302}y"), ["x\u{302}y"]);
        assert_eq!(pieces("foo\u{203F}bar"), ["foo", "bar"]);
        assert_eq!(pieces("“fooBar”"), ["foo", "Bar"]);
        assert_eq!(pieces("می\u{200C}خواهم"), ["می\u{200C}خواهم"]);
    }
}
