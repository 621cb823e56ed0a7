//! Lists of words that belong together, or do not, in a text file:
//!
//! ```text
//! must: king, queen, prince
//! cannot: river, money                        # a comment
//! split: bank: money, loan | river, water
//! ```
//!
//! `must` and `cannot` are the links of [`lda::constraints`]. `split` gives a word a leaf for each of its senses,
//! each must-linked with the words that define it (Hu, Boyd-Graber & Satinoff 2011, "Interactive topic modeling"). A
//! sense without any word in the vocabulary has a leaf by itself.

mod senses;

use std::collections::HashSet;
use std::fmt;

use crate::failure::Failure;
use lda::constraints::{ConstraintError, Strengths, structures as linked};
use lda::model::tree::Node;
use serde::Serialize;

use super::{Lexicon, Pruned};
use corpus::settings::TokenSettings;
use corpus::vocabulary::Vocabulary;
use corpus::word_file::without_comment;
use senses::Senses;

/// A line of such a file; `Display` returns the line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Constraint {
    /// Words that belong together, at least two.
    Must(Vec<String>),
    /// Words of which no two belong together, at least two.
    Cannot(Vec<String>),
    /// A word with several senses.
    Split {
        /// The word.
        word: String,
        /// For each sense, the words that define it; at least two senses.
        senses: Vec<Vec<String>>,
    },
}

impl Constraint {
    /// Returns how many words it names.
    pub(super) fn word_count(&self) -> usize {
        match self {
            Self::Must(words) | Self::Cannot(words) => words.len(),
            Self::Split { senses, .. } => 1 + senses.iter().map(Vec::len).sum::<usize>(),
        }
    }
}

impl Constraint {
    /// Parses a line.
    ///
    /// ```
    /// use topicmill::knowledge::constraints::Constraint;
    /// let split = Constraint::parse("split: bank: money|river").unwrap();
    /// assert_eq!(split.to_string(), "split: bank: money | river");
    /// ```
    ///
    /// # Errors
    /// It is no constraint; there are fewer than two words or senses, or an empty or repeated word.
    pub fn parse(line: &str) -> Result<Self, String> {
        let (name, text) = line.split_once(':').unwrap_or((line, ""));
        let list = |name| {
            let list = words(text)?;
            let problem = || format!("`{name}` needs at least two words: a, b");
            if list.len() < 2 { Err(problem()) } else { Ok(list) }
        };
        match name.trim() {
            "must" => list("must").map(Self::Must),
            "cannot" => list("cannot").map(Self::Cannot),
            "split" => parse_split(text),
            _ => Err("a line begins with `must:`, `cannot:` or `split:`".to_owned()),
        }
    }
}

fn parse_split(text: &str) -> Result<Constraint, String> {
    let parts = text.split_once(':').map(|(word, groups)| (word.trim(), groups));
    let Some((word, groups)) =
        parts.filter(|(word, groups)| !word.is_empty() && groups.contains('|'))
    else {
        return Err(
            "`split` needs a word and at least two senses: bank: money, loan | river".to_owned()
        );
    };
    check_word(word)?;
    let mut senses: Vec<Vec<String>> = Vec::new();
    let mut known = HashSet::from([word.to_owned()]);
    for group in groups.split('|') {
        let sense = words(group)?;
        if let Some(repeated) = sense.iter().find(|&other| !known.insert(other.clone())) {
            return Err(format!(
                "`{repeated}` cannot identify a sense of `{word}`: it is already named"
            ));
        }
        senses.push(sense);
    }
    Ok(Constraint::Split { word: word.to_owned(), senses })
}

/// Returns the words of a list.
fn words(list: &str) -> Result<Vec<String>, String> {
    let (mut words, mut known) = (Vec::new(), HashSet::new());
    for word in list.split(',').map(str::trim) {
        if word.is_empty() {
            return Err(format!("a word is missing in the list `{}`", list.trim()));
        }
        check_word(word)?;
        if !known.insert(word) {
            return Err(format!("`{word}` is listed twice: leave one out"));
        }
        words.push(word.to_owned());
    }
    Ok(words)
}

/// Refuses a word that a line of a file cannot represent.
fn check_word(word: &str) -> Result<(), String> {
    if without_comment(word) != word {
        Err(format!("the `#` of `{word}` would begin a comment: name this word in a tree"))
    } else if word.contains(char::is_control) {
        Err(format!("{word:?} has a control character"))
    } else {
        Ok(())
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Must(words) => write!(f, "must: {}", words.join(", ")),
            Self::Cannot(words) => write!(f, "cannot: {}", words.join(", ")),
            Self::Split { word, senses } => {
                let senses: Vec<String> = senses.iter().map(|words| words.join(", ")).collect();
                write!(f, "split: {word}: {}", senses.join(" | "))
            }
        }
    }
}

/// Parses a file of constraints; returns each with its line number, from 1. Skips empty lines, and text after a `#`
/// at the start of a line or after white space.
///
/// # Errors
/// A line is invalid; there is no constraint.
pub fn parse(file: &str, text: &str) -> Result<Vec<(usize, Constraint)>, Failure> {
    let mut constraints = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = without_comment(line);
        if !line.trim().is_empty() {
            let constraint = Constraint::parse(line);
            constraints.push((number, constraint.map_err(|it| Failure::line(file, number, it))?));
        }
    }
    if constraints.is_empty() {
        Err(Failure::file(file, "no constraint; a line is like `must: king, queen`"))
    } else {
        Ok(constraints)
    }
}

/// Returns the nodes that constraints make, each named by the first terms below it.
pub(super) fn structures(
    file: &str,
    lines: &[(usize, Constraint)],
    lexicon: &mut Lexicon<'_>,
    strengths: Strengths,
) -> Result<(Vec<Node>, Pruned), Failure> {
    let mut pruned = Pruned { entries: lines.len(), ..Pruned::of("constraints") };
    let senses = Senses::new(file, lines, lexicon)?;
    let mut must = senses.links.clone();
    let (mut cannot, mut cannot_lines) = (Vec::new(), Vec::new());
    pruned.dropped_entries = senses.dropped;
    for (line, constraint) in lines {
        let (words, lists) = match constraint {
            Constraint::Must(words) => (words, &mut must),
            Constraint::Cannot(words) => (words, &mut cannot),
            Constraint::Split { .. } => continue,
        };
        let terms = lexicon.find_all(words);
        senses.check(*line, &terms, lexicon)?;
        if terms.len() < 2 {
            pruned.dropped_entries += 1;
            continue;
        }
        lists.push(terms);
        if matches!(constraint, Constraint::Cannot(_)) {
            cannot_lines.push(*line);
        }
    }
    let nodes = linked(senses.vocabulary_size(), &must, &cannot, strengths);
    let nodes = nodes.map_err(|error| {
        let word = |term| lexicon.term(senses.term(term));
        refused(file, &cannot_lines, error, word)
    })?;
    Ok((senses.place(nodes, lexicon, strengths)?, pruned))
}

/// Returns the words of constraints that a vocabulary lacks.
///
/// # Errors
/// The constraints contradict each other, or nothing of them is left.
pub(crate) fn check(
    constraints: &[Constraint],
    vocabulary: &Vocabulary,
    tokens: &TokenSettings,
) -> Result<Pruned, Failure> {
    const FILE: &str = "the constraints";
    let lines: Vec<_> = (1..).zip(constraints.iter().cloned()).collect();
    let mut lexicon = Lexicon::new(vocabulary, tokens);
    // Which words are known does not depend on priors.
    let strengths = Strengths { ordinary: 1.0, must: 1.0, cannot: 1.0 };
    let (nodes, mut pruned) = structures(FILE, &lines, &mut lexicon, strengths)?;
    lexicon.report(&mut pruned);
    if nodes.is_empty() { Err(pruned.nothing_left(FILE)) } else { Ok(pruned) }
}

/// Words the error in terms of the file.
fn refused<'v>(
    file: &str,
    cannot_lines: &[usize],
    error: ConstraintError,
    word: impl Fn(u32) -> &'v str,
) -> Failure {
    match error {
        ConstraintError::Contradiction { list, first, second } => {
            let problem = format!(
                "keeps `{}` and `{}` apart, but must-links connect them: remove one of the links",
                word(first),
                word(second)
            );
            Failure::line(file, cannot_lines[list], problem)
        }
        ConstraintError::TooManyCliques { term } => {
            let problem = format!(
                "the cannot-links around `{}` can be satisfied in too many ways: connect fewer \
                 words by them",
                word(term)
            );
            Failure::file(file, problem)
        }
        other => Failure::file(file, other.to_string()),
    }
}

#[cfg(test)]
mod tests;
