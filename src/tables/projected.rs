//! The documents of a result, read back in order: a row of `documents` and its rows of
//! `document_topics` at a time, in bounded memory.

use std::path::{Path, PathBuf};

use arrow_array::{Array, Float32Array, Float64Array, Int32Array, Int64Array, StringArray};

use super::TableError;
use super::parts::{Batches, column, part_files};
use corpus::sample::Split;

/// One document of a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProjectedDocument {
    /// Its number.
    pub doc_id: i64,
    /// The input's own id.
    pub source_id: String,
    /// What training made of it; of a document without terms always projected.
    pub split: Option<Split>,
    /// Its tokens of kept terms.
    pub tokens_in_vocabulary: i64,
    /// Log-likelihood per token given its proportions, in nats.
    pub loglik_per_token: Option<f64>,
    /// Proportions that are not listed, summed; `None` if nothing was inferred for it.
    pub dropped_mass: Option<f32>,
    /// Its listed topics and their proportions, the heaviest first.
    pub topics: Vec<(i32, f32)>,
    /// Its values of the columns that the reader was asked for.
    pub values: Vec<Option<String>>,
}

/// Reads documents with their topics.
pub struct ProjectedReader {
    documents: Batches,
    columns: Vec<String>,
    rows: Option<DocumentRows>,
    row: usize,
    topics: Topics,
}

struct DocumentRows {
    doc_id: Int64Array,
    source_id: StringArray,
    split: StringArray,
    tokens: Int64Array,
    loglik: Float64Array,
    dropped: Float32Array,
    values: Vec<StringArray>,
}

/// A cursor over `document_topics`.
struct Topics {
    batches: Batches,
    rows: Option<(Int64Array, Int32Array, Float32Array)>,
    row: usize,
}

impl ProjectedReader {
    /// Of the parts of one table and of the other that hold the same documents.
    pub fn new(documents: Vec<PathBuf>, document_topics: Vec<PathBuf>) -> Self {
        Self::with_columns(documents, document_topics, &[])
    }

    /// The same, with the values of these text columns of `documents`.
    fn with_columns(
        documents: Vec<PathBuf>,
        document_topics: Vec<PathBuf>,
        columns: &[String],
    ) -> Self {
        const DOCUMENTS: [&str; 6] = [
            "doc_id",
            "source_id",
            "split",
            "tokens_in_vocabulary",
            "loglik_per_token",
            "dropped_mass",
        ];
        const TOPICS: [&str; 3] = ["doc_id", "topic", "weight"];
        let mut names = DOCUMENTS.to_vec();
        let asked = columns.iter().map(String::as_str);
        names.extend(asked.filter(|name| !DOCUMENTS.contains(name)));
        Self {
            documents: Batches::new(documents, Some(&names)),
            columns: columns.to_vec(),
            rows: None,
            row: 0,
            topics: Topics {
                batches: Batches::new(document_topics, Some(&TOPICS)),
                rows: None,
                row: 0,
            },
        }
    }

    /// Of a whole result.
    ///
    /// # Errors
    /// The folder cannot be read, or nothing was projected in it.
    pub fn open(root: &Path) -> Result<Self, TableError> {
        Self::open_with(root, &[])
    }

    /// The same, with the values of these text columns of `documents`.
    ///
    /// # Errors
    /// As [`open`](Self::open); a column that the table lacks is found out by reading.
    pub fn open_with(root: &Path, columns: &[String]) -> Result<Self, TableError> {
        let topics = part_files(&root.join("document_topics"))?;
        if topics.is_empty() {
            let message = "has no table document_topics: its job has project.method \"none\", or \
                           it is not a result; name a complete result";
            return Err(TableError::format(root, message));
        }
        let documents = part_files(&root.join("documents"))?;
        Ok(Self::with_columns(documents, topics, columns))
    }

    /// Reads the next document over `document`; false after the last.
    ///
    /// # Errors
    /// A part cannot be read, lacks a column, or its rows are out of order.
    pub fn read_into(&mut self, document: &mut ProjectedDocument) -> Result<bool, TableError> {
        let ended = |rows: &DocumentRows| self.row >= rows.doc_id.len();
        if self.rows.as_ref().is_none_or(ended) {
            self.row = 0;
            self.rows = self.next_rows()?;
        }
        let Some(rows) = &self.rows else {
            return Ok(false);
        };
        let row = self.row;
        self.row += 1;
        document.doc_id = rows.doc_id.value(row);
        document.source_id.clear();
        document.source_id.push_str(rows.source_id.value(row));
        let name = rows.split.value(row);
        let splits = [Split::Sample, Split::HeldOut, Split::Projected];
        document.split = splits.into_iter().find(|split| split.name() == name);
        document.tokens_in_vocabulary = rows.tokens.value(row);
        let has_loglik = rows.loglik.is_valid(row);
        document.loglik_per_token = has_loglik.then(|| rows.loglik.value(row));
        let has_topics = rows.dropped.is_valid(row);
        document.dropped_mass = has_topics.then(|| rows.dropped.value(row));
        let value =
            |column: &StringArray| column.is_valid(row).then(|| column.value(row).to_owned());
        document.values.clear();
        document.values.extend(rows.values.iter().map(value));
        self.topics.take(document)?;
        Ok(true)
    }

    fn next_rows(&mut self) -> Result<Option<DocumentRows>, TableError> {
        let Some(batch) = self.documents.next()? else {
            return Ok(None);
        };
        let path = self.documents.path();
        let integers = |name| column::<Int64Array>(path, &batch, name).cloned();
        let texts = |name: &str| column::<StringArray>(path, &batch, name).cloned();
        Ok(Some(DocumentRows {
            doc_id: integers("doc_id")?,
            source_id: texts("source_id")?,
            split: texts("split")?,
            tokens: integers("tokens_in_vocabulary")?,
            loglik: column::<Float64Array>(path, &batch, "loglik_per_token")?.clone(),
            dropped: column::<Float32Array>(path, &batch, "dropped_mass")?.clone(),
            values: self
                .columns
                .iter()
                .map(|name| texts(name))
                .collect::<Result<_, _>>()?,
        }))
    }
}

impl Topics {
    /// Moves past the rows of a document, and notes its topics.
    fn take(&mut self, document: &mut ProjectedDocument) -> Result<(), TableError> {
        document.topics.clear();
        loop {
            let ended = |rows: &(Int64Array, _, _)| self.row >= rows.0.len();
            if self.rows.as_ref().is_none_or(ended) {
                self.row = 0;
                self.rows = self.next_rows()?;
            }
            let Some((doc_id, topic, weight)) = &self.rows else {
                return Ok(());
            };
            let id = doc_id.value(self.row);
            if id > document.doc_id {
                return Ok(());
            }
            if id < document.doc_id {
                let message = format!("has document {id} out of order; run `topicmill verify`");
                return Err(TableError::format(self.batches.path(), message));
            }
            let entry = (topic.value(self.row), weight.value(self.row));
            document.topics.push(entry);
            self.row += 1;
        }
    }

    fn next_rows(&mut self) -> Result<Option<(Int64Array, Int32Array, Float32Array)>, TableError> {
        let Some(batch) = self.batches.next()? else {
            return Ok(None);
        };
        let path = self.batches.path();
        Ok(Some((
            column::<Int64Array>(path, &batch, "doc_id")?.clone(),
            column::<Int32Array>(path, &batch, "topic")?.clone(),
            column::<Float32Array>(path, &batch, "weight")?.clone(),
        )))
    }
}
