//! Tables read back row by row: the fields of a struct name the columns to read, and their types.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{
    Array, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array, ListArray,
    RecordBatch, StringArray,
};

pub(crate) use super::parts::column;
use super::parts::{Batches, part_files};
use crate::failure::Failure;
use corpus::cells;

/// The columns read of a table's row. Implemented by [`record`] and [`table`].
pub(crate) trait Record: Sized {
    /// The table.
    const TABLE: &'static str;
    /// The names of its columns.
    const COLUMNS: &'static [&'static str];
    /// Their arrays in a batch.
    type Columns;

    /// Finds the columns in a batch of the part at `path`.
    fn columns(path: &Path, batch: &RecordBatch) -> Result<Self::Columns, Failure>;

    /// Reads the values of a row.
    fn read(columns: &Self::Columns, row: usize) -> Self;
}

/// The rows of parts, in order.
pub(crate) struct Records<R: Record> {
    batches: Batches,
    columns: Option<R::Columns>,
    rows: std::ops::Range<usize>,
    /// Names of further columns, and their values as text.
    names: Vec<String>,
    texts: Vec<StringArray>,
    /// A row that was read but not yet wanted.
    held: Option<R>,
}

/// Reads the rows of a table of the output in `root`; none without the table.
pub(crate) fn records<R: Record>(root: &Path) -> Result<Records<R>, Failure> {
    Ok(Records::of(part_files(&root.join(R::TABLE))?, &[]))
}

/// Returns all rows of a table of the output in `root`; none without the table.
///
/// # Errors
/// The table cannot be read, or lacks a column.
pub(crate) fn rows<R: Record>(root: &Path) -> Result<Vec<R>, Failure> {
    records(root)?.collect()
}

impl<R: Record> Records<R> {
    /// Reads the rows of some parts, and further columns as text.
    pub(crate) fn of(parts: Vec<PathBuf>, texts: &[String]) -> Self {
        let mut names = R::COLUMNS.to_vec();
        let others = texts.iter().map(String::as_str);
        names.extend(others.filter(|name| !R::COLUMNS.contains(name)));
        Self {
            batches: Batches::new(parts, Some(&names)),
            columns: None,
            rows: 0..0,
            names: texts.to_vec(),
            texts: Vec::new(),
            held: None,
        }
    }

    /// Leaves out the rows of other documents than these, ascending.
    pub(crate) fn of_documents(self, documents: &Arc<[i64]>) -> Self {
        Self { batches: self.batches.of_documents(Arc::clone(documents)), ..self }
    }

    /// Returns the part of the last row.
    pub(crate) fn path(&self) -> &Path {
        self.batches.path()
    }

    /// Returns the further columns' values in the last row.
    pub(crate) fn texts(&self) -> Vec<Option<String>> {
        let row = self.rows.start - 1;
        self.texts.iter().map(|texts| Value::read(texts, row)).collect()
    }

    /// Returns the next row, if there is one and it is wanted; an unwanted row stays next.
    pub(crate) fn next_if(
        &mut self,
        is_wanted: impl FnOnce(&R) -> bool,
    ) -> Result<Option<R>, Failure> {
        let row = match self.held.take() {
            Some(row) => Some(row),
            None => self.next_row()?,
        };
        match row {
            Some(row) if !is_wanted(&row) => {
                self.held = Some(row);
                Ok(None)
            }
            row => Ok(row),
        }
    }

    /// Collects the rows that are wanted.
    pub(crate) fn only(self, is_wanted: impl Fn(&R) -> bool) -> Result<Vec<R>, Failure> {
        let rows = self.filter(|row| row.as_ref().map_or(true, &is_wanted));
        rows.collect()
    }

    fn next_row(&mut self) -> Result<Option<R>, Failure> {
        if self.rows.is_empty() {
            let Some(batch) = self.batches.next()? else {
                return Ok(None);
            };
            let path = self.batches.path();
            self.columns = Some(R::columns(path, &batch)?);
            let texts = self.names.iter().map(|name| as_text(path, &batch, name));
            self.texts = texts.collect::<Result<_, _>>()?;
            self.rows = 0..batch.num_rows();
        }
        let row = self.rows.next();
        Ok(row.zip(self.columns.as_ref()).map(|(row, columns)| R::read(columns, row)))
    }
}

impl<R: Record> Iterator for Records<R> {
    type Item = Result<R, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_if(|_| true).transpose()
    }
}

/// Returns a column of a batch as text; a list as JSON.
fn as_text(path: &Path, batch: &RecordBatch, name: &str) -> Result<StringArray, Failure> {
    if let Ok(lists) = column::<ListArray>(path, batch, name) {
        let list = |row| {
            let list: Option<Vec<String>> = Value::read(lists, row);
            list.map(|list| serde_json::to_string(&list).expect("texts are JSON"))
        };
        return Ok((0..lists.len()).map(list).collect());
    }
    let missing = || Failure::file(path, format!("column {name} is missing or of another type"));
    batch.column_by_name(name).and_then(|column| cells::texts(column)).ok_or_else(missing)
}

/// A value of a column.
pub(crate) trait Value {
    /// The type of the column.
    type Column: Array + Clone + 'static;

    /// Returns the value in a row.
    fn read(column: &Self::Column, row: usize) -> Self;
}

macro_rules! plain_values {
    ($($type:ty => $column:ty),*) => {$(
        impl Value for $type {
            type Column = $column;

            fn read(column: &$column, row: usize) -> Self {
                column.value(row).to_owned()
            }
        }
    )*};
}

plain_values!(i32 => Int32Array, i64 => Int64Array, f32 => Float32Array, f64 => Float64Array);
plain_values!(bool => BooleanArray, String => StringArray);

impl Value for Vec<String> {
    type Column = ListArray;

    fn read(lists: &ListArray, row: usize) -> Self {
        let texts = lists.value(row);
        let texts: Option<&StringArray> = texts.as_any().downcast_ref();
        let texts = texts.into_iter().flatten().flatten();
        texts.map(str::to_owned).collect()
    }
}

impl<V: Value> Value for Option<V> {
    type Column = V::Column;

    fn read(column: &V::Column, row: usize) -> Self {
        column.is_valid(row).then(|| V::read(column, row))
    }
}

/// Declares a struct that is a [`Record`]: each field is the column of its name of the table.
macro_rules! record {
    (
        $(#[$doc:meta])*
        $table:literal;
        $vis:vis struct $record:ident {
            $( $(#[$field_doc:meta])* $field_vis:vis $field:ident : $type:ty, )*
        }
    ) => {
        $(#[$doc])*
        $vis struct $record {
            $( $(#[$field_doc])* $field_vis $field: $type, )*
        }

        impl $crate::tables::records::Record for $record {
            const TABLE: &'static str = $table;
            const COLUMNS: &'static [&'static str] = &[$( stringify!($field), )*];
            type Columns = ($( <$type as $crate::tables::records::Value>::Column, )*);

            fn columns(
                path: &std::path::Path,
                batch: &arrow_array::RecordBatch,
            ) -> Result<Self::Columns, $crate::failure::Failure> {
                $( let $field = $crate::tables::records::column(path, batch, stringify!($field))?; )*
                Ok(($( Clone::clone($field), )*))
            }

            fn read(columns: &Self::Columns, row: usize) -> Self {
                let ($( $field, )*) = columns;
                Self { $( $field: $crate::tables::records::Value::read($field, row), )* }
            }
        }
    };
}
pub(crate) use record;

/// Declares a table: a struct for its rows, which are written ([`Row`](super::Row)), read back ([`Record`]), sent, and
/// printed as JSON; the docs of a column follow it.
macro_rules! table {
    (
        $(#[$doc:meta])*
        $table:literal $(, sorted_by [$($sorted:ident),*])? $(, looked_up_by [$($looked_up:ident),*])?
            $(, checked_by $check:ident)?;
        $vis:vis struct $row:ident {
            $( $column:ident : $type:ty, $(#[$column_doc:meta])* )*
        }
    ) => {
        $crate::tables::records::record! {
            $(#[$doc])*
            #[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
            $table;
            $vis struct $row {
                $( $(#[$column_doc])* $vis $column: $type, )*
            }
        }

        impl $crate::tables::schema::Row for $row {
            const SPEC: $crate::tables::TableSpec = $crate::tables::TableSpec {
                name: $table,
                columns: &[$(
                    $crate::tables::schema::Column {
                        name: stringify!($column),
                        kind: <$type as $crate::tables::schema::Cell>::KIND,
                        nullable: <$type as $crate::tables::schema::Cell>::NULLABLE,
                    },
                )*],
                sorted_by: &[$($( stringify!($sorted) ),*)?],
                looked_up_by: &[$($( stringify!($looked_up) ),*)?],
                check: $crate::tables::records::table!(@first $(Some($check),)? None,),
            };

            fn append(&self, builders: &mut [$crate::tables::schema::Builder]) -> usize {
                let mut builders = builders.iter_mut();
                let mut bytes = 0;
                $(
                    if let Some(builder) = builders.next() {
                        bytes += $crate::tables::schema::Cell::append(&self.$column, builder);
                    }
                )*
                bytes
            }
        }

        impl $crate::wire::Wire<'_> for $row {
            fn pack(&self, words: &mut Vec<u64>) {
                $( self.$column.pack(words); )*
            }

            fn unpack(words: &mut &[u64]) -> Option<Self> {
                Some(Self { $( $column: $crate::wire::Wire::unpack(words)?, )* })
            }
        }
    };
    (@first $first:expr, $($others:expr,)*) => { $first };
}

pub(crate) use table;
