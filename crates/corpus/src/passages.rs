//! Passages of texts, to be shown: consecutive sentences of at most [`PASSAGE_CHARS`] characters together.

use std::ops::Range;

use icu_segmenter::SentenceSegmenter;
use icu_segmenter::options::SentenceBreakInvariantOptions;
use unicode_segmentation::UnicodeSegmentation;

/// Maximum number of characters in a passage.
pub const PASSAGE_CHARS: usize = 300;
/// Maximum number of words that are marked together.
const TERM_WORDS: usize = 4;
/// Number of characters in a part of a sentence that is longer than a passage.
const PART_CHARS: usize = PASSAGE_CHARS / 3;

/// Returns the first characters of a text, with one space for all white space between words, and an ellipsis if there
/// are more.
///
/// ```
/// # use corpus::passages::beginning;
/// assert_eq!(beginning("  Call me\n\nIshmael. "), "Call me Ishmael.");
/// assert!(beginning(&"whale ".repeat(100)).ends_with("whale …"));
/// ```
pub fn beginning(text: &str) -> String {
    let text = text.trim();
    let end = cut(text, PASSAGE_CHARS);
    shown(text, 0..end)
}

/// Returns the sentences of a text, and the parts of those that are longer than a passage, without white space around
/// them. Sentences are those of UAX #29, whose line breaks count as spaces; a blank line ends one.
pub fn sentences(text: &str) -> Vec<Range<usize>> {
    let segmenter = SentenceSegmenter::new(SentenceBreakInvariantOptions::default());
    let mut sentences = Vec::new();
    for paragraph in paragraphs(text) {
        let spaced = text[paragraph.clone()].replace(['\n', '\r'], " ");
        let ends: Vec<usize> = segmenter.segment_str(&spaced).collect();
        for bounds in ends.windows(2) {
            let mut rest = paragraph.start + bounds[0]..paragraph.start + bounds[1];
            let is_long = text[rest.clone()].chars().nth(PASSAGE_CHARS).is_some();
            while is_long && text[rest.clone()].chars().nth(PART_CHARS).is_some() {
                // Before white space at its beginning, nothing would be cut off.
                rest = trimmed(text, rest);
                let part = rest.start..rest.start + cut(&text[rest.clone()], PART_CHARS);
                rest.start = part.end;
                sentences.push(part);
            }
            sentences.push(trimmed(text, rest));
        }
    }
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}

/// Returns the passage with the largest sum of its sentences' scores, the first of several; each is as long as it may be.
/// `scores` has one for each sentence.
pub fn best(text: &str, sentences: &[Range<usize>], scores: &[f64]) -> Range<usize> {
    let (mut best, mut most) = (0..0, f64::NEG_INFINITY);
    for (first, sentence) in sentences.iter().enumerate() {
        let (mut sum, mut chars, mut end) = (0.0, 0, sentence.start);
        for (sentence, score) in sentences[first..].iter().zip(&scores[first..]) {
            chars += text[end..sentence.end].chars().count();
            if chars > PASSAGE_CHARS {
                break;
            }
            (sum, end) = (sum + score, sentence.end);
        }
        // Nothing is said before the first sentence that says something.
        if sum > most && (scores[first] > 0.0 || first == 0) {
            (best, most) = (sentence.start..end, sum);
        }
    }
    best
}

/// Returns a passage as it is shown: with one space for all white space between words, and an ellipsis where the text goes
/// on.
pub fn shown(text: &str, passage: Range<usize>) -> String {
    let (before, after) = (&text[..passage.start], &text[passage.end..]);
    let words = text[passage].split_whitespace();
    let is_more = |rest: &str| !rest.trim().is_empty();
    let ellipsis = |rest| is_more(rest).then_some("…");
    let words = ellipsis(before).into_iter().chain(words).chain(ellipsis(after));
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the distinct words of a passage that are marked, in their order. Up to `TERM_WORDS` words are one if they are
/// marked together, and none of them alone: a phrase, or in Chinese a word.
pub fn marked(passage: &str, mut is_marked: impl FnMut(&str) -> bool) -> Vec<String> {
    let words: Vec<(usize, &str)> = passage.unicode_word_indices().collect();
    let mut marked: Vec<String> = Vec::new();
    for (place, &(start, _)) in words.iter().enumerate() {
        let later = words[place..].iter().take(TERM_WORDS).enumerate();
        for (more, &(at, word)) in later {
            if more > 0 && is_marked(word) {
                break;
            }
            let together = &passage[start..at + word.len()];
            if is_marked(together)
                && (more < 2 || !is_marked(&passage[words[place + 1].0..at + word.len()]))
            {
                if !marked.iter().any(|other| other == together) {
                    marked.push(together.to_owned());
                }
                break;
            }
        }
    }
    marked
}

/// Returns the paragraphs of a text: blank lines are between them.
fn paragraphs(text: &str) -> Vec<Range<usize>> {
    let (mut paragraphs, mut start, mut at) = (Vec::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        if line.trim().is_empty() {
            paragraphs.push(start..at);
            start = at + line.len();
        }
        at += line.len();
    }
    paragraphs.push(start..at);
    paragraphs
}

/// Returns where a text is cut so that at most this many characters are before: after a word, if there is white space.
fn cut(text: &str, most: usize) -> usize {
    let Some((end, _)) = text.char_indices().nth(most) else {
        return text.len();
    };
    let space = text[..end].trim_end().rfind(char::is_whitespace);
    if text[end..].starts_with(char::is_whitespace) { end } else { space.unwrap_or(end) }
}

fn trimmed(text: &str, part: Range<usize>) -> Range<usize> {
    let inner = &text[part.clone()];
    let start = part.start + inner.len() - inner.trim_start().len();
    start..(part.start + inner.trim_end().len()).max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<&str> {
        sentences(text).into_iter().map(|part| &text[part]).collect()
    }

    #[test]
    fn sentences_end_at_their_signs_and_at_blank_lines() {
        assert_eq!(
            parts("A TITLE\n \n It was 3.14\no'clock. Was it?  “Yes.”\r\n\r\nEnd\n"),
            ["A TITLE", "It was 3.14\no'clock.", "Was it?", "“Yes.”", "End"]
        );
        assert_eq!(parts(" \n\n "), [""; 0]);
    }

    #[test]
    fn a_long_sentence_is_cut_between_words_or_characters() {
        let [one, other] =
            [("x", "end"), ("y", "x")].map(|(a, b)| format!("{} {}", a.repeat(700), b.repeat(700)));
        for text in ["word ".repeat(200), "字".repeat(1000), one, other] {
            let parts = parts(&text);
            assert!(parts.len() > 3, "{text}");
            assert!(parts.iter().all(|part| part.chars().count() <= PART_CHARS));
            let joined: String = parts.concat();
            assert_eq!(joined.replace(' ', ""), text.replace(' ', ""));
        }
    }

    #[test]
    fn the_best_passage_has_the_largest_sum_and_fits() {
        let sentence = |word: &str| format!("{} end. ", format!("{word} ").repeat(20).trim_end());
        let text: String = ["Aaa", "Bbb", "Ccc", "Ddd", "Eee"].map(sentence).concat();
        let all = sentences(&text);
        assert_eq!(all.len(), 5);
        let passage = best(&text, &all, &[0.0, 1.0, 3.0, 4.0, 2.0]);
        let found = shown(&text, passage.clone());
        assert!(text[passage].chars().count() <= PASSAGE_CHARS);
        assert!(found.starts_with("… Ccc"), "{found}");
        assert!(found.contains("Ddd Ddd end.") && found.ends_with("Eee end."), "{found}");
        let start = shown(&text, best(&text, &all, &[1.0; 5]));
        assert!(start.starts_with("Aaa") && start.ends_with(" …"), "{start}");
        // Whole texts that fit have no ellipsis.
        assert_eq!(shown("One. Two.", best("One. Two.", &[0..4, 5..9], &[1.0, 0.5])), "One. Two.");
        assert_eq!(best("One. Two.", &[0..4, 5..9], &[0.0, 0.5]), 0..9);
        assert_eq!(best("", &[], &[]), 0..0);
    }

    #[test]
    fn marked_words_are_those_that_are_said_alone_or_together() {
        let is_marked = |words: &str| {
            words == "War" || words.contains("Los Angeles") || words.contains("火车站")
        };
        let found = marked("War in Los Angeles; the war, the War's end. 在火车站。", is_marked);
        assert_eq!(found, ["War", "Los Angeles", "火车站"]);
    }
}
