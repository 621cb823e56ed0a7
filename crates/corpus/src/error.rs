//! The crate's errors: those of an input as a whole, and all others. An error in one document is its status instead.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use store::StoreError;

/// An error, whose message names the file and, if there is one, the remedy.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A file or folder cannot be read or written.
    #[error("{message}")]
    Io {
        /// The message.
        message: String,
        /// The system's error, which the message contains.
        source: io::Error,
    },
    /// A setting is wrong, or a file that it names.
    #[error("{0}")]
    Setting(String),
    /// A file is missing, damaged, or not what this version writes, or something cannot be stored in it.
    #[error("{0}")]
    Data(String),
    /// Another run is at work there.
    #[error("{0}")]
    Busy(String),
}

impl CorpusError {
    /// Returns the constructor of an [`Io`](Self::Io) for this path.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.display().to_string();
        move |source| Self::Io { message: format!("{path}: {source}"), source }
    }

    /// Returns a [`Data`](Self::Data) for this file.
    pub(crate) fn data(path: &Path, problem: impl Display) -> Self {
        Self::Data(format!("{}: {problem}", path.display()))
    }
}

impl From<StoreError> for CorpusError {
    fn from(StoreError { path, source }: StoreError) -> Self {
        Self::io(&path)(source)
    }
}

/// An error of the input, with the path or pattern and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// A pattern of `corpus.input` matches nothing.
    #[error("corpus.input: {0}")]
    NoMatch(String),
    /// A folder of `corpus.input` has no file in it, or everything that matched is excluded, hidden, or a vocabulary.
    #[error("corpus.input: {0}")]
    Empty(String),
    /// A file or folder cannot be opened or read.
    #[error(
        "{}: cannot be read: {source}; check its permissions, or exclude it with `corpus.exclude`", .path.display()
    )]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file's compression, encoding, version or kind is not supported.
    #[error("{0}")]
    Unsupported(String),
    /// A file ends in the middle, cannot be decompressed or leaves a quote or brace open, and `corpus.on_damage` is
    /// "fail".
    #[error(
        "{}: damaged after {offset} {unit} of content: {reason}; repair the file or copy it again, or set corpus.on_damage = \"keep\" to keep what can be read", .path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Content in complete records before the damage.
        offset: u64,
        /// The unit of the position: bytes, or rows.
        unit: &'static str,
        /// The decoder's error, or what is not closed.
        reason: String,
    },
    /// A column that the job names is not in the file.
    #[error("{0}")]
    MissingColumn(String),
    /// Anything else that is wrong in the input or in what the job says about it.
    #[error("{0}")]
    Refused(String),
    /// Another thread failed or panicked, and reports the cause.
    #[error("reading the input stopped because of an error in another thread")]
    Stopped,
}

impl InputError {
    /// Returns whether there is nothing to read.
    pub fn is_absence(&self) -> bool {
        matches!(self, Self::NoMatch(_) | Self::Empty(_))
    }

    /// Returns the constructor of an [`InputError::Unreadable`] for this path.
    pub fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| match source.kind() {
            // Its text has the remedy.
            io::ErrorKind::Unsupported | io::ErrorKind::FileTooLarge => {
                Self::refused(&path, source)
            }
            _ => Self::Unreadable { path, source },
        }
    }

    /// Returns an [`InputError::NoMatch`] for a pattern as the job has it, which is `path` after expansion.
    pub(crate) fn no_match(pattern: &str, path: &Path) -> Self {
        let remedy = "correct the pattern, or put the files there (patterns are relative to the job file's folder)";
        let path = path.display();
        Self::NoMatch(format!("no file matches `{pattern}` (looked for {path}); {remedy}"))
    }

    /// Returns an [`InputError::Empty`] for an input of which nothing is a document.
    pub(crate) fn nothing_left() -> Self {
        let left = "no file is left to read; check `corpus.exclude` and `corpus.format` (hidden files in folders, and \
                    what topicmill has written, are skipped)";
        Self::Empty(left.to_owned())
    }

    /// Returns an [`InputError::Refused`] for this file: the problem and its remedy.
    pub(crate) fn refused(path: &Path, problem: impl Display) -> Self {
        Self::Refused(format!("{}: {problem}", path.display()))
    }

    /// Returns an [`InputError::Refused`] for this line, from 1, of a bag of words that breaks its own format.
    pub(crate) fn counts(path: &Path, line: u64, problem: impl Display) -> Self {
        Self::Refused(format!("{}, line {line}: {problem}", path.display()))
    }

    /// Returns an [`InputError::Refused`] for a CSV or TSV file whose header cannot be read.
    pub(crate) fn header(path: &Path, problem: impl Display) -> Self {
        let remedy = "the first line must name the columns";
        Self::refused(path, format!("the header cannot be read: {problem}; {remedy}"))
    }

    /// Returns an [`InputError::Unsupported`] for a path that is neither a file nor a folder.
    pub(crate) fn pipe(path: &Path) -> Self {
        let remedy =
            "store its content in a file, or pass it on standard input: topicmill topics - < INPUT";
        Self::unsupported(path, "a pipe or device", remedy)
    }

    /// Returns an [`InputError::Unsupported`] for a file of this kind.
    pub(crate) fn unsupported(path: &Path, kind: &str, remedy: &str) -> Self {
        let path = path.display();
        Self::Unsupported(format!("{path}: is {kind}, which is not supported; {remedy}"))
    }

    /// Returns an [`InputError::MissingColumn`] that suggests the nearest existing column.
    pub fn missing_column(path: &Path, column: &str, available: &[String]) -> Self {
        let (path, hint, available) =
            (path.display(), hint(column, available), available.join(", "));
        Self::MissingColumn(format!(
            "{path}: no column `{column}`{hint}; the columns are: {available}"
        ))
    }

    /// Returns the error of a key of `htrc.unique_by` that no volume has; suggests the nearest of the volume at `path`.
    pub fn missing_key(path: &Path, key: &str, available: &[String]) -> Self {
        let (path, hint, available) = (path.display(), hint(key, available), available.join(", "));
        Self::Refused(format!(
            "htrc.unique_by: no volume has `{key}`{hint}; {path} has: {available}"
        ))
    }
}

/// Bytes of the longest names that are compared: the time of a comparison is the product of both lengths.
const MOST_COMPARED: usize = 200;

/// Returns the nearest existing name, as a question, or nothing.
pub fn hint(wanted: &str, available: &[String]) -> String {
    if wanted.len() > MOST_COMPARED {
        return String::new();
    }
    let distance =
        |name: &String| strsim::osa_distance(&name.to_lowercase(), &wanted.to_lowercase());
    let short = available.iter().filter(|name| name.len() <= MOST_COMPARED);
    let named = short.map(|name| (distance(name), name));
    let near = named.filter(|&(distance, _)| distance <= wanted.chars().count().max(3) / 2);
    near.min().map_or(String::new(), |(_, name)| format!("; did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_column_suggests_the_nearest_and_lists_all() {
        let columns = ["Id".to_owned(), "body".to_owned(), "texts".to_owned()];
        let error = InputError::missing_column(Path::new("a.csv"), "text", &columns);
        assert_eq!(
            error.to_string(),
            "a.csv: no column `text`; did you mean `texts`?; the columns are: Id, body, texts"
        );
        let error = InputError::missing_column(Path::new("a.csv"), "zzzz", &columns);
        assert_eq!(error.to_string(), "a.csv: no column `zzzz`; the columns are: Id, body, texts");
        // Comparing names of a million characters would take 10^12 steps.
        let [wanted, there] = [1_000_000, 1_000_001].map(|length| "x".repeat(length));
        assert_eq!(hint(&wanted, &[there]), "");
    }
}
