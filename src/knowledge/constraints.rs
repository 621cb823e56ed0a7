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

use super::Pruned;
use super::lexicon::Lexicon;
use corpus::settings::TokenSettings;
use corpus::vocabulary::Vocabulary;
use corpus::word_file::without_comment;
use senses::Senses;

/// How words are linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// They belong together.
    Must,
    /// No two of them belong together.
    Cannot,
    /// A word has several senses.
    Split,
}

impl Relation {
    const ALL: [Self; 3] = [Self::Must, Self::Cannot, Self::Split];

    /// Returns the first word of its line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Cannot => "cannot",
            Self::Split => "split",
        }
    }
}

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

/// The error that a text is not a constraint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {problem}")]
pub struct SyntaxError {
    /// The position of the character, from 1.
    pub(crate) column: usize,
    /// The problem and its remedy.
    pub(crate) problem: String,
}

impl SyntaxError {
    /// Creates an error at `part`, a slice of `line`.
    fn at(part: &str, line: &str, problem: impl Into<String>) -> Self {
        let before = part.as_ptr() as usize - line.as_ptr() as usize;
        Self { column: line[..before].chars().count() + 1, problem: problem.into() }
    }
}

impl Constraint {
    /// Parses what follows `must:`, `cannot:` or `split:` in a line.
    ///
    /// ```
    /// use topicmill::knowledge::constraints::{Constraint, Relation};
    /// let split = Constraint::parse(Relation::Split, "bank: money|river").unwrap();
    /// assert_eq!(split.to_string(), "split: bank: money | river");
    /// ```
    ///
    /// # Errors
    /// There are fewer than two words or senses, or an empty or repeated word.
    pub fn parse(relation: Relation, text: &str) -> Result<Self, SyntaxError> {
        Self::parse_in(text, relation, text)
    }

    fn parse_in(line: &str, relation: Relation, text: &str) -> Result<Self, SyntaxError> {
        if relation == Relation::Split {
            return parse_split(line, text);
        }
        let list = words(line, text)?;
        if list.len() < 2 {
            let problem = format!("`{}` needs at least two words: a, b", relation.name());
            return Err(SyntaxError::at(text, line, problem));
        }
        Ok(match relation {
            Relation::Must => Self::Must(list),
            _ => Self::Cannot(list),
        })
    }
}

fn parse_split(line: &str, text: &str) -> Result<Constraint, SyntaxError> {
    const FORM: &str = "`split` needs a word and at least two senses: bank: money, loan | river";
    let error = |part, problem: String| Err(SyntaxError::at(part, line, problem));
    let Some((word, groups)) = text.split_once(':') else {
        return error(text, FORM.to_owned());
    };
    if word.trim().is_empty() || !groups.contains('|') {
        return error(text, FORM.to_owned());
    }
    let word = word.trim();
    check_word(line, word)?;
    let mut senses: Vec<Vec<String>> = Vec::new();
    let mut known = HashSet::from([word.to_owned()]);
    for group in groups.split('|') {
        let sense = words(line, group)?;
        if let Some(repeated) = sense.iter().find(|&other| !known.insert(other.clone())) {
            let problem =
                format!("`{repeated}` cannot identify a sense of `{word}`: it is already named");
            return error(group, problem);
        }
        senses.push(sense);
    }
    let word = word.to_owned();
    Ok(Constraint::Split { word, senses })
}

/// Returns the words of a list, which is a slice of `line`.
fn words(line: &str, list: &str) -> Result<Vec<String>, SyntaxError> {
    let (mut words, mut known) = (Vec::new(), HashSet::new());
    for part in list.split(',') {
        let word = part.trim();
        if word.is_empty() {
            return Err(SyntaxError::at(part, line, "a word is missing here"));
        }
        check_word(line, word)?;
        if !known.insert(word) {
            let problem = format!("`{word}` is listed twice: leave one out");
            return Err(SyntaxError::at(part.trim_start(), line, problem));
        }
        words.push(word.to_owned());
    }
    Ok(words)
}

/// Refuses a word that a line of a file cannot represent.
fn check_word(line: &str, word: &str) -> Result<(), SyntaxError> {
    let problem = if without_comment(word) != word {
        format!("the `#` of `{word}` would begin a comment: name this word in a tree")
    } else if word.contains(char::is_control) {
        format!("{word:?} has a control character")
    } else {
        return Ok(());
    };
    Err(SyntaxError::at(word, line, problem))
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
            let constraint = parse_line(line)
                .map_err(|error| Failure::data(format!("{file}, line {number}, {error}")))?;
            constraints.push((number, constraint));
        }
    }
    if constraints.is_empty() {
        Err(Failure::file(file, "no constraint; a line is like `must: king, queen`"))
    } else {
        Ok(constraints)
    }
}

fn parse_line(line: &str) -> Result<Constraint, SyntaxError> {
    let nothing = &line[line.len()..];
    let (name, text) = line.split_once(':').unwrap_or((line, nothing));
    let relation = Relation::ALL.into_iter().find(|r| r.name() == name.trim());
    let Some(relation) = relation else {
        let problem = "a line begins with `must:`, `cannot:` or `split:`";
        return Err(SyntaxError::at(line.trim_start(), line, problem));
    };
    Constraint::parse_in(line, relation, text)
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
