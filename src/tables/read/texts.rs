//! Rows of the tables with texts: kept terms, the documents of topics, values of metadata columns.

use std::path::Path;

use arrow_array::{Array, Float32Array, Int32Array, Int64Array, StringArray};

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

/// The label of each topic, in order; none without the table `labels`.
///
/// # Errors
/// The table cannot be read, or lacks the column.
pub(super) fn labels(root: &Path) -> Result<Vec<String>, TableError> {
    let mut labels = Vec::new();
    let mut batches = Batches::new(part_files(&root.join("labels"))?, Some(&["label"]));
    while let Some(batch) = batches.next()? {
        let column: &StringArray = column(batches.path(), &batch, "label")?;
        labels.extend(column.iter().flatten().map(str::to_owned));
    }
    Ok(labels)
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
