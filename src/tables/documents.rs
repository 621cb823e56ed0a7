//! Table `documents`: one row per input document, always. The job's metadata columns follow the
//! table's own, as nullable text under their own names.

use super::document_topics;
use super::schema::{Cell, Kind, row};
use corpus::sample::Split;
use corpus::{DocumentStatus, ShardDocument};
use lda::infer::summary::Projection;

impl Cell for Split {
    const KIND: Kind = Kind::Text;
    fn append(self, builder: &mut super::schema::Builder) -> usize {
        self.name().append(builder)
    }
}

impl Cell for DocumentStatus {
    const KIND: Kind = Kind::Text;
    fn append(self, builder: &mut super::schema::Builder) -> usize {
        self.name().append(builder)
    }
}

row! {
    table: "documents",
    sorted_by: &["doc_id"],
    looked_up_by: &["source_id"];
    /// A row of `documents`. `tokens_total = tokens_in_vocabulary + tokens_stopped +
    /// tokens_unknown`; the columns from `top_topic` on are `None` where the document has no terms
    /// or nothing was projected.
    pub(crate) struct DocumentRow<'a> {
        /// Number of the document, from 0, in the input's order.
        pub(crate) doc_id: i64,
        /// The input's own id; `<file>@<place>` where it has none: the byte of its record, or in Parquet and Arrow its row, from 0.
        pub(crate) source_id: &'a str,
        /// The volume this document is a section of.
        pub(crate) group_id: Option<&'a str>,
        /// Position of the document within its volume, from 0; `None` without a volume.
        pub(crate) section: Option<i32>,
        /// The status of the document.
        pub(crate) status: DocumentStatus,
        /// Its split: trained on, held out, or neither.
        pub(crate) split: Split,
        /// Tokens the tokenizer found.
        pub(crate) tokens_total: i64,
        /// Tokens in the vocabulary: what the topics explain.
        pub(crate) tokens_in_vocabulary: i64,
        /// Tokens that are stop words.
        pub(crate) tokens_stopped: i64,
        /// All other tokens: pruned terms, and terms never seen in ingest.
        pub(crate) tokens_unknown: i64,
        /// The topic with the largest proportion (the lowest number among equals).
        pub(crate) top_topic: Option<i32>,
        /// Its proportion, 0 to 1.
        pub(crate) top_weight: Option<f32>,
        /// Entropy of the proportions, in nats.
        pub(crate) entropy: Option<f32>,
        /// Log-likelihood of its tokens in the vocabulary given its proportions, nats per token.
        pub(crate) loglik_per_token: Option<f64>,
        /// Proportions below the threshold or beyond the top N, summed; 1 − Σ weight.
        pub(crate) dropped_mass: Option<f32>,
    }
}

impl<'a> DocumentRow<'a> {
    /// The row of a document over the vocabulary and, if it has terms, of its projection.
    pub(crate) fn new(
        doc_id: u64,
        document: &'a ShardDocument,
        split: Split,
        projection: Option<&Projection>,
    ) -> Self {
        let in_vocabulary = document.tokens_in_vocabulary() as i64;
        let (total, stopped) = (
            i64::from(document.tokens_total),
            i64::from(document.tokens_stopped),
        );
        Self {
            doc_id: doc_id as i64,
            source_id: &document.source_id,
            group_id: document.group.as_deref(),
            section: None,
            status: document.status,
            split,
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

/// The names of the job's columns in `documents`: their own, with `_input` appended as often as needed to differ
/// from all before it, and from the columns of `document_topics`, which is joined with this table (SQL
/// ignores case).
///
/// ```
/// # use topicmill::tables::documents::metadata_columns;
/// let names = ["year", "Status", "topic"].map(str::to_owned);
/// assert_eq!(metadata_columns(&names), ["year", "Status_input", "topic_input"]);
/// ```
pub fn metadata_columns(names: &[String]) -> Vec<String> {
    let joined = document_topics::SPEC.columns;
    let ours = SPEC.columns.iter().chain(joined);
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
