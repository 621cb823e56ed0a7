//! Values in the names of folders, as Hive, Spark and others partition a data set: `year=1990/part-0.parquet`.

use std::borrow::Cow;

use super::{Context, InputFile};
use crate::RawDocument;
use percent_encoding::percent_decode_str;

/// The value of a partition that has none.
const NONE: &str = "__HIVE_DEFAULT_PARTITION__";

/// The column with the name of the folder of a document's file.
pub const FOLDER: &str = "folder";

/// Returns the name of a file's folder, if it has one that is no value of a column.
pub fn folder(file: &InputFile) -> Option<&str> {
    let (folders, _) = file.name.rsplit_once('/')?;
    let folder = folders.rsplit('/').next().unwrap_or(folders);
    Some(folder).filter(|folder| !folder.is_empty() && !folder.contains('='))
}

/// Returns whether the names of a file's folders give documents a value of a column.
pub(super) fn gives_column(file: &InputFile, wanted: &str) -> bool {
    partitions(file).any(|(name, _)| name == wanted) || wanted == FOLDER && folder(file).is_some()
}

/// Returns the columns that a file's folders define, with their values, if any, from the outermost folder on.
pub fn partitions(file: &InputFile) -> impl Iterator<Item = (&str, Option<Cow<'_, str>>)> {
    let (folders, _) = file.name.rsplit_once('/').unwrap_or_default();
    let columns = folders.split('/').filter_map(|folder| folder.split_once('='));
    let columns = columns.filter(|(name, _)| !name.is_empty());
    let decoded = |value| percent_decode_str(value).decode_utf8_lossy();
    columns.map(move |(name, value)| (name, (value != NONE).then(|| decoded(value))))
}

/// Passes the documents of a file to `emit`, with the values of its partitions, and the name of its folder, where their
/// records have none.
pub(crate) fn adding<'a>(
    context: &Context<'a>,
    emit: &'a mut dyn FnMut(RawDocument<'_>),
) -> impl FnMut(RawDocument<'_>) + 'a {
    let settings = context.settings;
    let values = partitions(context.file).filter_map(|(name, value)| Some((name, value?)));
    let folder = folder(context.file).map(|folder| (FOLDER, Cow::Borrowed(folder)));
    let values: Vec<_> = values.chain(folder).collect();
    move |mut document| {
        for (name, value) in &values {
            let columns = settings.metadata.iter().zip(&mut document.metadata);
            let group = settings.group.iter().zip(Some(&mut document.group));
            columns
                .chain(group)
                .filter(|(column, held)| column == name && held.is_none())
                .for_each(|(_, held)| *held = Some(Cow::Owned(value.clone().into_owned())));
        }
        emit(document);
    }
}
