//! Why a result could not be exported.

use std::io;
use std::path::PathBuf;

use crate::checkpoint::CheckpointError;
use crate::tables::TableError;
use corpus::collection::CollectionError;
use corpus::shard::ShardError;
use corpus::vocabulary_file::VocabularyFileError;
use lda::infer::ImpossibleDraw;
use store::StoreError;

/// Why a result could not be exported.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExportError {
    /// The file to be written exists.
    #[error("{} exists; name another file, or replace it with --overwrite", .0.display())]
    Exists(PathBuf),
    /// The output folder of a run is not to be written into.
    #[error("{} is in a result of topicmill; name a file outside of it", .0.display())]
    InResult(PathBuf),
    /// The result lacks a table.
    #[error("{} has no table {table}; rerun the job with --overwrite", root.display())]
    NoTable {
        /// The result.
        root: PathBuf,
        /// The table.
        table: String,
    },
    /// A file could not be written.
    #[error("{}: {source}", path.display())]
    Write {
        /// The file, as it was to be named.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A table of the result.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The model of the result.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The list of its shards.
    #[error(transparent)]
    Collection(#[from] CollectionError),
    /// Its vocabulary.
    #[error(transparent)]
    Vocabulary(#[from] VocabularyFileError),
    /// A shard of its bags of words.
    #[error(transparent)]
    Shard(#[from] ShardError),
    /// A document's topics could not be drawn.
    #[error("document {document}: {source}")]
    Draw {
        /// The document.
        document: u64,
        /// The draw.
        source: ImpossibleDraw,
    },
}

impl From<io::Error> for ExportError {
    /// Of the file in the making: [`Sink`](super::Sink) adds its name.
    fn from(source: io::Error) -> Self {
        let path = PathBuf::new();
        Self::Write { path, source }
    }
}
