//! Columnar files, Parquet and Arrow IPC: a row is a document, or a term of one (`long`).
//!
//! Columns of text, numbers, dates and booleans are read as text, bytes as UTF-8 with invalid parts replaced. A list
//! becomes a JSON array as id or metadata, and lines as text. The id of a row without one is `name@row`, with rows
//! counted from 0 over the whole file.

mod batch;
mod long;

use super::{Context, DocumentSink};
use crate::block::columnar::{
    ALL_ROWS, Leaf, RowGroups, Selection, damaged, is_readable, open, os_error, read as read_groups,
};
use crate::block::keeps_damaged;
use crate::input::{InputError, InputFile};
use crate::settings::CorpusSettings;
use arrow_schema::ArrowError;
use batch::Batch;

/// Returns the columns that can be read as text, and the first rows' cells, which are empty for nulls.
pub fn first_rows(
    file: &InputFile,
    most: usize,
) -> Result<(Vec<String>, Vec<Vec<String>>), InputError> {
    let (mut names, mut rows) = (Vec::new(), Vec::new());
    let Some(groups) = open(file, false)?.groups else {
        return Ok((names, rows));
    };
    let mut leaves = Leaf::all(groups.schema());
    leaves.retain(|leaf| is_readable(&leaf.kind));
    names.extend(leaves.iter().map(|leaf| leaf.name.clone()));
    let selection = Selection::new(leaves);
    for group in 0..groups.groups().len() {
        for batch in read_groups(file, &*groups, group..group + 1, ALL_ROWS, &selection.roots)? {
            let batch = batch.map(|batch| Batch::new(&batch, &selection));
            let batch = batch.map_err(|error| broken(file, 0, &error))?;
            let row = |row: usize| {
                batch.values.iter().map(move |of| of.text(row).unwrap_or_default().into_owned())
            };
            let wanted = batch.rows.min(most - rows.len());
            rows.extend((0..wanted).map(|index| row(index).collect()));
            if rows.len() == most {
                return Ok((names, rows));
            }
        }
    }
    Ok((names, rows))
}

/// Reads the documents whose (first) rows are in these groups.
pub(super) fn read(
    groups: &RowGroups,
    file: &InputFile,
    settings: &CorpusSettings,
    emit: DocumentSink<'_>,
) -> Result<(), InputError> {
    let context = Context::new(file, settings);
    match groups.layout.counts {
        Some(_) => long::read(groups, &context, emit),
        None => read_rows(groups, &context, emit),
    }
}

/// Reads the rows of these groups, each a document.
fn read_rows(
    groups: &RowGroups,
    context: &Context<'_>,
    emit: DocumentSink<'_>,
) -> Result<(), InputError> {
    let mut row = groups.first_row;
    let batches = groups.batches(context.file, groups.groups.clone(), groups.rows.clone())?;
    for batch in batches {
        let batch = match batch.map(|batch| Batch::new(&batch, &groups.layout.selection)) {
            Ok(batch) => batch,
            Err(error) => return lose_rest(context, row, &error, emit),
        };
        for index in 0..batch.rows {
            emit(batch.document(context, &groups.layout.columns, row, index));
            row += 1;
        }
    }
    Ok(())
}

/// Emits a document for all rows from this one on, which cannot be read, if damaged files are kept.
fn lose_rest(
    context: &Context<'_>,
    row: u64,
    error: &ArrowError,
    emit: DocumentSink<'_>,
) -> Result<(), InputError> {
    match broken(context.file, row, error) {
        InputError::Damaged { reason, .. } if keeps_damaged(context.settings) => {
            emit(context.truncated_at(row, &reason));
            Ok(())
        }
        broken => Err(broken),
    }
}

/// Returns the error of rows that cannot be read from this one on: the system's, or damage.
fn broken(file: &InputFile, row: u64, error: &ArrowError) -> InputError {
    let reason = error.to_string();
    match os_error(&reason) {
        Some(error) => InputError::unreadable(&file.path)(error),
        None => damaged(file, row, &reason),
    }
}
