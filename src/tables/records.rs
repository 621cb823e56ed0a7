//! Tables read back row by row: the fields of a struct name the columns to read, and their types.

use std::path::{Path, PathBuf};

use arrow_array::{
    Array, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array, ListArray,
    RecordBatch, StringArray,
};

pub(crate) use super::parts::column;
use super::parts::{Batches, part_files};
use crate::failure::Failure;

/// The columns read of a table's row. Implemented by [`record`].
pub(crate) trait Record: Sized {
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
    /// A row that was read but not yet wanted.
    held: Option<R>,
}

/// Reads the rows of a table of the output in `root`; none without the table.
pub(crate) fn records<R: Record>(root: &Path, table: &str) -> Result<Records<R>, Failure> {
    Records::within(&root.join(table))
}

impl<R: Record> Records<R> {
    /// Reads the rows of the parts in a folder.
    pub(crate) fn within(folder: &Path) -> Result<Self, Failure> {
        Ok(Self::of(part_files(folder)?))
    }

    /// Reads the rows of some parts.
    pub(crate) fn of(parts: Vec<PathBuf>) -> Self {
        Self {
            batches: Batches::new(parts, Some(R::COLUMNS)),
            columns: None,
            rows: 0..0,
            held: None,
        }
    }

    /// Returns the part of the last row.
    pub(crate) fn path(&self) -> &Path {
        self.batches.path()
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
            self.columns = Some(R::columns(self.batches.path(), &batch)?);
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

/// Passes the values of a column of the parts in a folder to `each`.
pub(crate) fn each_value<V: Value>(
    folder: &Path,
    name: &str,
    mut each: impl FnMut(V) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut batches = Batches::new(part_files(folder)?, Some(&[name]));
    while let Some(batch) = batches.next()? {
        let values = column(batches.path(), &batch, name)?;
        (0..batch.num_rows()).try_for_each(|row| each(V::read(values, row)))?;
    }
    Ok(())
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

/// Implements [`Record`] for a struct, given its columns and its other fields.
macro_rules! read_columns {
    ($record:ident { $( $field:ident : $type:ty, )* } { $( $other:ident, )* }) => {
        impl $crate::tables::records::Record for $record {
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
                Self {
                    $( $field: $crate::tables::records::Value::read($field, row), )*
                    $( $other: Default::default(), )*
                }
            }
        }
    };
}
pub(crate) use read_columns;

/// Declares a struct that is a [`Record`]: each field is the column of its name. Fields after a semicolon are not
/// columns, and get their defaults.
macro_rules! record {
    (
        $(#[$doc:meta])*
        $vis:vis struct $record:ident {
            $( $(#[$field_doc:meta])* $field_vis:vis $field:ident : $type:ty, )*
            $( ; $( $(#[$other_doc:meta])* $other_vis:vis $other:ident : $other_type:ty, )* )?
        }
    ) => {
        $(#[$doc])*
        $vis struct $record {
            $( $(#[$field_doc])* $field_vis $field: $type, )*
            $( $( $(#[$other_doc])* $other_vis $other: $other_type, )* )?
        }

        $crate::tables::records::read_columns!(
            $record { $( $field: $type, )* } { $( $( $other, )* )? }
        );
    };
}
pub(crate) use record;

/// Declares a table: a struct for its rows, which implements [`Row`]; the docs of a column follow it. Rows that borrow
/// nothing can also be read back ([`Record`]) and sent.
macro_rules! table {
    (
        $(#[$doc:meta])*
        $table:literal $(, sorted_by [$($sorted:ident),*])? $(, looked_up_by [$($looked_up:ident),*])?
            $(, checked_by $check:ident)?;
        $vis:vis struct $row:ident $(<$life:lifetime>)? {
            $( $column:ident : $type:ty, $(#[$column_doc:meta])* )*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $row $(<$life>)? {
            $( $(#[$column_doc])* $vis $column: $type, )*
        }

        impl $(<$life>)? $crate::tables::schema::Row for $row $(<$life>)? {
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

        $crate::tables::records::table!(@owned $row $(<$life>)? { $( $column: $type, )* });
    };
    (@first $first:expr, $($others:expr,)*) => { $first };
    (@owned $row:ident <$life:lifetime> { $($columns:tt)* }) => {};
    (@owned $row:ident { $( $column:ident : $type:ty, )* }) => {
        $crate::tables::records::read_columns!($row { $( $column: $type, )* } {});

        impl $crate::wire::Wire<'_> for $row {
            fn pack(&self, words: &mut Vec<u64>) {
                $( self.$column.pack(words); )*
            }

            fn unpack(words: &mut &[u64]) -> Option<Self> {
                Some(Self { $( $column: $crate::wire::Wire::unpack(words)?, )* })
            }
        }
    };
}

pub(crate) use table;
