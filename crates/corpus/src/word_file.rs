//! Files of words that a job names: UTF-8, one entry per line, `#` comments.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// A file of words that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum WordFileError {
    /// It cannot be read.
    #[error("{key}: cannot read {}: {source}", path.display())]
    Read {
        /// The key that names it.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It has an invalid line.
    #[error("{key}: {}, line {line}: {reason}", path.display())]
    Line {
        /// The key that names it.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The problem and its remedy.
        reason: String,
    },
}

/// Reads the text of the file that `key` names.
pub(super) fn read(key: &'static str, path: &Path) -> Result<String, WordFileError> {
    let path = || path.to_owned();
    let bytes = fs::read(path()).map_err(|source| WordFileError::Read {
        key,
        path: path(),
        source,
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        WordFileError::Line {
            key,
            path: path(),
            line: 1 + valid.iter().filter(|&&byte| byte == b'\n').count(),
            reason: "not UTF-8; save the file as UTF-8".to_owned(),
        }
    })
}

/// Returns the line up to a `#` at its start or after white space (`c#` is a word).
pub fn without_comment(line: &str) -> &str {
    let line = line.trim_start_matches('\u{FEFF}');
    let comment = line.match_indices('#').find(|&(at, _)| {
        line[..at]
            .chars()
            .next_back()
            .is_none_or(char::is_whitespace)
    });
    comment.map_or(line, |(at, _)| &line[..at])
}
