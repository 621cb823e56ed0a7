//! Writes the parts of the tables of documents.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use super::ProjectPlan;
use super::counters::Counters;
use super::notes::{self, part_path, tables};
use crate::failure::Failure;
use crate::tables::document_topics::DocumentTopicRow;
use crate::tables::documents::{DocumentRow, typed_columns};
use crate::tables::predictions::PredictionRow;
use crate::tables::tally::Tally;
use crate::tables::{PartInfo, Row, TableWriter};

/// The rows of a document.
pub(super) struct DocumentRows {
    pub(super) document: DocumentRow,
    pub(super) metadata: Vec<Option<String>>,
    /// Weight and topic of each row of `document_topics`, by rank.
    pub(super) topics: Vec<(f32, u16)>,
    pub(super) predictions: Vec<PredictionRow>,
}

/// Some documents of a part.
pub(super) struct InferredDocuments {
    pub(super) part: usize,
    pub(super) documents: Vec<DocumentRows>,
    /// Whether an earlier run has written the part.
    pub(super) are_written: bool,
    /// The tally of the whole part, with its last documents.
    pub(super) tally: Option<Tally>,
}

/// Writes parts one after another.
pub(super) struct PartWriter {
    plan: Rc<ProjectPlan>,
    counters: Rc<RefCell<Counters>>,
    open: Option<Parts>,
}

/// The parts being written, and their paths.
struct Parts {
    documents: TableWriter,
    topics: TableWriter,
    predictions: Option<TableWriter>,
    temporary: Vec<PathBuf>,
}

impl PartWriter {
    /// Creates one for the plan's job.
    pub(super) fn new(plan: &Rc<ProjectPlan>, counters: &Rc<RefCell<Counters>>) -> Self {
        Self { plan: Rc::clone(plan), counters: Rc::clone(counters), open: None }
    }

    /// Writes some documents. With the last of a part, publishes its files, and returns true. All documents of a part may
    /// have been removed: its files are there, without rows.
    pub(super) fn write(&mut self, inferred: InferredDocuments) -> Result<bool, Failure> {
        if !inferred.are_written {
            let parts = match &mut self.open {
                Some(parts) => parts,
                none => none.insert(Parts::create(&self.plan, inferred.part)?),
            };
            for document in &inferred.documents {
                parts.push(document)?;
            }
        }
        let Some(tally) = inferred.tally else {
            return Ok(false);
        };
        if let Some(parts) = self.open.take() {
            let written = parts.publish(&self.plan, inferred.part, &tally)?;
            self.counters.borrow_mut().wrote(written);
        }
        Ok(true)
    }
}

impl Parts {
    fn create(plan: &ProjectPlan, part: usize) -> Result<Self, Failure> {
        let (output, metadata) = (&plan.process.output, &plan.metadata);
        let temporary = |table: &&str| output.temporary_path(&format!("{table}-{part:05}"));
        let temporary: Vec<PathBuf> = tables(&plan.collection).iter().map(temporary).collect();
        let columns = typed_columns(&plan.collection);
        let predictions = temporary.get(2);
        Ok(Self {
            documents: TableWriter::with_columns(
                &temporary[0],
                &DocumentRow::SPEC,
                &columns,
                metadata,
            )?,
            topics: TableWriter::create(&temporary[1], &DocumentTopicRow::SPEC, metadata)?,
            predictions: predictions
                .map(|path| TableWriter::create(path, &PredictionRow::SPEC, metadata))
                .transpose()?,
            temporary,
        })
    }

    fn push(&mut self, rows: &DocumentRows) -> Result<(), Failure> {
        let doc_id = rows.document.doc_id;
        for (rank, &(weight, topic)) in (1..).zip(&rows.topics) {
            let topic = i32::from(topic);
            self.topics.push(&DocumentTopicRow { doc_id, topic, weight, rank })?;
        }
        if let Some(writer) = &mut self.predictions {
            rows.predictions.iter().try_for_each(|row| writer.push(row))?;
        }
        self.documents.push_with(&rows.document, &rows.metadata)
    }

    /// Publishes the files, then the note that they are complete; returns them by path.
    fn publish(
        self,
        plan: &ProjectPlan,
        part: usize,
        tally: &Tally,
    ) -> Result<Vec<(String, PartInfo)>, Failure> {
        let mut written = vec![self.documents.finish()?, self.topics.finish()?];
        if let Some(predictions) = self.predictions {
            written.push(predictions.finish()?);
        }
        let paths: Vec<String> =
            tables(&plan.collection).iter().map(|table| part_path(table, part)).collect();
        for (temporary, path) in self.temporary.iter().zip(&paths) {
            plan.process.output.publish(temporary, path)?;
        }
        notes::publish(plan, part, written.clone(), tally)?;
        Ok(paths.into_iter().zip(written).collect())
    }
}
