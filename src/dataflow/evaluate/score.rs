//! Scores the documents, shard by shard.

use timely::worker::Worker;

use super::Evaluation;
use super::model::Loaded;
use crate::dataflow::sample::{Splits, for_each_document, next_shard, read_shard, smallest_bound};
use crate::evaluate::measure::Likelihood;
use crate::evaluate::settings::Metric;
use crate::failure::Failure;
use crate::tables::document_scores::DocumentScoreRow;
use crate::tables::{FileMetadata, Row, TableWriter, part_name};
use corpus::ShardDocument;
use corpus::collection::Collection;
use corpus::sample::{SmallestKeys, Split};
use corpus::shard::Columns;
use lda::math::FIXED_POINT;
use lda::math::random::{Stage, hash};
use lda::model::factors::FactorTable;

/// The documents to evaluate on, which depend on the seed, their numbers and their labels alone.
#[derive(Clone, Copy)]
pub(super) struct Chosen<'a> {
    splits: Option<(&'a Splits, Split)>,
    seed: u64,
    bound: u64,
}

impl<'a> Chosen<'a> {
    /// Chooses all documents of a split; without one, all.
    pub(super) fn new(splits: Option<(&'a Splits, Split)>, seed: u64) -> Self {
        let bound = u64::MAX;
        Self { splits, seed, bound }
    }

    /// Returns the columns to read.
    fn columns(&self) -> Columns {
        let splits = self.splits.as_ref();
        splits.map_or(Columns::Counts, |(splits, _)| splits.columns())
    }

    /// Keeps the documents with the smallest hash keys, at most `most`. All workers must call this.
    pub(super) fn at_most(
        mut self,
        worker: &mut Worker,
        most: u64,
        evaluation: &Evaluation,
        collection: &Collection,
    ) -> Result<Self, Failure> {
        let mut smallest = SmallestKeys::new(most);
        let tickets = &evaluation.shared.shards[0];
        let columns = self.columns();
        for_each_document(
            worker,
            &evaluation.run,
            tickets,
            collection,
            columns,
            |number, document| {
                if self.holds(number, document) {
                    smallest.add(self.key(number));
                }
                Ok(())
            },
        )?;
        self.bound = smallest_bound(worker, &smallest, most);
        Ok(self)
    }

    fn key(&self, number: u64) -> u64 {
        hash(self.seed, Stage::Evaluate, number, 0)
    }

    /// Whether a document is chosen.
    fn holds(&self, number: u64, document: &ShardDocument) -> bool {
        let is_split = |(splits, split): (&Splits, Split)| splits.of(number, document) == split;
        document.status.has_terms()
            && self.key(number) <= self.bound
            && self.splits.is_none_or(is_split)
    }
}

/// The shards of the collection, and what scoring them needs.
pub(super) struct Shards<'a> {
    pub(super) evaluation: &'a Evaluation,
    pub(super) collection: &'a Collection,
    pub(super) metadata: &'a FileMetadata,
}

impl Shards<'_> {
    /// Scores the chosen documents of this worker's shards by all measures, and writes the scores;
    /// returns the number of documents.
    pub(super) fn score(
        &self,
        worker: &mut Worker,
        chosen: &Chosen<'_>,
        model: &Loaded,
        measures: &mut [(Metric, Likelihood)],
    ) -> Result<i64, Failure> {
        let process = &self.evaluation.process;
        process.begin_documents("evaluate", self.collection);
        let parts = [&model.factors];
        let table = FactorTable::new(&parts);
        let mut seen = 0;
        let tickets = &self.evaluation.shared.shards[1];
        let run = &self.evaluation.run;
        while let Some(shard) = next_shard(run, tickets, self.collection) {
            let mut part = None;
            read_shard(run, self.collection, shard, chosen.columns(), |number, document| {
                process.progress.add(1);
                if !chosen.holds(number, document) {
                    return Ok(());
                }
                seen += 1;
                self.take(shard, (number, document), table, measures, &mut part)
            })?;
            self.publish(shard, part)?;
            worker.step();
        }
        Ok(seen)
    }

    /// Scores one document by all measures.
    fn take(
        &self,
        shard: usize,
        (number, document): (u64, &ShardDocument),
        table: FactorTable<'_>,
        measures: &mut [(Metric, Likelihood)],
        part: &mut Option<TableWriter>,
    ) -> Result<(), Failure> {
        let bag = document.bag();
        for (_, measure) in measures {
            let score = measure.add(number, bag, table);
            let score = score.map_err(Failure::drawing("document", number))?;
            let Some(score) = score else {
                continue;
            };
            let writer = match part.take() {
                Some(writer) => writer,
                None => TableWriter::create(
                    &self.temporary(shard),
                    &DocumentScoreRow::SPEC,
                    self.metadata,
                )?,
            };
            part.insert(writer).push(&DocumentScoreRow {
                doc_id: number as i64,
                method: score.method.to_owned(),
                log_likelihood: score.log_likelihood as f64 / FIXED_POINT,
                tokens: score.tokens,
            })?;
        }
        Ok(())
    }

    fn temporary(&self, shard: usize) -> std::path::PathBuf {
        let output = &self.evaluation.process.output;
        output.temporary_path(&format!("document_scores-{shard:05}"))
    }

    fn publish(&self, shard: usize, part: Option<TableWriter>) -> Result<(), Failure> {
        let Some(writer) = part else {
            return Ok(());
        };
        writer.finish()?;
        let path = format!("document_scores/{}", part_name(shard as u64));
        let output = &self.evaluation.process.output;
        output.publish(&self.temporary(shard), &path)
    }
}
