//! The vocabulary file of a bag of words whose terms are numbers, found by its name beside it.

use super::InputError;
use super::objects::names_beside;
use crate::compression::stripped;
use crate::formats::{Format, VocabularyName};
use std::path::{Path, PathBuf};

/// Returns whether a file name is that of a vocabulary.
pub(super) fn is_vocabulary(name: &str) -> bool {
    (name.contains("vocab") || name.ends_with(".tokens")) && !name.contains("docword")
}

/// Finds the vocabulary of a bag of words: the file of the same name, with `vocab` for `docword` or another ending, in
/// any compression; else the only one in the folder. Only some formats may lack one.
pub(super) fn find(documents: &Path, format: &Format) -> Result<Option<PathBuf>, InputError> {
    let Some(wanted) = format.vocabulary else {
        return Ok(None);
    };
    let folder = documents.parent().unwrap_or(Path::new("."));
    let mut candidates = names_beside(documents).map_err(InputError::unreadable(folder))?;
    candidates.retain(|name| is_vocabulary(name) && !name.starts_with('.'));
    candidates.sort();
    let name = documents.file_name().unwrap_or_default().to_string_lossy();
    let name = stripped(&name);
    let (stem, _) = name.rsplit_once('.').unwrap_or((name, ""));
    let (expected, is_optional) = match wanted {
        VocabularyName::ForDocword => (name.replacen("docword", "vocab", 1), false),
        VocabularyName::WithEnding { is_optional } => (format!("{stem}.vocab.txt"), is_optional),
    };
    let mut twins = candidates.iter().filter(|candidate| {
        let rest = candidate.strip_prefix(stem);
        let is_of_stem = rest.is_some_and(|rest| rest.starts_with('.'));
        stripped(candidate) == expected || wanted != VocabularyName::ForDocword && is_of_stem
    });
    match (twins.next(), candidates.as_slice()) {
        (Some(name), _) => Ok(Some(documents.with_file_name(name))),
        (None, [only]) => Ok(Some(documents.with_file_name(only))),
        (None, []) if is_optional => Ok(None),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::guess;

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
