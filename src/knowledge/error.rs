//! Knowledge that cannot be used; every error names the file, the place and the remedy.

use std::io;
use std::path::{Path, PathBuf};

use lda::tree::TreeError;

use super::pruned::Pruned;

/// Why a file of knowledge, or the tree made of it, cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KnowledgeError {
    /// A file or folder cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file is wrong as a whole.
    #[error("{file}: {problem}")]
    File {
        /// The file.
        file: String,
        /// The problem and its remedy.
        problem: String,
    },
    /// A line is wrong.
    #[error("{file}, line {line}{}: {problem}", column.map(|c| format!(", column {c}")).unwrap_or_default())]
    Line {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The character, from 1, where one is to blame.
        column: Option<usize>,
        /// The problem and its remedy.
        problem: String,
    },
    /// The remaining entries are no tree.
    #[error("{file}: {source}")]
    Tree {
        /// The file.
        file: String,
        /// The problem.
        source: TreeError,
    },
}

impl KnowledgeError {
    pub(super) fn unreadable(path: &Path, source: io::Error) -> Self {
        Self::Unreadable {
            path: path.to_owned(),
            source,
        }
    }

    pub(super) fn file(file: &str, problem: impl Into<String>) -> Self {
        Self::File {
            file: file.to_owned(),
            problem: problem.into(),
        }
    }

    pub(super) fn line(file: &str, line: usize, problem: impl Into<String>) -> Self {
        Self::Line {
            file: file.to_owned(),
            line,
            column: None,
            problem: problem.into(),
        }
    }

    /// No word of a file is a term.
    pub(super) fn nothing_left(file: &str, pruned: &Pruned) -> Self {
        let problem = format!(
            "nothing is left for the vocabulary: {pruned}; is it in the language of the \
             collection, and are tokens.lower_case and [vocabulary] as intended?"
        );
        Self::file(file, problem)
    }
}
