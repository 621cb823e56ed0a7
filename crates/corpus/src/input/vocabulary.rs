//! The vocabulary file of a bag of words whose terms are numbers, found by its name beside it.

use super::InputError;
use super::objects::names_beside;
use crate::compression::{read_whole, stripped};
use crate::settings::Format;
use std::path::{Path, PathBuf};

/// The most terms of a vocabulary that are read: a short one takes 60 bytes of memory.
const MOST_TERMS: usize = 1 << 24;

/// The most bytes of a term, each copy of which is in memory, in the model and in tables.
const MOST_TERM_BYTES: usize = 64 << 10;

/// Returns whether a file name is that of a UCI bag of words.
pub(super) fn is_documents(name: &str) -> bool {
    name.contains("docword")
}

/// Returns whether files of this format may have a vocabulary beside them.
pub(super) fn is_used_by(format: Format) -> bool {
    use Format::{LdaC, MatrixMarket, SvmLight, Uci};
    matches!(format, Uci | LdaC | MatrixMarket | SvmLight)
}

/// Returns whether a file name is that of a vocabulary.
pub(super) fn is_vocabulary(name: &str) -> bool {
    (name.contains("vocab") || name.ends_with(".tokens")) && !is_documents(name)
}

/// Finds the vocabulary of a bag of words: the file of the same name, with `vocab` for `docword` or another ending, in
/// any compression; else the only one in the folder. Only SVMlight may lack one.
pub(super) fn find(documents: &Path, format: Format) -> Result<Option<PathBuf>, InputError> {
    if !is_used_by(format) {
        return Ok(None);
    }
    let folder = documents.parent().unwrap_or(Path::new("."));
    let mut candidates = names_beside(documents).map_err(InputError::unreadable(folder))?;
    candidates.retain(|name| is_vocabulary(name) && !name.starts_with('.'));
    candidates.sort();
    let name = documents.file_name().unwrap_or_default().to_string_lossy();
    let name = stripped(&name);
    let (stem, _) = name.rsplit_once('.').unwrap_or((name, ""));
    let expected = match format {
        Format::Uci => name.replacen("docword", "vocab", 1),
        _ => format!("{stem}.vocab.txt"),
    };
    let mut twins = candidates.iter().filter(|candidate| {
        let rest = candidate.strip_prefix(stem);
        let is_of_stem = rest.is_some_and(|rest| rest.starts_with('.'));
        stripped(candidate) == expected || format != Format::Uci && is_of_stem
    });
    match (twins.next(), candidates.as_slice()) {
        (Some(name), _) => Ok(Some(documents.with_file_name(name))),
        (None, [only]) => Ok(Some(documents.with_file_name(only))),
        (None, []) if format == Format::SvmLight => Ok(None),
        (None, others) => {
            let found = match others {
                [] => "none".to_owned(),
                _ => others.join(", "),
            };
            let problem = format!(
                "its terms are numbers, and their vocabulary must be beside it, named `{expected}`; found {found}"
            );
            Err(InputError::refused(documents, problem))
        }
    }
}

/// Reads the terms of a vocabulary, one per line.
pub(crate) fn read(path: &Path) -> Result<Vec<String>, InputError> {
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
    use super::super::format::guess;
    use super::*;

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_term() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vocab.txt");
        std::fs::write(&path, "\u{feff}the\nof\n").unwrap();
        assert_eq!(read(&path).unwrap(), ["the", "of"]);
    }

    #[test]
    fn the_twin_is_preferred_then_the_only_one() {
        let folder = tempfile::tempdir().unwrap();
        let touch = |name: &str| std::fs::write(folder.path().join(name), "").unwrap();
        let vocabulary = |name: &str| {
            let found = find(&folder.path().join(name), guess(name))?;
            Ok::<_, InputError>(
                found.map_or("none".into(), |path| path.file_name().unwrap().to_owned()),
            )
        };
        let error = vocabulary("docword.kos.txt.gz").unwrap_err().to_string();
        assert!(error.contains("`vocab.kos.txt`; found none"), "{error}");
        assert!(vocabulary("ap.ldac").is_err());
        assert_eq!(vocabulary("a.svm").unwrap(), "none");
        touch("vocab.txt");
        assert_eq!(vocabulary("a.svm").unwrap(), "vocab.txt");
        assert_eq!(vocabulary("train.docword.txt").unwrap(), "vocab.txt");
        touch("vocab.kos.txt");
        assert_eq!(vocabulary("docword.kos.txt.gz").unwrap(), "vocab.kos.txt");
        touch("reuters.tokens");
        assert_eq!(vocabulary("reuters.ldac.bz2").unwrap(), "reuters.tokens");
        assert!(vocabulary("a.svm").is_err());
        let error = vocabulary("docword.nips.txt").unwrap_err().to_string();
        assert!(error.contains("found reuters.tokens, "), "{error}");
    }
}
