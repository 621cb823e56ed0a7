//! The output of a job: typed, long Parquet tables, and the protocol that makes each file complete
//! or absent.
//!
//! `rows` declares the columns of all tables (docs/FORMATS.md lists them); `writer` writes any of
//! them. `output` owns the output folder: temporary names, publishing, the lock; `manifest` lists
//! the files. `verify` and `digest` read everything back; `read` shows a table to a person.

pub mod columns;
pub mod compare;
pub mod digest;
pub mod documents;
pub mod manifest;
pub mod matrix;
mod metadata;
pub mod output;
mod parts;
pub mod projected;
pub mod read;
mod records;
pub mod rows;
mod schema;
pub(crate) mod similar;
pub(crate) mod verify;
pub(crate) mod views;
pub(crate) mod wide;
mod writer;

use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;

pub use digest::digest;
pub use manifest::Manifest;
pub use metadata::FileMetadata;
pub(crate) use metadata::{COMMIT, VERSION};
pub use output::Output;
pub(crate) use output::part_name;
pub(crate) use rows::TABLES;
pub use schema::Row;
pub(crate) use schema::TableSpec;
pub(crate) use verify::VerifyReport;
pub use verify::verify;
pub use writer::TableWriter;
pub(crate) use writer::{PartInfo, write_part};

/// Version of the tables' columns; rises when one changes its meaning.
const SCHEMA_VERSION: u32 = 2;

/// Errors of a table or an output folder.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The operating system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Parquet refused: the file is damaged, or the disk failed and Parquet says so in words of its own.
    #[error("{path}: {source}")]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The library's error.
        source: ParquetError,
    },
    /// A file is readable, but not what it should be.
    #[error("{path}: {message}")]
    Format {
        /// The file.
        path: PathBuf,
        /// The reason and the remedy.
        message: String,
    },
    /// Another run is writing here.
    #[error(
        "{root} is in use by another run ({holder}); wait for it, stop it, or choose another \
         output.path"
    )]
    Locked {
        /// The output folder.
        root: PathBuf,
        /// The holder, as the lock names it.
        holder: String,
    },
    /// The lock was removed; or, in an object store, another run has taken it, or it could not be renewed.
    #[error(
        "{root}: {reason}, so this run ends without writing more; make sure that only one run uses \
         this output, then rerun the same command to resume"
    )]
    Lost {
        /// The output's address.
        root: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The folder holds files that topicmill has not written.
    #[error(
        "{root} contains {found:?}, which topicmill has not written: choose an empty folder for \
         output.path, or move it elsewhere"
    )]
    NotOurs {
        /// The output folder.
        root: PathBuf,
        /// One thing that is in the way.
        found: String,
    },
    /// The output has no `_SUCCESS`: its run has not ended, or was killed.
    #[error("{root} is not complete: it has no _SUCCESS; rerun the job to resume")]
    Incomplete {
        /// The output folder.
        root: PathBuf,
    },
}

impl TableError {
    fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    fn parquet(path: &Path, source: ParquetError) -> Self {
        let path = path.to_owned();
        match corpus::shard::io_error(source) {
            Ok(source) => Self::Io { path, source },
            Err(source) => Self::Parquet { path, source },
        }
    }

    fn format(path: &Path, message: impl Into<String>) -> Self {
        Self::Format {
            path: path.to_owned(),
            message: message.into(),
        }
    }
}

/// The table of this name.
fn spec(name: &str) -> Option<TableSpec> {
    TABLES.into_iter().find(|spec| spec.name == name)
}

#[cfg(test)]
mod tests;
