//! Words that are hyphenated at the end of a line, as in print: a hyphen after a letter, a line break, and a lower-case
//! letter.

use std::borrow::Cow;

use memchr::memchr_iter;

const HYPHENS: [char; 4] = ['-', '\u{ad}', '\u{2010}', '¬'];
const BLANKS: [char; 3] = [' ', '\t', '\r'];

/// Joins the two parts of each such word.
pub(super) fn joined(text: &str) -> Cow<'_, str> {
    let mut joined = String::new();
    let mut begin = 0;
    for (end, next) in breaks(text) {
        joined.push_str(&text[begin..end]);
        begin = next;
    }
    match begin {
        0 => Cow::Borrowed(text),
        _ => Cow::Owned(joined + &text[begin..]),
    }
}

/// Returns where each such word breaks: the ends of its first part and of the gap.
fn breaks(text: &str) -> impl Iterator<Item = (usize, usize)> {
    memchr_iter(b'\n', text.as_bytes()).filter_map(|line_break| {
        let before = text[..line_break].trim_end_matches(BLANKS);
        let stem = before.strip_suffix(HYPHENS)?;
        let after = text[line_break + 1..].trim_start_matches(BLANKS);
        let is_broken =
            stem.ends_with(char::is_alphabetic) && after.starts_with(char::is_lowercase);
        is_broken.then(|| (stem.len(), text.len() - after.len()))
    })
}

/// Returns the share of line breaks that are within a word.
pub fn share_of_breaks<'t>(texts: impl Iterator<Item = &'t str>) -> f64 {
    let [mut lines, mut broken] = [0usize; 2];
    for text in texts {
        lines += memchr_iter(b'\n', text.as_bytes()).count();
        broken += breaks(text).count();
    }
    broken as f64 / lines.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_broken_within_are_joined() {
        for (text, expected) in [
            ("a govern-\nment and", "a government and"),
            ("re\u{ad} \r\n  gierung", "regierung"),
            ("état¬\nmajor, or\u{2010}\nder", "étatmajor, order"),
            ("one -\ntwo, Anglo-\nSaxon, 1914-\n18", "one -\ntwo, Anglo-\nSaxon, 1914-\n18"),
            ("end-\n\nof paragraph", "end-\n\nof paragraph"),
            ("-\na\n-", "-\na\n-"),
            ("a-\nb-\nc", "abc"),
        ] {
            assert_eq!(joined(text), expected, "{text}");
        }
        let share = share_of_breaks(["a-\nb\nc\n", "d\n"].into_iter());
        assert_eq!(share, 0.25);
    }
}
