//! Names: words that a text capitalises within sentences, as scholars of literature leave out a novel's characters.
//!
//! A word is a name in a text if at least half of its tokens there are capitalised and do not begin a sentence. Its tokens
//! in that text then count as a term of their own, `darcy (name)`. A word of which most tokens in the collection are
//! names is left out where it is none, too: there it begins sentences only.

use std::collections::BTreeMap;

/// What the term for a name has after the word.
const MARK: &str = " (name)";
/// The longest word before a full stop that may be an abbreviation: `Mrs.`
const ABBREVIATION: usize = 3;

/// Returns the term for a word where it is a name.
pub(crate) fn marked(word: &str) -> String {
    format!("{word}{MARK}")
}

/// Returns the word of a term for a name; `None` for other terms.
pub fn word_of(term: &str) -> Option<&str> {
    term.strip_suffix(MARK)
}

/// Counts the words that are capitalised within sentences, as the text has them.
pub(crate) fn capitalised(text: &str) -> BTreeMap<&str, u32> {
    let mut counts = BTreeMap::new();
    let mut begins = true;
    let mut rest = text;
    while let Some(start) = rest.find(char::is_alphanumeric) {
        let (between, from) = rest.split_at(start);
        begins = begins || ends_sentence(between);
        let end = from.find(|c: char| !is_of_word(c)).unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        let word = word.trim_end_matches(is_apostrophe);
        let mut letters = without_particle(word).chars();
        let is_upper = letters.next().is_some_and(char::is_uppercase);
        if is_upper && !begins && letters.next().is_some_and(char::is_lowercase) {
            *counts.entry(word).or_insert(0) += 1;
        }
        let is_abbreviation = is_upper && word.chars().nth(ABBREVIATION).is_none();
        begins = false;
        rest = match after.strip_prefix('.') {
            Some(rest) if is_abbreviation => rest,
            _ => after,
        };
    }
    counts
}

/// Returns a name without `d'` or `O'`.
fn without_particle(word: &str) -> &str {
    match word.split_once(is_apostrophe) {
        Some((particle, name)) if particle.chars().nth(1).is_none() => name,
        _ => word,
    }
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’')
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || is_apostrophe(c)
}

/// Returns whether the next word begins a sentence, or speech, after these characters.
fn ends_sentence(between: &str) -> bool {
    let ends = |c| {
        matches!(
            c,
            '.' | '!' | '?' | '…' | ':' | '"' | '“' | '”' | '„' | '«' | '»' | '‘' | '*' | '_'
        )
    };
    between.contains(ends) || between.matches('\n').nth(1).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_count_that_are_capitalised_within_sentences() {
        let text = "CHAPTER I\n\nElizabeth saw Mr. Darcy. Then Darcy left; Elizabeth’s aunt, in London, said: \
                    “Jane is ill,” and Mrs.  Bennet\nwept. It was May, I’m told. I Know d’Artagnan, not O'Brien";
        let expected = [
            ("Bennet", 1),
            ("Darcy", 2),
            ("Elizabeth’s", 1),
            ("Know", 1),
            ("London", 1),
            ("May", 1),
            ("Mr", 1),
            ("Mrs", 1),
            ("O'Brien", 1),
            ("d’Artagnan", 1),
        ];
        assert_eq!(capitalised(text), BTreeMap::from(expected));
        assert_eq!(capitalised(" 'tis "), BTreeMap::new());
    }

    #[test]
    fn a_name_is_marked_and_known_by_its_mark() {
        assert_eq!(word_of(&marked("darcy")), Some("darcy"));
        assert_eq!(word_of("darcy"), None);
    }
}
