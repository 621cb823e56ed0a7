//! Tables for display: the schema and the first rows of any table, all as text.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use serde::Serialize;

use super::TABLES;
use super::manifest::ColumnManifest;
use super::parts::{Batches, describe, footer, part_files};
use crate::failure::Failure;
use corpus::cells;

/// The schema of a table, as `inspect` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TableSchema {
    /// The columns, in order.
    pub(crate) columns: Vec<ColumnManifest>,
    /// Number of parts.
    pub(crate) parts: usize,
    /// Rows of all parts.
    pub(crate) rows: u64,
    /// `topicmill.*` pairs of the first part: job, settings, seed, ….
    pub(crate) metadata: Vec<(String, String)>,
}

/// The first rows of a table, ready to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Column names.
    pub columns: Vec<String>,
    /// One text per column and row; empty for null.
    pub rows: Vec<Vec<String>>,
}

/// Reads the schema, row count and origin of a table: a Parquet file, or a folder of parts.
pub(crate) fn table_schema(path: &Path) -> Result<TableSchema, Failure> {
    let parts = parts(path)?;
    let (_, first) = footer(&parts[0])?;
    let pairs = first.metadata().file_metadata().key_value_metadata();
    let ours = pairs.into_iter().flatten().filter_map(|pair| {
        let key = pair.key.strip_prefix("topicmill.")?;
        Some((key.to_owned(), pair.value.clone().unwrap_or_default()))
    });
    let mut rows = 0;
    for part in &parts {
        let (_, footer) = footer(part)?;
        rows += footer.metadata().file_metadata().num_rows() as u64;
    }
    Ok(TableSchema {
        columns: describe(first.schema()),
        parts: parts.len(),
        rows,
        metadata: ours.collect(),
    })
}

/// Reads the first `limit` rows of a table (a Parquet file, or a folder of parts), in order.
pub fn head(path: &Path, limit: usize) -> Result<Rows, Failure> {
    first_rows(parts(path)?, limit, |_, _| true)
}

/// Reads the first `limit` rows about a topic of a table with a column `topic`; `None` without the table.
pub(crate) fn rows_of_topic(
    folder: &Path,
    topic: i32,
    limit: usize,
) -> Result<Option<Rows>, Failure> {
    let parts = part_files(folder)?;
    if parts.is_empty() {
        return Ok(None);
    }
    let is_wanted = |batch: &RecordBatch, row| {
        let topics =
            batch.column_by_name("topic").and_then(|it| it.as_primitive_opt::<Int32Type>());
        topics.is_some_and(|topics| topics.value(row) == topic)
    };
    first_rows(parts, limit, is_wanted).map(Some)
}

fn first_rows(
    parts: Vec<PathBuf>,
    limit: usize,
    is_wanted: impl Fn(&RecordBatch, usize) -> bool,
) -> Result<Rows, Failure> {
    let fields = describe(footer(&parts[0])?.1.schema());
    let mut rows = Vec::new();
    let mut batches = Batches::new(parts, None);
    while rows.len() < limit {
        let Some(batch) = batches.next()? else { break };
        let wanted = (0..batch.num_rows()).filter(|&row| is_wanted(&batch, row));
        rows.extend(wanted.take(limit - rows.len()).map(|row| {
            let columns = batch.columns().iter();
            columns.map(|column| shown(column, row)).collect()
        }));
    }
    Ok(Rows { columns: fields.into_iter().map(|column| column.name).collect(), rows })
}

/// Formats a cell: empty if it is null, a list in brackets, and an ellipsis if it has no text form.
fn shown(array: &dyn Array, row: usize) -> String {
    let list = match array.data_type() {
        _ if array.is_null(row) => return String::new(),
        DataType::List(_) => array.as_list::<i32>().value(row),
        DataType::LargeList(_) => array.as_list::<i64>().value(row),
        kind if cells::is_text(kind) => return cells::text(array, row).unwrap_or_default().into(),
        _ => return "…".to_owned(),
    };
    let items: Vec<String> = (0..list.len()).map(|item| shown(&list, item)).collect();
    format!("[{}]", items.join(", "))
}

/// A table of an output folder, and its size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct TableListing {
    #[serde(rename = "table")]
    pub(crate) name: &'static str,
    /// Number of parts.
    pub(crate) parts: u64,
    /// Rows of all parts.
    pub(crate) rows: u64,
    /// Bytes of all parts.
    pub(crate) bytes: u64,
}

/// Lists the tables of an output folder, by name; reads only their footers.
pub(crate) fn listing(root: &Path) -> Result<Vec<TableListing>, Failure> {
    let mut listed = Vec::new();
    for table in TABLES {
        let mut entry = TableListing { name: table.name, parts: 0, rows: 0, bytes: 0 };
        for part in part_files(&root.join(table.name))? {
            let (file, footer) = match footer(&part) {
                // It was removed after the folder was listed.
                Err(error) if error.io_kind() == Some(ErrorKind::NotFound) => continue,
                found => found?,
            };
            let metadata = file.metadata().map_err(Failure::io(&part))?;
            entry.parts += 1;
            entry.bytes += metadata.len();
            entry.rows += footer.metadata().file_metadata().num_rows() as u64;
        }
        listed.extend((entry.parts > 0).then_some(entry));
    }
    Ok(listed)
}

/// Lists the files of a table, at least one.
fn parts(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let parts = part_files(path)?;
    if parts.is_empty() {
        let message = "contains no *.parquet file: name a table's folder or one of its parts";
        return Err(Failure::file(path, message));
    }
    Ok(parts)
}
