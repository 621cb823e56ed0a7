//! Bags of words on disk: one Parquet file per block of the input, one row per document.
//!
//! Ingest writes each shard twice: as an uncompressed draft with a worker's own term ids and, once the vocabulary is
//! known, compressed and with final ids. Later stages read only shards. The memory for writing and reading is bounded
//! by the size of a batch and of a row group, not of the file; a single document may be larger than either.
//! docs/FORMATS.md lists the columns.

mod reader;
mod writer;

pub use crate::formats::columnar::io_error;
pub use reader::{Columns, ShardReader};
pub use writer::{ShardCompression, ShardInfo, ShardWriter, writing_bytes};

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use parquet::errors::ParquetError;
use sha2::{Digest, Sha256};

use crate::CorpusError;

/// Maximum number of documents in a record batch, which the reader holds decoded.
const BATCH_ROWS: usize = 1024;
/// Bytes of values at which a record batch is closed.
const BATCH_BYTES: usize = 4 << 20;
/// Maximum number of documents in a row group.
const GROUP_ROWS: usize = 1 << 16;
/// Bytes of values at which a row group is closed: 4 Mi (term, count) pairs.
const GROUP_BYTES: usize = 32 << 20;
/// Maximum number of bytes of text in one document (ids and metadata): Arrow's offsets are 32 bits wide.
const DOCUMENT_TEXT_BYTES: usize = 1 << 30;

/// Key of the file metadata that marks a shard, and the version of its layout.
const FORMAT_KEY: &str = "topicmill.shard";
const FORMAT_VERSION: &str = "2";
/// Prefix of the name of a metadata column, so that it cannot clash with ours.
const METADATA_PREFIX: &str = "metadata.";
/// Columns before the pass-through ones, in order.
const FIXED_COLUMNS: [&str; 8] =
    ["source_id", "group", "status", "tokens_total", "tokens_stopped", "terms", "counts", "pruned"];

fn reading(path: &Path, source: impl Into<ParquetError>) -> CorpusError {
    match io_error(source.into()) {
        Ok(source) => CorpusError::io(path)(source),
        Err(source) => damaged(path, source),
    }
}

fn writing(path: &Path, source: impl Into<ParquetError>) -> CorpusError {
    CorpusError::io(path)(write_error(source.into()))
}

/// Returns the constructor of the error that a shard that must be there cannot be opened.
pub(crate) fn opening(path: &Path) -> impl FnOnce(io::Error) -> CorpusError {
    move |source| match source.kind() {
        io::ErrorKind::NotFound => damaged(path, source),
        _ => CorpusError::io(path)(source),
    }
}

/// Returns the error of a shard that is not there, or is damaged.
pub(crate) fn damaged(path: &Path, problem: impl Display) -> CorpusError {
    let remedy =
        "`topicmill run --overwrite` makes the collection again, and all that follows from it";
    CorpusError::data(path, format!("{problem}; {remedy}"))
}

/// Returns the error of sound Parquet that is not a shard of this version.
fn not_a_shard(path: &Path, problem: impl Display) -> CorpusError {
    let path = path.display();
    CorpusError::Data(format!(
        "{path} is not a shard of this version: {problem}; restart with --overwrite"
    ))
}

/// Returns the size and SHA-256 of a file.
///
/// # Errors
/// It cannot be read.
pub fn hash_file(path: &Path) -> io::Result<(u64, [u8; 32])> {
    let mut file = File::open(path)?;
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    let mut chunk = vec![0; 1 << 18];
    loop {
        liveness::tick();
        match file.read(&mut chunk)? {
            0 => return Ok((bytes, hash.finalize().into())),
            read => {
                hash.update(&chunk[..read]);
                bytes += read as u64;
            }
        }
    }
}

/// Converts an error of writing: as a rule the disk failed, even where Parquet says so in its own words.
pub fn write_error(error: ParquetError) -> io::Error {
    io_error(error).unwrap_or_else(io::Error::other)
}

#[cfg(test)]
mod tests;
