//! Models of others: topic–term weights in their own files, as topics that documents can be scored on.
//!
//! [`read`] tells a file's form by its first bytes: NumPy's `.npy` ([`npy`]), MALLET's state
//! ([`mallet_state`]), its topic–word weights and word–topic counts ([`text`]). All become
//! [`Weights`], which are checked and normalised to a [`ForeignModel`]; [`terms`] maps that onto the
//! vocabulary of a job. Parquet is read by `tables::matrix`, into the same.

pub mod mallet_state;
pub mod npy;
pub mod terms;
pub mod text;
mod weights;

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::corpus::compression::{Compression, read_start};
pub use weights::Weights;

/// A smaller φ_kw counts as 0: products with it would leave the range of f32.
pub const SMALLEST: f32 = 1e-25;

/// Topics that somebody else has learnt: φ_kw = g_kw + h_k.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignModel {
    /// Its terms, in its own order.
    pub terms: Vec<String>,
    /// Of each term (k, g_kw), k ascending, g_kw > 0.
    pub rows: Vec<Vec<(u16, f32)>>,
    /// h_k: what every term has of a topic; 0 where a topic's listed terms are all it has.
    pub smoothing: Vec<f64>,
    /// α_k, if its files say it.
    pub alpha: Option<Vec<f64>>,
    /// What it was read from and how, for people.
    pub form: String,
}

impl ForeignModel {
    /// K.
    pub fn topic_count(&self) -> usize {
        self.smoothing.len()
    }

    /// Whether any topic can give this term.
    pub fn gives(&self, term: usize) -> bool {
        !self.rows[term].is_empty() || self.smoothing.iter().any(|&h| h as f32 >= SMALLEST)
    }
}

/// A model of others that cannot be used. Each names the file, the place and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line is wrong.
    #[error("{}, line {line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// The file as a whole is wrong.
    #[error("{}: {problem}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// The form needs the list of terms, and none was given.
    #[error(
        "{}: a matrix does not name its terms: give them by --terms FILE, one a line, in the \
         order of its columns",
        path.display()
    )]
    NoTerms {
        /// The file.
        path: PathBuf,
    },
    /// Hardly a token of the collection is of a term that the model has.
    #[error(
        "{}: a model of another vocabulary: of {tokens} tokens it knows {known} ({percent:.2} %), and \
         at least 1 % is needed; are its terms cut and lower-cased as [tokens] says?",
        path.display()
    )]
    OtherVocabulary {
        /// The model.
        path: PathBuf,
        /// Tokens of the collection, in its vocabulary.
        tokens: u64,
        /// Those whose terms the model has.
        known: u64,
        /// The same in percent.
        percent: f64,
    },
}

impl ForeignError {
    /// Whether reading failed, and not what was read.
    pub fn is_io(&self) -> bool {
        matches!(self, Self::Io { .. })
    }

    fn content(path: &Path, problem: impl Into<String>) -> Self {
        Self::Content {
            path: path.to_owned(),
            problem: problem.into(),
        }
    }

    fn line(path: &Path, line: u64, problem: impl Into<String>) -> Self {
        Self::Line {
            path: path.to_owned(),
            line,
            problem: problem.into(),
        }
    }

    fn io(path: &Path, source: io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}

/// Reads a model from a file that is not Parquet; `terms` is the list of terms, for forms that need
/// one.
///
/// # Errors
/// The file cannot be read, has no form that is known, or is damaged.
pub fn read(path: &Path, terms: Option<&Path>) -> Result<ForeignModel, ForeignError> {
    let io = |source| ForeignError::io(path, source);
    let start = Compression::Plain
        .open(path)
        .and_then(|file| read_start(file, 8));
    let start = start.map_err(io)?;
    if start.starts_with(b"\x93NUMPY") {
        let terms = terms.ok_or_else(|| ForeignError::NoTerms {
            path: path.to_owned(),
        })?;
        return npy::read(path, terms::read(terms)?);
    }
    if start.starts_with(b"PK") {
        let problem = "is a zip file: unpack it (of NumPy's .npz, save the one array as .npy)";
        return Err(ForeignError::content(path, problem));
    }
    let mut first = None;
    for_each_line(path, |_, line| {
        let is_blank = line.trim().is_empty();
        first = (!is_blank).then(|| line.to_owned());
        Ok(is_blank)
    })?;
    let first = first.unwrap_or_default();
    if mallet_state::is_state(&first) {
        return mallet_state::read(path);
    }
    if text::is_weights(&first) {
        return text::read_weights(path);
    }
    if text::is_counts(&first) {
        return text::read_counts(path);
    }
    let problem = "has no form that is known: .npy with --terms, Parquet, a topicmill output, MALLET's \
                   state, topic-word weights or word-topic counts (docs/EVALUATION.md)";
    Err(ForeignError::content(path, problem))
}

/// Hands every line, without its end, with its number from 1 to `visit`, until that says false.
/// Compressed files are unpacked.
fn for_each_line(
    path: &Path,
    mut visit: impl FnMut(u64, &str) -> Result<bool, ForeignError>,
) -> Result<(), ForeignError> {
    let io = |source| ForeignError::io(path, source);
    let start = Compression::Plain
        .open(path)
        .and_then(|file| read_start(file, 8));
    let compression = Compression::of(&start.map_err(io)?).map_err(|name| {
        let problem = format!("is compressed with {name}: unpack it, or compress it with gzip");
        ForeignError::content(path, problem)
    })?;
    let mut file = BufReader::with_capacity(1 << 16, compression.open(path).map_err(io)?);
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        if file.read_until(b'\n', &mut bytes).map_err(io)? == 0 {
            break;
        }
        let line = std::str::from_utf8(&bytes)
            .map_err(|_| ForeignError::line(path, number, "is not UTF-8"))?;
        let line = line.strip_suffix('\n').unwrap_or(line);
        if !visit(number, line.strip_suffix('\r').unwrap_or(line))? {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
