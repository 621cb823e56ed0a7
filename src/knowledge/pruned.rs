//! The knowledge that a tree leaves out.

use std::fmt;

use crate::failure::Failure;

/// The entries that a tree leaves out because of the vocabulary. `Display` gives one line for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The name of the entries, in the plural.
    pub(crate) kind: &'static str,
    /// Distinct words of the knowledge.
    pub words: usize,
    /// Those that the vocabulary lacks.
    pub unknown_words: usize,
    /// The first of them.
    pub(crate) examples: Vec<String>,
    /// Number of constraints or nodes.
    pub entries: usize,
    /// Those left out for lack of terms.
    pub dropped_entries: usize,
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
        let Self { kind, words, entries, dropped_entries, .. } = self;
        match self.unknown_words {
            0 => write!(f, "all {words} words are in the vocabulary")?,
            unknown => write!(f, "{unknown} of {words} words are not in the vocabulary")?,
        }
        if !self.examples.is_empty() {
            let more = self.unknown_words > self.examples.len();
            let more = if more { ", …" } else { "" };
            write!(f, " ({}{more})", self.examples.join(", "))?;
        }
        if *dropped_entries > 0 {
            write!(f, "; {dropped_entries} of {entries} {kind} have too few terms left")?;
        }
        Ok(())
    }
}
