//! Tables for display: the schema and the first rows of any table, all as text, and typed rows of those that
//! `inspect` and the report show.

mod figures;
mod texts;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use serde::Serialize;

use super::TABLES;
use super::manifest::ColumnManifest;
use super::parts::{Batches, describe, footer, part_files};
use super::records::{record, records};
use crate::failure::Failure;
use corpus::cells;
pub(crate) use figures::{
    CurvePoint, DriftLine, FigureLine, drift_lines, evaluation_figures, training_curve,
};
pub(crate) use texts::{
    ChangeLine, LabelLine, PredictionLine, predictions, topic_documents,
};
pub use texts::{TermLine, kept_terms};

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
    let parts = parts(path)?;
    let fields = describe(footer(&parts[0])?.1.schema());
    let mut rows = Vec::new();
    let mut batches = Batches::new(parts, None);
    while rows.len() < limit {
        let Some(batch) = batches.next()? else { break };
        let wanted = batch.num_rows().min(limit - rows.len());
        rows.extend((0..wanted).map(|row| {
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

record! {
    /// The displayed columns of a row of `topics`; serialized in the report, which has the terms elsewhere.
    #[derive(Clone, Debug, Default, PartialEq, Serialize)]
    pub struct TopicLine {
        /// The topic, from 0.
        pub(crate) topic: i32,
        /// Tokens assigned to it.
        pub tokens: i64,
        /// Its share of all assigned tokens, 0 to 1.
        pub share: f64,
        /// Its NPMI coherence, −1 to 1, if there is one.
        pub(crate) coherence_npmi: Option<f64>,
        /// How much of its top terms' probability is its own, 0 to 1.
        pub(crate) exclusivity: Option<f64>,
        /// How many equally probable terms would be as concentrated.
        pub(crate) effective_terms: Option<f64>,
        /// Documents in which it is the largest.
        pub(crate) rank1_documents: Option<i64>,
        /// Whether (almost) no token is left in it.
        pub(crate) dead: bool,
        /// The first earlier topic that it repeats, if there is one.
        pub(crate) duplicate_of: Option<i32>,
        /// Whether it has tokens but no meaning of its own.
        pub(crate) junk: bool,
        /// Its most probable terms, best first.
        #[serde(skip)]
        pub(crate) top_terms: Vec<String>,
        ;
        /// Its label, if documents have labels.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) label: Option<LabelLine>,
        /// How it has moved, after a warm start.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) change: Option<ChangeLine>,
    }
}

impl TopicLine {
    /// Returns its label, if it has one, and its most probable terms.
    pub(crate) fn words(&self) -> Vec<String> {
        let label = self.label.iter().map(|line| format!("{}:", line.label));
        label.chain(self.top_terms.iter().cloned()).collect()
    }

    /// Whether it belongs to a label without a document in the sample; if nothing was projected, whether it has no
    /// terms.
    pub(crate) fn is_untrained(&self) -> bool {
        self.label.as_ref().is_some_and(|label| match label.evaluated {
            Some(others) => others == label.documents,
            None => self.top_terms.is_empty(),
        })
    }
}

/// Reads the rows of table `topics` of an output folder, in order, with the matching rows of `labels` and
/// `topic_changes`; none without the table.
pub fn topic_lines(root: &Path) -> Result<Vec<TopicLine>, Failure> {
    let lines = records::<TopicLine>(root, "topics")?;
    let mut lines = lines.collect::<Result<Vec<_>, _>>()?;
    for (line, label) in lines.iter_mut().zip(records(root, "labels")?) {
        line.label = Some(label?);
    }
    for (line, change) in lines.iter_mut().zip(records(root, "topic_changes")?) {
        line.change = Some(change?);
    }
    Ok(lines)
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
