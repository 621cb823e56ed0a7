//! Settings that follow from identifying the languages of texts.

use super::Values;
use crate::failure::Failure;
use crate::job::source::Source;
use corpus::language::COLUMN;

impl Values {
    /// Returns the columns of documents: those of metadata, and the language if it is identified.
    pub(super) fn columns(&self) -> Vec<String> {
        let mut columns: Vec<String> = self.get("corpus.metadata");
        columns.extend(self.languages().map(|_| COLUMN.to_owned()));
        columns
    }

    /// No metadata column may have the name of the column of languages.
    pub(super) fn settle_languages(&self, source: &Source) -> Result<(), Failure> {
        let metadata: Vec<String> = self.get("corpus.metadata");
        if self.languages().is_none() || !metadata.iter().any(|name| name == COLUMN) {
            return Ok(());
        }
        let allowed = "a column other than `language`, which is that of identified languages \
                       (corpus.identify_language, corpus.languages)";
        source.refuse("corpus.metadata", || allowed.into())?;
        source.refuse("corpus.labels", || allowed.into())
    }
}
