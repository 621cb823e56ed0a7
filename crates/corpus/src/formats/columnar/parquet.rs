//! Parquet: row groups. Text is read as views into its pages: a dictionary's text that many rows have is not copied for
//! each of them. What the file claims is checked first (`check`).

mod check;
mod lengths;
mod thrift;

use super::{GroupedFile, Opened, RecordBatches, RowGroup};
use crate::error::InputError;
use crate::formats::InputFile;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use store::Source;
use store::source::ObjectReader;

/// Approximate bytes of a batch of rows.
const BATCH_BYTES: u64 = 8 << 20;

/// The most rows in a batch.
const BATCH_ROWS: u64 = 8192;

struct Footer {
    metadata: ArrowReaderMetadata,
    groups: Vec<RowGroup>,
}

/// The bytes of the footer's length and mark at the end of a file.
const FOOTER_TAIL: u64 = 8;

/// Returns the range of the footer of a Parquet file in an object store, including its length and mark.
///
/// # Errors
/// The object is too short for a Parquet file; the store refuses.
pub fn footer_of(object: &ObjectReader) -> io::Result<Range<u64>> {
    let bytes = object.length();
    let at = bytes.checked_sub(FOOTER_TAIL).ok_or(io::ErrorKind::UnexpectedEof)?;
    let tail = object.range(at..bytes)?;
    let length = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]);
    Ok(at.saturating_sub(length.into())..bytes)
}

pub(super) fn open(file: &InputFile) -> Result<Opened, InputError> {
    let opened = match file.open()? {
        Source::File(opened) => opened,
        Source::Object(object) => footer_of(&object)
            .and_then(|footer| object.copy_of(&[footer]))
            .map_err(InputError::unreadable(&file.path))?,
    };
    let loaded = contained(|| load(&opened));
    let groups = loaded.iter().flat_map(|it| it.metadata().row_groups());
    let mut codecs = groups.flat_map(|group| group.columns().iter().map(|it| it.compression()));
    if codecs.any(|codec| matches!(codec, Compression::BROTLI(_) | Compression::LZO)) {
        let remedy = "write it with zstd, gzip, lz4 or snappy";
        let kind = "compressed by Brotli or LZO";
        return Err(InputError::unsupported(&file.path, kind, remedy));
    }
    let footer = loaded.and_then(|metadata| contained(|| Footer::new(metadata, file.bytes)));
    Ok(match footer {
        Ok(footer) => Opened { groups: Some(Box::new(footer)), broken: None },
        Err(error) => match io_error(error) {
            Ok(error) => return Err(InputError::unreadable(&file.path)(error)),
            Err(error) => Opened { groups: None, broken: Some(error.to_string()) },
        },
    })
}

/// Runs a part of the reader; a panic is an error.
fn contained<T>(run: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    liveness::contained(run).unwrap_or_else(|panic| Err(ParquetError::General(panic)))
}

/// Reads the footer.
fn load(file: &File) -> Result<ArrowReaderMetadata, ParquetError> {
    check::check_footer(file)?;
    let options = ArrowReaderOptions::new();
    let loaded = ArrowReaderMetadata::load(file, options.clone())?;
    let fields = loaded.schema().fields().iter().map(with_views);
    let schema =
        Schema::new_with_metadata(fields.collect::<Fields>(), loaded.schema().metadata().clone());
    let metadata = Arc::clone(loaded.metadata());
    ArrowReaderMetadata::try_new(metadata, options.with_schema(Arc::new(schema)))
}

/// Returns the field with views in place of text, bytes, and dictionaries of these.
fn with_views(field: &FieldRef) -> FieldRef {
    let kind = match field.data_type() {
        DataType::List(item) => DataType::List(with_views(item)),
        DataType::LargeList(item) => DataType::LargeList(with_views(item)),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(with_views).collect()),
        kind => viewed(kind),
    };
    Arc::new(Field::clone(field).with_data_type(kind))
}

fn viewed(kind: &DataType) -> DataType {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        DataType::Dictionary(_, values) if viewed(values) != **values => viewed(values),
        kind => kind.clone(),
    }
}

impl Footer {
    fn new(metadata: ArrowReaderMetadata, file_bytes: u64) -> Result<Self, ParquetError> {
        let group = |group: &RowGroupMetaData| {
            let compressed = check::check_group(group, file_bytes)?;
            let [rows, bytes] = [group.num_rows(), group.total_byte_size()].map(i64::unsigned_abs);
            Ok(RowGroup { rows, bytes: bytes.min(check::most_values(compressed)) })
        };
        let groups: Result<_, ParquetError> =
            metadata.metadata().row_groups().iter().map(group).collect();
        Ok(Self { groups: groups?, metadata })
    }

    /// Returns the rows that a batch of these columns may have, after a check of their pages.
    fn batch_rows(
        &self,
        file: &File,
        groups: Range<usize>,
        rows: &Range<u64>,
        mask: &ProjectionMask,
    ) -> Result<u64, ParquetError> {
        let mut widest = 0u64;
        for group in &self.metadata.metadata().row_groups()[groups] {
            let mut bytes = 0u64;
            for (leaf, column) in group.columns().iter().enumerate() {
                if mask.leaf_included(leaf) {
                    bytes = bytes.saturating_add(check::check_pages(file, column, rows)?);
                }
            }
            widest = widest.max(bytes);
        }
        Ok((BATCH_BYTES / widest.max(1)).clamp(1, BATCH_ROWS))
    }
}

impl GroupedFile for Footer {
    fn schema(&self) -> &Schema {
        self.metadata.schema()
    }

    fn groups(&self) -> &[RowGroup] {
        &self.groups
    }

    fn batches(
        &self,
        file: &InputFile,
        groups: Range<usize>,
        rows: Range<u64>,
        columns: &[usize],
    ) -> Result<RecordBatches, InputError> {
        let parquet = self.metadata.metadata();
        let schema = self.metadata.parquet_schema();
        let mask = ProjectionMask::roots(schema, columns.iter().copied());
        let opened = match file.open()? {
            Source::File(opened) => opened,
            Source::Object(object) => object
                .copy_of(&chunks(&parquet.row_groups()[groups.clone()], &mask))
                .map_err(InputError::unreadable(&file.path))?,
        };
        let metadata = self.metadata.clone();
        let reader = contained(|| {
            let batch_rows = self.batch_rows(&opened, groups.clone(), &rows, &mask)?;
            ParquetRecordBatchReaderBuilder::new_with_metadata(opened, metadata)
                .with_row_groups(groups.collect())
                .with_offset(usize::try_from(rows.start).unwrap_or(usize::MAX))
                .with_limit(usize::try_from(rows.end - rows.start).unwrap_or(usize::MAX))
                .with_projection(mask)
                .with_batch_size(batch_rows as usize)
                .build()
        });
        Ok(match reader {
            Ok(reader) => Box::new(reader),
            Err(error) => Box::new(std::iter::once(Err(ArrowError::from(error)))),
        })
    }
}

/// Returns the byte ranges of the mask's columns in these groups.
fn chunks(groups: &[RowGroupMetaData], mask: &ProjectionMask) -> Vec<Range<u64>> {
    let columns = groups.iter().flat_map(|group| group.columns().iter().enumerate());
    let wanted = columns.filter(|(leaf, _)| mask.leaf_included(*leaf));
    wanted
        .map(|(_, column)| {
            let (begins, bytes) = column.byte_range();
            begins..begins.saturating_add(bytes)
        })
        .collect()
}

/// Returns the operating system's error that Parquet passes on.
///
/// # Errors
/// Returns the error itself if it is Parquet's own.
pub fn io_error(error: ParquetError) -> Result<io::Error, ParquetError> {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) if source.raw_os_error().is_some() => Ok(*source),
            Ok(source) => Err(ParquetError::External(source)),
            Err(source) => os_error(&source.to_string()).ok_or(ParquetError::External(source)),
        },
        error => Err(error),
    }
}

/// Parses the operating system's error that ends a text, as in those of [`io::Error`]: Arrow's reader keeps only text.
pub(crate) fn os_error(text: &str) -> Option<io::Error> {
    let (_, number) = text.strip_suffix(')')?.rsplit_once("(os error ")?;
    Some(io::Error::from_raw_os_error(number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_s_error_is_told_from_damage_where_arrow_passes_it_on_as_text() {
        let error = || ParquetError::from(io::Error::from_raw_os_error(5));
        let as_text = ArrowError::from(error());
        assert!(matches!(as_text, ArrowError::ParquetError(_)));
        for error in [error(), as_text.into()] {
            assert_eq!(io_error(error).unwrap().raw_os_error(), Some(5));
        }
        let damage = ParquetError::General("an offset is out of range (8)".to_owned());
        assert!(io_error(ArrowError::from(damage).into()).is_err());
    }
}
