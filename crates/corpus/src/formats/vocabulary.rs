//! The vocabulary beside a bag of words, whose terms numbers refer to.

use crate::compression::read_whole;
use crate::error::InputError;
use std::path::Path;

/// The most terms of a vocabulary that are read: a short one takes 60 bytes of memory.
const MOST_TERMS: usize = 1 << 24;

/// The most bytes of a term, each copy of which is in memory, in the model and in tables.
const MOST_TERM_BYTES: usize = 64 << 10;

/// Returns about the bytes of memory of a vocabulary of this many bytes: its text, its terms, and a number for each.
pub fn vocabulary_bytes(bytes: u64) -> u64 {
    bytes.saturating_mul(10)
}

/// Reads the terms of a vocabulary, one per line.
pub(super) fn read_vocabulary(path: &Path) -> Result<Vec<String>, InputError> {
    let bytes = read_whole(path).map_err(InputError::unreadable(path))?;
    let count = memchr::memchr_iter(b'\n', &bytes).count();
    if count > MOST_TERMS {
        let problem = format!(
            "it has {count} lines, and at most {MOST_TERMS} are read: is it a vocabulary, with a term on each line?"
        );
        return Err(InputError::refused(path, problem));
    }
    let lines = bytes.split(|&byte| byte == b'\n');
    if let Some(at) = lines.clone().position(|line| line.len() > MOST_TERM_BYTES) {
        let problem = format!(
            "line {} has more than {MOST_TERM_BYTES} bytes: is it a vocabulary, with a term on each line?",
            at + 1
        );
        return Err(InputError::refused(path, problem));
    }
    let term = |line| String::from_utf8_lossy(line).trim().to_owned();
    let mut terms: Vec<String> = lines.map(term).collect();
    if let Some(first) = terms.first_mut() {
        *first = first.trim_start_matches('\u{feff}').to_owned();
    }
    while terms.last().is_some_and(String::is_empty) {
        terms.pop();
    }
    Ok(terms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_term() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vocab.txt");
        std::fs::write(&path, "\u{feff}the\nof\n").unwrap();
        assert_eq!(read_vocabulary(&path).unwrap(), ["the", "of"]);
    }
}
