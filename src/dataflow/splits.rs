//! The splits of documents: which were trained on.

use corpus::ShardDocument;
use corpus::collection::Collection;
use corpus::labels::LabelReader;
use corpus::sample::{SampleRule, Split};
use corpus::settings::CorpusSettings;
use corpus::shard::Columns;

/// Determines the splits of documents, by their numbers and, if training needs labels, by whether
/// they have any.
pub(super) struct Splits {
    rule: SampleRule,
    labels: Option<LabelReader>,
}

impl Splits {
    /// Creates the splits of a collection's documents.
    pub(super) fn new(
        rule: SampleRule,
        settings: &CorpusSettings,
        collection: &Collection,
    ) -> Self {
        let labels = LabelReader::new(settings, &collection.labels);
        Self { rule, labels }
    }

    /// Returns the columns that splits need, and those of terms.
    pub(super) fn columns(&self) -> Columns {
        let labels = self.labels.as_ref();
        labels.map_or(Columns::Counts, |labels| Columns::CountsAnd(labels.column))
    }

    /// Returns the split of a document that has terms.
    pub(super) fn of(&self, number: u64, document: &ShardDocument) -> Split {
        match (self.rule.split(number), &self.labels) {
            (Split::Sample, Some(reader)) => {
                let mut labels = Vec::new();
                reader.read(&document.metadata, &mut labels);
                self.rule.split_of(number, Some(&labels))
            }
            (split, _) => split,
        }
    }
}
