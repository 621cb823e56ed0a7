//! The knowledge that a tree leaves out.

use std::fmt;

use crate::failure::Failure;

/// The kind of WordNet's entries; WordNet looks up terms, whereas other knowledge looks up words.
pub(super) const SYNSETS: &str = "synsets";

/// The entries that a tree leaves out because of the vocabulary. `Display` gives one line for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The name of the entries, in the plural.
    pub(crate) kind: &'static str,
    /// Distinct words of the knowledge; for WordNet, terms of the vocabulary.
    pub words: usize,
    /// Those that the vocabulary lacks; for WordNet, those that WordNet lacks.
    pub unknown_words: usize,
    /// The first of them.
    pub(crate) examples: Vec<String>,
    /// Number of constraints, nodes or lines of the dictionary; for WordNet, of synsets with a term.
    pub entries: usize,
    /// Those left out for lack of terms: fewer than two; in a hierarchy, none.
    pub dropped_entries: usize,
    /// Those left out because another has the same terms.
    pub(crate) repeated_entries: usize,
    /// Senses of terms beyond the most frequent ones.
    pub(crate) dropped_senses: usize,
}

impl Pruned {
    /// Starts for entries of this kind.
    pub(super) fn of(kind: &'static str) -> Self {
        Self { kind, ..Self::default() }
    }

    /// Returns the error that no word of a file is a term.
    pub(super) fn nothing_left(&self, file: &str) -> Failure {
        let problem = format!(
            "nothing is left for the vocabulary: {self}; is it in the language of the collection, and \
             are tokens.lower_case and [vocabulary] as intended?"
        );
        Failure::file(file, problem)
    }
}

impl fmt::Display for Pruned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, .. } = self;
        let (words, missing) = match *kind {
            SYNSETS => ("terms", "in WordNet"),
            _ => ("words", "in the vocabulary"),
        };
        match self.unknown_words {
            0 => write!(f, "all {} {words} are {missing}", self.words)?,
            unknown => write!(f, "{unknown} of {} {words} are not {missing}", self.words)?,
        }
        if !self.examples.is_empty() {
            let more = self.unknown_words > self.examples.len();
            let more = if more { ", …" } else { "" };
            write!(f, " ({}{more})", self.examples.join(", "))?;
        }
        let lost = [
            (self.dropped_entries, "have too few terms left"),
            (self.repeated_entries, "repeat others"),
        ];
        for (count, why) in lost.into_iter().filter(|&(count, _)| count > 0) {
            write!(f, "; {count} of {} {kind} {why}", self.entries)?;
        }
        if self.dropped_senses > 0 {
            write!(f, "; {} rarer senses are left out", self.dropped_senses)?;
        }
        Ok(())
    }
}
