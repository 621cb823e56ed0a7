//! Tables for display: the schema and the first rows of any table, all as text, and typed rows of those that
//! `inspect` and the report show.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use serde::Serialize;

use super::TABLES;
pub(crate) use super::drift::DriftLine;
use super::manifest::ColumnManifest;
use super::parts::{Batches, describe, footer, part_files};
use super::records::{record, records};
use super::topic_documents::TopicDocumentRow;
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

record! {
    /// A round of `training_log` that measured held-out documents.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub(crate) struct CurvePoint {
        /// The round, from 0.
        pub(crate) round: i32,
        /// The pass over the training sample, from 0.
        pub(crate) pass: i32,
        /// `online` or `gibbs`.
        pub(crate) phase: String,
        /// Documents trained on so far, counted at each visit.
        pub(crate) documents_seen: i64,
        /// Log-likelihood per held-out token, nats.
        pub(crate) heldout_loglik_per_token: Option<f64>,
    }
}

/// Reads the held-out likelihood during training, in order of the rounds; none without the table.
///
/// # Errors
/// The table cannot be read, or lacks a column.
pub(crate) fn training_curve(root: &Path) -> Result<Vec<CurvePoint>, Failure> {
    let is_measured = |point: &CurvePoint| point.heldout_loglik_per_token.is_some();
    records(root, "training_log")?.only(is_measured)
}

record! {
    /// A row of `evaluation`.
    #[derive(Clone, Debug, PartialEq, Serialize)]
    pub(crate) struct FigureLine {
        pub(crate) metric: String,
        /// How it was measured.
        pub(crate) method: String,
        /// The documents that it was measured on.
        pub(crate) split: String,
        /// Its unit.
        pub(crate) unit: String,
        pub(crate) value: f64,
        /// Its standard error, if there is one.
        pub(crate) standard_error: Option<f64>,
    }
}

/// Reads the rows of `evaluation`, in order; none without the table.
///
/// # Errors
/// The table cannot be read, or lacks a column.
pub(crate) fn evaluation_figures(root: &Path) -> Result<Vec<FigureLine>, Failure> {
    records(root, "evaluation")?.collect()
}

/// Reads the rows of `drift`, in order; none without the table.
///
/// # Errors
/// The table cannot be read, or lacks a column.
pub(crate) fn drift_lines(root: &Path) -> Result<Vec<DriftLine>, Failure> {
    records(root, "drift")?.collect()
}

record! {
    /// A kept term of `vocabulary`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TermLine {
        /// Its number.
        pub(crate) term_id: Option<i32>,
        /// The term.
        pub term: String,
        /// Its tokens in the collection.
        pub count: i64,
    }
}

/// Reads the kept terms of `vocabulary`, by number.
///
/// # Errors
/// The table cannot be read, or lacks a column.
pub fn kept_terms(root: &Path) -> Result<Vec<TermLine>, Failure> {
    records(root, "vocabulary")?.only(|line: &TermLine| line.term_id.is_some())
}

record! {
    /// A row of `labels`.
    #[derive(Clone, Debug, Default, PartialEq, Serialize)]
    pub(crate) struct LabelLine {
        pub(crate) label: String,
        /// Documents of the collection with this label.
        pub(crate) documents: i64,
        /// Those that were not trained on; like the next three, `None` if nothing was projected.
        pub(crate) evaluated: Option<i64>,
        /// Documents with labels, not trained on, for which it is predicted.
        pub(crate) predicted: Option<i64>,
        /// Those that have the label.
        pub(crate) hits: Option<i64>,
        /// 2 hits / (predicted + evaluated); `None` if both are 0.
        pub(crate) f1: Option<f64>,
    }
}

impl LabelLine {
    /// Returns hits / predicted; `None` if the label is never predicted.
    pub(crate) fn precision(&self) -> Option<f64> {
        share(self.hits?, self.predicted?)
    }

    /// Returns hits / evaluated; `None` if no such document has the label.
    pub(crate) fn recall(&self) -> Option<f64> {
        share(self.hits?, self.evaluated?)
    }
}

fn share(part: i64, whole: i64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

record! {
    /// A row of `topic_changes`.
    #[derive(Clone, Debug, Default, PartialEq, Serialize)]
    pub(crate) struct ChangeLine {
        /// Hellinger distance between the topic's terms before and now.
        pub(crate) distance: f64,
        /// Its new top terms.
        pub(crate) gained: Vec<String>,
        /// Those that are no longer top terms.
        pub(crate) lost: Vec<String>,
    }
}

record! {
    /// A row of `predictions`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct PredictionLine {
        pub(crate) doc_id: i64,
        /// The label's topic.
        pub(crate) topic: i32,
        /// Whether it is predicted.
        pub(crate) predicted: bool,
        /// Whether the document has this label; `None` if it has no labels.
        pub(crate) actual: Option<bool>,
    }
}

/// Reads the rows of `predictions` for these documents, in order; none without the table.
///
/// # Errors
/// The table cannot be read, or lacks a column.
pub(crate) fn predictions(
    root: &Path,
    documents: &BTreeSet<i64>,
) -> Result<Vec<PredictionLine>, Failure> {
    let is_wanted = |line: &PredictionLine| documents.contains(&line.doc_id);
    records(root, "predictions")?.only(is_wanted)
}

/// Reads up to `most` documents of each topic, by topic and rank; none without the table.
///
/// # Errors
/// The table cannot be read, or lacks a column.
pub(crate) fn topic_documents(root: &Path, most: usize) -> Result<Vec<TopicDocumentRow>, Failure> {
    let is_first = |line: &TopicDocumentRow| line.rank as usize <= most;
    records(root, "topic_documents")?.only(is_first)
}
