//! One shard: its documents inferred one by one, their rows written, their sums taken.

use std::path::PathBuf;

use super::ProjectPlan;
use super::drift::{DriftCounter, Listed};
use super::labels::{LabelSums, Predicted, Predictor};
use super::rollups::RollUps;
use super::tally::{Tally, part_path, parts};
use crate::corpus::collection::Collection;
use crate::corpus::sample::Split;
use crate::corpus::shard::{Columns, ShardReader};
use crate::corpus::{Sections, ShardDocument};
use crate::dataflow::error::RunError;
use crate::job::WorkStage;
use crate::tables::document_topics::{DocumentTopicRow, DocumentTopicsWriter};
use crate::tables::documents::{DocumentRow, DocumentsWriter};
use crate::tables::predictions::PredictionsWriter;
use crate::tables::projected::{ProjectedDocument, ProjectedReader};
use lda::infer::Bag;
use lda::infer::inferrer::{Inferrer, Target};
use lda::infer::summary::Projection;
use lda::math::random::{Stage, Stream};
use lda::model::factors::FactorTable;

/// Projects shards, one after the other, with the same buffers.
pub struct ShardProjector<'a> {
    plan: ProjectPlan<'a>,
    inferrer: Inferrer,
    /// θ of the current document, if it was inferred together with others.
    together: Vec<f32>,
    document: ShardDocument,
    projection: Projection,
    drift: DriftCounter,
    rollups: Option<RollUps<'a>>,
    predictor: Option<Predictor<'a>>,
}

/// The parts being written, and the sums of their documents.
struct Parts {
    documents: DocumentsWriter,
    topics: DocumentTopicsWriter,
    predictions: Option<PredictionsWriter>,
    tally: Tally,
}

impl<'a> ShardProjector<'a> {
    /// For the shards of the plan's collection; drift and roll-ups are counted on the way.
    pub fn new(plan: ProjectPlan<'a>, drift: DriftCounter, rollups: Option<RollUps<'a>>) -> Self {
        let document = ShardDocument::default();
        Self {
            plan,
            inferrer: Inferrer::default(),
            together: Vec::new(),
            document,
            projection: Projection::default(),
            drift,
            rollups,
            predictor: Predictor::new(plan),
        }
    }

    /// Projects a shard and publishes its parts.
    pub fn project(&mut self, number: usize) -> Result<Tally, RunError> {
        let ProjectPlan {
            process,
            collection,
            metadata,
            model,
            ..
        } = self.plan;
        let output = &process.output;
        let tables = parts(collection);
        let temporary = |table: &str| output.temporary_path(&format!("{table}-{number:05}"));
        let temporary: Vec<PathBuf> = tables.iter().map(|table| temporary(table)).collect();
        let settings = &process.job.project;
        let topics = metadata.topic_count.unwrap_or(0);
        let mut parts = Parts {
            documents: DocumentsWriter::create(&temporary[0], &collection.metadata, metadata)?,
            topics: DocumentTopicsWriter::create(&temporary[1], metadata)?,
            predictions: (temporary.get(2))
                .map(|path| PredictionsWriter::create(path, metadata))
                .transpose()?,
            tally: Tally {
                labels: LabelSums::none(collection.labels.len()),
                ..Tally::new(topics, settings.documents_per_topic)
            },
        };
        let path = output.local(&Collection::shard_name(number))?;
        let mut reader = ShardReader::open(&path, Columns::All)?;
        let first = collection.shards[number].first_document;
        let mut sections = Sections::starting(collection.shards[number].first_section);
        model.with_table(|table| {
            let mut next = first;
            while reader.read_into(&mut self.document)? {
                let section = sections.number(self.document.group.as_deref());
                self.project_document(next, section, table, &mut parts)?;
                process.progress.add(1);
                next += 1;
            }
            Ok::<_, RunError>(())
        })?;
        let mut infos = vec![parts.documents.finish()?, parts.topics.finish()?];
        if let Some(predictions) = parts.predictions {
            infos.push(predictions.finish()?);
        }
        for (path, table) in temporary.iter().zip(tables) {
            output.publish(path, &part_path(table, number))?;
        }
        parts.tally.parts = infos;
        parts.tally.model_hash = metadata.model_hash.clone();
        parts.tally.settings_hash = metadata.settings_hash.clone();
        Ok(parts.tally)
    }

    /// Counts drift and roll-ups of a shard that an earlier run has projected.
    pub fn recount(&mut self, number: usize) -> Result<(), RunError> {
        let process = self.plan.process;
        let output = &process.output;
        let tables = parts(self.plan.collection);
        let part = |table: usize| output.local(&part_path(tables[table], number));
        let mut projected = ProjectedReader::new(vec![part(0)?], vec![part(1)?]);
        let path = output.local(&Collection::shard_name(number))?;
        let mut reader = ShardReader::open(&path, Columns::All)?;
        let mut rows = ProjectedDocument::default();
        while reader.read_into(&mut self.document)? {
            if !projected.read_into(&mut rows)? {
                return Err(RunError::Data(format!(
                    "{} has fewer documents than the shard it was made of; remove it and run again",
                    output.path(&part_path(tables[0], number)).display()
                )));
            }
            process.progress.add(1);
            let Some(split) = rows.split.filter(|_| self.document.status.has_terms()) else {
                continue;
            };
            let listed = rows.topics.iter();
            let topics: Vec<_> = listed
                .map(|&(topic, weight)| (weight, topic as u16))
                .collect();
            let listed = Listed {
                topics: &topics,
                loglik_per_token: rows.loglik_per_token.unwrap_or(0.0),
            };
            self.drift.add(&self.document, split, listed);
            if let Some(rollups) = &mut self.rollups {
                rollups.add(rows.doc_id as u64, &self.document, listed);
            }
        }
        Ok(())
    }

    /// What was counted for drift and roll-ups.
    pub fn into_counters(self) -> (DriftCounter, Option<RollUps<'a>>) {
        (self.drift, self.rollups)
    }

    fn project_document(
        &mut self,
        number: u64,
        section: Option<u64>,
        table: FactorTable<'_>,
        parts: &mut Parts,
    ) -> Result<(), RunError> {
        let mut split = Split::Projected;
        let has_terms = self.document.status.has_terms();
        if has_terms {
            let labels = (self.predictor.as_mut()).map(|it| it.read(&self.document.metadata));
            split = self.plan.rule.split_of(number, labels);
            self.infer(number, split, table, parts)?;
            for (place, &(weight, topic)) in self.projection.topics.iter().enumerate() {
                parts.topics.push(&DocumentTopicRow {
                    doc_id: number as i64,
                    topic: i32::from(topic),
                    weight,
                    rank: place as i32 + 1,
                })?;
            }
        }
        parts.tally.documents += 1;
        let projection = has_terms.then_some(&self.projection);
        let mut row = DocumentRow::new(number, &self.document, split, projection);
        row.section = section.and_then(|section| i32::try_from(section).ok());
        let progress = &self.plan.process.progress;
        progress.work(WorkStage::Project, 1, row.tokens_in_vocabulary as u64);
        Ok(parts.documents.push(&row, &self.document.metadata)?)
    }

    /// Infers the current document, and counts it.
    fn infer(
        &mut self,
        number: u64,
        split: Split,
        table: FactorTable<'_>,
        parts: &mut Parts,
    ) -> Result<(), RunError> {
        let bag = Bag {
            terms: &self.document.terms,
            counts: &self.document.counts,
        };
        let job = &self.plan.process.job;
        let mut stream = Stream::keyed(job.model.seed, Stage::Project, 0, number);
        let (together, known) = (self.plan.together, &mut self.together);
        let target = Target {
            table,
            topics: self.plan.topics,
            classifier: self.plan.classifier,
        };
        let labels = self.plan.labels.topics.as_ref();
        let (proportions, alpha) = match together.is_some_and(|all| all.proportions(number, known))
        {
            true => (&known[..], &table.smoothing().alpha[..]),
            false => self
                .inferrer
                .infer_labels(bag, target, labels, self.plan.infer, &mut stream)
                .map_err(|source| RunError::Project {
                    document: number,
                    source,
                })?,
        };
        self.projection
            .describe(proportions, bag, table, job.project.listing());
        let (tally, document) = (&mut parts.tally, &self.document);
        tally.add(number, document, split, proportions, &self.projection);
        if let (Some(predictor), Some(writer)) = (&mut self.predictor, &mut parts.predictions) {
            let document = Predicted {
                number,
                bag,
                proportions,
                alpha,
                split,
            };
            predictor.predict(document, writer, &mut tally.labels)?;
        }
        let listed = Listed {
            topics: &self.projection.topics,
            loglik_per_token: self.projection.loglik_per_token(),
        };
        self.drift.add(&self.document, split, listed);
        if let Some(rollups) = &mut self.rollups {
            rollups.add(number, &self.document, listed);
        }
        Ok(())
    }
}
