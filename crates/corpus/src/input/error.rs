//! Errors of an input as a whole. An error in one document is its status instead.

use std::io;
use std::path::{Path, PathBuf};

/// An error of the input, with the path or pattern and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// A pattern of `corpus.input` or `corpus.exclude` is not a valid glob.
    #[error(
        "corpus: the pattern `{pattern}` is not valid: {reason}; write `[[]` for a literal `[`"
    )]
    Pattern {
        /// The pattern as the job has it.
        pattern: String,
        /// The error of the glob parser.
        reason: String,
    },
    /// A pattern names an environment variable that is not set.
    #[error(
        "corpus: `{pattern}` uses the environment variable {name}, which is not set; set it, or write a default: ${{{name}:-folder}}"
    )]
    Variable {
        /// The pattern as the job has it.
        pattern: String,
        /// The variable.
        name: String,
    },
    /// A pattern of `corpus.input` matches nothing.
    #[error(
        "corpus.input: no file matches `{pattern}` (looked for {}); correct the pattern, or put the files there (patterns are relative to the job file's folder)", .path.display()
    )]
    NoMatch {
        /// The pattern as the job has it.
        pattern: String,
        /// The pattern after expansion, from the base folder.
        path: PathBuf,
    },
    /// A folder of `corpus.input` has no file in it.
    #[error(
        "corpus.input: the folder contains no file: {} (hidden files are skipped); put files there, or name another", .path.display()
    )]
    EmptyFolder {
        /// The folder.
        path: PathBuf,
    },
    /// Everything that matched is excluded, hidden, or a vocabulary.
    #[error(
        "corpus.input: no file is left to read; check `corpus.exclude` and `corpus.format` (hidden files in folders are skipped)"
    )]
    NoFiles,
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
    #[error("{}: is {kind}, which is not supported; {remedy}", .path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// Its kind.
        kind: &'static str,
        /// The remedy.
        remedy: &'static str,
    },
    /// A file's format cannot provide what the job requires.
    #[error("{}: {reason}", .path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// The problem and its remedy.
        reason: &'static str,
    },
    /// A bag of words has no vocabulary beside it, or several candidates.
    #[error(
        "{}: its terms are numbers, and their vocabulary must be beside it, {expected}; found {found}", .path.display()
    )]
    Vocabulary {
        /// The bag of words.
        path: PathBuf,
        /// The name looked for.
        expected: String,
        /// The candidates, or "none".
        found: String,
    },
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
    /// A file's size or tag has changed since the input was looked up.
    #[error("{}: changed while it was being read; rerun once it is complete", .path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A column that the job names is not in the file.
    #[error("{}: no column `{column}`{hint}; the columns are: {available}", .path.display())]
    MissingColumn {
        /// The file.
        path: PathBuf,
        /// The column, as `corpus.id`, `text`, `group` or `metadata` has it.
        column: String,
        /// The nearest name, as a question, or nothing.
        hint: String,
        /// The columns that exist.
        available: String,
    },
    /// Two columns have a name that the job uses.
    #[error(
        "{}: columns {} and {} are both `{column}`; rename one of them, or name another column in the job", .path.display(), .places[0], .places[1]
    )]
    Twice {
        /// The file.
        path: PathBuf,
        /// The name.
        column: String,
        /// The positions of the columns, from 1.
        places: [usize; 2],
    },
    /// No volume has the first key that identifies copies.
    #[error(
        "htrc.unique_by: no volume has `{key}`{hint}; {} has: {available}", .path.display()
    )]
    MissingKey {
        /// A volume.
        path: PathBuf,
        /// The key.
        key: String,
        /// The nearest name, as a question, or nothing.
        hint: String,
        /// The keys of that volume.
        available: String,
    },
    /// A column has a type that cannot be used there.
    #[error(
        "{}: column `{column}` is of type {kind}, which cannot be used there; choose a column of {wanted}", .path.display()
    )]
    ColumnType {
        /// The file.
        path: PathBuf,
        /// The column.
        column: String,
        /// Its type.
        kind: String,
        /// The types that it may have.
        wanted: &'static str,
    },
    /// The header line of a CSV or TSV file cannot be read.
    #[error("{}: the header cannot be read: {reason}; the first line must name the columns", .path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// A bag of words breaks its own format.
    #[error("{}, line {line}: {reason}", .path.display())]
    Counts {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The problem and its remedy.
        reason: String,
    },
    /// The rows of a long table are not in order.
    #[error("{}, row {row}: {reason}", .path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The row, from 0.
        row: u64,
        /// The problem and its remedy.
        reason: String,
    },
    /// Another thread failed or panicked, and reports the cause.
    #[error("reading the input stopped because of an error in another thread")]
    Stopped,
}

impl InputError {
    /// Returns whether the system refused to read something, rather than the input being wrong.
    pub fn is_io(&self) -> bool {
        matches!(self, Self::Unreadable { .. })
    }

    /// Returns whether there is nothing to read.
    pub fn is_absence(&self) -> bool {
        matches!(
            self,
            Self::NoMatch { .. } | Self::EmptyFolder { .. } | Self::NoFiles
        )
    }

    /// Returns the constructor of an [`InputError::Unreadable`] for this path.
    pub fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Unreadable { path, source }
    }

    /// Returns an [`InputError::Counts`] for this line.
    pub(crate) fn counts(path: &Path, line: u64, reason: impl Into<String>) -> Self {
        let (path, reason) = (path.to_owned(), reason.into());
        Self::Counts { path, line, reason }
    }

    /// Returns an [`InputError::Unsupported`] for a path that is neither a file nor a folder.
    pub(super) fn pipe(path: PathBuf) -> Self {
        let remedy =
            "store its content in a file, or pass it on standard input: topicmill topics - < INPUT";
        Self::Unsupported {
            path,
            kind: "a pipe or device",
            remedy,
        }
    }

    /// Returns an [`InputError::MissingColumn`] that suggests the nearest existing column.
    pub fn missing_column(path: &Path, column: &str, available: &[String]) -> Self {
        Self::MissingColumn {
            path: path.to_owned(),
            column: column.to_owned(),
            hint: hint(column, available),
            available: available.join(", "),
        }
    }

    /// Returns an [`InputError::MissingKey`] that suggests the nearest key of the volume at `path`.
    pub fn missing_key(path: &Path, key: &str, available: &[String]) -> Self {
        Self::MissingKey {
            path: path.to_owned(),
            key: key.to_owned(),
            hint: hint(key, available),
            available: available.join(", "),
        }
    }
}

/// Returns the nearest existing name, as a question, or nothing.
pub fn hint(wanted: &str, available: &[String]) -> String {
    let distance =
        |name: &String| strsim::osa_distance(&name.to_lowercase(), &wanted.to_lowercase());
    let named = available.iter().map(|name| (distance(name), name));
    let near = named.filter(|&(distance, _)| distance <= wanted.chars().count().max(3) / 2);
    near.min().map_or(String::new(), |(_, name)| {
        format!("; did you mean `{name}`?")
    })
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
        assert_eq!(
            error.to_string(),
            "a.csv: no column `zzzz`; the columns are: Id, body, texts"
        );
    }
}
