//! Rows of the tables with texts: kept terms, labels, the documents of topics, values of metadata columns.

use std::collections::BTreeSet;
use std::path::Path;

use arrow_array::{
    Array, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array, ListArray, StringArray,
};

use serde::Serialize;

use super::present;
use crate::tables::TableError;
use crate::tables::parts::{Batches, column, part_files};

/// A kept term of `vocabulary`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TermLine {
    /// The term.
    pub term: String,
    /// Its tokens in the collection.
    pub count: i64,
}

/// The kept terms of `vocabulary`, by their numbers.
///
/// # Errors
/// The table cannot be read, or lacks a column.
pub fn kept_terms(root: &Path) -> Result<Vec<TermLine>, TableError> {
    const COLUMNS: [&str; 3] = ["term_id", "term", "count"];
    let mut lines = Vec::new();
    let mut batches = Batches::new(part_files(&root.join("vocabulary"))?, Some(&COLUMNS));
    while let Some(batch) = batches.next()? {
        let path = batches.path();
        let numbers: &Int32Array = column(path, &batch, "term_id")?;
        let terms: &StringArray = column(path, &batch, "term")?;
        let counts: &Int64Array = column(path, &batch, "count")?;
        let kept = (0..batch.num_rows()).filter(|&row| numbers.is_valid(row));
        lines.extend(kept.map(|row| TermLine {
            term: terms.value(row).to_owned(),
            count: counts.value(row),
        }));
    }
    Ok(lines)
}

/// A row of `labels`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LabelLine {
    /// The label.
    pub label: String,
    /// Documents of the collection that have it.
    pub documents: i64,
    /// Those of them that were not trained on; `None`, as the next three, where nothing was projected.
    pub evaluated: Option<i64>,
    /// Documents with labels, not trained on, for which it is predicted.
    pub predicted: Option<i64>,
    /// Those of them that have it.
    pub hits: Option<i64>,
    /// 2 hits / (predicted + evaluated); `None` if both are 0.
    pub f1: Option<f64>,
}

impl LabelLine {
    /// hits / predicted; `None` if it is never predicted.
    pub fn precision(&self) -> Option<f64> {
        share(self.hits?, self.predicted?)
    }

    /// hits / evaluated; `None` if no such document has it.
    pub fn recall(&self) -> Option<f64> {
        share(self.hits?, self.evaluated?)
    }
}

fn share(part: i64, whole: i64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The label of each topic, in order; none without the table `labels`.
///
/// # Errors
/// The table cannot be read, or lacks a column.
pub(super) fn labels(root: &Path) -> Result<Vec<LabelLine>, TableError> {
    const COLUMNS: [&str; 6] = ["label", "documents", "evaluated", "predicted", "hits", "f1"];
    let mut lines = Vec::new();
    let mut batches = Batches::new(part_files(&root.join("labels"))?, Some(&COLUMNS));
    while let Some(batch) = batches.next()? {
        let path = batches.path();
        let labels: &StringArray = column(path, &batch, "label")?;
        let documents: &Int64Array = column(path, &batch, "documents")?;
        let evaluated: &Int64Array = column(path, &batch, "evaluated")?;
        let predicted: &Int64Array = column(path, &batch, "predicted")?;
        let hits: &Int64Array = column(path, &batch, "hits")?;
        let f1: &Float64Array = column(path, &batch, "f1")?;
        lines.extend((0..batch.num_rows()).map(|row| LabelLine {
            label: labels.value(row).to_owned(),
            documents: documents.value(row),
            evaluated: present(evaluated, row),
            predicted: present(predicted, row),
            hits: present(hits, row),
            f1: present(f1, row),
        }));
    }
    Ok(lines)
}

/// A row of `topic_changes`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ChangeLine {
    /// Hellinger distance between the topic's terms before and now.
    pub distance: f64,
    /// Its new top terms.
    pub gained: Vec<String>,
    /// Those that are top terms no more.
    pub lost: Vec<String>,
}

/// How each topic has moved, in order; none without the table `topic_changes`.
///
/// # Errors
/// The table cannot be read, or lacks a column.
pub(super) fn changes(root: &Path) -> Result<Vec<ChangeLine>, TableError> {
    const COLUMNS: [&str; 3] = ["distance", "gained", "lost"];
    let mut lines = Vec::new();
    let mut batches = Batches::new(part_files(&root.join("topic_changes"))?, Some(&COLUMNS));
    while let Some(batch) = batches.next()? {
        let path = batches.path();
        let distances: &Float64Array = column(path, &batch, "distance")?;
        let gained: &ListArray = column(path, &batch, "gained")?;
        let lost: &ListArray = column(path, &batch, "lost")?;
        lines.extend((0..batch.num_rows()).map(|row| ChangeLine {
            distance: distances.value(row),
            gained: list(gained, row),
            lost: list(lost, row),
        }));
    }
    Ok(lines)
}

/// The texts of a list.
pub(super) fn list(lists: &ListArray, row: usize) -> Vec<String> {
    let texts = lists.value(row);
    let texts: Option<&StringArray> = texts.as_any().downcast_ref();
    let texts = texts.into_iter().flatten().flatten();
    texts.map(str::to_owned).collect()
}

/// A row of `predictions`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredictionLine {
    /// The document.
    pub doc_id: i64,
    /// The label's topic.
    pub topic: i32,
    /// Whether it is predicted.
    pub predicted: bool,
    /// Whether the document has it, if it has labels.
    pub actual: Option<bool>,
}

/// The rows of `predictions` about these documents, in order; none without the table.
///
/// # Errors
/// The table cannot be read, or lacks a column.
pub fn predictions(
    root: &Path,
    documents: &BTreeSet<i64>,
) -> Result<Vec<PredictionLine>, TableError> {
    const COLUMNS: [&str; 4] = ["doc_id", "topic", "predicted", "actual"];
    let mut lines = Vec::new();
    let mut batches = Batches::new(part_files(&root.join("predictions"))?, Some(&COLUMNS));
    while let Some(batch) = batches.next()? {
        let path = batches.path();
        let numbers: &Int64Array = column(path, &batch, "doc_id")?;
        let topics: &Int32Array = column(path, &batch, "topic")?;
        let predicted: &BooleanArray = column(path, &batch, "predicted")?;
        let actual: &BooleanArray = column(path, &batch, "actual")?;
        let wanted = (0..batch.num_rows()).filter(|&row| documents.contains(&numbers.value(row)));
        lines.extend(wanted.map(|row| PredictionLine {
            doc_id: numbers.value(row),
            topic: topics.value(row),
            predicted: predicted.value(row),
            actual: actual.is_valid(row).then(|| actual.value(row)),
        }));
    }
    Ok(lines)
}

/// A row of `topic_documents`.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicDocumentLine {
    /// The topic, from 0.
    pub topic: i32,
    /// The document.
    pub doc_id: i64,
    /// The input's own id of it.
    pub source_id: String,
    /// The topic's proportion in it, 0 to 1.
    pub weight: f32,
}

/// Up to `most` documents of each topic, in order of topic and rank; none without the table.
///
/// # Errors
/// The table cannot be read, or lacks a column.
pub fn topic_documents(root: &Path, most: usize) -> Result<Vec<TopicDocumentLine>, TableError> {
    let mut lines = Vec::new();
    let mut batches = Batches::new(part_files(&root.join("topic_documents"))?, None);
    while let Some(batch) = batches.next()? {
        let path = batches.path();
        let topics: &Int32Array = column(path, &batch, "topic")?;
        let ranks: &Int32Array = column(path, &batch, "rank")?;
        let documents: &Int64Array = column(path, &batch, "doc_id")?;
        let sources: &StringArray = column(path, &batch, "source_id")?;
        let weights: &Float32Array = column(path, &batch, "weight")?;
        let first = (0..batch.num_rows()).filter(|&row| ranks.value(row) as usize <= most);
        lines.extend(first.map(|row| TopicDocumentLine {
            topic: topics.value(row),
            doc_id: documents.value(row),
            source_id: sources.value(row).to_owned(),
            weight: weights.value(row),
        }));
    }
    Ok(lines)
}

/// Hands the values of text columns of `documents`, row by row, to `visit`: the column's place among
/// `columns` and the value, in bounded memory.
///
/// # Errors
/// The table cannot be read, or lacks a column.
pub fn document_values(
    root: &Path,
    columns: &[String],
    mut visit: impl FnMut(usize, Option<&str>),
) -> Result<(), TableError> {
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut batches = Batches::new(part_files(&root.join("documents"))?, Some(&names));
    while let Some(batch) = batches.next()? {
        for (place, name) in names.iter().enumerate() {
            let values: &StringArray = column(batches.path(), &batch, name)?;
            for row in 0..values.len() {
                visit(place, values.is_valid(row).then(|| values.value(row)));
            }
        }
    }
    Ok(())
}
