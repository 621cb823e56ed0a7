//! Parquet: a row is a document, a block is some row groups, read one batch of rows at a time.
//!
//! Columns of text, numbers, dates and booleans are read as text, bytes as UTF-8 with invalid parts
//! replaced. A list becomes a JSON array as id or metadata, and lines as text. Only the columns
//! that the job names are decoded. The id of a row without one is `name@row`, rows counted from 0
//! over the whole file.

use super::delimited::Columns;
use super::{Context, DocumentSink, body, join_texts, keeps_damaged};
use crate::cells;
use crate::corpus::RawDocument;
use crate::corpus::block::cutter::Piece;
use crate::corpus::block::{Content, Cut};
use crate::corpus::input::{InputError, InputFile};
use crate::corpus::settings::CorpusSettings;
use crate::storage::Source;
use arrow_array::{Array, ArrayRef, RecordBatch, cast::AsArray};
use arrow_schema::{ArrowError, DataType};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::RowGroupMetaData;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a batch of rows, about.
const BATCH_BYTES: u64 = 8 << 20;

/// The most rows in a batch.
const BATCH_ROWS: u64 = 1024;

/// What the blocks of a file have in common.
struct Layout {
    metadata: ArrowReaderMetadata,
    /// The columns read, as places in the file's schema, ascending.
    roots: Vec<usize>,
    /// Which of `roots` is for what.
    columns: Columns,
}

/// Some row groups of a file.
pub(crate) struct RowGroups {
    layout: Arc<Layout>,
    groups: Range<usize>,
    first_row: u64,
}

/// Cuts a file into blocks of row groups.
pub(crate) struct GroupRuns {
    layout: Option<Arc<Layout>>,
    next_group: usize,
    next_row: u64,
    block_bytes: u64,
    blocks: u64,
    /// Why the file's footer cannot be read, where damaged files are kept.
    broken: Option<String>,
}

impl GroupRuns {
    /// Reads the file's footer and finds the job's columns.
    pub(crate) fn open(
        file: &InputFile,
        settings: &CorpusSettings,
        block_bytes: u64,
    ) -> Result<Self, InputError> {
        let opened = match file.open()? {
            Source::File(opened) => opened,
            Source::Object(object) => object
                .parquet_footer()
                .and_then(|footer| object.copy_of(&[footer]))
                .map_err(InputError::unreadable(&file.path))?,
        };
        let metadata = ArrowReaderMetadata::load(&opened, ArrowReaderOptions::new());
        let (layout, broken) = match metadata {
            Ok(metadata) => (Some(Arc::new(Layout::new(metadata, file, settings)?)), None),
            Err(error) if keeps_damaged(settings) => (None, Some(error.to_string())),
            Err(error) => return Err(damaged(file, 0, &error.to_string())),
        };
        Ok(Self {
            layout,
            next_group: 0,
            next_row: 0,
            block_bytes,
            blocks: 0,
            broken,
        })
    }
}

impl Cut for GroupRuns {
    fn next(&mut self) -> Result<Option<(u64, Content)>, InputError> {
        if let Some(reason) = self.broken.take() {
            let pieces = vec![Piece::Truncated { offset: 0, reason }];
            let header = None;
            return Ok(Some((0, Content::Pieces { pieces, header })));
        }
        let Some(layout) = &self.layout else {
            return Ok(None);
        };
        let (first_group, first_row) = (self.next_group, self.next_row);
        let mut bytes = 0u64;
        for group in &layout.metadata.metadata().row_groups()[first_group..] {
            bytes = bytes.saturating_add(unsigned(group.total_byte_size()));
            self.next_group += 1;
            self.next_row += unsigned(group.num_rows());
            if bytes >= self.block_bytes {
                break;
            }
        }
        if self.next_group == first_group {
            return Ok(None);
        }
        self.blocks += 1;
        let groups = RowGroups {
            layout: Arc::clone(layout),
            groups: first_group..self.next_group,
            first_row,
        };
        Ok(Some((self.blocks - 1, Content::RowGroups(groups))))
    }
}

/// Sizes are signed in the format, and negative in broken files only.
fn unsigned(size: i64) -> u64 {
    u64::try_from(size).unwrap_or(0)
}

fn damaged(file: &InputFile, row: u64, reason: &str) -> InputError {
    InputError::Damaged {
        path: file.path.clone(),
        offset: row,
        reason: reason.to_owned(),
    }
}

impl Layout {
    fn new(
        metadata: ArrowReaderMetadata,
        file: &InputFile,
        settings: &CorpusSettings,
    ) -> Result<Self, InputError> {
        let fields = metadata.schema().fields();
        let names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
        let mut columns = Columns::find(&names, file, settings)?;
        let mut roots: Vec<usize> = columns.places().map(|place| *place).collect();
        roots.sort_unstable();
        roots.dedup();
        for &root in &roots {
            if !is_readable(fields[root].data_type()) {
                return Err(InputError::ColumnType {
                    path: file.path.clone(),
                    column: names[root].clone(),
                    kind: fields[root].data_type().to_string(),
                });
            }
        }
        for place in columns.places() {
            // Each place was put into `roots` above.
            *place = roots.partition_point(|&root| root < *place);
        }
        Ok(Self {
            metadata,
            roots,
            columns,
        })
    }
}

impl RowGroups {
    /// The groups' size before compression, all columns.
    pub(crate) fn content_bytes(&self) -> u64 {
        let groups = &self.layout.metadata.metadata().row_groups()[self.groups.clone()];
        groups
            .iter()
            .map(|group| unsigned(group.total_byte_size()))
            .sum()
    }

    /// Hands over the rows of these groups.
    pub(super) fn read(
        &self,
        file: &InputFile,
        settings: &CorpusSettings,
        emit: DocumentSink<'_>,
    ) -> Result<(), InputError> {
        let context = Context::new(file, settings);
        let mut row = self.first_row;
        let result = self.batches(file)?.and_then(|batches| {
            for batch in batches {
                let batch = Batch::new(&batch?)?;
                for index in 0..batch.rows {
                    emit(batch.document(&context, &self.layout.columns, row, index));
                    row += 1;
                }
            }
            Ok(())
        });
        match result {
            Ok(()) => Ok(()),
            Err(error) if keeps_damaged(settings) => {
                emit(context.truncated(context.place(row), &error.to_string()));
                Ok(())
            }
            Err(error) => Err(damaged(file, row, &error.to_string())),
        }
    }

    fn batches(
        &self,
        file: &InputFile,
    ) -> Result<Result<ParquetRecordBatchReader, ArrowError>, InputError> {
        let metadata = &self.layout.metadata;
        let groups = &metadata.metadata().row_groups()[self.groups.clone()];
        let bytes: u64 = groups
            .iter()
            .map(|group| unsigned(group.total_byte_size()))
            .sum();
        let rows: u64 = groups.iter().map(|group| unsigned(group.num_rows())).sum();
        let batch_rows = (BATCH_BYTES.saturating_mul(rows) / bytes.max(1)).clamp(1, BATCH_ROWS);
        let mask =
            ProjectionMask::roots(metadata.parquet_schema(), self.layout.roots.iter().copied());
        let opened = match file.open()? {
            Source::File(opened) => opened,
            Source::Object(object) => object
                .copy_of(&chunks(groups, &mask))
                .map_err(InputError::unreadable(&file.path))?,
        };
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(opened, metadata.clone())
            .with_row_groups(self.groups.clone().collect())
            .with_projection(mask)
            .with_batch_size(batch_rows as usize)
            .build();
        Ok(reader.map_err(ArrowError::from))
    }
}

/// Where the columns of the mask lie in these groups.
fn chunks(groups: &[RowGroupMetaData], mask: &ProjectionMask) -> Vec<Range<u64>> {
    let columns = groups
        .iter()
        .flat_map(|group| group.columns().iter().enumerate());
    let wanted = columns.filter(|(leaf, _)| mask.leaf_included(*leaf));
    wanted
        .map(|(_, column)| {
            let (begins, bytes) = column.byte_range();
            begins..begins.saturating_add(bytes)
        })
        .collect()
}

/// Whether a column of this type is read: of texts or what is written as such, of bytes, or of lists of texts.
fn is_readable(kind: &DataType) -> bool {
    match kind {
        DataType::List(field) | DataType::LargeList(field) => cells::is_text(field.data_type()),
        kind => is_binary(kind) || cells::is_text(kind),
    }
}

fn is_binary(kind: &DataType) -> bool {
    matches!(
        kind,
        DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_)
    )
}

/// A column in a batch.
struct Values(ArrayRef);

impl Values {
    fn new(array: &ArrayRef) -> Result<Self, ArrowError> {
        match is_readable(array.data_type()) {
            true => Ok(Self(Arc::clone(array))),
            false => {
                let message = format!("{} is not text", array.data_type());
                Err(ArrowError::CastError(message))
            }
        }
    }

    fn bytes(&self, row: usize) -> Option<&[u8]> {
        let array = &self.0;
        (array.is_valid(row)).then(|| match array.data_type() {
            DataType::Binary => array.as_binary::<i32>().value(row),
            DataType::LargeBinary => array.as_binary::<i64>().value(row),
            DataType::BinaryView => array.as_binary_view().value(row),
            _ => array.as_fixed_size_binary().value(row),
        })
    }

    /// The list of a row; `None` if it is null, or the column has none.
    fn list(&self, row: usize) -> Option<ArrayRef> {
        let array = &self.0;
        match array.data_type() {
            _ if array.is_null(row) => None,
            DataType::List(_) => Some(array.as_list::<i32>().value(row)),
            DataType::LargeList(_) => Some(array.as_list::<i64>().value(row)),
            _ => None,
        }
    }

    /// As an id or as metadata.
    fn value(&self, row: usize) -> Option<Cow<'_, str>> {
        if is_binary(self.0.data_type()) {
            return self.bytes(row).map(String::from_utf8_lossy);
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

    /// As a document's text.
    fn text(&self, row: usize) -> Option<Cow<'_, str>> {
        let Some(items) = self.list(row) else {
            return self.value(row);
        };
        let lines = (0..items.len()).filter_map(|item| cells::text(&items, item));
        join_texts(lines.map(|line| Cow::Owned(line.into_owned())))
    }
}

/// A batch of rows, the columns in the order of [`Layout::roots`].
struct Batch {
    rows: usize,
    values: Vec<Values>,
}

impl Batch {
    fn new(batch: &RecordBatch) -> Result<Self, ArrowError> {
        Ok(Self {
            rows: batch.num_rows(),
            values: batch
                .columns()
                .iter()
                .map(Values::new)
                .collect::<Result<_, _>>()?,
        })
    }

    /// The document of row `index` of the batch, which is row `row` of the file.
    fn document<'a>(
        &'a self,
        context: &Context<'_>,
        columns: &Columns,
        row: u64,
        index: usize,
    ) -> RawDocument<'a> {
        let value = |place: usize| self.values[place].value(index);
        let id = columns.id.and_then(value).filter(|id| !id.is_empty());
        let source_id = id.unwrap_or_else(|| Cow::Owned(context.place(row)));
        let texts: Vec<_> = columns
            .text
            .iter()
            .filter_map(|&place| self.values[place].text(index))
            .collect();
        let bytes: u64 = texts.iter().map(|text| text.len() as u64).sum();
        if bytes > context.settings.max_document_bytes {
            return context.too_large(source_id.into_owned(), bytes);
        }
        let is_bytes = |&&place: &&usize| is_binary(self.values[place].0.data_type());
        let repaired = columns
            .text
            .iter()
            .filter(is_bytes)
            .any(|&place| matches!(self.values[place].value(index), Some(Cow::Owned(_))));
        RawDocument {
            source_id,
            group: columns.group.and_then(value),
            metadata: columns.metadata.iter().map(|&place| value(place)).collect(),
            body: body(context, join_texts(texts.into_iter()), repaired),
        }
    }
}
