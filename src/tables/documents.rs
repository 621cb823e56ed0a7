//! The rows of table `documents`, and the names of the job's metadata columns, which follow the table's own.

use super::rows::{DocumentRow, DocumentTopicRow};
use super::schema::{Cell, Kind, Row};
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

impl<'a> DocumentRow<'a> {
    /// Creates the row of a document over the vocabulary and, if it has terms, of its projection.
    pub(crate) fn new(
        doc_id: u64,
        document: &'a ShardDocument,
        split: Split,
        projection: Option<&Projection>,
    ) -> Self {
        let in_vocabulary = document.tokens_in_vocabulary() as i64;
        let (total, stopped) =
            (i64::from(document.tokens_total), i64::from(document.tokens_stopped));
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
