//! How many texts a page claims whose lengths are stored apart from them, in the encodings DELTA_LENGTH_BYTE_ARRAY and
//! DELTA_BYTE_ARRAY: the reader allocates by these counts, which stand in the page itself, after decompression.

use super::thrift::{WalkFault, varint};
use parquet::basic::Encoding;
use parquet::column::page::Page;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::ColumnDescriptor;
use std::fs::File;
use std::sync::Arc;

/// The most texts in such a page; the reader takes eight bytes for each at once.
const MOST_TEXTS: u64 = 4 << 20;

/// Returns the error of a file that claims what cannot be.
pub(super) fn refuse(what: impl Into<String>) -> ParquetError {
    ParquetError::General(what.into())
}

/// Checks the pages of a column.
pub(super) fn check_lengths(file: &File, column: &ColumnChunkMetaData) -> Result<()> {
    let rows = usize::try_from(column.num_values()).unwrap_or(0);
    let pages = SerializedPageReader::new(Arc::new(file.try_clone()?), column, rows, None)?;
    for page in pages {
        let page = page?;
        let lists = match page.encoding() {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
            // Of what each shares with the one before, and of the rest.
            Encoding::DELTA_BYTE_ARRAY => 2,
            _ => 0,
        };
        if lists > 0 {
            let broken = || refuse("a page breaks off within the lengths of its texts");
            let mut rest = values(&page, column.column_descr()).ok_or_else(broken)?;
            for _ in 0..lists {
                rest = after_lengths(rest)?.ok_or_else(broken)?;
            }
        }
    }
    Ok(())
}

/// Returns a page of rows without the levels that precede its values; `None` if it breaks off.
fn values<'p>(page: &'p Page, column: &ColumnDescriptor) -> Option<&'p [u8]> {
    match page {
        Page::DataPage { buf, num_values, def_level_encoding, rep_level_encoding, .. } => {
            let mut rest = &buf[..];
            let levels = [
                (column.max_rep_level(), rep_level_encoding),
                (column.max_def_level(), def_level_encoding),
            ];
            for (most, encoding) in levels.into_iter().filter(|&(most, _)| most > 0) {
                let bytes = if *encoding == Encoding::RLE {
                    u64::from(u32::from_le_bytes(*rest.first_chunk()?)) + 4
                } else {
                    (u64::from(*num_values) * u64::from(most.ilog2() + 1)).div_ceil(8)
                };
                rest = rest.get(usize::try_from(bytes).ok()?..)?;
            }
            Some(rest)
        }
        Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
            buf.get(*def_levels_byte_len as usize + *rep_levels_byte_len as usize..)
        }
        Page::DictionaryPage { .. } => None,
    }
}

/// Returns what follows a list of numbers in the encoding DELTA_BINARY_PACKED; `None` if it breaks off.
fn after_lengths(bytes: &[u8]) -> Result<Option<&[u8]>> {
    let mut rest = bytes;
    let mut number = || match varint(&mut rest) {
        Ok(number) => Ok(Some(number)),
        Err(WalkFault::Short) => Ok(None),
        Err(WalkFault::Wrong(reason)) => Err(refuse(reason)),
    };
    let header = (number()?, number()?, number()?, number()?);
    let (Some(block), Some(parts), Some(texts), Some(_first)) = header else {
        return Ok(None);
    };
    if texts > MOST_TEXTS {
        return Err(refuse(format!(
            "a page of {texts} texts whose lengths are stored apart, and {MOST_TEXTS} are read at most; \
             write the file with smaller pages"
        )));
    }
    if parts == 0 || parts > block {
        return Err(refuse(format!("blocks of {block} numbers in {parts} parts")));
    }
    let mut left = texts.saturating_sub(1);
    while left > 0 {
        if varint(&mut rest).is_err() {
            return Ok(None);
        }
        let Some((widths, packed)) =
            usize::try_from(parts).ok().and_then(|n| rest.split_at_checked(n))
        else {
            return Ok(None);
        };
        let mut bytes = 0u64;
        for &bits in widths {
            let numbers = if left > 0 { block / parts } else { 0 };
            bytes = bytes.saturating_add(u64::from(bits).saturating_mul(numbers) / 8);
            left = left.saturating_sub(numbers);
        }
        let Some(next) = usize::try_from(bytes).ok().and_then(|n| packed.get(n..)) else {
            return Ok(None);
        };
        rest = next;
    }
    Ok(Some(rest))
}
