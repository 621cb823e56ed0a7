//! The crate's error, except for those of [an input](crate::input::InputError).

use std::fmt::Display;
use std::io;
use std::path::Path;

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
