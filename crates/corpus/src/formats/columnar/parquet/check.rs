//! What a Parquet file claims, checked before the reader allocates and recurses by it: the footer, the columns' places,
//! and the pages' headers.

use super::lengths::{check_lengths, refuse};
use super::thrift::{Item, WalkFault, walk};
use parquet::errors::Result;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

/// The deepest nesting of groups in a schema: a list takes two. The reader recurses into them.
const MOST_GROUPS: usize = 100;

/// The highest ratio of compression: four bytes of zstd can repeat one byte 128 Ki times.
const MOST_RATIO: u64 = 1 << 15;

/// The most bytes of a page after decompression; writers end pages after 1 to 100 MB.
const MOST_PAGE: u64 = 256 << 20;

/// Bytes of a page's header that are read at first.
const HEADER_BYTES: u64 = 1 << 10;

/// The file's last bytes: the length of the footer, and the mark.
const TAIL_BYTES: u64 = 8;
const MARK: &[u8] = b"PAR1";

/// Checks the footer of a file, unless it has none: then the reader says so.
pub(super) fn check_footer(mut file: &File) -> Result<()> {
    let bytes = file.seek(SeekFrom::End(0))?;
    let Some(ends) = bytes.checked_sub(TAIL_BYTES) else {
        return Ok(());
    };
    let mut tail = [0; TAIL_BYTES as usize];
    file.seek(SeekFrom::Start(ends))?;
    file.read_exact(&mut tail)?;
    let length = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    if !tail.ends_with(MARK) || length > ends {
        return Ok(());
    }
    let mut footer = vec![0; length as usize];
    file.seek(SeekFrom::Start(ends - length))?;
    file.read_exact(&mut footer)?;
    let mut schema = Schema::default();
    match walk(&footer, &mut |path, item| schema.visit(path, item)) {
        Ok(_) => Ok(()),
        Err(WalkFault::Short) => Err(refuse("its footer breaks off")),
        Err(WalkFault::Wrong(reason)) => Err(refuse(reason)),
    }
}

/// The groups of a schema, which is a list of its nodes, each group before its members.
#[derive(Default)]
struct Schema {
    is_listed: bool,
    /// The members of the current node, if it is a group.
    members: i64,
    /// The members still to come of each group that is not complete.
    open: Vec<i64>,
}

impl Schema {
    fn visit(&mut self, path: &[i16], item: Item) -> std::result::Result<(), String> {
        match (path, item) {
            (path, Item::Field(kind)) => self.begin(path, kind),
            ([2, 5], Item::Number(members)) => {
                self.members = members;
                Ok(())
            }
            ([2], Item::End(fields)) => self.end(fields),
            // Each takes some hundred bytes of memory.
            ([4], Item::End(..3)) | ([4, 1], Item::End(0)) => {
                Err("an empty row group or column".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Refuses fields that the reader, which does not look at the types of those it knows, reads as something else.
    fn begin(&mut self, path: &[i16], kind: u8) -> std::result::Result<(), String> {
        let is_fit = match path {
            [1] => kind == 5,
            [2] => kind == 9 && !std::mem::replace(&mut self.is_listed, true),
            [field] if *field > 2 => self.is_listed,
            [2, 1..=3 | 5..=9] | [2, 10, 5, 1 | 2] | [2, 10, 18, 2] => kind == 5,
            [2, 4] | [2, 10, 17 | 18, 1] => kind == 8,
            [2, 10] | [2, 10, _] | [2, 10, 7 | 8, 2] | [2, 10, 7 | 8, 2, _] => kind == 12,
            [2, 10, 7 | 8, 1] | [2, 10, 10, 2] => kind < 3,
            [2, 10, 10 | 16, 1] => kind == 3,
            _ => true,
        };
        if is_fit {
            Ok(())
        } else {
            Err(format!("field {path:?} of its metadata is of type {kind}"))
        }
    }

    /// Ends a node.
    fn end(&mut self, fields: usize) -> std::result::Result<(), String> {
        let members = std::mem::take(&mut self.members);
        if fields == 0 || !(0..=i64::from(u16::MAX) << 8).contains(&members) {
            return Err(format!("a group of {members} columns"));
        }
        if let Some(open) = self.open.last_mut() {
            *open -= 1;
        }
        if members > 0 {
            self.open.push(members);
        }
        while self.open.last() == Some(&0) {
            self.open.pop();
        }
        if self.open.len() > MOST_GROUPS {
            return Err(format!("groups nested more than {MOST_GROUPS} deep in its schema"));
        }
        Ok(())
    }
}

/// Checks the sizes and places of a row group's columns in a file of this size. Returns the compressed bytes.
pub(super) fn check_group(group: &RowGroupMetaData, file_bytes: u64) -> Result<u64> {
    let mut bytes = 0u64;
    for column in group.columns() {
        let begins = [column.dictionary_page_offset(), Some(column.data_page_offset())];
        let sizes = [column.compressed_size(), column.uncompressed_size(), column.num_values()];
        if let Some(wrong) = begins.into_iter().flatten().chain(sizes).find(|&size| size < 0) {
            return Err(refuse(format!("a column with a place or size of {wrong}")));
        }
        let (begins, length) = column.byte_range();
        if begins.checked_add(length).is_none_or(|end| end > file_bytes) {
            return Err(refuse(format!(
                "a column of {length} bytes at byte {begins}, in a file of {file_bytes} bytes"
            )));
        }
        bytes = bytes.saturating_add(length);
    }
    let rows = u64::try_from(group.num_rows()).ok();
    if rows.is_none_or(|rows| rows > most_values(bytes)) || group.total_byte_size() < 0 {
        let (rows, total) = (group.num_rows(), group.total_byte_size());
        return Err(refuse(format!(
            "a row group of {rows} rows and {total} bytes, in {bytes} compressed bytes"
        )));
    }
    Ok(bytes)
}

/// Returns the most values or bytes that this many compressed bytes can hold.
pub(super) fn most_values(bytes: u64) -> u64 {
    bytes.saturating_add(1).saturating_mul(MOST_RATIO)
}

/// What memory depends on in the header of a page.
#[derive(Default)]
struct PageClaims {
    uncompressed: i64,
    compressed: i64,
    /// Of a page of rows.
    values: Option<i64>,
    /// Of a dictionary.
    entries: Option<i64>,
    encoding: i64,
}

/// Parquet's numbers for texts whose lengths are stored apart, and for those that are stored as what they share with the
/// one before, and the rest.
const DELTA_LENGTH_BYTE_ARRAY: i64 = 6;
const DELTA_BYTE_ARRAY: i64 = 7;

/// Checks a column's pages up to the last of `rows`. Returns the most bytes for each row of a page.
pub(super) fn check_pages(
    file: &File,
    column: &ColumnChunkMetaData,
    rows: &Range<u64>,
) -> Result<u64> {
    let (begins, length) = column.byte_range();
    let (mut at, end) = (begins, begins + length);
    let is_nested = column.column_descr().max_rep_level() > 0;
    let (mut seen, mut most) = (0u64, 0u64);
    let mut has_lengths = false;
    while at < end && (is_nested || seen < rows.end) {
        let (length, page) = read_header(file, at, end)?;
        at += length;
        let size = |size: i64| {
            u64::try_from(size).map_err(|_| refuse(format!("a page of {size} bytes or values")))
        };
        let (compressed, uncompressed) = (size(page.compressed)?, size(page.uncompressed)?);
        if compressed > end - at || uncompressed > most_values(compressed) {
            return Err(refuse(format!(
                "a page of {compressed} bytes, {uncompressed} after decompression, with {} bytes left of its column",
                end - at
            )));
        }
        if uncompressed > MOST_PAGE {
            return Err(refuse(format!(
                "a page of {uncompressed} bytes after decompression, and {MOST_PAGE} are read at most; \
                 write the file with smaller pages"
            )));
        }
        at += compressed;
        if let Some(entries) = page.entries
            && size(entries)? > uncompressed
        {
            return Err(refuse(format!(
                "a dictionary of {entries} values in {uncompressed} bytes"
            )));
        }
        if let Some(values) = page.values {
            seen = seen.saturating_add(size(values)?);
            has_lengths |= matches!(page.encoding, DELTA_LENGTH_BYTE_ARRAY | DELTA_BYTE_ARRAY);
            let share = if page.encoding == DELTA_BYTE_ARRAY { 1 } else { size(values)?.max(1) };
            most = most.max(uncompressed.div_ceil(share));
        }
    }
    if has_lengths {
        check_lengths(file, column)?;
    }
    Ok(most)
}

/// Reads the header of the page at `at`, in a column that ends at `end`; returns its length with it.
fn read_header(mut file: &File, at: u64, end: u64) -> Result<(u64, PageClaims)> {
    let mut wanted = HEADER_BYTES;
    loop {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(at))?;
        file.take(wanted.min(end - at)).read_to_end(&mut bytes)?;
        let mut page = PageClaims::default();
        let walked = walk(&bytes, &mut |path, item| {
            page.visit(path, &item);
            Ok(())
        });
        match walked {
            Ok(length) => return Ok((length as u64, page)),
            Err(WalkFault::Short) if wanted < end - at => wanted *= 4,
            Err(WalkFault::Short) => return Err(refuse("a page's header breaks off")),
            Err(WalkFault::Wrong(reason)) => return Err(refuse(reason)),
        }
    }
}

impl PageClaims {
    fn visit(&mut self, path: &[i16], item: &Item) {
        let &Item::Number(number) = item else {
            return;
        };
        match path {
            [2] => self.uncompressed = number,
            [3] => self.compressed = number,
            [5 | 8, 1] => self.values = Some(number),
            [5, 2] | [8, 4] => self.encoding = number,
            [7, 1] => self.entries = Some(number),
            _ => {}
        }
    }
}
