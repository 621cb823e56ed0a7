//! Writes the parts of tables that a shard becomes.

use std::path::PathBuf;
use std::rc::Rc;

use super::ProjectPlan;
use super::notes::{self, part_path, parts};
use crate::failure::Failure;
use crate::tables::document_topics::DocumentTopicRow;
use crate::tables::documents::{DocumentRow, metadata_columns};
use crate::tables::predictions::PredictionRow;
use crate::tables::tally::Tally;
use crate::tables::{Row, TableWriter};

/// The rows of a document.
pub(super) struct DocumentRows {
    pub(super) document: DocumentRow,
    pub(super) metadata: Vec<Option<String>>,
    /// Weight and topic of each row of `document_topics`, by rank.
    pub(super) topics: Vec<(f32, u16)>,
    pub(super) predictions: Vec<PredictionRow>,
}

/// Some documents of a shard.
pub(super) struct InferredDocuments {
    pub(super) shard: usize,
    pub(super) documents: Vec<DocumentRows>,
    /// The tally of the whole shard, with its last documents.
    pub(super) tally: Option<Tally>,
}

/// Writes shards one after another.
pub(super) struct PartWriter {
    plan: Rc<ProjectPlan>,
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
    pub(super) fn new(plan: &Rc<ProjectPlan>) -> Self {
        let (plan, open) = (Rc::clone(plan), None);
        Self { plan, open }
    }

    /// Writes some documents. With the last of a shard, publishes its parts, and returns true. A shard without
    /// documents has been written by an earlier run.
    pub(super) fn write(&mut self, inferred: InferredDocuments) -> Result<bool, Failure> {
        if !inferred.documents.is_empty() {
            let parts = match &mut self.open {
                Some(parts) => parts,
                none => none.insert(Parts::create(&self.plan, inferred.shard)?),
            };
            for document in &inferred.documents {
                parts.push(document)?;
            }
        }
        let Some(tally) = inferred.tally else {
            return Ok(false);
        };
        if let Some(parts) = self.open.take() {
            parts.publish(&self.plan, inferred.shard, &tally)?;
        }
        Ok(true)
    }
}

impl Parts {
    fn create(plan: &ProjectPlan, shard: usize) -> Result<Self, Failure> {
        let (output, metadata) = (&plan.process.output, &plan.metadata);
        let temporary = |table: &&str| output.temporary_path(&format!("{table}-{shard:05}"));
        let temporary: Vec<PathBuf> = parts(&plan.collection).iter().map(temporary).collect();
        let columns = metadata_columns(&plan.collection.metadata);
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

    /// Publishes the parts, then the note that they are complete.
    fn publish(self, plan: &ProjectPlan, shard: usize, tally: &Tally) -> Result<(), Failure> {
        let mut written = vec![self.documents.finish()?, self.topics.finish()?];
        if let Some(predictions) = self.predictions {
            written.push(predictions.finish()?);
        }
        let output = &plan.process.output;
        for (path, table) in self.temporary.iter().zip(parts(&plan.collection)) {
            output.publish(path, &part_path(table, shard))?;
        }
        notes::publish(&plan.process, shard, written, &plan.metadata, tally)
    }
}
