//! Parquet: a row is a document, a block is some row groups, read one batch of rows at a time.
//!
//! Columns of text, numbers, dates and booleans are read as text, bytes as UTF-8 with invalid parts
//! replaced. A list becomes a JSON array as id or metadata, and lines as text. Only the columns
//! that the job names are decoded. The id of a row without one is `name@row`, rows counted from 0
//! over the whole file.

use super::delimited::Columns;
use super::{Context, DocumentSink, body, join_texts, keeps_damaged};
use crate::corpus::RawDocument;
use crate::corpus::block::cutter::Piece;
use crate::corpus::block::{Content, Cut};
use crate::corpus::input::{InputError, InputFile};
use crate::corpus::settings::CorpusSettings;
use crate::storage::Source;
use arrow_array::{
    Array, ArrayRef, LargeBinaryArray, LargeListArray, LargeStringArray, RecordBatch, cast::AsArray,
};
use arrow_cast::{can_cast_types, cast};
use arrow_schema::{ArrowError, DataType, Field};
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
            if text_type(fields[root].data_type()).is_none() {
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

/// The type to which a column is converted before its values are read; `None` if they are not text.
fn text_type(kind: &DataType) -> Option<DataType> {
    let item = |field: &Field| {
        let text = text_type(field.data_type())? == DataType::LargeUtf8;
        text.then(|| DataType::LargeList(Arc::new(Field::new("item", DataType::LargeUtf8, true))))
    };
    match kind {
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => Some(DataType::LargeBinary),
        DataType::List(field) | DataType::LargeList(field) => item(field),
        kind if kind.is_nested() => None,
        kind => can_cast_types(kind, &DataType::LargeUtf8).then_some(DataType::LargeUtf8),
    }
}

/// The values of a column in a batch.
enum Values {
    Text(LargeStringArray),
    Bytes(LargeBinaryArray),
    /// Lists of texts; `quoted` unless they are written as numbers or truth values.
    Lists {
        lists: LargeListArray,
        quoted: bool,
    },
}

impl Values {
    fn new(array: &ArrayRef) -> Result<Self, ArrowError> {
        let unsupported = || ArrowError::CastError(format!("{} is not text", array.data_type()));
        let kind = text_type(array.data_type()).ok_or_else(unsupported)?;
        let values = cast(array, &kind)?;
        Ok(match array.data_type() {
            DataType::List(field) | DataType::LargeList(field) => {
                let item = field.data_type();
                Self::Lists {
                    lists: values.as_list::<i64>().clone(),
                    quoted: !(item.is_numeric() || *item == DataType::Boolean),
                }
            }
            _ if kind == DataType::LargeBinary => Self::Bytes(values.as_binary::<i64>().clone()),
            _ => Self::Text(values.as_string::<i64>().clone()),
        })
    }

    /// As an id or as metadata.
    fn value(&self, row: usize) -> Option<Cow<'_, str>> {
        match self {
            Self::Text(texts) => texts.is_valid(row).then(|| Cow::Borrowed(texts.value(row))),
            Self::Bytes(bytes) => bytes
                .is_valid(row)
                .then(|| String::from_utf8_lossy(bytes.value(row))),
            Self::Lists { lists, quoted } => lists.is_valid(row).then(|| {
                let items = lists.value(row);
                let json = |item: Option<&str>| match item {
                    None => "null".to_owned(),
                    Some(text) if *quoted => serde_json::Value::from(text).to_string(),
                    Some(text) => text.to_owned(),
                };
                let items: Vec<_> = items.as_string::<i64>().iter().map(json).collect();
                Cow::Owned(format!("[{}]", items.join(",")))
            }),
        }
    }

    /// As a document's text.
    fn text(&self, row: usize) -> Option<Cow<'_, str>> {
        match self {
            Self::Lists { lists, .. } if lists.is_valid(row) => {
                let items = lists.value(row);
                let lines = items.as_string::<i64>().iter().flatten();
                join_texts(lines.map(|line| Cow::Owned(line.to_owned())))
            }
            other => other.value(row),
        }
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
        let is_bytes = |&&place: &&usize| matches!(self.values[place], Values::Bytes(_));
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
