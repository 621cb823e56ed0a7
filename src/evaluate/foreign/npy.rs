//! A dense K × V matrix in NumPy's format: gensim's `get_topics()` and `*.expElogbeta.npy`, tomotopy's
//! `get_topic_word_dist`, scikit-learn's `components_`, anything that is one row a topic.

use std::io::Read;
use std::path::Path;

use npyz::{NpyFile, Order};

use super::{ForeignError, ForeignModel, Weights};
use crate::corpus::compression::Compression;

/// Reads a matrix of floats or integers, in C or Fortran order; row k is topic k, column w is
/// `terms[w]`.
///
/// # Errors
/// It cannot be read; another shape; NaN, infinities, negatives (with row and column); a row of zeros.
pub fn read(path: &Path, terms: Vec<String>) -> Result<ForeignModel, ForeignError> {
    let io = |source| ForeignError::io(path, source);
    let damaged = |e: std::io::Error| {
        ForeignError::content(path, format!("is no .npy that can be read ({e})"))
    };
    let file = Compression::Plain.open(path).map_err(io)?;
    let npy = NpyFile::new(std::io::BufReader::new(file)).map_err(damaged)?;
    let shape = Shape::of(path, npy.shape(), npy.order(), terms.len())?;
    let kind = npy.dtype().descr();
    let values = values(npy).ok_or_else(|| {
        let problem = format!("holds {kind}, not f4, f8 or integers: save it `.astype('f4')`");
        ForeignError::content(path, problem)
    })?;
    let values = values.map_err(damaged)?;
    let mut weights = Weights::new(terms);
    for (place, &value) in values.iter().enumerate() {
        let (row, column) = shape.cell(place);
        let set = weights.set(column, row as u64, value);
        set.map_err(|problem| {
            let problem = format!("row {row}, column {column} (from 0): {problem}");
            ForeignError::content(path, problem)
        })?;
    }
    let note = sums(&values, &shape);
    let mut model = weights.normalised(path, 0.0)?;
    model.form = format!("a matrix of {} × {} ({note})", shape.rows, shape.columns);
    Ok(model)
}

/// Rows, columns, and how they follow each other.
struct Shape {
    rows: usize,
    columns: usize,
    order: Order,
}

impl Shape {
    fn of(path: &Path, shape: &[u64], order: Order, terms: usize) -> Result<Self, ForeignError> {
        let refuse = |problem: String| Err(ForeignError::content(path, problem));
        let &[rows, columns] = shape else {
            return refuse(format!(
                "has {} dimensions {shape:?}, not two: topics × terms",
                shape.len()
            ));
        };
        if columns == terms as u64 && rows > 0 {
            return Ok(Self {
                rows: rows as usize,
                columns: terms,
                order,
            });
        }
        if rows == terms as u64 {
            return refuse(format!(
                "is {rows} × {columns}, terms × topics: save its transpose, {columns} × {rows}, one \
                 row a topic"
            ));
        }
        refuse(format!(
            "is {rows} × {columns}, topics × terms, but --terms lists {terms}"
        ))
    }

    /// Row and column of the so-many-th value.
    fn cell(&self, place: usize) -> (usize, usize) {
        match self.order {
            Order::C => (place / self.columns, place % self.columns),
            Order::Fortran => (place % self.rows, place / self.rows),
        }
    }
}

/// All values as f64; `None` for a type that is no number of ours.
fn values<R: Read>(npy: NpyFile<R>) -> Option<std::io::Result<Vec<f64>>> {
    let npy = match npy.try_data::<f64>() {
        Ok(data) => return Some(data.collect()),
        Err(npy) => npy,
    };
    let npy = match npy.try_data::<f32>() {
        Ok(data) => return Some(data.map(|x| x.map(f64::from)).collect()),
        Err(npy) => npy,
    };
    macro_rules! integers {
        ($npy:expr, $($kind:ty),*) => {{
            let npy = $npy;
            $(let npy = match npy.try_data::<$kind>() {
                Ok(data) => return Some(data.map(|x| x.map(|n| n as f64)).collect()),
                Err(npy) => npy,
            };)*
            let _ = npy;
        }};
    }
    integers!(npy, i64, i32, i16, i8, u64, u32, u16, u8);
    None
}

/// What the rows' sums say of the values.
fn sums(values: &[f64], shape: &Shape) -> &'static str {
    let mut sums = vec![0.0; shape.rows];
    for (place, value) in values.iter().enumerate() {
        sums[shape.cell(place).0] += value;
    }
    match sums.iter().all(|sum| (sum - 1.0f64).abs() < 1e-3) {
        true => "its rows are probabilities",
        false => "its rows are weights, and were normalised to sum 1",
    }
}
