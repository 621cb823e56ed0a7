//! Files of words that a job names: UTF-8, one entry per line, `#` comments.

use std::path::Path;

use super::CorpusError;
use super::compression::read_plain;

/// Reads the text of the file that `key` names.
pub(super) fn read(key: &'static str, path: &Path) -> Result<String, CorpusError> {
    let bytes = read_plain(path).map_err(|error| {
        let path = path.display();
        CorpusError::Setting(format!("{key}: cannot read {path}: {error}"))
    })?;
    text_of(bytes).map_err(|number| line(key, path, number, NOT_UTF_8))
}

/// The problem of a line that is not UTF-8, and its remedy.
pub const NOT_UTF_8: &str = "not UTF-8; save the file as UTF-8";

/// Returns the text of a file.
///
/// # Errors
/// Returns the line, from 1, that is not UTF-8.
pub fn text_of(bytes: Vec<u8>) -> Result<String, usize> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        1 + valid.iter().filter(|&&byte| byte == b'\n').count()
    })
}

/// Returns the error of a line, from 1: the problem and its remedy.
pub(super) fn line(key: &str, path: &Path, number: usize, problem: &str) -> CorpusError {
    let path = path.display();
    CorpusError::Setting(format!("{key}: {path}, line {number}: {problem}"))
}

/// Returns the line up to a `#` at its start or after white space (`c#` is a word).
pub fn without_comment(line: &str) -> &str {
    let line = line.trim_start_matches('\u{FEFF}');
    let comment = line
        .match_indices('#')
        .find(|&(at, _)| line[..at].chars().next_back().is_none_or(char::is_whitespace));
    comment.map_or(line, |(at, _)| &line[..at])
}
