//! The documents of a result that a change is about: by their ids, or by the values of columns.

use std::collections::BTreeSet;
use std::path::Path;

use crate::failure::Failure;
use crate::result::OpenedResult;
use crate::tables::documents::{DocumentKey, typed_columns};
use crate::tables::parts::{part_files, that_may_have};
use crate::tables::records::Records;
use corpus::sample::Split;
use corpus::value_type::{TypedValue, ValueType};

/// Columns of `documents` that can be asked for, beside those of metadata.
const COLUMNS: [&str; 4] = ["source_id", "group_id", "status", "split"];

/// Which documents: those that meet everything that is given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    /// Their ids.
    pub(crate) ids: Option<BTreeSet<String>>,
    /// Columns of `documents`, and their values.
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
        let typed = typed_columns(&OpenedResult::at(result).collection()?);
        let columns: Vec<String> = self.conditions.iter().map(|(name, _)| name.clone()).collect();
        let type_of = |name: &str| typed.iter().find(|(column, _)| column == name).map(|it| it.1);
        let is_known = |name: &&String| COLUMNS.contains(&&name[..]) || type_of(name).is_some();
        if let Some(unknown) = columns.iter().find(|name| !is_known(name)) {
            let known = COLUMNS.into_iter().chain(typed.iter().map(|(name, _)| &name[..]));
            let known = known.collect::<Vec<_>>().join(", ");
            let message = format!("{}: documents have no column {unknown:?}", result.display());
            return Err(Failure::usage(message).help(format!("there are {known}")));
        }
        let wanted = |(name, value): &(String, String)| as_read(type_of(name), value);
        let wanted: Vec<Option<String>> = self.conditions.iter().map(wanted).collect();
        let mut selected = Selected::default();
        let mut parts = part_files(&result.join("documents"))?;
        if let Some(ids) = &self.ids {
            parts = that_may_have(parts, "source_id", ids)?;
        }
        let mut rows = Records::of(parts, &columns);
        while let Some(row) = rows.next().transpose()? {
            let DocumentKey { doc_id, source_id, split } = row;
            let is_meant = self.ids.as_ref().is_none_or(|ids| ids.contains(&source_id))
                && rows.texts() == wanted;
            if is_meant {
                selected.numbers.insert(doc_id as u64);
                selected.trained_on += u64::from(split == Split::Sample.name());
                selected.ids.insert(source_id);
            }
        }
        Ok(selected)
    }
}

/// Returns a value as the text that is read of it in a column of this type.
fn as_read(value_type: Option<ValueType>, value: &str) -> Option<String> {
    Some(match value_type.unwrap_or_default().read(value) {
        Some(TypedValue::Number(number)) => format!("{number:?}"),
        Some(TypedValue::List(list)) => serde_json::to_string(&list).expect("texts are JSON"),
        _ => value.to_owned(),
    })
}
