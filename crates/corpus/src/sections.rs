//! Sections: a long text becomes consecutive documents of about the same length.
//!
//! A section ends with the paragraph that reaches the wanted number of words. A paragraph that would make it longer than
//! one and a half times as many is cut at the end of a sentence (UAX #29, whose line breaks within a paragraph are taken
//! for spaces), or before a word where no sentence ends. A last section of less than half as many belongs to the one
//! before.
//!
//! Words are counted cheaply: a run of letters and digits is one, so that `don't` is two, and two characters are one in
//! scripts without spaces between words. Every character is looked at a bounded number of times, whatever the text.

use std::borrow::Cow;

use super::boilerplate::Gaps;
use super::formats::DocumentSink;
use super::settings::TextSection;
use super::tokenizer::unspaced::is_unspaced;
use super::{Body, RawDocument};
use icu_segmenter::SentenceSegmenter;
use icu_segmenter::options::SentenceBreakInvariantOptions;

/// Passes the sections of a text to `emit`, each with its start as the last column of its metadata. They are named by the
/// text's id and their numbers, and their group is the text's id, unless the job names another. Starts count the bytes
/// in `gaps`. Other documents have no start, and are otherwise unchanged.
pub(super) fn cut(
    mut document: RawDocument<'_>,
    size: TextSection,
    has_groups: bool,
    gaps: &Gaps,
    emit: DocumentSink<'_>,
) {
    let Body::Text { text, repaired } = &document.body else {
        document.metadata.push(None);
        return emit(document);
    };
    let starts = starts(text, size);
    let ends = starts[1..].iter().copied().chain([text.len()]);
    for (number, (&start, end)) in starts.iter().zip(ends).enumerate() {
        let text = &text[start..end];
        let repaired = *repaired && text.contains(char::REPLACEMENT_CHARACTER);
        let group = if has_groups { document.group.as_deref() } else { Some(&*document.source_id) };
        let metadata = document.metadata.iter().map(|value| value.as_deref().map(Cow::Borrowed));
        emit(RawDocument {
            source_id: format!("{}/{:04}", document.source_id, number + 1).into(),
            group: group.map(Cow::Borrowed),
            metadata: metadata.chain([Some(gaps.place(start).to_string().into())]).collect(),
            body: Body::Text { text: Cow::Borrowed(text), repaired },
        });
    }
}

/// Returns an id without the number of a section, if it has one.
pub(super) fn without_number(id: &str) -> &str {
    let is_number = |text: &str| text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    id.rsplit_once('/').filter(|(_, number)| is_number(number)).map_or(id, |(text, _)| text)
}

/// Returns where the sections of a text start, ascending from 0.
fn starts(text: &str, size: TextSection) -> Vec<usize> {
    let mut starts = Vec::new();
    let (mut start, mut is_short) = (0, false);
    while start < text.len() || starts.is_empty() {
        starts.push(start);
        (start, is_short) = end(text, start, size);
    }
    if is_short && starts.len() > 1 {
        starts.pop();
    }
    starts
}

/// Returns where the section from `start` ends, and whether it has less than half of the wanted length.
fn end(text: &str, start: usize, size: TextSection) -> (usize, bool) {
    // In half words, or in paragraphs, which may have any length.
    let (wanted, most) = match size {
        TextSection::Words(words) => (2 * words, 3 * words),
        TextSection::Paragraphs(wanted) => (wanted, u64::MAX),
    };
    let (mut at, mut length) = (start, 0);
    while at < text.len() && length < wanted {
        let paragraph = Paragraph::of(&text[at..], most - length);
        if !paragraph.is_whole {
            let cut = sentence_end(&text[at..at + paragraph.bytes], wanted - length);
            return (at + cut, false);
        }
        at += paragraph.bytes;
        length += if most == u64::MAX { 1 } else { paragraph.length };
    }
    (at, 2 * length < wanted)
}

/// The first paragraph of a text, with the white space around it, or the beginning of it.
struct Paragraph {
    bytes: usize,
    /// In half words.
    length: u64,
    /// Whether it is not only the beginning.
    is_whole: bool,
}

impl Paragraph {
    /// Reads up to a blank line, or up to the character by which it has more than `most` half words.
    fn of(text: &str, most: u64) -> Self {
        let (mut count, mut line) = (WordCount::default(), 0);
        let (mut is_begun, mut breaks) = (false, 0);
        for (at, c) in text.char_indices() {
            if c == '\n' {
                (line, breaks) = (at + 1, breaks + 1);
                count.is_within = false;
            } else if c.is_ascii_alphanumeric() || !c.is_whitespace() {
                if breaks > 1 && is_begun {
                    return Self { bytes: line, length: count.halves, is_whole: true };
                }
                (is_begun, breaks) = (true, 0);
                count.add(c);
                if count.halves > most {
                    return Self { bytes: at, length: count.halves, is_whole: false };
                }
            } else {
                count.is_within = false;
            }
        }
        Self { bytes: text.len(), length: count.halves, is_whole: true }
    }
}

/// Half words so far.
#[derive(Default)]
struct WordCount {
    halves: u64,
    /// Whether the last character belongs to a word in a script with spaces.
    is_within: bool,
}

impl WordCount {
    #[inline]
    fn add(&mut self, c: char) {
        let is_part = c.is_alphanumeric();
        if !c.is_ascii() && is_part && is_unspaced(c) {
            self.halves += 1;
            self.is_within = false;
        } else {
            self.halves += 2 * u64::from(is_part && !self.is_within);
            self.is_within = is_part;
        }
    }
}

/// Returns where to cut a text that is longer than `wanted` half words: at the first end of a sentence that leaves as
/// many before it, or at the next word.
fn sentence_end(text: &str, wanted: u64) -> usize {
    let mut count = WordCount::default();
    let is_next = |&(_, c): &(usize, char)| {
        let before = (count.halves, count.is_within);
        count.add(c);
        before.0 >= wanted && count.halves > before.0
    };
    let next = text.char_indices().find(is_next).map_or(text.len(), |(at, _)| at);
    // A word ends before white space and punctuation, and the sentence after.
    let last = text[..next].trim_end_matches(|c: char| !c.is_alphanumeric()).len();
    let spaced = text.replace(['\n', '\r'], " ");
    let segmenter = SentenceSegmenter::new(SentenceBreakInvariantOptions::default());
    let mut ends = segmenter.segment_str(&spaced);
    ends.find(|&end| end >= last && end > 0).filter(|&end| end < text.len()).unwrap_or(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the sections of a text.
    fn cut_at(text: &str, size: TextSection) -> Vec<&str> {
        let starts = starts(text, size);
        let ends = starts[1..].iter().copied().chain([text.len()]);
        starts.iter().zip(ends).map(|(&start, end)| &text[start..end]).collect()
    }

    fn words(text: &str) -> u64 {
        let mut count = WordCount::default();
        text.chars().for_each(|c| count.add(c));
        count.halves / 2
    }

    #[test]
    fn sections_end_with_paragraphs() {
        let text = "\n\none two\nthree\n\n\n  four five six \n \nseven eight\r\n\r\nnine ten\n";
        let parts = cut_at(text, TextSection::Words(3));
        assert_eq!(
            parts,
            ["\n\none two\nthree\n\n\n", "  four five six \n \n", "seven eight\r\n\r\nnine ten\n"]
        );
        let parts = cut_at(text, TextSection::Paragraphs(2));
        assert_eq!(parts.concat(), text);
        assert_eq!(parts[1], "seven eight\r\n\r\nnine ten\n");
    }

    #[test]
    fn a_short_rest_belongs_to_the_section_before() {
        let text = "a b c d\n\ne f g h\n\ni j\n\n";
        assert_eq!(cut_at(text, TextSection::Words(4)).len(), 3);
        assert_eq!(cut_at("a b c d\n\ne f g h\n\ni", TextSection::Words(4)).len(), 2);
        assert_eq!(cut_at(text, TextSection::Paragraphs(2)).len(), 2);
        assert_eq!(cut_at("a\n\nb\n\nc\n\nd\n\ne", TextSection::Paragraphs(4)).len(), 1);
        for short in ["", " \n\n ", "a", "a\n\nb"] {
            assert_eq!(cut_at(short, TextSection::Words(4)), [short]);
        }
    }

    #[test]
    fn long_paragraphs_are_cut_between_sentences() {
        for (sentence, length) in [
            ("It was 3.14 o'clock, said Alice (\"or so\") in\nhaste. ", 12),
            ("Der schnelle braune Fuchs springt über\r\nden faulen Hund! ", 9),
            ("« Où vas-tu donc ? » demanda-t-il à l'enfant. ", 10),
            ("Πού πηγαίνεις τώρα μέσα στη νύχτα, φίλε μου. ", 8),
            ("吾輩は猫である名前はまだ無いどこで生れたか。", 10),
            ("道可道非常道名可名非常名。", 6),
        ] {
            assert_eq!(words(sentence), length, "{sentence}");
            let text = sentence.repeat(100);
            let parts = cut_at(&text, TextSection::Words(40));
            assert_eq!(parts.concat(), text);
            assert!(parts.len() > 100 * length as usize / 60, "{} sections", parts.len());
            for part in parts {
                assert!(part.starts_with(&sentence[..9]), "{part}");
                assert!((40..=60).contains(&words(part)), "{} words", words(part));
            }
        }
    }

    #[test]
    fn where_no_sentence_ends_words_are_not_cut() {
        let text = "lorem ipsum, dolor\nsit amet — ".repeat(100);
        let parts = cut_at(&text, TextSection::Words(7));
        assert_eq!(parts.concat(), text);
        assert!(parts[..parts.len() - 1].iter().all(|part| words(part) == 7), "{parts:?}");
        assert!(parts[1..].iter().all(|part| part.starts_with(char::is_alphabetic)));
        let parts = cut_at("漢字漢字漢字漢字", TextSection::Words(2));
        assert_eq!(parts, ["漢字漢字", "漢字漢字"]);
    }

    #[test]
    fn a_section_is_a_document_of_its_own() {
        let text = "one two \u{fffd}\n\nthree four\n\nfive six";
        let document = |body| RawDocument {
            source_id: "a.txt@0".into(),
            group: Some("volume".into()),
            metadata: vec![None, Some("x".into())],
            body,
        };
        let is_group = ["a.txt@0", "volume"];
        for (has_groups, group) in [false, true].into_iter().zip(is_group) {
            let mut seen = Vec::new();
            let body = Body::Text { text: text.into(), repaired: true };
            cut(
                document(body),
                TextSection::Words(2),
                has_groups,
                &Gaps::default(),
                &mut |section| {
                    let Body::Text { text: part, repaired } = &section.body else {
                        panic!("no text")
                    };
                    assert_eq!(
                        (section.group.as_deref(), part.contains('\u{fffd}')),
                        (Some(group), *repaired)
                    );
                    let start: usize = section.metadata[2].as_deref().unwrap().parse().unwrap();
                    assert!(text[start..].starts_with(&**part));
                    assert_eq!(section.metadata[..2], [None, Some("x".into())]);
                    assert_eq!(without_number(&section.source_id), "a.txt@0");
                    seen.push(section.source_id.into_owned());
                },
            );
            assert_eq!(seen, ["a.txt@0/0001", "a.txt@0/0002", "a.txt@0/0003"]);
        }
        let body = Body::Counts { counts: Vec::new(), words: true, repaired: false };
        cut(document(body), TextSection::Words(2), false, &Gaps::default(), &mut |other| {
            assert_eq!((&*other.source_id, other.group.as_deref()), ("a.txt@0", Some("volume")));
            assert_eq!(other.metadata.len(), 3);
        });
        assert_eq!(without_number("a/b@12"), "a/b@12");
    }

    #[test]
    fn the_time_is_linear_in_any_text() {
        // Without a bound on what is looked at twice, each of these takes minutes.
        for unit in ["word ", "w", "漢", ".", ".)", ". 1 ", "\n", "\n\n", " ", "a\n\n", "!\" "] {
            let text = unit.repeat((1 << 20) / unit.len());
            for size in [TextSection::Words(100), TextSection::Paragraphs(3)] {
                assert_eq!(
                    cut_at(&text, size).iter().map(|part| part.len()).sum::<usize>(),
                    text.len()
                );
            }
        }
    }
}
