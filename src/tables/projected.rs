//! The documents of a result, read back in order: one row of `documents` with its rows of `document_topics` at a
//! time, in bounded memory.

use std::path::{Path, PathBuf};

use super::document_topics::DocumentTopicRow;
use super::documents::DocumentRow;
use super::parts::part_files;
use super::records::Records;
use crate::failure::Failure;

/// One document of a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProjectedDocument {
    /// Its row of `documents`.
    pub document: DocumentRow,
    /// Its listed topics and their proportions, the largest first.
    pub topics: Vec<(i32, f32)>,
    /// Its values in the columns that the reader was created with.
    pub values: Vec<Option<String>>,
}

/// Reads documents with their topics.
pub struct ProjectedReader {
    documents: Records<DocumentRow>,
    topics: Records<DocumentTopicRow>,
}

impl ProjectedReader {
    /// Reads parts of one table, and those of the other with the same documents, with the values of these text columns
    /// of `documents`.
    pub(crate) fn new(
        documents: Vec<PathBuf>,
        document_topics: Vec<PathBuf>,
        columns: &[String],
    ) -> Self {
        Self {
            documents: Records::of(documents, columns),
            topics: Records::of(document_topics, &[]),
        }
    }

    /// Opens a whole result, with the values of these text columns of `documents`.
    ///
    /// # Errors
    /// The folder cannot be read, or has no projection; a column that the table lacks is detected only when reading.
    pub fn open(root: &Path, columns: &[String]) -> Result<Self, Failure> {
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
        let Some(row) = self.documents.next().transpose()? else {
            let left = self.topics.next().transpose()?;
            return left.map_or(Ok(false), |row| Err(self.out_of_order(row.doc_id)));
        };
        document.topics.clear();
        while let Some(topic) = self.topics.next_if(|topic| topic.doc_id <= row.doc_id)? {
            if topic.doc_id < row.doc_id {
                return Err(self.out_of_order(topic.doc_id));
            }
            document.topics.push((topic.topic, topic.weight));
        }
        document.values = self.documents.texts();
        document.document = row;
        Ok(true)
    }

    fn out_of_order(&self, id: i64) -> Failure {
        let message = format!("has document {id} out of order; run `topicmill verify`");
        Failure::file(self.topics.path(), message)
    }
}
