//! Why no job can be proposed for an input.

use std::path::PathBuf;

use corpus::input::InputError;
use corpus::stop_words::StopWordsError;

/// An input that no job can be proposed for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PreviewError {
    /// It cannot be found or read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A stop list of the job cannot be read.
    #[error(transparent)]
    StopWords(#[from] StopWordsError),
    /// It is not text.
    #[error("{}: not a text file", path.display())]
    Binary {
        /// The file.
        path: PathBuf,
    },
    /// A file of JSON whose first records are not objects.
    #[error(
        "{}: {} is a JSON object: {reason}",
        path.display(), if *of_lines { "no line" } else { "nothing" }
    )]
    NoObjects {
        /// The file.
        path: PathBuf,
        /// Why the first record is none.
        reason: String,
        /// Whether each line is a record.
        of_lines: bool,
    },
    /// No column contains text.
    #[error("{}: no column contains text; {}", path.display(), columns_of(columns, absent))]
    NoText {
        /// The file.
        path: PathBuf,
        /// The columns of all files.
        columns: Vec<String>,
        /// The columns of some files.
        absent: Vec<String>,
    },
}

impl PreviewError {
    /// The remedy, where the message has none.
    pub(crate) fn help(&self) -> Option<String> {
        match self {
            Self::Input(_) | Self::StopWords(_) => None,
            Self::Binary { .. } => Some(
                "unpack an archive (tar -x), or convert it to text first: pdftotext for PDF, pandoc -t plain for documents, iconv -f \
                 UTF-16 -t UTF-8 for UTF-16"
                    .to_owned(),
            ),
            Self::NoObjects { of_lines: true, .. } => Some(
                "each line must be one object, such as {\"id\": 1, \"text\": \"…\"}; for an array, or objects over \
                 several lines: --set corpus.format=json"
                    .to_owned(),
            ),
            Self::NoObjects { .. } => Some(
                "documents must be objects, such as [{\"id\": 1, \"text\": \"…\"}]".to_owned(),
            ),
            Self::NoText { absent, .. } if !absent.is_empty() => Some(
                "pass only files with the same columns, or give these the same names".to_owned(),
            ),
            Self::NoText { .. } => Some("name the column to use: --text COLUMN".to_owned()),
        }
    }
}

/// The columns of all files, and those of some.
fn columns_of(columns: &[String], absent: &[String]) -> String {
    let all = match columns {
        [] => "the files have no column in common".to_owned(),
        _ => format!("the columns are: {}", columns.join(", ")),
    };
    match absent {
        [] => all,
        _ => format!("{all}; only some files have: {}", absent.join(", ")),
    }
}
