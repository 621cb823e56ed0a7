//! The documents of a result that a change is about: by their ids, or by the values of columns.

use std::collections::BTreeSet;
use std::path::Path;

use crate::failure::Failure;
use crate::result::OpenedResult;
use crate::tables::documents::{DocumentKey, metadata_columns};
use crate::tables::parts::{part_files, that_may_have};
use crate::tables::records::Records;
use corpus::sample::Split;

/// Columns of text in `documents`, beside those of metadata.
const COLUMNS: [&str; 4] = ["source_id", "group_id", "status", "split"];

/// Which documents: those that meet everything that is given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    /// Their ids.
    pub(crate) ids: Option<BTreeSet<String>>,
    /// Columns of text of `documents`, and their values.
    pub(crate) conditions: Vec<(String, String)>,
}

/// Documents that were found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selected {
    /// Their numbers.
    pub(crate) numbers: BTreeSet<u64>,
    /// Their ids.
    pub(crate) ids: BTreeSet<String>,
    /// How many of them the model was trained on.
    pub(crate) trained_on: u64,
}

impl Selection {
    /// Finds the documents in the table of a result.
    ///
    /// # Errors
    /// The table cannot be read, or lacks a column.
    pub(crate) fn of(&self, result: &Path) -> Result<Selected, Failure> {
        let metadata = metadata_columns(&OpenedResult::at(result).collection()?.metadata);
        let columns: Vec<String> = self.conditions.iter().map(|(name, _)| name.clone()).collect();
        let is_known = |name: &&String| COLUMNS.contains(&name.as_str()) || metadata.contains(name);
        if let Some(unknown) = columns.iter().find(|name| !is_known(name)) {
            let known = COLUMNS.into_iter().chain(metadata.iter().map(String::as_str));
            let known = known.collect::<Vec<_>>().join(", ");
            let message =
                format!("{}: documents have no column of text {unknown:?}", result.display());
            return Err(Failure::usage(message).help(format!("there are {known}")));
        }
        let mut selected = Selected::default();
        let mut parts = part_files(&result.join("documents"))?;
        if let Some(ids) = &self.ids {
            parts = that_may_have(parts, "source_id", ids)?;
        }
        let mut rows = Records::of(parts, &columns);
        while let Some(row) = rows.next().transpose()? {
            let DocumentKey { doc_id, source_id, split } = row;
            let mut pairs = self.conditions.iter().zip(rows.texts());
            let is_meant = self.ids.as_ref().is_none_or(|ids| ids.contains(&source_id))
                && pairs.all(|((_, wanted), value)| value.as_ref() == Some(wanted));
            if is_meant {
                selected.numbers.insert(doc_id as u64);
                selected.trained_on += u64::from(split == Split::Sample.name());
                selected.ids.insert(source_id);
            }
        }
        Ok(selected)
    }
}
