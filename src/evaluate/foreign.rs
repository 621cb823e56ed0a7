//! External models: topic–term weights in their own files, as topics that documents can be scored on.
//!
//! [`read`] reads MALLET's state ([`mallet_state`]), `tables::phi` reads Parquet. Both become [`Weights`], which are
//! checked and normalised to a [`ForeignModel`]; [`terms`] maps that onto the vocabulary of a job.

pub mod mallet_state;
pub(crate) mod terms;
mod weights;

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::failure::{Exit, Failure};
use corpus::compression::{Compression, read_start};
pub(crate) use weights::Weights;

/// A smaller φ_kw counts as 0: products with it would leave the range of f32.
pub(crate) const SMALLEST: f32 = 1e-25;

/// Topics learnt by another program: φ_kw = g_kw + h_k.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignModel {
    /// Its terms, in its own order.
    pub terms: Vec<String>,
    /// For each term, (k, g_kw), k ascending, g_kw > 0.
    pub rows: Vec<Vec<(u16, f32)>>,
    /// h_k, the same for every term; 0 if a topic has only its listed terms.
    pub smoothing: Vec<f64>,
    /// α_k, if its files contain it.
    pub alpha: Option<Vec<f64>>,
    /// Its source and format, for display.
    pub(crate) form: String,
}

impl ForeignModel {
    /// K.
    pub(crate) fn topic_count(&self) -> usize {
        self.smoothing.len()
    }

    /// Whether any topic can generate this term.
    fn gives(&self, term: usize) -> bool {
        !self.rows[term].is_empty() || self.smoothing.iter().any(|&h| h as f32 >= SMALLEST)
    }
}

/// There is no such file.
pub(crate) fn absent(path: &Path) -> Failure {
    Failure::usage(format!(
        "{}: there is no such file or folder (relative paths start from the current directory)",
        path.display()
    ))
}

/// An I/O error on the file itself, before decompression.
fn opening(path: &Path) -> impl Fn(io::Error) -> Failure {
    move |source| match source.kind() {
        io::ErrorKind::NotFound => absent(path),
        _ => Failure::io(path)(source),
    }
}

/// An error while reading: from the system, whose errors have a number, or from a decoder.
fn reading(path: &Path) -> impl Fn(io::Error) -> Failure {
    move |source| {
        if source.raw_os_error().is_some() {
            return opening(path)(source);
        }
        if source.kind() == io::ErrorKind::FileTooLarge {
            return Failure::file(path, source.to_string());
        }
        let problem = format!(
            "{}: cannot be unpacked ({source}): it is cut short or damaged; write or copy it again",
            path.display()
        );
        Failure::new(Exit::Data, source).context(problem)
    }
}

/// Reads a model from a file that is not Parquet, compressed or not: MALLET's state.
///
/// # Errors
/// The file cannot be read, is in another format, or is damaged.
pub fn read(path: &Path) -> Result<ForeignModel, Failure> {
    let refuse = |problem: &str| Err(Failure::file(path, problem));
    let start = read_start(open(path)?, 8).map_err(reading(path))?;
    if start.starts_with(b"PAR1") {
        return refuse("is Parquet that is cut short or damaged: write or copy it again");
    }
    let mut is_state = false;
    let looked = for_each_line(path, open(path)?, |_, line| {
        is_state = mallet_state::is_state(line);
        Ok(line.trim().is_empty())
    });
    // A file that does not begin with text is in no known format.
    if let Err(failure) = looked
        && failure.io_kind().is_some()
    {
        return Err(failure);
    }
    if is_state {
        return mallet_state::read(path, open(path)?);
    }
    refuse(
        "is in no known format: a Parquet table of topics, terms and weights, a topicmill output or MALLET's state; \
         topicmill.convert of the Python package writes the table (docs/EVALUATION.md)",
    )
}

/// Opens a file, and decompresses it if necessary.
fn open(path: &Path) -> Result<BufReader<impl Read>, Failure> {
    let opening = opening(path);
    let start =
        Compression::Plain.open(path).and_then(|file| read_start(file, 8)).map_err(&opening)?;
    let compression = Compression::of(&start).map_err(|name| {
        let problem = match name {
            "zip" => "is a zip file: unpack it".to_owned(),
            _ => format!("is compressed with {name}: unpack it, or compress it with gzip"),
        };
        Failure::file(path, problem)
    })?;
    let file = compression.open(path).map_err(&opening)?;
    Ok(BufReader::with_capacity(1 << 16, file))
}

/// The most bytes in a line. The longest line contains a number for each topic.
const MOST_LINE: u64 = 1 << 24;

/// Passes every line, without its end, and its number, from 1, to `visit` until that returns false.
fn for_each_line(
    path: &Path,
    mut file: impl BufRead,
    mut visit: impl FnMut(u64, &str) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    for number in 1.. {
        bytes.clear();
        let read = (&mut file).take(MOST_LINE).read_until(b'\n', &mut bytes);
        let read = read.map_err(reading(path))?;
        if read == 0 {
            break;
        }
        let refuse = |problem: &str| Failure::line(path, number, problem);
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
