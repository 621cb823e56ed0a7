//! The vocabulary file of a UCI bag of words, found by its name beside the `docword` file.

use super::InputError;
use super::objects::names_beside;
use std::path::{Path, PathBuf};

/// Whether a file name says that it is the documents of a UCI bag of words.
pub(super) fn is_documents(name: &str) -> bool {
    name.contains("docword")
}

/// Whether a file name says that it is the vocabulary of one.
pub(super) fn is_vocabulary(name: &str) -> bool {
    name.contains("vocab") && !is_documents(name)
}

/// The vocabulary of a `docword` file: the one of the same name with `vocab` for `docword`, whatever the
/// compression; else the only one in the folder.
pub(super) fn find(documents: &Path) -> Result<PathBuf, InputError> {
    let folder = documents.parent().unwrap_or(Path::new("."));
    let mut candidates = names_beside(documents).map_err(InputError::unreadable(folder))?;
    candidates.retain(|name| is_vocabulary(name) && !name.starts_with('.'));
    candidates.sort();
    let name = documents.file_name().unwrap_or_default().to_string_lossy();
    let expected = super::stripped(&name).replacen("docword", "vocab", 1);
    let twin = candidates
        .iter()
        .find(|candidate| super::stripped(candidate) == expected);
    match (twin, candidates.as_slice()) {
        (Some(name), _) => Ok(documents.with_file_name(name)),
        (None, [only]) => Ok(documents.with_file_name(only)),
        (None, others) => Err(InputError::Vocabulary {
            path: documents.to_owned(),
            expected: format!("named `{expected}`"),
            found: match others {
                [] => "none".to_owned(),
                _ => others.join(", "),
            },
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_twin_is_preferred_then_the_only_one() {
        let folder = tempfile::tempdir().unwrap();
        let touch = |name: &str| std::fs::write(folder.path().join(name), "").unwrap();
        let vocabulary =
            |name: &str| find(&folder.path().join(name)).map(|p| p.file_name().unwrap().to_owned());
        let error = vocabulary("docword.kos.txt.gz").unwrap_err().to_string();
        assert!(error.contains("`vocab.kos.txt`; found none"), "{error}");
        touch("vocab.txt");
        assert_eq!(vocabulary("train.docword.txt").unwrap(), "vocab.txt");
        touch("vocab.kos.txt");
        assert_eq!(vocabulary("docword.kos.txt.gz").unwrap(), "vocab.kos.txt");
        assert!(matches!(
            vocabulary("docword.nips.txt"),
            Err(InputError::Vocabulary { .. })
        ));
    }
}
