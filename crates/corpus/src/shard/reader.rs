//! Reads a shard, one document at a time, in the order in which it was written.
//!
//! Row groups are opened one by one and their batches sized by their content, so that neither a
//! long file nor a file of huge documents increases the decoded data in memory.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use arrow_array::{Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::RowGroupMetaData;

use super::{
    BATCH_BYTES, BATCH_ROWS, FIXED_COLUMNS, FORMAT_KEY, FORMAT_VERSION, METADATA_PREFIX, ShardError,
};
use crate::{DocumentStatus, ShardDocument};

/// Which columns are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Columns {
    /// Everything.
    All,
    /// `status`, `terms` and `counts`; the other fields are left empty or 0.
    Counts,
    /// The same, and the metadata column at this place; the others are `None`.
    CountsAnd(usize),
    /// `status` and the metadata columns.
    Metadata,
    /// `status` alone.
    Status,
}

/// Reads one shard from its first document to its last.
pub struct ShardReader {
    path: PathBuf,
    file: File,
    footer: ArrowReaderMetadata,
    columns: Columns,
    pub(super) metadata_names: Vec<String>,
    next_group: usize,
    batches: Option<ParquetRecordBatchReader>,
    batch: Option<Batch>,
    row: usize,
}

impl ShardReader {
    /// Opens a shard and checks its schema. Errors: missing, damaged, or not a shard.
    pub fn open(path: &Path, columns: Columns) -> Result<Self, ShardError> {
        let file = File::open(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => ShardError::damaged(path, error),
            _ => ShardError::io(path, error),
        })?;
        let footer = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())
            .map_err(|e| ShardError::reading(path, e))?;
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

    /// Documents in the whole shard.
    pub fn documents(&self) -> u64 {
        self.footer.metadata().file_metadata().num_rows() as u64
    }

    /// Reads the next document over `document`, whose buffers are reused; false after the last.
    /// On an error or at the end, what `document` contains is unspecified.
    pub fn read_into(&mut self, document: &mut ShardDocument) -> Result<bool, ShardError> {
        loop {
            if let Some(batch) = &self.batch
                && self.row < batch.rows
            {
                batch
                    .read_into(self.row, document)
                    .map_err(|reason| ShardError::not_a_shard(&self.path, reason))?;
                self.row += 1;
                return Ok(true);
            }
            if !self.advance()? {
                return Ok(false);
            }
        }
    }

    /// Makes the next batch the current one; false when there is none.
    fn advance(&mut self) -> Result<bool, ShardError> {
        self.batch = None;
        self.row = 0;
        loop {
            if let Some(batches) = &mut self.batches {
                if let Some(batch) = batches.next() {
                    let batch = batch.map_err(|e| ShardError::reading(&self.path, e))?;
                    let names = self.metadata_names.len();
                    self.batch = Some(
                        Batch::new(&batch, self.columns, names)
                            .map_err(|reason| ShardError::not_a_shard(&self.path, reason))?,
                    );
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

    fn open_group(&self, group: usize) -> Result<ParquetRecordBatchReader, ShardError> {
        let file = self
            .file
            .try_clone()
            .map_err(|e| ShardError::io(&self.path, e))?;
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
            .map_err(|e| ShardError::reading(&self.path, e))
    }
}

/// Rows whose values take about [`BATCH_BYTES`] once decoded, 1 to [`BATCH_ROWS`].
pub(super) fn batch_rows(group: &RowGroupMetaData) -> usize {
    let rows = usize::try_from(group.num_rows()).unwrap_or(0).max(1);
    let lists: i64 = group.columns()[5..8].iter().map(|c| c.num_values()).sum();
    let bytes = 4 * lists.max(0) as usize + group.total_byte_size().max(0) as usize;
    let row_bytes = (bytes / rows).max(1);
    (BATCH_BYTES / row_bytes).clamp(1, BATCH_ROWS)
}

/// Returns the names of the pass-through columns.
fn check_schema(path: &Path, footer: &ArrowReaderMetadata) -> Result<Vec<String>, ShardError> {
    let pairs = footer.metadata().file_metadata().key_value_metadata();
    let version = pairs
        .into_iter()
        .flatten()
        .find(|pair| pair.key == FORMAT_KEY)
        .and_then(|pair| pair.value.as_deref());
    if version != Some(FORMAT_VERSION) {
        let found = version.unwrap_or("no");
        let reason = format!("its layout version is {found} instead of {FORMAT_VERSION}");
        return Err(ShardError::not_a_shard(path, reason));
    }
    let fields = footer.schema().fields();
    for (index, name) in FIXED_COLUMNS.iter().enumerate() {
        if fields.get(index).is_none_or(|field| field.name() != name) {
            let reason = format!("column {index} should be {name}");
            return Err(ShardError::not_a_shard(path, reason));
        }
    }
    let names = fields.iter().skip(FIXED_COLUMNS.len()).map(|field| {
        let name = field.name();
        name.strip_prefix(METADATA_PREFIX)
            .map(str::to_owned)
            .ok_or_else(|| ShardError::not_a_shard(path, format!("unknown column {name}")))
    });
    names.collect()
}

/// A decoded batch; the columns that were not requested are absent.
struct Batch {
    rows: usize,
    status: StringArray,
    bags: Option<Bags>,
    rest: Option<Rest>,
    /// Metadata columns, with their places.
    metadata: Vec<(usize, StringArray)>,
    /// How many there are in all, where any was requested.
    metadata_count: usize,
}

/// The columns of [`Columns::Counts`].
struct Bags {
    terms: Lists,
    counts: Lists,
}

/// The columns of [`Columns::All`] alone.
struct Rest {
    pruned: Lists,
    source_id: StringArray,
    group: StringArray,
    tokens_total: Int64Array,
    tokens_stopped: Int64Array,
}

/// A list<i32> column, none of whose values is negative.
struct Lists {
    ends: ListArray,
    values: Int32Array,
}

impl Batch {
    fn new(batch: &RecordBatch, columns: Columns, metadata_count: usize) -> Result<Self, String> {
        let bags = match columns {
            Columns::Status | Columns::Metadata => None,
            Columns::Counts | Columns::CountsAnd(_) | Columns::All => Some(Bags {
                terms: Lists::new(batch, "terms")?,
                counts: Lists::new(batch, "counts")?,
            }),
        };
        let rest = match columns {
            Columns::All => Some(Rest {
                pruned: Lists::new(batch, "pruned")?,
                source_id: column(batch, "source_id")?,
                group: column(batch, "group")?,
                tokens_total: column(batch, "tokens_total")?,
                tokens_stopped: column(batch, "tokens_stopped")?,
            }),
            _ => None,
        };
        let places = match columns {
            Columns::Status | Columns::Counts => 0..0,
            Columns::CountsAnd(place) => place..place + 1,
            Columns::Metadata | Columns::All => 0..metadata_count,
        };
        // They come last.
        let first = batch.num_columns() - places.len();
        Ok(Self {
            rows: batch.num_rows(),
            status: column(batch, "status")?,
            bags,
            rest,
            metadata_count: if places.is_empty() { 0 } else { metadata_count },
            metadata: (first..)
                .zip(places)
                .map(|(index, place)| Ok((place, typed(batch, index)?)))
                .collect::<Result<_, String>>()?,
        })
    }

    fn read_into(&self, row: usize, document: &mut ShardDocument) -> Result<(), String> {
        let name = self.status.value(row);
        document.status =
            DocumentStatus::from_name(name).ok_or_else(|| format!("unknown status {name:?}"))?;
        document.terms.clear();
        document.counts.clear();
        if let Some(bags) = &self.bags {
            bags.read_into(row, document)?;
        }
        if self.metadata.len() < self.metadata_count {
            document.metadata.clear();
        }
        document.metadata.resize(self.metadata_count, None);
        for (place, column) in &self.metadata {
            read_text(column, row, &mut document.metadata[*place]);
        }
        if let Some(rest) = &self.rest {
            return rest.read_into(row, document);
        }
        document.source_id.clear();
        document.group = None;
        document.tokens_total = 0;
        document.tokens_stopped = 0;
        document.pruned.clear();
        Ok(())
    }
}

impl Bags {
    fn read_into(&self, row: usize, document: &mut ShardDocument) -> Result<(), String> {
        self.terms.read_into(row, &mut document.terms);
        self.counts.read_into(row, &mut document.counts);
        let (terms, counts) = (document.terms.len(), document.counts.len());
        match terms == counts {
            true => Ok(()),
            false => Err(format!("a document has {terms} terms but {counts} counts")),
        }
    }
}

impl Rest {
    fn read_into(&self, row: usize, document: &mut ShardDocument) -> Result<(), String> {
        let tokens = |column: &Int64Array| {
            let value = column.value(row);
            u32::try_from(value).map_err(|_| format!("{value} tokens in a document"))
        };
        document.tokens_total = tokens(&self.tokens_total)?;
        document.tokens_stopped = tokens(&self.tokens_stopped)?;
        document.source_id.clear();
        document.source_id.push_str(self.source_id.value(row));
        read_text(&self.group, row, &mut document.group);
        self.pruned.read_into(row, &mut document.pruned);
        Ok(())
    }
}

impl Lists {
    fn new(batch: &RecordBatch, name: &str) -> Result<Self, String> {
        let ends: ListArray = column(batch, name)?;
        let values = ends.values().as_any().downcast_ref::<Int32Array>();
        let values = values.ok_or_else(|| format!("{name} should hold i32"))?;
        if values.values().iter().any(|&value| value < 0) {
            return Err(format!("{name} holds a negative number"));
        }
        let values = values.clone();
        Ok(Self { ends, values })
    }

    fn read_into(&self, row: usize, out: &mut Vec<u32>) {
        let ends = self.ends.value_offsets();
        let values = &self.values.values()[ends[row] as usize..ends[row + 1] as usize];
        out.clear();
        out.extend_from_slice(bytemuck::cast_slice(values));
    }
}

fn read_text(column: &StringArray, row: usize, out: &mut Option<String>) {
    if column.is_null(row) {
        *out = None;
        return;
    }
    let text = out.get_or_insert_default();
    text.clear();
    text.push_str(column.value(row));
}

fn column<T: Array + Clone + 'static>(batch: &RecordBatch, name: &str) -> Result<T, String> {
    let index = batch
        .schema_ref()
        .index_of(name)
        .map_err(|_| format!("column {name} is missing"))?;
    typed(batch, index)
}

fn typed<T: Array + Clone + 'static>(batch: &RecordBatch, index: usize) -> Result<T, String> {
    let array = batch.column(index).as_any().downcast_ref::<T>();
    array
        .cloned()
        .ok_or_else(|| format!("column {} has another type", batch.schema().field(index)))
}
