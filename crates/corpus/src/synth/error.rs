//! Errors in making a corpus, or in reading its answer.

use std::io;
use std::path::{Path, PathBuf};

use store::StoreError;

/// Why no corpus was made, or no answer read.
#[derive(Debug, thiserror::Error)]
pub enum SynthError {
    /// A file or folder could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// Which one.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A setting that no corpus can be made from.
    #[error("synth.{key} must be {expected}")]
    Setting {
        /// The setting.
        key: &'static str,
        /// The allowed values.
        expected: &'static str,
    },
    /// The folder contains a corpus of other settings.
    #[error(
        "{path} contains a corpus made with different settings; remove it or choose another folder"
    )]
    OtherSettings {
        /// The folder.
        path: PathBuf,
    },
    /// The folder contains something else.
    #[error(
        "{path} is not empty and contains no finished corpus; remove it or choose another folder"
    )]
    Occupied {
        /// The folder.
        path: PathBuf,
    },
    /// Another process is making the corpus.
    #[error("{path} is being made by another run, {holder}; wait for it, or choose another folder")]
    Busy {
        /// The folder.
        path: PathBuf,
        /// The process.
        holder: String,
    },
    /// A line of the word list contains more than one word.
    #[error("{path}:{line}: expected one word per line")]
    WordList {
        /// The list.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// The word list is too short.
    #[error("{path} has {found} distinct words, but {wanted} are needed; lower synth.terms")]
    TooFewWords {
        /// The list.
        path: PathBuf,
        /// Distinct words in it.
        found: usize,
        /// The requested vocabulary.
        wanted: usize,
    },
    /// The answer is not as it was written.
    #[error("{path}:{line}: expected a row of topic, term, weight; make the corpus again")]
    Answer {
        /// The answer's file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
}

impl From<StoreError> for SynthError {
    fn from(StoreError { path, source }: StoreError) -> Self {
        Self::Io { path, source }
    }
}

impl SynthError {
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        Self::Io { path, source }
    }
}
