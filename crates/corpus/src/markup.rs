//! Plain text from HTML and XML, without tags, comments, scripts and styles.
//!
//! A scanner, not a parser: it does not require well-formed documents, and needs memory only for the text. An element
//! within a line, such as `<b>` or TEI's `<hi>`, leaves nothing, so that `H<sub>2</sub>O` is one word; any other tag
//! leaves a line break. Character references are decoded as in HTML.

use std::borrow::Cow;
use std::ops::Range;

use crate::settings::Markup;

/// Elements within words and lines, in HTML and TEI.
const INLINE: [&str; 30] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "em", "emph", "font", "g",
    "hi", "i", "ins", "kbd", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub",
    "sup", "tt", "u", "wbr",
];
/// Elements whose content is not text.
const HIDDEN: [&str; 2] = ["script", "style"];

impl Markup {
    /// Returns the text of a document, with or without its markup.
    pub fn apply(self, text: Cow<'_, str>) -> Cow<'_, str> {
        match self {
            Self::Keep => text,
            Self::Remove => Cow::Owned(without_markup(&text).into_owned()),
        }
    }
}

/// Returns the text of a document without its markup.
///
/// ```
/// use corpus::markup::without_markup;
///
/// let text = without_markup("<p>Moby&nbsp;<b>D</b>ick, a <!-- white --> whale</p><p>if a < b");
/// assert_eq!(text, "\nMoby\u{a0}Dick, a  whale\n\nif a < b");
/// ```
pub fn without_markup(text: &str) -> Cow<'_, str> {
    let last = Last::of(text);
    let (mut plain, mut kept, mut from) = (String::new(), 0, 0);
    while let Some(at) = text[from..].find('<').map(|at| from + at) {
        match last.tag(text, at) {
            Some(tag) => {
                plain.push_str(&html_escape::decode_html_entities(&text[kept..at]));
                plain.push_str(&text[tag.section]);
                plain.push_str(tag.mark);
                (kept, from) = (tag.end, tag.end);
            }
            None => from = at + 1,
        }
    }
    match kept {
        0 => html_escape::decode_html_entities(text),
        _ => Cow::Owned(plain + &html_escape::decode_html_entities(&text[kept..])),
    }
}

/// A tag, comment or section.
#[derive(Default)]
struct Tag {
    end: usize,
    /// The text in it that is kept, without decoding character references.
    section: Range<usize>,
    /// The text that replaces it.
    mark: &'static str,
}

/// The positions of the last end of a tag, of a comment and of a section. Anything that begins after these is plain
/// text, and is not searched for an end again and again.
struct Last {
    tag: usize,
    comment: usize,
    section: usize,
}

impl Last {
    fn of(text: &str) -> Self {
        let last = |end| text.rfind(end).unwrap_or(0);
        Self { tag: last(">"), comment: last("-->"), section: last("]]>") }
    }

    /// Returns the tag at `at`; `None` if its `<` is an ordinary character.
    fn tag(&self, text: &str, at: usize) -> Option<Tag> {
        if at > self.tag {
            return None;
        }
        let until = |end: &str, from: usize| {
            let found = text.get(from..)?.find(end)?;
            Some(from + found + end.len())
        };
        let nothing = |end| Tag { end, ..Tag::default() };
        let rest = &text[at..];
        let is_name = |begin: usize| rest[begin..].starts_with(char::is_alphabetic);
        match rest.as_bytes().get(1)? {
            b'!' if rest.starts_with("<!--") => {
                if at < self.comment {
                    until("-->", at + 4).map(nothing)
                } else {
                    None
                }
            }
            b'!' if rest.starts_with("<![CDATA[") && at < self.section => {
                let begin = at + "<![CDATA[".len();
                let end = until("]]>", begin)?;
                Some(Tag { end, section: begin..end - 3, mark: "" })
            }
            b'!' | b'?' => until(">", at).map(nothing),
            b'/' if is_name(2) => element(text, at, 2),
            _ if is_name(1) => element(text, at, 1),
            _ => None,
        }
    }
}

/// Returns the tag at `at` of an element, whose name begins `begin` bytes later.
fn element(text: &str, at: usize, begin: usize) -> Option<Tag> {
    let rest = &text[at..];
    let is_end = |c: char| c.is_whitespace() || matches!(c, '/' | '>');
    let length = rest[begin..].find(is_end)?;
    let name = rest[begin..begin + length].to_ascii_lowercase();
    let bytes = end_of_tag(rest)?;
    let is_closed = begin == 2 || rest[..bytes].ends_with("/>");
    Some(Tag {
        end: if HIDDEN.contains(&&name[..]) && !is_closed {
            end_of_element(text, at + bytes, &name)
        } else {
            at + bytes
        },
        section: 0..0,
        mark: if INLINE.contains(&&name[..]) { "" } else { "\n" },
    })
}

/// Returns where a tag ends: after the first `>` outside the quotes of attributes or, without one, after the first `>`.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut quote = None;
    let is_end = |byte: &u8| {
        match (quote, *byte) {
            (None, b'"' | b'\'') => quote = Some(*byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
        quote.is_none() && *byte == b'>'
    };
    let found = text.as_bytes().iter().position(is_end);
    found.or_else(|| text.find('>')).map(|at| at + 1)
}

/// Returns where a hidden element ends whose content begins at `begin`; the text's end if it is not closed.
fn end_of_element(text: &str, begin: usize, name: &str) -> usize {
    let closing = format!("</{name}");
    let is_closing = |at: &usize| {
        let tag = text.as_bytes()[*at..].get(..closing.len());
        tag.is_some_and(|tag| tag.eq_ignore_ascii_case(closing.as_bytes()))
    };
    let mut tags = text[begin..].match_indices('<').map(|(at, _)| begin + at);
    let end = tags.find(is_closing).and_then(|at| Some(at + text[at..].find('>')? + 1));
    end.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tags_leave_words_whole_and_apart() {
        for (text, plain) in [
            ("<p>H<sub>2</sub>O</p>", "\nH2O\n"),
            ("one<br/>two<hr>three", "one\ntwo\nthree"),
            ("<a href=\"x>y\" title='\"'>link</a>s", "links"),
            ("<DIV\nCLASS=x>y</DIV >", "\ny\n"),
            ("<tei:hi rend=\"it\">x</tei:hi><lb n=\"3\"/>y", "\nx\n\ny"),
            ("<?xml version=\"1.0\"?><!DOCTYPE html><!-- a > b -->x", "x"),
            ("<![CDATA[1 < 2 &amp; so]]>", "1 < 2 &amp; so"),
            ("<style>p > a {}</style>x<SCRIPT>if (a<b) \"</p>\"</Script >y", "\nx\ny"),
            ("<script>never closed", "\n"),
            ("<script src=x />x", "\nx"),
        ] {
            assert_eq!(without_markup(text), plain, "{text}");
        }
    }

    #[test]
    fn other_angles_and_ampersands_stay() {
        for text in [
            "",
            "a < b > c",
            "x <3 you",
            "<",
            "</",
            "<!",
            "i <-- here",
            "an <unclosed tag",
            "<!-- never closed",
            "AT&T",
            "<<<",
        ] {
            assert_eq!(without_markup(text), text);
        }
        assert_eq!(without_markup("<b \"x>y"), "y");
        assert_eq!(without_markup("1 < 2 &amp;&eacute;&#x41;&#8217;"), "1 < 2 &éA’");
    }

    proptest! {
        #[test]
        fn any_text_has_one(text in "[<>/!?&;#\"' \\-\\[\\]a-dCDATAscriptstylé]{0,60}") {
            let plain = without_markup(&text);
            prop_assert!(plain.len() <= text.len());
            if !text.contains(['<', '&']) {
                prop_assert_eq!(&plain, &text);
            }
        }
    }
}
