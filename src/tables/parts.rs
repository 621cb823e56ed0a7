//! Reads the parts of a table in order, batch by batch, with bounded memory.

use std::collections::BTreeSet;
use std::fs::File;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use arrow_array::{Array, BooleanArray, Int64Array, RecordBatch};
use arrow_schema::{DataType, FieldRef, Schema};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowPredicateFn, ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder, RowFilter,
};
use parquet::file::metadata::PageIndexPolicy;
use store::{Disk, Store};

use super::manifest::{ColumnManifest, MADE_AGAIN, Manifest, PartManifest, SUCCESS};
use super::schema::Kind;
use super::{PartInfo, of_parquet};
use crate::failure::Failure;
use corpus::shard;

/// Maximum number of rows in a batch.
const BATCH_ROWS: usize = 8192;
/// Approximate bytes of a decoded batch.
const BATCH_BYTES: usize = 16 << 20;

/// Lists the `*.parquet` files in a folder, sorted by number; none if there is no folder.
///
/// # Errors
/// The folder cannot be read, or is that of a table of a finished result and lacks some of its parts.
pub(crate) fn part_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let names = part_names(Disk.names(folder)?);
    let root = folder.parent().unwrap_or(Path::new(""));
    if let (true, Some(table)) = (root.join(SUCCESS).exists(), folder.file_name()) {
        let manifest = Manifest::read(root)?;
        let table = manifest.tables.get(&*table.to_string_lossy());
        let mut parts = table.iter().flat_map(|table| &table.parts);
        let is_lost = |part: &&PartManifest| {
            let name = part.path.rsplit('/').next().unwrap_or_default();
            !names.iter().any(|found| found == name)
        };
        if let Some(lost) = parts.find(is_lost) {
            let message = "is missing, and manifest.json lists it";
            return Err(Failure::file(root.join(&lost.path), message).help(MADE_AGAIN));
        }
    }
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}

/// Returns the Parquet files among these names, sorted by number, as their names are. Names that begin with a dot, as
/// macOS makes them (`._part-00000.parquet`), are left out.
pub(super) fn part_names(mut names: Vec<String>) -> Vec<String> {
    names.retain(|name| name.ends_with(".parquet") && !name.starts_with('.'));
    names.sort_unstable();
    names
}

/// Leaves out the parts that have none of these values in a column of text, as its Bloom filters tell.
///
/// # Errors
/// A part cannot be read.
pub(crate) fn that_may_have(
    parts: Vec<PathBuf>,
    column: &str,
    values: &BTreeSet<String>,
) -> Result<Vec<PathBuf>, Failure> {
    let may_have = |path: &PathBuf| -> Result<bool, Failure> {
        let (file, footer) = footer(path)?;
        let place = footer.parquet_schema().columns().iter().position(|it| it.name() == column);
        let groups = 0..footer.metadata().num_row_groups();
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, footer);
        for group in groups {
            let filter = place.map(|place| reader.get_row_group_column_bloom_filter(group, place));
            let filter = filter.transpose().map_err(of_parquet(path))?.flatten();
            if filter.is_none_or(|filter| values.iter().any(|value| filter.check(&value[..]))) {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let kept = parts.into_iter().map(|path| Ok(may_have(&path)?.then_some(path)));
    Ok(kept.collect::<Result<Vec<_>, Failure>>()?.into_iter().flatten().collect())
}

/// Reads the footer of a file.
pub(super) fn footer(path: &Path) -> Result<(File, ArrowReaderMetadata), Failure> {
    let file = File::open(path).map_err(Failure::io(path))?;
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
    let footer = ArrowReaderMetadata::load(&file, options).map_err(of_parquet(path))?;
    Ok((file, footer))
}

/// Returns the rows, size and hash of a part; reads all of it.
pub(crate) fn scan(path: &Path) -> Result<PartInfo, Failure> {
    let (bytes, sha256) = hash_file(path)?;
    let (_, footer) = footer(path)?;
    let rows = footer.metadata().file_metadata().num_rows() as u64;
    Ok(PartInfo { rows, bytes, sha256 })
}

/// Returns the size of a file, and its SHA-256 in hexadecimal.
pub(super) fn hash_file(path: &Path) -> Result<(u64, String), Failure> {
    let (bytes, sha256) = shard::hash_file(path).map_err(Failure::io(path))?;
    Ok((bytes, hex::encode(sha256)))
}

/// Returns the name, kind (or Arrow's name for it) and nullability of each column.
pub(super) fn describe(schema: &Schema) -> Vec<ColumnManifest> {
    let kind = |data_type: &DataType| match Kind::of(data_type) {
        Some(kind) => kind.name().to_owned(),
        None => data_type.to_string(),
    };
    let column = |field: &FieldRef| ColumnManifest {
        name: field.name().clone(),
        kind: kind(field.data_type()),
        nullable: field.is_nullable(),
    };
    schema.fields().iter().map(column).collect()
}

/// Passes pieces of a table to `visit` on several threads; returns the results in the order of the pieces.
///
/// # Errors
/// Returns the failure of the first piece that has one.
pub(crate) fn visit_pieces<P: Sync, T: Send>(
    threads: usize,
    pieces: &[P],
    visit: impl Fn(&P) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut own = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = pieces.get(place) else {
                return own;
            };
            let visited = visit(piece);
            if visited.is_err() {
                next.store(pieces.len(), Ordering::Relaxed);
            }
            own.push((place, visited));
        }
    };
    let mut visited: Vec<(usize, Result<T, Failure>)> = thread::scope(|scope| {
        let threads = 0..threads.clamp(1, pieces.len().max(1));
        let started: Vec<_> = threads.map(|_| scope.spawn(work)).collect();
        let joined =
            started.into_iter().map(|thread| thread.join().unwrap_or_else(|e| resume_unwind(e)));
        joined.flatten().collect()
    });
    visited.sort_by_key(|(place, _)| *place);
    visited.into_iter().map(|(_, result)| result).collect()
}

/// The record batches of some parts, one part after the other.
pub(super) struct Batches {
    parts: std::vec::IntoIter<PathBuf>,
    columns: Option<Vec<String>>,
    documents: Option<Arc<[i64]>>,
    path: PathBuf,
    reader: Option<ParquetRecordBatchReader>,
}

impl Batches {
    /// Reads all columns, or the named ones, in the file's order.
    pub(crate) fn new(parts: Vec<PathBuf>, columns: Option<&[&str]>) -> Self {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Self {
            parts: parts.into_iter(),
            columns: columns.map(owned),
            documents: None,
            path: PathBuf::new(),
            reader: None,
        }
    }

    /// Leaves out the rows of other documents than these, ascending; pages without any are not decoded.
    pub(super) fn of_documents(self, documents: Arc<[i64]>) -> Self {
        Self { documents: Some(documents), ..self }
    }

    /// Returns the file of the last batch.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the next batch that has rows.
    pub(crate) fn next(&mut self) -> Result<Option<RecordBatch>, Failure> {
        loop {
            liveness::tick();
            if let Some(batch) = self.reader.as_mut().and_then(Iterator::next) {
                let batch = batch.map_err(|e| of_parquet(&self.path)(e.into()))?;
                if batch.num_rows() > 0 {
                    return Ok(Some(batch));
                }
                continue;
            }
            let Some(path) = self.parts.next() else {
                return Ok(None);
            };
            self.reader = Some(self.open(&path)?);
            self.path = path;
        }
    }

    fn open(&self, path: &Path) -> Result<ParquetRecordBatchReader, Failure> {
        let (file, footer) = footer(path)?;
        let mask = match &self.columns {
            None => ProjectionMask::all(),
            Some(names) => {
                let index = |name: &String| {
                    let missing = |_| Failure::file(path, format!("has no column {name}"));
                    footer.schema().index_of(name).map_err(missing)
                };
                let roots = names.iter().map(index).collect::<Result<Vec<_>, _>>()?;
                ProjectionMask::roots(footer.parquet_schema(), roots)
            }
        };
        let rows = batch_rows(&footer);
        let ids = ProjectionMask::columns(footer.parquet_schema(), ["doc_id"]);
        let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, footer)
            .with_batch_size(rows)
            .with_projection(mask);
        if let Some(documents) = self.documents.clone() {
            let wanted = ArrowPredicateFn::new(ids, move |batch| {
                let ids = batch.column(0).as_any().downcast_ref::<Int64Array>();
                Ok(are_among(ids.map_or(&[], |ids| ids.values()), &documents))
            });
            builder = builder.with_row_filter(RowFilter::new(vec![Box::new(wanted)]));
        }
        builder.build().map_err(of_parquet(path))
    }
}

/// Returns which ids are among these documents; both ascend.
fn are_among(ids: &[i64], documents: &[i64]) -> BooleanArray {
    let mut are = vec![false; ids.len()];
    let [first, last] = [ids.first(), ids.last()].map(|id| id.copied().unwrap_or_default());
    let from = documents.partition_point(|&document| document < first);
    for &document in documents[from..].iter().take_while(|&&document| document <= last) {
        let start = ids.partition_point(|&id| id < document);
        let rows = ids[start..].partition_point(|&id| id == document);
        are[start..start + rows].fill(true);
    }
    are.into()
}

/// Returns the rows per batch: fewer if they are large (metadata columns may hold anything).
fn batch_rows(footer: &ArrowReaderMetadata) -> usize {
    let groups = footer.metadata().row_groups().iter();
    let row_bytes = groups.map(|g| (g.total_byte_size() / g.num_rows().max(1)).max(1) as usize);
    (BATCH_BYTES / row_bytes.max().unwrap_or(1)).clamp(1, BATCH_ROWS)
}

/// Returns a column of a batch by name and type.
pub(crate) fn column<'a, T: Array + 'static>(
    path: &Path,
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a T, Failure> {
    batch
        .column_by_name(name)
        .and_then(|array| array.as_any().downcast_ref())
        .ok_or_else(|| Failure::file(path, format!("column {name} is missing or of another type")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_is_visited_once_whatever_the_threads() {
        let pieces: Vec<u64> = (1..=100).collect();
        for threads in [0, 1, 3, 200] {
            assert_eq!(visit_pieces(threads, &pieces, |&piece| Ok(piece)).unwrap(), pieces);
        }
    }

    #[test]
    fn the_first_failure_is_returned_whichever_thread_meets_it() {
        let pieces: Vec<u64> = (0..50).collect();
        let visit = |piece: &u64| match piece {
            7 => {
                thread::sleep(std::time::Duration::from_millis(20));
                Err(Failure::data("the seventh"))
            }
            8.. => Err(Failure::data("a later one")),
            _ => Ok(()),
        };
        for threads in 1..4 {
            let ended = visit_pieces(threads, &pieces, visit);
            assert!(ended.unwrap_err().report().contains("the seventh"));
        }
    }
}
