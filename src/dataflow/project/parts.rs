//! Writes the parts of tables that a shard becomes.

use std::path::PathBuf;
use std::rc::Rc;

use super::ProjectPlan;
use super::labels::RankedLabel;
use super::tally::{self, Tally, part_path, parts};
use crate::failure::Failure;
use crate::tables::document_topics::DocumentTopicRow;
use crate::tables::documents::DocumentRow;
use crate::tables::documents::metadata_columns;
use crate::tables::predictions::PredictionRow;
use crate::tables::{Row, TableWriter};
use corpus::ShardDocument;
use corpus::sample::Split;
use lda::infer::summary::Projection;

/// A document, and the results of its inference.
pub(super) struct Document {
    pub(super) number: u64,
    /// Its place in its volume, from 0.
    pub(super) section: Option<u64>,
    pub(super) read: ShardDocument,
    pub(super) split: Split,
    /// Its projection, if it has terms.
    pub(super) projection: Option<Projection>,
    pub(super) labels: Vec<RankedLabel>,
}

/// Some documents of a shard.
pub(super) struct InferredDocuments {
    pub(super) shard: usize,
    pub(super) documents: Vec<Document>,
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
                parts.push(&self.plan, document)?;
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

    fn push(&mut self, plan: &ProjectPlan, document: &Document) -> Result<(), Failure> {
        let projection = document.projection.as_ref();
        let doc_id = document.number as i64;
        for (rank, &(weight, topic)) in (1..).zip(projection.map_or(&[][..], |it| &it.topics)) {
            self.topics.push(&DocumentTopicRow {
                doc_id,
                topic: i32::from(topic),
                weight,
                rank,
            })?;
        }
        for label in &document.labels {
            let Some(writer) = &mut self.predictions else {
                break;
            };
            writer.push(&PredictionRow {
                doc_id,
                rank: label.rank as i32,
                topic: i32::from(label.label),
                label: &plan.collection.labels[usize::from(label.label)].label,
                weight: label.weight,
                predicted: label.predicted,
                actual: label.actual,
            })?;
        }
        let read = &document.read;
        let mut row = DocumentRow::new(document.number, read, document.split, projection);
        row.section = (document.section).and_then(|section| i32::try_from(section).ok());
        self.documents.push_with(&row, &read.metadata)
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
        tally::publish(&plan.process, shard, written, &plan.metadata, tally)
    }
}
