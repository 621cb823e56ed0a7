//! The output of a job: typed, long Parquet tables, and the protocol that makes each file complete
//! or absent.
//!
//! One file per table declares its columns (docs/FORMATS.md lists them); `writer` writes any of
//! them. `output` owns the output folder: temporary names, publishing, the lock; `manifest` lists
//! the files. `verify` and `digest` read everything back; `read` shows a table to a person.

pub mod columns;
pub mod compare;
pub mod digest;
pub mod document_scores;
pub mod document_topics;
pub mod documents;
pub mod drift;
pub mod evaluation;
pub mod group_topics;
pub mod labels;
pub mod manifest;
pub mod matrix;
mod metadata;
pub mod output;
mod parts;
pub mod phrases;
pub mod predictions;
pub mod projected;
pub mod read;
mod records;
mod schema;
pub mod similar;
pub mod topic_changes;
pub mod topic_correlations;
pub mod topic_documents;
pub mod topic_nodes;
pub mod topic_scores;
pub mod topic_term_diagnostics;
pub mod topic_terms;
pub mod topic_trends;
pub mod topics;
pub mod training_log;
pub mod verify;
pub mod views;
pub mod vocabulary;
pub mod wide;
mod writer;

use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;

pub use digest::digest;
pub use manifest::Manifest;
pub use metadata::{COMMIT, FileMetadata, VERSION};
pub use output::{Output, part_name};
pub use parts::scan;
pub use schema::{Column, Kind, Row, TableSpec};
pub use verify::{VerifyReport, verify};
pub use writer::{PartInfo, TableWriter, write_part};

/// Version of the tables' columns; rises when one changes its meaning.
pub const SCHEMA_VERSION: u32 = 2;

/// Every table that a job can write, by name.
pub const TABLES: [TableSpec; 20] = [
    document_scores::SPEC,
    document_topics::SPEC,
    documents::SPEC,
    drift::SPEC,
    evaluation::SPEC,
    group_topics::SPEC,
    labels::SPEC,
    phrases::SPEC,
    predictions::SPEC,
    topic_changes::SPEC,
    topic_correlations::SPEC,
    topic_documents::SPEC,
    topic_nodes::SPEC,
    topic_scores::SPEC,
    topic_term_diagnostics::SPEC,
    topic_terms::SPEC,
    topic_trends::SPEC,
    topics::SPEC,
    training_log::SPEC,
    vocabulary::SPEC,
];

/// What can go wrong with a table or an output folder.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The operating system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Parquet refused: the disk is full, or the file is damaged.
    #[error("{path}: {source}")]
    Parquet {
        /// The file.
        path: PathBuf,
        /// What the library said.
        source: ParquetError,
    },
    /// A file is readable, but not what it should be.
    #[error("{path}: {message}")]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
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
        /// What the lock says of its holder.
        holder: String,
    },
    /// Another run has taken the lock of an output in an object store, or it could not be renewed.
    #[error(
        "{root}: {reason}, so this run ends without writing more; make sure that only one run uses \
         this output, then rerun the same command to resume"
    )]
    Lost {
        /// The output's address.
        root: PathBuf,
        /// What happened.
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
        Self::Parquet {
            path: path.to_owned(),
            source,
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
