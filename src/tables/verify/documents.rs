//! `documents` against `document_topics`, both read once, side by side.

use std::collections::BTreeMap;
use std::path::Path;

use arrow_array::{Array, Float32Array, Int32Array, Int64Array, RecordBatch, StringArray};

use super::{VerifyReport, parts};
use crate::tables::TableError;
use crate::tables::manifest::Manifest;
use crate::tables::parts::{Batches, column};
use corpus::DocumentStatus;

/// How far a document's weights and its dropped mass may be from 1: f32 weights, summed.
const MASS_TOLERANCE: f64 = 1e-4;

/// What the other checks need to know of the documents.
#[derive(Debug, Default)]
pub(super) struct Totals {
    /// Documents.
    pub documents: i64,
    /// Σ tokens_in_vocabulary.
    pub tokens_in_vocabulary: i64,
    /// Documents by their top topic.
    pub by_top_topic: BTreeMap<i32, i64>,
}

/// Checks both tables. Without `document_topics` weights are not checked; without `documents`
/// (nothing was projected) nothing is, and only the manifest counts the documents.
pub(super) fn verify(
    root: &Path,
    manifest: &Manifest,
    report: &mut VerifyReport,
) -> Result<Totals, TableError> {
    let mut totals = Totals::default();
    if !manifest.tables.contains_key("documents") {
        totals.documents = manifest.documents_by_status.values().sum::<u64>() as i64;
        return Ok(totals);
    }
    let mut by_status = BTreeMap::new();
    let projected = manifest.tables.contains_key("document_topics");
    let mut weights = Weights::new(root)?;
    let mut batches = Batches::new(parts(root, "documents")?, Some(&Documents::COLUMNS));
    while let Some(batch) = batches.next()? {
        let documents = Documents::new(batches.path(), &batch)?;
        for row in 0..batch.num_rows() {
            documents.verify_row(row, &mut totals, &mut by_status, report);
            if projected {
                let doc_id = documents.doc_id.value(row);
                let of_document = weights.take(doc_id, report)?;
                documents.verify_weights(row, &of_document, report);
            }
        }
    }
    if projected {
        weights.finish(report)?;
    }
    let mut expected = manifest.documents_by_status.clone();
    expected.retain(|_, count| *count > 0);
    report.expect(by_status == expected, || {
        format!("documents: by status {by_status:?}, the manifest says {expected:?}")
    });
    Ok(totals)
}

/// The columns of a batch of `documents`.
struct Documents<'a> {
    doc_id: &'a Int64Array,
    status: &'a StringArray,
    tokens_total: &'a Int64Array,
    tokens_in_vocabulary: &'a Int64Array,
    tokens_stopped: &'a Int64Array,
    tokens_unknown: &'a Int64Array,
    top_topic: &'a Int32Array,
    top_weight: &'a Float32Array,
    dropped_mass: &'a Float32Array,
}

impl<'a> Documents<'a> {
    const COLUMNS: [&'static str; 9] = [
        "doc_id",
        "status",
        "tokens_total",
        "tokens_in_vocabulary",
        "tokens_stopped",
        "tokens_unknown",
        "top_topic",
        "top_weight",
        "dropped_mass",
    ];

    fn new(path: &Path, batch: &'a RecordBatch) -> Result<Self, TableError> {
        Ok(Self {
            doc_id: column(path, batch, "doc_id")?,
            status: column(path, batch, "status")?,
            tokens_total: column(path, batch, "tokens_total")?,
            tokens_in_vocabulary: column(path, batch, "tokens_in_vocabulary")?,
            tokens_stopped: column(path, batch, "tokens_stopped")?,
            tokens_unknown: column(path, batch, "tokens_unknown")?,
            top_topic: column(path, batch, "top_topic")?,
            top_weight: column(path, batch, "top_weight")?,
            dropped_mass: column(path, batch, "dropped_mass")?,
        })
    }

    fn verify_row(
        &self,
        row: usize,
        totals: &mut Totals,
        by_status: &mut BTreeMap<String, u64>,
        report: &mut VerifyReport,
    ) {
        let doc_id = self.doc_id.value(row);
        let expected = totals.documents;
        report.expect(doc_id == expected, || {
            format!("documents: doc_id {doc_id} where {expected} is expected")
        });
        totals.documents = doc_id.saturating_add(1);

        let total = self.tokens_total.value(row);
        let in_vocabulary = self.tokens_in_vocabulary.value(row);
        let stopped = self.tokens_stopped.value(row);
        let unknown = self.tokens_unknown.value(row);
        let sum = in_vocabulary + stopped + unknown;
        let sound = total == sum && in_vocabulary >= 0 && stopped >= 0 && unknown >= 0;
        report.expect(sound, || {
            format!(
                "document {doc_id}: {total} tokens, but {in_vocabulary} in the vocabulary, \
                 {stopped} stopped, {unknown} unknown"
            )
        });
        totals.tokens_in_vocabulary += in_vocabulary;

        let name = self.status.value(row);
        let status = DocumentStatus::from_name(name);
        let has_terms = status.is_some_and(DocumentStatus::has_terms);
        report.expect(status.is_some() && has_terms == (in_vocabulary > 0), || {
            format!("document {doc_id}: status {name:?} with {in_vocabulary} tokens")
        });
        match by_status.get_mut(name) {
            Some(count) => *count += 1,
            None => drop(by_status.insert(name.to_owned(), 1)),
        }
        if self.top_topic.is_valid(row) {
            *totals
                .by_top_topic
                .entry(self.top_topic.value(row))
                .or_default() += 1;
        }
    }

    fn verify_weights(&self, row: usize, weights: &DocumentWeights, report: &mut VerifyReport) {
        let doc_id = self.doc_id.value(row);
        let has_terms = self.tokens_in_vocabulary.value(row) > 0;
        let has_mass = self.dropped_mass.is_valid(row);
        let has_top = self.top_topic.is_valid(row) && self.top_weight.is_valid(row);
        report.expect(has_mass == has_terms && has_top == has_terms, || {
            format!("document {doc_id}: its proportions and tokens contradict each other")
        });
        if !has_mass {
            report.expect(weights.first.is_none(), || {
                format!("document {doc_id}: no terms, but rows in document_topics")
            });
            return;
        }
        let dropped = f64::from(self.dropped_mass.value(row));
        let mass = weights.sum + dropped;
        report.expect((mass - 1.0).abs() <= MASS_TOLERANCE, || {
            format!("document {doc_id}: weights and dropped mass sum to {mass}, not 1")
        });
        let top = (self.top_topic.value(row), self.top_weight.value(row));
        report.expect(weights.first.is_none_or(|first| first == top), || {
            let first = weights.first;
            format!("document {doc_id}: top_topic is {top:?}, but rank 1 is {first:?}")
        });
    }
}

/// What `document_topics` contains for one document.
#[derive(Debug, Default)]
struct DocumentWeights {
    sum: f64,
    /// Topic and weight of rank 1.
    first: Option<(i32, f32)>,
}

/// A cursor over `document_topics`.
struct Weights {
    batches: Batches,
    batch: Option<WeightBatch>,
    row: usize,
}

struct WeightBatch {
    doc_id: Int64Array,
    topic: Int32Array,
    weight: Float32Array,
    rank: Int32Array,
}

impl Weights {
    fn new(root: &Path) -> Result<Self, TableError> {
        const COLUMNS: [&str; 4] = ["doc_id", "topic", "weight", "rank"];
        let parts = parts(root, "document_topics")?;
        Ok(Self {
            batches: Batches::new(parts, Some(&COLUMNS)),
            batch: None,
            row: 0,
        })
    }

    /// Passes over the rows up to and including those of `doc_id`.
    fn take(
        &mut self,
        doc_id: i64,
        report: &mut VerifyReport,
    ) -> Result<DocumentWeights, TableError> {
        let mut weights = DocumentWeights::default();
        let (mut last_rank, mut last_weight) = (0, f32::INFINITY);
        while let Some(batch) = self.current()? {
            let (row, found) = batch;
            let id = found.doc_id.value(row);
            if id > doc_id {
                break;
            }
            let (topic, weight) = (found.topic.value(row), found.weight.value(row));
            let rank = found.rank.value(row);
            self.row += 1;
            if id < doc_id {
                report.problem(|| format!("document_topics: doc_id {id} is out of order"));
                continue;
            }
            let sound = rank == last_rank + 1 && (0.0..=last_weight).contains(&weight);
            report.expect(sound, || {
                format!(
                    "document {doc_id}: rank {rank}, weight {weight} follows {last_rank}, \
                     {last_weight}"
                )
            });
            (last_rank, last_weight) = (rank, weight);
            weights.sum += f64::from(weight);
            weights.first.get_or_insert((topic, weight));
        }
        Ok(weights)
    }

    /// Any remaining rows belong to no document.
    fn finish(&mut self, report: &mut VerifyReport) -> Result<(), TableError> {
        if let Some((row, batch)) = self.current()? {
            let id = batch.doc_id.value(row);
            report
                .problem(|| format!("document_topics: doc_id {id} does not exist, or is repeated"));
        }
        Ok(())
    }

    /// The batch and the row in it that comes next.
    fn current(&mut self) -> Result<Option<(usize, &WeightBatch)>, TableError> {
        let ended = |batch: &WeightBatch| self.row >= batch.doc_id.len();
        if self.batch.as_ref().is_none_or(ended) {
            self.row = 0;
            self.batch = match self.batches.next()? {
                None => None,
                Some(batch) => {
                    let path = self.batches.path();
                    Some(WeightBatch {
                        doc_id: column::<Int64Array>(path, &batch, "doc_id")?.clone(),
                        topic: column::<Int32Array>(path, &batch, "topic")?.clone(),
                        weight: column::<Float32Array>(path, &batch, "weight")?.clone(),
                        rank: column::<Int32Array>(path, &batch, "rank")?.clone(),
                    })
                }
            };
        }
        Ok(self.batch.as_ref().map(|batch| (self.row, batch)))
    }
}
