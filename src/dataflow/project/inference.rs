//! Infers the documents of parts one by one, and counts them.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use super::counters::Counters;
use super::labels::Predictor;
use super::notes::{self, part_path, tables};
use super::parts::{DocumentRows, InferredDocuments};
use super::{ProjectPlan, Projecting, StoredSums, project_document};
use crate::dataflow::outbox::Outbox;
use crate::failure::Failure;
use crate::observe::WorkStage;
use crate::tables::PartInfo;
use crate::tables::documents::DocumentRow;
use crate::tables::predictions::PredictionRow;
use crate::tables::projected::{ProjectedDocument, ProjectedReader};
use crate::tables::rollup::ListedDocument;
use crate::tables::tally::Tally;
use corpus::collection::Collection;
use corpus::sample::Split;
use corpus::shard::{Columns, ShardReader};
use corpus::{DocumentStatus, Sections, ShardDocument};
use lda::infer::summary::Projection;
use lda::infer::{Inferrer, Target};
use lda::model::factors::FactorTable;

/// Documents that are inferred before they are written.
const DOCUMENTS_AT_ONCE: usize = 256;

/// Infers parts one after another, reusing buffers.
pub(super) struct PartInference {
    plan: Rc<ProjectPlan>,
    counters: Rc<RefCell<Counters>>,
    inferrer: Box<dyn Inferrer>,
    /// θ of the current document, if it was inferred together with others.
    together: Vec<f32>,
    predictor: Option<Predictor>,
    part: Option<OpenPart>,
}

/// The part whose documents are being read.
struct OpenPart {
    /// The shards that are not open yet.
    shards: Range<usize>,
    shard: Option<OpenShard>,
    tally: Tally,
    /// The documents that an earlier run has written, to be read back.
    written: Option<ProjectedReader>,
}

/// The shard being read.
struct OpenShard {
    reader: ShardReader,
    /// The number of the next document.
    next: u64,
    sections: Sections,
}

impl OpenShard {
    fn open(plan: &ProjectPlan, number: usize) -> Result<Self, Failure> {
        let path = plan.process.output.local(&Collection::shard_name(number))?;
        let entry = &plan.collection.shards[number];
        Ok(Self {
            reader: entry.open(&path, Columns::WithoutTexts)?,
            next: entry.first_document,
            sections: Sections::starting(entry.first_section),
        })
    }
}

impl OpenPart {
    fn open(plan: &ProjectPlan, number: usize, counters: &mut Counters) -> Result<Self, Failure> {
        let (mut tally, mut written) = (plan.tally(), None);
        if let Some((parts, done)) = notes::read(plan, number)? {
            let part = |(path, _): &(String, PartInfo)| plan.process.output.local(path);
            written =
                Some(ProjectedReader::new(vec![part(&parts[0])?], vec![part(&parts[1])?], &[]));
            tally = done;
            counters.wrote(parts);
        }
        let mut shards = plan.shares.parts[number].clone();
        let all = &plan.collection.shards[shards.clone()];
        let are_counted = |stored: &StoredSums| {
            all.last().is_none_or(|last| last.first_document + last.documents <= stored.documents)
        };
        if written.is_some() && plan.stored.as_ref().is_some_and(are_counted) {
            shards.start = shards.end;
            plan.process.progress.add(all.iter().map(|shard| shard.documents).sum());
        }
        Ok(Self { shards, shard: None, tally, written })
    }

    /// Reads the next document that has not been removed; returns its number and its position in its volume, or `None`
    /// after the last.
    fn read_into(
        &mut self,
        plan: &ProjectPlan,
        read: &mut ShardDocument,
    ) -> Result<Option<(u64, Option<u64>)>, Failure> {
        loop {
            if let Some(shard) = &mut self.shard
                && shard.reader.read_into(read)?
            {
                shard.next += 1;
                if read.status == DocumentStatus::Removed {
                    continue;
                }
                return Ok(Some((shard.next - 1, shard.sections.number(read.group.as_deref()))));
            }
            let Some(number) = self.shards.next() else {
                return Ok(None);
            };
            self.shard = Some(OpenShard::open(plan, number)?);
        }
    }
}

impl PartInference {
    /// Creates one for the plan's job.
    pub(super) fn new(plan: &Rc<ProjectPlan>, counters: &Rc<RefCell<Counters>>) -> Self {
        Self {
            plan: Rc::clone(plan),
            counters: Rc::clone(counters),
            inferrer: plan.infer.method.inferrer(),
            together: Vec::new(),
            predictor: Predictor::new(plan),
            part: None,
        }
    }

    /// Infers the next documents of a part, and counts them. If an earlier run has projected the part, counts them
    /// as they were written, and returns none.
    pub(super) fn infer_some(
        &mut self,
        number: usize,
        outbox: &mut Outbox,
    ) -> Result<InferredDocuments, Failure> {
        let plan = Rc::clone(&self.plan);
        let mut part = match self.part.take() {
            Some(part) => part,
            None => OpenPart::open(&plan, number, &mut self.counters.borrow_mut())?,
        };
        let mut documents = Vec::new();
        let are_more = plan.model.with_table(|table| {
            for _ in 0..DOCUMENTS_AT_ONCE {
                let mut read = ShardDocument::default();
                let Some(place) = part.read_into(&plan, &mut read)? else {
                    return Ok::<_, Failure>(false);
                };
                plan.process.progress.add(1);
                match &mut part.written {
                    Some(written) => self.recount(number, &read, written, outbox)?,
                    None => {
                        let rows = self.infer(place, read, &mut part.tally, table, outbox)?;
                        documents.push(rows);
                    }
                }
            }
            Ok(true)
        })?;
        let are_written = part.written.is_some();
        let tally = if are_more {
            self.part = Some(part);
            None
        } else {
            self.counters.borrow_mut().end_part(&part.tally);
            Some(part.tally)
        };
        Ok(InferredDocuments { part: number, documents, are_written, tally })
    }

    /// Sends the counts, once the documents of all workers are counted.
    pub(super) fn send(&self, outbox: &mut Outbox) {
        self.counters.borrow_mut().send(outbox);
    }

    /// Counts a document that an earlier run has projected.
    fn recount(
        &self,
        number: usize,
        read: &ShardDocument,
        written: &mut ProjectedReader,
        outbox: &mut Outbox,
    ) -> Result<(), Failure> {
        let mut row = ProjectedDocument::default();
        if !written.read_into(&mut row)? {
            let part = part_path(tables(&self.plan.collection)[0], number);
            return Err(Failure::data(format!(
                "{} has fewer documents than the shards it was made of; remove it and run again",
                self.plan.process.output.path(&part).display()
            )));
        }
        let splits = [Split::Sample, Split::HeldOut, Split::Projected];
        let split = splits.into_iter().find(|split| split.name() == row.document.split);
        let Some(split) = split.filter(|_| read.status.has_terms()) else {
            return Ok(());
        };
        let topics = row.topics.iter();
        let topics: Vec<_> = topics.map(|&(topic, weight)| (weight, topic as u16)).collect();
        let listed = ListedDocument {
            number: row.document.doc_id as u64,
            read,
            split,
            topics: &topics,
            loglik_per_token: row.document.loglik_per_token.unwrap_or(0.0),
        };
        self.counters.borrow_mut().add(&listed, outbox);
        Ok(())
    }

    /// Infers a document, and counts it.
    fn infer(
        &mut self,
        (number, section): (u64, Option<u64>),
        read: ShardDocument,
        tally: &mut Tally,
        table: FactorTable<'_>,
        outbox: &mut Outbox,
    ) -> Result<DocumentRows, Failure> {
        let (mut split, mut projection, mut predictions) = (Split::Projected, None, Vec::new());
        if read.status.has_terms() {
            let projected: Projection;
            (split, projected, predictions) = self.infer_topics(number, &read, tally, table)?;
            let listed = ListedDocument {
                number,
                read: &read,
                split,
                topics: &projected.topics,
                loglik_per_token: projected.loglik_per_token(),
            };
            self.counters.borrow_mut().add(&listed, outbox);
            projection = Some(projected);
        }
        tally.documents += 1;
        let tokens = read.tokens_in_vocabulary();
        self.plan.process.progress.work(WorkStage::Project, 1, tokens);
        let mut document = DocumentRow::new(number, &read, split, projection.as_ref());
        document.section = section.and_then(|section| i32::try_from(section).ok());
        let topics = projection.map(|projection| projection.topics).unwrap_or_default();
        Ok(DocumentRows { document, metadata: read.metadata, topics, predictions })
    }

    /// Infers the topics, and with them the labels, of a document with terms.
    fn infer_topics(
        &mut self,
        number: u64,
        read: &ShardDocument,
        tally: &mut Tally,
        table: FactorTable<'_>,
    ) -> Result<(Split, Projection, Vec<PredictionRow>), Failure> {
        let plan = &self.plan;
        let labels = (self.predictor.as_mut()).map(|it| it.read(&read.metadata));
        let split = plan.rule.split_of(number, read, labels);
        let (job, bag) = (&plan.process.job, read.bag());
        let onto = Projecting {
            target: Target {
                table,
                topics: &plan.term_topics,
                classifier: plan.classifier.as_deref().map(|(_, classifier)| classifier),
                labels: plan.labels.topics.as_ref(),
            },
            infer: &plan.infer,
            seed: job.model.seed,
            listing: job.project.listing(),
        };
        let (together, known) = (plan.together.as_ref(), &mut self.together);
        let is_known = together.is_some_and(|all| all.proportions(number, known));
        let known = is_known.then_some(&known[..]);
        let (inferred, projection) =
            project_document((number, bag), onto, known, &mut *self.inferrer)
                .map_err(Failure::drawing("document", number))?;
        tally.add(read, split, inferred.proportions, &projection);
        let predictions = (self.predictor.as_mut())
            .map(|it| it.predict((number, bag, split), inferred, &mut tally.labels));
        let predictions = predictions.unwrap_or_default();
        Ok((split, projection, predictions))
    }
}
