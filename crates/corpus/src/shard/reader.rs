//! Reads a shard, one document at a time, in the order in which it was written.
//!
//! Row groups are opened one by one and their batches sized by their content, so that neither a long file nor a file of
//! huge documents increases the decoded data in memory.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, ListArray, RecordBatch, StringArray};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::RowGroupMetaData;

use super::{
    BATCH_BYTES, BATCH_ROWS, FIXED_COLUMNS, FORMAT_KEY, FORMAT_VERSION, METADATA_PREFIX,
    not_a_shard, opening, reading,
};
use crate::document::set;
use crate::{CorpusError, DocumentStatus, ShardDocument};

/// The columns that are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Columns {
    /// Everything.
    All,
    /// `status`, `terms` and `counts`; the other fields are left empty or 0.
    Counts,
    /// Like `Counts`, and the metadata column at this index; the others are `None`.
    CountsAnd(usize),
    /// `status` and the metadata columns.
    Metadata,
    /// Only `status`.
    Status,
}

/// A reader of one shard, from its first document to its last.
pub struct ShardReader {
    path: PathBuf,
    file: File,
    footer: ArrowReaderMetadata,
    columns: Columns,
    pub(super) metadata_names: Vec<String>,
    next_group: usize,
    batches: Option<ParquetRecordBatchReader>,
    batch: Option<ShardBatch>,
    row: usize,
}

impl ShardReader {
    /// Opens a shard and checks its schema; fails if it is missing, damaged, or not a shard.
    pub fn open(path: &Path, columns: Columns) -> Result<Self, CorpusError> {
        let file = File::open(path).map_err(opening(path))?;
        let footer = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())
            .map_err(|e| reading(path, e))?;
        let metadata_names = check_schema(path, &footer)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            footer,
            columns,
            metadata_names,
            next_group: 0,
            batches: None,
            batch: None,
            row: 0,
        })
    }

    /// Returns the number of documents in the whole shard.
    pub fn documents(&self) -> u64 {
        self.footer.metadata().file_metadata().num_rows() as u64
    }

    /// Reads the next document over `document`, reusing its buffers; returns false after the last. On an error or at
    /// the end, the content of `document` is unspecified.
    pub fn read_into(&mut self, document: &mut ShardDocument) -> Result<bool, CorpusError> {
        loop {
            if let Some(batch) = &self.batch
                && self.row < batch.rows
            {
                batch
                    .read_into(self.row, document)
                    .map_err(|reason| not_a_shard(&self.path, reason))?;
                self.row += 1;
                return Ok(true);
            }
            if !self.advance()? {
                return Ok(false);
            }
        }
    }

    /// Makes the next batch the current one; returns false if there is none.
    fn advance(&mut self) -> Result<bool, CorpusError> {
        self.batch = None;
        self.row = 0;
        loop {
            if let Some(batches) = &mut self.batches {
                if let Some(batch) = batches.next() {
                    let batch = batch.map_err(|e| reading(&self.path, e))?;
                    let batch = ShardBatch::new(&batch, &self.metadata_names);
                    let named = |reason| not_a_shard(&self.path, reason);
                    self.batch = Some(batch.map_err(named)?);
                    return Ok(true);
                }
                self.batches = None;
            }
            if self.next_group == self.footer.metadata().num_row_groups() {
                return Ok(false);
            }
            self.batches = Some(self.open_group(self.next_group)?);
            self.next_group += 1;
        }
    }

    fn open_group(&self, group: usize) -> Result<ParquetRecordBatchReader, CorpusError> {
        let file = self.file.try_clone().map_err(CorpusError::io(&self.path))?;
        let metadata = |place| FIXED_COLUMNS.len() + place;
        let roots: Vec<usize> = match self.columns {
            Columns::All => (0..metadata(self.metadata_names.len())).collect(),
            Columns::Counts => vec![2, 5, 6],
            Columns::CountsAnd(place) => vec![2, 5, 6, metadata(place)],
            Columns::Metadata => {
                let places = (0..self.metadata_names.len()).map(metadata);
                places.chain([2]).collect()
            }
            Columns::Status => vec![2],
        };
        let mask = ProjectionMask::roots(self.footer.parquet_schema(), roots);
        ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.footer.clone())
            .with_row_groups(vec![group])
            .with_batch_size(batch_rows(self.footer.metadata().row_group(group)))
            .with_projection(mask)
            .build()
            .map_err(|e| reading(&self.path, e))
    }
}

/// Returns the rows whose values take about [`BATCH_BYTES`] once decoded, 1 to [`BATCH_ROWS`].
pub(super) fn batch_rows(group: &RowGroupMetaData) -> usize {
    let rows = usize::try_from(group.num_rows()).unwrap_or(0).max(1);
    let lists: i64 = group.columns()[5..8].iter().map(|c| c.num_values()).sum();
    let bytes = 4 * lists.max(0) as usize + group.total_byte_size().max(0) as usize;
    let row_bytes = (bytes / rows).max(1);
    (BATCH_BYTES / row_bytes).clamp(1, BATCH_ROWS)
}

/// Checks the schema, and returns the names of the pass-through columns.
fn check_schema(path: &Path, footer: &ArrowReaderMetadata) -> Result<Vec<String>, CorpusError> {
    let pairs = footer.metadata().file_metadata().key_value_metadata();
    let version = pairs
        .into_iter()
        .flatten()
        .find(|pair| pair.key == FORMAT_KEY)
        .and_then(|pair| pair.value.as_deref());
    if version != Some(FORMAT_VERSION) {
        let found = version.unwrap_or("no");
        let reason = format!("its layout version is {found} instead of {FORMAT_VERSION}");
        return Err(not_a_shard(path, reason));
    }
    let fields = footer.schema().fields();
    for (index, name) in FIXED_COLUMNS.iter().enumerate() {
        if fields.get(index).is_none_or(|field| field.name() != name) {
            let reason = format!("column {index} should be {name}");
            return Err(not_a_shard(path, reason));
        }
    }
    let names = fields.iter().skip(FIXED_COLUMNS.len()).map(|field| {
        let name = field.name();
        name.strip_prefix(METADATA_PREFIX)
            .map(str::to_owned)
            .ok_or_else(|| not_a_shard(path, format!("unknown column {name}")))
    });
    names.collect()
}

/// A decoded batch. The columns that were not requested are absent.
struct ShardBatch {
    rows: usize,
    status: StringArray,
    source_id: Option<StringArray>,
    group: Option<StringArray>,
    /// `tokens_total` and `tokens_stopped`.
    tokens: [Option<Int64Array>; 2],
    /// `terms`, `counts` and `pruned`.
    lists: [Option<Lists>; 3],
    /// By index; empty if none was requested.
    metadata: Vec<Option<StringArray>>,
}

/// A list<i32> column, none of whose values is negative.
struct Lists {
    ends: ListArray,
    values: Int32Array,
}

impl ShardBatch {
    fn new(batch: &RecordBatch, metadata_names: &[String]) -> Result<Self, String> {
        let metadata = metadata_names.iter();
        let metadata = metadata.map(|name| column(batch, &format!("{METADATA_PREFIX}{name}")));
        let mut metadata = metadata.collect::<Result<Vec<Option<_>>, _>>()?;
        if metadata.iter().all(Option::is_none) {
            metadata.clear();
        }
        let list = |name| Lists::new(batch, name);
        Ok(Self {
            rows: batch.num_rows(),
            status: column(batch, "status")?.ok_or("column status is missing")?,
            source_id: column(batch, "source_id")?,
            group: column(batch, "group")?,
            tokens: [column(batch, "tokens_total")?, column(batch, "tokens_stopped")?],
            lists: [list("terms")?, list("counts")?, list("pruned")?],
            metadata,
        })
    }

    fn read_into(&self, row: usize, document: &mut ShardDocument) -> Result<(), String> {
        let name = self.status.value(row);
        document.status =
            DocumentStatus::from_name(name).ok_or_else(|| format!("unknown status {name:?}"))?;
        document.source_id.clear();
        if let Some(ids) = &self.source_id {
            document.source_id.push_str(ids.value(row));
        }
        set(&mut document.group, text(self.group.as_ref(), row));
        document.metadata.resize(self.metadata.len(), None);
        for (column, value) in self.metadata.iter().zip(&mut document.metadata) {
            set(value, text(column.as_ref(), row));
        }
        let totals = [&mut document.tokens_total, &mut document.tokens_stopped];
        for (column, total) in self.tokens.iter().zip(totals) {
            let value = column.as_ref().map_or(0, |column| column.value(row));
            *total = u32::try_from(value).map_err(|_| format!("{value} tokens in a document"))?;
        }
        let ShardDocument { terms, counts, pruned, .. } = document;
        for (column, list) in self.lists.iter().zip([&mut *terms, &mut *counts, pruned]) {
            list.clear();
            list.extend_from_slice(column.as_ref().map_or(&[], |column| column.of(row)));
        }
        let (terms, counts) = (terms.len(), counts.len());
        if terms == counts {
            Ok(())
        } else {
            Err(format!("a document has {terms} terms but {counts} counts"))
        }
    }
}

impl Lists {
    fn new(batch: &RecordBatch, name: &str) -> Result<Option<Self>, String> {
        let Some(ends) = column::<ListArray>(batch, name)? else {
            return Ok(None);
        };
        let values = ends.values().as_any().downcast_ref::<Int32Array>();
        let values = values.ok_or_else(|| format!("{name} should hold i32"))?;
        if values.values().iter().any(|&value| value < 0) {
            return Err(format!("{name} holds a negative number"));
        }
        let values = values.clone();
        Ok(Some(Self { ends, values }))
    }

    /// Returns the list of a row.
    fn of(&self, row: usize) -> &[u32] {
        let ends = self.ends.value_offsets();
        bytemuck::cast_slice(&self.values.values()[ends[row] as usize..ends[row + 1] as usize])
    }
}

fn text(column: Option<&StringArray>, row: usize) -> Option<&str> {
    let column = column.filter(|column| column.is_valid(row))?;
    Some(column.value(row))
}

/// Returns the column of this name, if it was requested.
fn column<T: Array + Clone + 'static>(
    batch: &RecordBatch,
    name: &str,
) -> Result<Option<T>, String> {
    let typed = |column: &ArrayRef| {
        let array = column.as_any().downcast_ref::<T>().cloned();
        array.ok_or_else(|| format!("column {name} has another type"))
    };
    batch.column_by_name(name).map(typed).transpose()
}
