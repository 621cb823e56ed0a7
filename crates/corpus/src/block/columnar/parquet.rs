//! Parquet: row groups.

use super::{Batches, Group, Groups, Opened, sum};
use crate::input::{InputError, InputFile};
use arrow_schema::{ArrowError, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use std::io;
use std::ops::Range;
use store::Source;

/// Approximate bytes of a batch of rows.
const BATCH_BYTES: u64 = 8 << 20;

/// The most rows in a batch.
const BATCH_ROWS: u64 = 8192;

struct Footer {
    metadata: ArrowReaderMetadata,
    groups: Vec<Group>,
}

pub(super) fn open(file: &InputFile) -> Result<Opened, InputError> {
    let opened = match file.open()? {
        Source::File(opened) => opened,
        Source::Object(object) => object
            .parquet_footer()
            .and_then(|footer| object.copy_of(&[footer]))
            .map_err(InputError::unreadable(&file.path))?,
    };
    let loaded = ArrowReaderMetadata::load(&opened, ArrowReaderOptions::new());
    let groups = loaded.iter().flat_map(|it| it.metadata().row_groups());
    let mut codecs = groups.flat_map(|group| group.columns().iter().map(|it| it.compression()));
    if codecs.any(|codec| matches!(codec, Compression::BROTLI(_) | Compression::LZO)) {
        let remedy = "write it with zstd, gzip, lz4 or snappy";
        let kind = "compressed by Brotli or LZO";
        return Err(InputError::unsupported(&file.path, kind, remedy));
    }
    Ok(match loaded {
        Ok(metadata) => Opened {
            groups: Some(Box::new(Footer::new(metadata))),
            broken: None,
        },
        Err(error) => match io_error(error) {
            Ok(error) => return Err(InputError::unreadable(&file.path)(error)),
            Err(error) => Opened {
                groups: None,
                broken: Some(error.to_string()),
            },
        },
    })
}

impl Footer {
    fn new(metadata: ArrowReaderMetadata) -> Self {
        let group = |group: &RowGroupMetaData| Group {
            rows: unsigned(group.num_rows()),
            bytes: unsigned(group.total_byte_size()),
        };
        let groups = metadata.metadata().row_groups().iter().map(group).collect();
        Self { metadata, groups }
    }
}

impl Groups for Footer {
    fn schema(&self) -> &Schema {
        self.metadata.schema()
    }

    fn groups(&self) -> &[Group] {
        &self.groups
    }

    fn batches(
        &self,
        file: &InputFile,
        groups: Range<usize>,
        rows: Range<u64>,
        columns: &[usize],
    ) -> Result<Batches, InputError> {
        let all = sum(&self.groups[groups.clone()]);
        let batch_rows =
            (BATCH_BYTES.saturating_mul(all.rows) / all.bytes.max(1)).clamp(1, BATCH_ROWS);
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
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(opened, metadata)
            .with_row_groups(groups.collect())
            .with_offset(usize::try_from(rows.start).unwrap_or(usize::MAX))
            .with_limit(usize::try_from(rows.end - rows.start).unwrap_or(usize::MAX))
            .with_projection(mask)
            .with_batch_size(batch_rows as usize)
            .build();
        Ok(match reader {
            Ok(reader) => Box::new(reader),
            Err(error) => Box::new(std::iter::once(Err(ArrowError::from(error)))),
        })
    }
}

/// Converts a size, which is signed in the format but negative only in broken files.
fn unsigned(size: i64) -> u64 {
    u64::try_from(size).unwrap_or(0)
}

/// Returns the byte ranges of the mask's columns in these groups.
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
