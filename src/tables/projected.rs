//! The documents of a result, read back in order: one row of `documents` with its rows of `document_topics` at a
//! time, in bounded memory.

use std::ops::Range;
use std::path::{Path, PathBuf};

use arrow_array::{Array, StringArray};

use super::parts::{Batches, column, part_files};
use super::records::{Record, Records, record};
use crate::failure::Failure;
use corpus::sample::Split;

/// One document of a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProjectedDocument {
    /// Its number.
    pub doc_id: i64,
    /// The input's own id.
    pub(crate) source_id: String,
    /// Its split; always projected for a document without terms.
    pub split: Option<Split>,
    /// Its tokens of kept terms.
    pub tokens_in_vocabulary: i64,
    /// Log-likelihood per token given its proportions, in nats.
    pub loglik_per_token: Option<f64>,
    /// The sum of the proportions that are not listed; `None` if nothing was inferred for it.
    pub(crate) dropped_mass: Option<f32>,
    /// Its listed topics and their proportions, the largest first.
    pub topics: Vec<(i32, f32)>,
    /// Its values in the columns that the reader was created with.
    pub values: Vec<Option<String>>,
}

record! {
    struct Document {
        doc_id: i64,
        source_id: String,
        split: String,
        tokens_in_vocabulary: i64,
        loglik_per_token: Option<f64>,
        dropped_mass: Option<f32>,
    }
}

record! {
    struct DocumentTopic {
        doc_id: i64,
        topic: i32,
        weight: f32,
    }
}

/// Reads documents with their topics.
pub struct ProjectedReader {
    documents: Batches,
    rows: Range<usize>,
    read: Option<<Document as Record>::Columns>,
    /// Names and arrays of the requested columns.
    columns: Vec<String>,
    values: Vec<StringArray>,
    topics: Records<DocumentTopic>,
}

impl ProjectedReader {
    /// Reads parts of one table, and those of the other with the same documents, with the values of these text columns
    /// of `documents`.
    pub(crate) fn new(
        documents: Vec<PathBuf>,
        document_topics: Vec<PathBuf>,
        columns: &[String],
    ) -> Self {
        let mut names = Document::COLUMNS.to_vec();
        let asked = columns.iter().map(String::as_str);
        names.extend(asked.filter(|name| !Document::COLUMNS.contains(name)));
        Self {
            documents: Batches::new(documents, Some(&names)),
            rows: 0..0,
            read: None,
            columns: columns.to_vec(),
            values: Vec::new(),
            topics: Records::of(document_topics),
        }
    }

    /// Opens a whole result.
    ///
    /// # Errors
    /// The folder cannot be read, or has no projection.
    pub fn open(root: &Path) -> Result<Self, Failure> {
        Self::open_with(root, &[])
    }

    /// Opens a whole result, with the values of these text columns of `documents`.
    ///
    /// # Errors
    /// As [`open`](Self::open); a column that the table lacks is detected only when reading.
    pub fn open_with(root: &Path, columns: &[String]) -> Result<Self, Failure> {
        let topics = part_files(&root.join("document_topics"))?;
        if topics.is_empty() {
            let message = "has no table document_topics: its job has project.method \"none\", or \
                           it is not a result; name a complete result";
            return Err(Failure::file(root, message));
        }
        Ok(Self::new(part_files(&root.join("documents"))?, topics, columns))
    }

    /// Reads the next document into `document`; returns false after the last.
    ///
    /// # Errors
    /// A part cannot be read, lacks a column, or its rows are out of order.
    pub fn read_into(&mut self, document: &mut ProjectedDocument) -> Result<bool, Failure> {
        if self.rows.is_empty() {
            let Some(batch) = self.documents.next()? else {
                let left = self.topics.next_if(|_| true)?;
                return left.map_or(Ok(false), |row| Err(self.out_of_order(row.doc_id)));
            };
            let path = self.documents.path();
            let values = |name: &String| column(path, &batch, name).cloned();
            self.values = self.columns.iter().map(values).collect::<Result<_, _>>()?;
            self.read = Some(Document::columns(path, &batch)?);
            self.rows = 0..batch.num_rows();
        }
        let (Some(row), Some(columns)) = (self.rows.next(), &self.read) else {
            return Ok(false);
        };
        let read = Document::read(columns, row);
        let splits = [Split::Sample, Split::HeldOut, Split::Projected];
        document.doc_id = read.doc_id;
        document.source_id = read.source_id;
        document.split = splits.into_iter().find(|split| split.name() == read.split);
        document.tokens_in_vocabulary = read.tokens_in_vocabulary;
        document.loglik_per_token = read.loglik_per_token;
        document.dropped_mass = read.dropped_mass;
        let value =
            |column: &StringArray| column.is_valid(row).then(|| column.value(row).to_owned());
        document.values.clear();
        document.values.extend(self.values.iter().map(value));
        self.read_topics(document)?;
        Ok(true)
    }

    /// Reads a document's rows of `document_topics`.
    fn read_topics(&mut self, document: &mut ProjectedDocument) -> Result<(), Failure> {
        document.topics.clear();
        while let Some(row) = self.topics.next_if(|row| row.doc_id <= document.doc_id)? {
            if row.doc_id < document.doc_id {
                return Err(self.out_of_order(row.doc_id));
            }
            document.topics.push((row.topic, row.weight));
        }
        Ok(())
    }

    fn out_of_order(&self, id: i64) -> Failure {
        let message = format!("has document {id} out of order; run `topicmill verify`");
        Failure::file(self.topics.path(), message)
    }
}
