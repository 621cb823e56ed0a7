//! External models: topic–term weights in their own files, as topics that documents can be scored on.
//!
//! [`read`] tells a file's form by its first bytes: NumPy's `.npy` ([`npy`]), MALLET's state
//! ([`mallet_state`]), its topic–word weights and word–topic counts ([`text`]). All become
//! [`Weights`], which are checked and normalised to a [`ForeignModel`]; [`terms`] maps that onto the
//! vocabulary of a job. Parquet is read by `tables::matrix`, into the same.

pub mod mallet_state;
pub mod npy;
mod npy_header;
pub(crate) mod terms;
pub mod text;
mod weights;

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use corpus::compression::{Compression, read_start};
pub(crate) use weights::Weights;

/// A smaller φ_kw counts as 0: products with it would leave the range of f32.
pub(crate) const SMALLEST: f32 = 1e-25;

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
    /// Its source and format, for people.
    pub(crate) form: String,
}

impl ForeignModel {
    /// K.
    pub(crate) fn topic_count(&self) -> usize {
        self.smoothing.len()
    }

    /// Whether any topic can give this term.
    fn gives(&self, term: usize) -> bool {
        !self.rows[term].is_empty() || self.smoothing.iter().any(|&h| h as f32 >= SMALLEST)
    }
}

/// An external model, or another file for evaluation, that cannot be used. Each names the file, the place and the
/// remedy.
#[derive(Debug, thiserror::Error)]
pub enum ForeignError {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is not there.
    #[error("{}: there is no such file or folder (relative paths start from the current directory)", path.display())]
    Absent {
        /// The file.
        path: PathBuf,
    },
    /// A line is wrong.
    #[error("{}, line {line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The problem.
        problem: String,
    },
    /// The file as a whole is wrong.
    #[error("{}: {problem}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The problem and its remedy.
        problem: String,
    },
    /// The form needs the list of terms, and none was given.
    #[error(
        "{}: a matrix does not name its terms: pass them with --terms FILE, one per line, in the order of its \
         columns",
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
    pub(crate) fn is_io(&self) -> bool {
        matches!(self, Self::Io { .. })
    }

    pub(super) fn content(path: &Path, problem: impl Into<String>) -> Self {
        Self::Content {
            path: path.to_owned(),
            problem: problem.into(),
        }
    }

    pub(super) fn line(path: &Path, line: u64, problem: impl Into<String>) -> Self {
        Self::Line {
            path: path.to_owned(),
            line,
            problem: problem.into(),
        }
    }

    /// The system's error on the file itself, before anything is unpacked.
    fn opening(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Self::Absent { path },
            _ => Self::Io { path, source },
        }
    }

    /// An error while reading: of the system, whose errors have a number, or of a decoder.
    fn reading(path: &Path, source: io::Error) -> Self {
        if source.raw_os_error().is_some() {
            return Self::opening(path, source);
        }
        let problem = format!(
            "cannot be unpacked ({source}): it is cut short or damaged; write or copy it again"
        );
        Self::content(path, problem)
    }
}

/// Reads a model from a file that is not Parquet, packed or not; `terms` is the list of terms, for
/// forms that need one.
///
/// # Errors
/// The file cannot be read, is in no known format, or is damaged.
pub fn read(path: &Path, terms: Option<&Path>) -> Result<ForeignModel, ForeignError> {
    let reading = |source| ForeignError::reading(path, source);
    let refuse = |problem: &str| Err(ForeignError::content(path, problem));
    let start = read_start(open(path)?, 8).map_err(reading)?;
    if start.starts_with(b"\x93NUMPY") {
        let terms = terms.ok_or_else(|| ForeignError::NoTerms {
            path: path.to_owned(),
        })?;
        let terms = terms::read(terms)?;
        return npy::read(path, open(path)?, terms);
    }
    if start.starts_with(b"PAR1") {
        return refuse("is Parquet that is cut short or damaged: write or copy it again");
    }
    let mut first = None;
    let unknown = "is in no known format: .npy with --terms, Parquet, a topicmill output, MALLET's \
                   state, topic-word weights or word-topic counts (docs/EVALUATION.md)";
    let looked = for_each_line(path, open(path)?, |_, line| {
        let is_blank = line.trim().is_empty();
        first = (!is_blank).then(|| line.to_owned());
        Ok(is_blank)
    });
    match looked {
        // A file that does not begin with text is of another kind altogether.
        Err(ForeignError::Line { .. }) => return refuse(unknown),
        looked => looked?,
    }
    let first = first.unwrap_or_default();
    if mallet_state::is_state(&first) {
        return mallet_state::read(path, open(path)?);
    }
    if text::is_weights(&first) {
        return text::read_weights(path, open(path)?);
    }
    if text::is_counts(&first) {
        return text::read_counts(path, open(path)?);
    }
    refuse(unknown)
}

/// The content of a file, unpacked.
pub(super) fn open(path: &Path) -> Result<BufReader<impl Read>, ForeignError> {
    let opening = |source| ForeignError::opening(path, source);
    let start = Compression::Plain
        .open(path)
        .and_then(|file| read_start(file, 8))
        .map_err(opening)?;
    let compression = Compression::of(&start).map_err(|name| {
        let problem = match name {
            "zip" => {
                "is a zip file: unpack it (of NumPy's .npz, save the one array as .npy)".to_owned()
            }
            _ => format!("is compressed with {name}: unpack it, or compress it with gzip"),
        };
        ForeignError::content(path, problem)
    })?;
    let file = compression.open(path).map_err(opening)?;
    Ok(BufReader::with_capacity(1 << 16, file))
}

/// Bytes of a line at most. The longest that there are hold a number for each topic.
const MOST_LINE: u64 = 1 << 24;

/// Hands every line, without its end, with its number from 1 to `visit`, until that says false.
pub(super) fn for_each_line(
    path: &Path,
    mut file: impl BufRead,
    mut visit: impl FnMut(u64, &str) -> Result<bool, ForeignError>,
) -> Result<(), ForeignError> {
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        let read = (&mut file).take(MOST_LINE).read_until(b'\n', &mut bytes);
        let read = read.map_err(|source| ForeignError::reading(path, source))?;
        if read == 0 {
            break;
        }
        let refuse = |problem: &str| ForeignError::line(path, number, problem);
        if read as u64 == MOST_LINE {
            return Err(refuse("has no end for 16 MiB"));
        }
        let line = std::str::from_utf8(&bytes).map_err(|_| refuse("is not UTF-8"))?;
        // Some editors put a byte order mark first.
        let line = match number {
            1 => line.strip_prefix('\u{feff}').unwrap_or(line),
            _ => line,
        };
        let line = line.strip_suffix('\n').unwrap_or(line);
        if !visit(number, line.strip_suffix('\r').unwrap_or(line))? {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
