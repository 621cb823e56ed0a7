//! A bilingual dictionary: a word and its translations in each line.
//!
//! A line is a concept with one node: those of its words that are terms belong together, in any language (Hu, Zhai,
//! Eidelman & Boyd-Graber 2014, "Polylingual tree-based topic models for translation domain adaptation"). Lines are
//! not merged by words that they share, which would connect `riva` with `banca` through `bank`: a word has a leaf in
//! each of its lines.

use crate::failure::Failure;
use lda::tree::Node;
use lda::tree::constraints::Strengths;

use super::Pruned;
use super::groups::Groups;
use super::lexicon::Lexicon;
use super::text::fields;

/// Parses a dictionary: for each line a list of words, first the word, then its translations (at least one). The
/// first line determines what separates words in all lines: tabs, or else commas (with quotes as in CSV), or else
/// spaces. Empty lines and lines that begin with `#` are skipped.
///
/// # Errors
/// A line has only one word, or an unclosed quote; there is no entry.
pub fn parse(file: &str, text: &str) -> Result<Vec<Vec<String>>, Failure> {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    let first = first.unwrap_or_default();
    let delimiter = [('\t', "tabs"), (',', "commas"), (' ', "spaces")]
        .into_iter()
        .find(|(delimiter, _)| first.contains(*delimiter));
    let Some((delimiter, name)) = delimiter else {
        let problem = "no line with a word and its translation, separated by a tab";
        return Err(Failure::file(file, problem));
    };
    let mut entries = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let refuse = |problem: String| Err(Failure::line(file, number, problem));
        let line = line.trim();
        if line.starts_with('#') {
            continue;
        }
        let mut words = match fields(line, delimiter) {
            Ok(words) => words,
            Err(problem) => return refuse(problem),
        };
        words.retain(|word| !word.is_empty());
        match &words[..] {
            [] => {}
            [word] => {
                return refuse(format!(
                    "`{word}` has no translation: the words of a line are separated by {name}, as \
                     in the first line"
                ));
            }
            _ => entries.push(words),
        }
    }
    Ok(entries)
}

/// Returns a node for each line.
pub(super) fn structures(
    entries: &[Vec<String>],
    lexicon: &mut Lexicon<'_>,
    strengths: Strengths,
) -> (Vec<Node>, Pruned) {
    let mut groups = Groups::new(Pruned::of("lines"), strengths);
    for words in entries {
        let terms = lexicon.find_all(words);
        groups.add(&words[0], terms);
    }
    (groups.nodes, groups.pruned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<String>> {
        parse("d", text).unwrap()
    }

    #[test]
    fn the_first_line_says_what_separates_words() {
        let expected = [vec!["dog", "cane"], vec!["house", "casa", "abitazione"]];
        assert_eq!(words("# en it\r\n\r\ndog\tcane\r\nhouse\tcasa\t abitazione \t\r\n"), expected);
        assert_eq!(words("dog,cane\nhouse,\"casa\",abitazione,,"), expected);
        assert_eq!(words("dog  cane\nhouse casa abitazione\n"), expected);
        assert_eq!(words("ice cream\tgelato, al limone\n"), [["ice cream", "gelato, al limone"]]);
    }

    #[test]
    fn lines_without_a_translation_are_named() {
        let message = |text| parse("d.tsv", text).unwrap_err().to_string();
        let lone = message("dog\tcane\n# x\n\nhouse casa\n");
        assert!(lone.starts_with("d.tsv, line 4: `house casa` has no translation"), "{lone}");
        assert!(lone.contains("tabs"), "{lone}");
        let open = message("dog,cane\nhouse,\"casa\ncat,gatto\n");
        assert!(open.contains("line 2: a quote is not closed"), "{open}");
        for text in ["", "# dog cane\n", "dog\ncat\n"] {
            assert!(message(text).contains("no line with a word"), "{text}");
        }
    }
}
