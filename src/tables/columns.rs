//! Some columns of a table, row by row; numbers of any type are read as f64.

use std::path::Path;

use arrow_array::{Array, Float64Array, RecordBatch, StringArray};

use super::parts::{Batches, part_files};
use crate::failure::Failure;
use corpus::cells;

/// A row of the requested columns.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    columns: &'a [Values],
    row: usize,
}

enum Values {
    Numbers(Float64Array),
    Texts(StringArray),
}

impl Row<'_> {
    /// Returns the number in a column; `None` for null, and in a column of text.
    pub fn number(&self, column: usize) -> Option<f64> {
        match &self.columns[column] {
            Values::Numbers(numbers) => numbers.is_valid(self.row).then(|| numbers.value(self.row)),
            Values::Texts(_) => None,
        }
    }

    /// Returns the text in a column; empty for null, and in a column of numbers.
    pub(crate) fn text(&self, column: usize) -> &str {
        match &self.columns[column] {
            Values::Texts(texts) if texts.is_valid(self.row) => texts.value(self.row),
            _ => "",
        }
    }
}

/// Passes the rows of the columns `names` in a table's folder to `each`, in order.
///
/// # Errors
/// A part cannot be read or lacks a column; any error of `each`.
pub fn for_each_row<E: From<Failure>>(
    folder: &Path,
    names: &'static [&'static str],
    mut each: impl FnMut(Row<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let mut batches = Batches::new(part_files(folder)?, Some(names));
    while let Some(batch) = batches.next()? {
        let columns = names
            .iter()
            .map(|name| values(batches.path(), &batch, name))
            .collect::<Result<Vec<_>, _>>()?;
        for row in 0..batch.num_rows() {
            let columns = &columns;
            each(Row { columns, row })?;
        }
    }
    Ok(())
}

fn values(path: &Path, batch: &RecordBatch, name: &str) -> Result<Values, Failure> {
    let refuse = |what: &str| Failure::file(path, format!("column {name} {what}"));
    let array = batch.column_by_name(name);
    let array = array.ok_or_else(|| refuse("is missing"))?;
    if let Some(texts) = array.as_any().downcast_ref::<StringArray>() {
        return Ok(Values::Texts(texts.clone()));
    }
    cells::numbers(array)
        .map(Values::Numbers)
        .ok_or_else(|| refuse("contains neither numbers nor text"))
}
