//! The disk that a run takes: first the drafts of the shards, later the corpus, the model and the tables.

use super::{Sizes, pairs};
use crate::plan::survey::Survey;
use crate::tables::topic_correlations::{ROW_BYTES, most_rows};
use corpus::minhash::BINS;
use corpus::settings::Snippets;

/// Bytes per (document, term) pair in the drafts (4.4 to 9.7 were measured), per token in drafts that keep the
/// order of tokens for phrases (7.9 to 9.0), and per pair in the shards (0.9 to 1.9).
const DRAFT_BYTES: f64 = 7.0;
const ORDERED_DRAFT_BYTES: f64 = 8.0;
const SHARD_BYTES: f64 = 1.4;
/// Bytes per document without its metadata (27 to 54), and per byte of metadata (0.8 and 0.9 for text).
const DOCUMENT_BYTES: f64 = 40.0;
const METADATA_BYTES: f64 = 0.9;
/// Bytes of text per token in drafts and, compressed, in shards (3.3 was measured), and of the beginning of a text.
const TEXT_BYTES: [f64; 2] = [7.0, 3.3];
const START_BYTES: [f64; 2] = [300.0, 150.0];
/// Bytes per row of `document_topics` (4.3 to 5.3), of a dense and a sparse `topic_terms`.
const TOPIC_ROW_BYTES: f64 = 5.0;
const DENSE_ROW_BYTES: f64 = 14.0;
const SPARSE_ROW_BYTES: f64 = 6.2;
/// Topics that a document lists (3 to 13), even if it may list more.
const TOPICS_LISTED: u64 = 16;
/// Bytes per distinct term, in the corpus's vocabulary and in the table: 10 each.
const TERM_BYTES: f64 = 20.0;
/// Bytes per weight in the model's file, and in each of two checkpoints.
const WEIGHT_BYTES: f64 = 6.0;
/// Bytes of the report, logs and small tables.
const REPORT_BYTES: f64 = 1e6;

/// Approximate bytes on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Disk {
    /// Ingest: drafts of the shards.
    pub(crate) drafts: u64,
    /// Afterwards: the corpus as bags of words.
    pub(crate) shards: u64,
    pub(crate) tables: u64,
    /// The model, and checkpoints with what is remembered.
    pub(crate) model: u64,
}

/// Returns the bytes of the shards of a collection.
pub(super) fn shard_bytes(survey: &Survey) -> u64 {
    (pairs(survey.tokens, survey.documents) as f64 * SHARD_BYTES) as u64
}

impl Disk {
    /// Returns the maximum at any time: the drafts are removed once there are shards, before there are tables.
    pub(crate) fn total(&self) -> u64 {
        self.shards + self.drafts.max(self.tables + self.model)
    }

    /// Estimates the disk of a job, of which each checkpoint remembers these bytes besides the model, if there are
    /// checkpoints.
    pub(super) fn of(sizes: &Sizes<'_>, remembered: Option<u64>) -> Self {
        let (job, survey, model) = (sizes.job, sizes.survey, &sizes.weights);
        let metadata = survey.metadata_bytes as f64 * METADATA_BYTES;
        let documents = survey.documents;
        let pairs = pairs(survey.tokens, documents) as f64;
        let drafts = match job.phrases.detection {
            Some(_) => survey.tokens as f64 * ORDERED_DRAFT_BYTES,
            None => pairs * DRAFT_BYTES,
        };
        let texts = match job.corpus.snippets {
            Snippets::None => [0.0; 2],
            Snippets::Start => START_BYTES.map(|bytes| documents as f64 * bytes),
            Snippets::Passage => TEXT_BYTES.map(|bytes| survey.tokens as f64 * bytes),
        };
        let rows = sizes.listed_rows(documents).min(TOPICS_LISTED * documents);
        let row = if model.is_dense { DENSE_ROW_BYTES } else { SPARSE_ROW_BYTES };
        let weights = model.left as f64;
        let correlations =
            job.project.infer.as_ref().map_or(0, |_| most_rows(sizes.topics as usize));
        let tables = documents as f64 * DOCUMENT_BYTES
            + rows as f64 * TOPIC_ROW_BYTES
            + weights * row
            + sizes.tree_pairs() as f64 * DENSE_ROW_BYTES
            + sizes.distinct as f64 * TERM_BYTES
            + correlations as f64 * ROW_BYTES
            + REPORT_BYTES;
        let file = weights * WEIGHT_BYTES;
        let checkpoints = remembered.map_or(0.0, |bytes| 2.0 * (file + bytes as f64));
        Self {
            drafts: (drafts + metadata + texts[0]) as u64 + sizes.signed_documents() * BINS as u64,
            shards: shard_bytes(survey) + texts[1] as u64,
            tables: (tables + metadata) as u64,
            model: (file + checkpoints) as u64,
        }
    }
}
