//! A dense K × V matrix in NumPy's format: gensim's `get_topics()` and `*.expElogbeta.npy`, tomotopy's
//! `get_topic_word_dist`, scikit-learn's `components_`, anything with one row per topic.

use std::io::{self, Read};
use std::path::Path;

use super::npy_header::{Header, Number};
use super::{ForeignModel, Weights};
use crate::failure::Failure;
use lda::model::MAX_TOPICS;

/// Reads a matrix of floats or integers, in C or Fortran order; row k is topic k, column w is
/// `terms[w]`. `path` is for errors.
///
/// # Errors
/// The file cannot be read, or ends too early; the shape is wrong; a value is NaN, infinite or
/// negative (the error has its row and column); a row is all zeros.
pub fn read(path: &Path, mut file: impl Read, terms: Vec<String>) -> Result<ForeignModel, Failure> {
    let header = Header::read(&mut file).map_err(|error| header_error(path, error))?;
    let shape = Shape::of(path, &header, terms.len())?;
    let number = Number::of(&header.kind).ok_or_else(|| {
        let kind = &header.kind;
        let problem = format!("holds {kind}, not f4, f8 or integers: save it `.astype('f4')`");
        Failure::file(path, problem)
    })?;
    let mut weights = Weights::new(terms);
    let mut sums = vec![0.0; shape.rows];
    let mut bytes = [0; 8];
    let cells = shape.rows * shape.columns;
    for place in 0..cells {
        let bytes = &mut bytes[..number.bytes];
        file.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                let problem = format!(
                    "ends after {place} of the {cells} values of its {} × {}: it is cut short; \
                     save or copy it again",
                    shape.rows, shape.columns
                );
                Failure::file(path, problem)
            }
            _ => super::reading(path)(error),
        })?;
        let (value, (row, column)) = (number.value(bytes), shape.cell(place));
        let set = weights.set(column, row as u64, value);
        set.map_err(|problem| {
            let problem = format!("row {row}, column {column} (from 0): {problem}");
            Failure::file(path, problem)
        })?;
        sums[row] += value;
    }
    let note = match sums.iter().all(|sum| (sum - 1.0f64).abs() < 1e-3) {
        true => "its rows are probabilities",
        false => "its rows are weights, and were normalised to sum 1",
    };
    let mut model = weights.normalised(path, 0.0)?;
    model.form = format!("a matrix of {} × {} ({note})", shape.rows, shape.columns);
    Ok(model)
}

/// Reading failed, or there is no valid header.
fn header_error(path: &Path, error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            let problem = "ends within its header: it is cut short; save or copy it again";
            Failure::file(path, problem)
        }
        io::ErrorKind::InvalidData if error.get_ref().is_some() => {
            Failure::file(path, format!("is not a readable .npy file: {error}"))
        }
        _ => super::reading(path)(error),
    }
}

/// Rows, columns, and their order.
struct Shape {
    rows: usize,
    columns: usize,
    is_fortran: bool,
}

impl Shape {
    fn of(path: &Path, header: &Header, terms: usize) -> Result<Self, Failure> {
        let refuse = |problem: String| Err(Failure::file(path, problem));
        let &[rows, columns] = &header.shape[..] else {
            return refuse(format!(
                "has {} dimensions {:?}, not two: topics × terms",
                header.shape.len(),
                header.shape
            ));
        };
        if columns == terms as u64 && (1..=MAX_TOPICS as u64).contains(&rows) && terms > 0 {
            return Ok(Self { rows: rows as usize, columns: terms, is_fortran: header.is_fortran });
        }
        if rows == terms as u64 && terms > 0 {
            return refuse(format!(
                "is {rows} × {columns}, terms × topics: save its transpose, {columns} × {rows}, one \
                 row per topic"
            ));
        }
        if columns == terms as u64 {
            return refuse(format!(
                "is {rows} × {columns}, topics × terms: it needs 1 to {MAX_TOPICS} topics and \
                 at least one term"
            ));
        }
        refuse(format!("is {rows} × {columns}, topics × terms, but --terms lists {terms}"))
    }

    /// Returns the row and column of the value at `place`.
    fn cell(&self, place: usize) -> (usize, usize) {
        match self.is_fortran {
            false => (place / self.columns, place % self.columns),
            true => (place % self.rows, place / self.rows),
        }
    }
}
