//! The rows of table `documents`, and the names of the job's metadata columns, which follow the table's own.

use std::collections::BTreeMap;

use super::document_topics::DocumentTopicRow;
use super::manifest::Manifest;
use super::check::{DocumentTotals, VerifyReport};
use super::records::{Records, record, records, table};
use super::schema::Row;
use crate::failure::Failure;
use corpus::collection::Collection;
use corpus::sample::Split;
use corpus::value_type::ValueType;
use corpus::{DocumentStatus, ShardDocument};
use lda::infer::summary::Projection;
use std::path::Path;

table! {
    /// One row per input document, always. The job's metadata columns follow the table's own, nullable and
    /// under their own names. `tokens_total = tokens_in_vocabulary + tokens_stopped + tokens_unknown`;
    /// the columns from `top_topic` on are `None` where the document has no terms or nothing was projected.
    "documents", sorted_by [doc_id], looked_up_by [source_id];
    pub struct DocumentRow {
        doc_id: i64,                   /// Number of the document, from 0, in the input's order.
        source_id: String,            /// The input's own id; `<file>@<place>` where it has none: the byte of its record, or in Parquet and Arrow its row, from 0.
        group_id: Option<String>,     /// The volume this document is a section of.
        section: Option<i32>,          /// Position of the document within its volume, from 0; `None` without a volume.
        status: String,        /// The status of the document.
        split: String,                  /// Its split: trained on, held out, or neither.
        duplicate_of: Option<i64>,     /// The earlier document that it nearly repeats.
        tokens_total: i64,             /// Tokens the tokenizer found.
        tokens_in_vocabulary: i64,     /// Tokens in the vocabulary: what the topics explain.
        tokens_stopped: i64,           /// Tokens that are stop words.
        tokens_unknown: i64,           /// All other tokens: pruned terms, and terms never seen in ingest.
        top_topic: Option<i32>,        /// The topic with the largest proportion (the lowest number among equals).
        top_weight: Option<f32>,       /// Its proportion, 0 to 1.
        entropy: Option<f32>,          /// Entropy of the proportions, in nats.
        loglik_per_token: Option<f64>, /// Log-likelihood of its tokens in the vocabulary given its proportions, nats per token.
        dropped_mass: Option<f32>,     /// Proportions below the threshold or beyond the top N, summed; 1 − Σ weight.
    }
}

record! {
    /// The number of a document, and how many tokens topics explain.
    "documents";
    pub(crate) struct DocumentTokens {
        pub(crate) doc_id: i64,
        pub(crate) tokens_in_vocabulary: i64,
    }
}

record! {
    /// What identifies a document.
    "documents";
    pub(crate) struct DocumentKey {
        pub(crate) doc_id: i64,
        pub(crate) source_id: String,
        pub(crate) split: String,
    }
}

impl DocumentRow {
    /// Creates the row of a document over the vocabulary and, if it has terms, of its projection.
    pub(crate) fn new(
        doc_id: u64,
        document: &ShardDocument,
        split: Split,
        projection: Option<&Projection>,
    ) -> Self {
        let in_vocabulary = document.tokens_in_vocabulary() as i64;
        let (total, stopped) =
            (i64::from(document.tokens_total), i64::from(document.tokens_stopped));
        Self {
            doc_id: doc_id as i64,
            source_id: document.source_id.clone(),
            group_id: document.group.clone(),
            section: None,
            status: document.status.name().to_owned(),
            split: split.name().to_owned(),
            duplicate_of: document.duplicate_of.map(|number| number as i64),
            tokens_total: total,
            tokens_in_vocabulary: in_vocabulary,
            tokens_stopped: stopped,
            tokens_unknown: total.saturating_sub(stopped).saturating_sub(in_vocabulary),
            top_topic: projection.map(|p| i32::from(p.top.1)),
            top_weight: projection.map(|p| p.top.0),
            entropy: projection.map(|p| p.entropy),
            loglik_per_token: projection.map(Projection::loglik_per_token),
            dropped_mass: projection.map(Projection::dropped_mass),
        }
    }
}

/// Returns the names of the job's columns in `documents`: their own, with `_input` appended until they differ from
/// all names before, and from the columns of `document_topics`, which is joined with this table (SQL ignores
/// case).
///
/// ```
/// # use topicmill::tables::documents::metadata_columns;
/// let names = ["year", "Status", "topic"].map(str::to_owned);
/// assert_eq!(metadata_columns(&names), ["year", "Status_input", "topic_input"]);
/// ```
pub fn metadata_columns(names: &[String]) -> Vec<String> {
    let joined = DocumentTopicRow::SPEC.columns;
    let ours = DocumentRow::SPEC.columns.iter().chain(joined);
    let mut taken: Vec<String> = ours.map(|c| c.name.to_owned()).collect();
    let unique = names.iter().map(|name| {
        let mut name = name.clone();
        while taken.contains(&name.to_lowercase()) {
            name.push_str("_input");
        }
        taken.push(name.to_lowercase());
        name
    });
    unique.collect()
}

/// Returns the names and the types of a collection's columns in `documents`.
pub(crate) fn typed_columns(collection: &Collection) -> Vec<(String, ValueType)> {
    metadata_columns(&collection.metadata).into_iter().zip(collection.value_types()).collect()
}

/// How far a document's weights plus its dropped mass may be from 1, as sums of f32.
const MASS_TOLERANCE: f64 = 1e-4;

/// Checks this table against `document_topics`, both read once, side by side. Without `document_topics`, weights are not checked; without `documents` (nothing was
/// projected), nothing is, and only the manifest counts the documents.
pub(super) fn check(
    root: &Path,
    manifest: &Manifest,
    report: &mut VerifyReport,
) -> Result<DocumentTotals, Failure> {
    let mut totals = DocumentTotals::default();
    if !manifest.tables.contains_key("documents") {
        totals.documents = manifest.documents_by_status.values().sum::<u64>() as i64;
        return Ok(totals);
    }
    let mut by_status = BTreeMap::new();
    let projected = manifest.tables.contains_key("document_topics");
    let mut weights = WeightCursor(records(root)?);
    for document in records::<DocumentRow>(root)? {
        let document = document?;
        document.verify(&mut totals, &mut by_status, report);
        if projected {
            let of_document = weights.take(document.doc_id, report)?;
            document.verify_weights(&of_document, report);
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

impl DocumentRow {
    fn verify(
        &self,
        totals: &mut DocumentTotals,
        by_status: &mut BTreeMap<String, u64>,
        report: &mut VerifyReport,
    ) {
        let (doc_id, expected) = (self.doc_id, totals.documents);
        // The numbers of documents that were removed are missing.
        report.expect(doc_id >= expected, || {
            format!("documents: doc_id {doc_id} where {expected} or more is expected")
        });
        totals.documents = doc_id.saturating_add(1);
        report.expect(self.duplicate_of.is_none_or(|original| (0..doc_id).contains(&original)), || {
            let original = self.duplicate_of;
            format!("document {doc_id}: it is no repetition of a document after it, {original:?}")
        });

        let (total, in_vocabulary) = (self.tokens_total, self.tokens_in_vocabulary);
        let (stopped, unknown) = (self.tokens_stopped, self.tokens_unknown);
        let sum = in_vocabulary + stopped + unknown;
        let sound = total == sum && in_vocabulary >= 0 && stopped >= 0 && unknown >= 0;
        report.expect(sound, || {
            format!(
                "document {doc_id}: {total} tokens, but {in_vocabulary} in the vocabulary, \
                 {stopped} stopped, {unknown} unknown"
            )
        });
        totals.tokens_in_vocabulary += in_vocabulary;
        totals.tokens_counted += if self.duplicate_of.is_none() { in_vocabulary } else { 0 };

        let name = &self.status;
        let status = DocumentStatus::from_name(name);
        let has_terms = status.is_some_and(DocumentStatus::has_terms);
        report.expect(status.is_some() && has_terms == (in_vocabulary > 0), || {
            format!("document {doc_id}: status {name:?} with {in_vocabulary} tokens")
        });
        match by_status.get_mut(name) {
            Some(count) => *count += 1,
            None => drop(by_status.insert(name.clone(), 1)),
        }
        if let Some(topic) = self.top_topic {
            *totals.by_top_topic.entry(topic).or_default() += 1;
        }
    }

    fn verify_weights(&self, weights: &DocumentWeights, report: &mut VerifyReport) {
        let doc_id = self.doc_id;
        let has_terms = self.tokens_in_vocabulary > 0;
        let top = self.top_topic.zip(self.top_weight);
        let agree = self.dropped_mass.is_some() == has_terms && top.is_some() == has_terms;
        report.expect(agree, || {
            format!("document {doc_id}: its proportions and tokens contradict each other")
        });
        let Some(dropped) = self.dropped_mass else {
            report.expect(weights.first.is_none(), || {
                format!("document {doc_id}: no terms, but rows in document_topics")
            });
            return;
        };
        let mass = weights.sum + f64::from(dropped);
        report.expect((mass - 1.0).abs() <= MASS_TOLERANCE, || {
            format!("document {doc_id}: weights and dropped mass sum to {mass}, not 1")
        });
        report.expect(weights.first.is_none() || weights.first == top, || {
            let first = weights.first;
            format!("document {doc_id}: top_topic is {top:?}, but rank 1 is {first:?}")
        });
    }
}

/// The weights of one document in `document_topics`.
#[derive(Debug, Default)]
struct DocumentWeights {
    sum: f64,
    /// Topic and weight of rank 1.
    first: Option<(i32, f32)>,
}

/// A cursor over `document_topics`.
struct WeightCursor(Records<DocumentTopicRow>);

impl WeightCursor {
    /// Reads the rows up to and including those of `doc_id`.
    fn take(&mut self, doc_id: i64, report: &mut VerifyReport) -> Result<DocumentWeights, Failure> {
        let mut weights = DocumentWeights::default();
        let (mut last_rank, mut last_weight) = (0, f32::INFINITY);
        while let Some(row) = self.0.next_if(|row| row.doc_id <= doc_id)? {
            let (id, rank, weight) = (row.doc_id, row.rank, row.weight);
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
            weights.first.get_or_insert((row.topic, weight));
        }
        Ok(weights)
    }

    /// Reports remaining rows, which belong to no document.
    fn finish(&mut self, report: &mut VerifyReport) -> Result<(), Failure> {
        if let Some(row) = self.0.next().transpose()? {
            let id = row.doc_id;
            report
                .problem(|| format!("document_topics: doc_id {id} does not exist, or is repeated"));
        }
        Ok(())
    }
}
