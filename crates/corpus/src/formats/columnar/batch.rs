//! A batch of rows: its cells as text, and the documents of its rows.

use super::{Selection, is_binary};
use crate::RawDocument;
use crate::cells;
use crate::formats::Context;
use crate::formats::context::{body, join_texts};
use crate::formats::records::ColumnRoles;
use arrow_array::{Array, ArrayRef, RecordBatch, cast::AsArray};
use arrow_schema::DataType;
use std::borrow::Cow;

/// A cell by which rows are sorted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SortKey<'a> {
    Number(i128),
    Bytes(Cow<'a, [u8]>),
}

impl SortKey<'_> {
    pub(super) fn into_owned(self) -> SortKey<'static> {
        match self {
            Self::Number(number) => SortKey::Number(number),
            Self::Bytes(bytes) => SortKey::Bytes(Cow::Owned(bytes.into_owned())),
        }
    }
}

/// A column in a batch.
pub(super) struct CellColumn(pub(super) ArrayRef);

impl CellColumn {
    fn bytes(&self, row: usize) -> Option<&[u8]> {
        let array = &self.0;
        (array.is_valid(row)).then(|| match array.data_type() {
            DataType::Binary => array.as_binary::<i32>().value(row),
            DataType::LargeBinary => array.as_binary::<i64>().value(row),
            DataType::BinaryView => array.as_binary_view().value(row),
            _ => array.as_fixed_size_binary().value(row),
        })
    }

    /// Returns the list of a row; `None` if it is null, or the column has no lists.
    fn list(&self, row: usize) -> Option<ArrayRef> {
        let array = &self.0;
        match array.data_type() {
            _ if array.is_null(row) => None,
            DataType::List(_) => Some(array.as_list::<i32>().value(row)),
            DataType::LargeList(_) => Some(array.as_list::<i64>().value(row)),
            _ => None,
        }
    }

    /// Returns the cell by which a row is sorted.
    pub(super) fn key(&self, row: usize) -> Option<SortKey<'_>> {
        if is_binary(self.0.data_type()) {
            return Some(SortKey::Bytes(self.bytes(row)?.into()));
        }
        let number = cells::integer(&self.0, row).map(SortKey::Number);
        number.or_else(|| match cells::text(&self.0, row)? {
            Cow::Borrowed(text) => Some(SortKey::Bytes(text.as_bytes().into())),
            Cow::Owned(text) => Some(SortKey::Bytes(text.into_bytes().into())),
        })
    }

    /// Returns a cell as an id or as metadata. Fixed-size bytes that are not text, such as a UUID, become hexadecimal.
    pub(super) fn value(&self, row: usize) -> Option<Cow<'_, str>> {
        if is_binary(self.0.data_type()) {
            let bytes = self.bytes(row)?;
            let is_fixed = matches!(self.0.data_type(), DataType::FixedSizeBinary(_));
            return Some(if is_fixed && std::str::from_utf8(bytes).is_err() {
                Cow::Owned(hex::encode(bytes))
            } else {
                String::from_utf8_lossy(bytes)
            });
        }
        let Some(items) = self.list(row) else {
            return cells::text(&self.0, row);
        };
        let kind = items.data_type();
        let is_quoted = !(kind.is_numeric() || *kind == DataType::Boolean);
        let json = |item| match cells::text(&items, item) {
            None => "null".to_owned(),
            Some(text) if is_quoted => serde_json::Value::from(text).to_string(),
            Some(text) => text.into_owned(),
        };
        let items: Vec<_> = (0..items.len()).map(json).collect();
        Some(Cow::Owned(format!("[{}]", items.join(","))))
    }

    /// Returns a cell as a document's text.
    pub(super) fn text(&self, row: usize) -> Option<Cow<'_, str>> {
        let Some(items) = self.list(row) else {
            return self.value(row);
        };
        let lines = (0..items.len()).filter_map(|item| cells::text(&items, item));
        join_texts(lines.map(|line| Cow::Owned(line.into_owned())))
    }
}

/// A batch of rows, with the cells of a selection.
pub(super) struct CellBatch {
    pub(super) rows: usize,
    pub(super) values: Vec<CellColumn>,
}

impl CellBatch {
    pub(super) fn new(batch: &RecordBatch, selection: &Selection) -> Self {
        let cells = selection.cells(batch);
        Self { rows: batch.num_rows(), values: cells.into_iter().map(CellColumn).collect() }
    }

    /// Returns the document of row `index` of the batch, which is row `row` of the file.
    pub(super) fn document<'a>(
        &'a self,
        context: &Context<'_>,
        columns: &ColumnRoles,
        row: u64,
        index: usize,
    ) -> RawDocument<'a> {
        let (text, repaired) = self.text(columns, index);
        let bytes = text.as_ref().map_or(0, |text| text.len() as u64);
        let document = columns.record(context, row, |place| self.values[place].value(index));
        let body = if bytes > context.settings.max_document_bytes {
            context.too_large(&document.source_id, bytes)
        } else {
            body(context, row, text, repaired)
        };
        RawDocument { body, ..document }
    }

    /// Returns the texts of a row, joined, and whether bytes were replaced.
    pub(super) fn text(&self, columns: &ColumnRoles, index: usize) -> (Option<Cow<'_, str>>, bool) {
        let mut repaired = false;
        let texts = columns.text.iter().filter_map(|&place| {
            let text = self.values[place].text(index);
            let is_bytes = is_binary(self.values[place].0.data_type());
            repaired |= is_bytes && matches!(text, Some(Cow::Owned(_)));
            text
        });
        let text = join_texts(texts);
        (text, repaired)
    }
}
