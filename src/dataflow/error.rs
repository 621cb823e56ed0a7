//! Errors that end a run, with the exit codes by which a scheduler decides what to do.

use crate::checkpoint::CheckpointError;
use crate::evaluate::foreign::ForeignError;
use crate::job::JobError;
use crate::knowledge::KnowledgeError;
use crate::report::ReportError;
use crate::tables::TableError;
use corpus::collection::CollectionError;
use corpus::input::InputError;
use corpus::shard::ShardError;
use corpus::stop_words::StopWordsError;
use corpus::synth::SynthError;
use corpus::vocabulary_file::VocabularyFileError;
use lda::infer::ImpossibleDraw;
use lda::train::TrainError;
use mesh::Failure;
use mesh::exit;

/// An error on a worker.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The input.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A shard of the ingested corpus.
    #[error(transparent)]
    Shard(#[from] ShardError),
    /// A stop-word list.
    #[error(transparent)]
    StopWords(#[from] StopWordsError),
    /// The knowledge for the tree is wrong.
    #[error(transparent)]
    Knowledge(#[from] KnowledgeError),
    /// A list of phrases.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The vocabulary's file.
    #[error(transparent)]
    VocabularyFile(#[from] VocabularyFileError),
    /// The result of ingest.
    #[error(transparent)]
    Collection(#[from] CollectionError),
    /// Training.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// Projection of one document.
    #[error("document {document}: {source}")]
    Project {
        /// The document's number.
        document: u64,
        /// The masses.
        source: ImpossibleDraw,
    },
    /// An external model.
    #[error(transparent)]
    Foreign(#[from] ForeignError),
    /// A model file.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// A table, the manifest, or the output folder.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The corpus that the job makes for itself.
    #[error(transparent)]
    Synth(#[from] SynthError),
    /// The content of the output folder was made by another job.
    #[error(
        "{} was made with different settings of {what}; choose another output.path, or restart \
         with --overwrite",
        path.display()
    )]
    OtherSettings {
        /// The file.
        path: std::path::PathBuf,
        /// The sections of the job that differ.
        what: &'static str,
    },
    /// The folder of an evaluation has figures of other settings or of another model.
    #[error(
        "{} was made with different settings of evaluate, or for another model; choose another \
         --output, or restart with --overwrite",
        path.display()
    )]
    OtherEvaluation {
        /// The folder.
        path: std::path::PathBuf,
    },
    /// A signal was received, and the run has stopped.
    #[error("interrupted: {0}; progress is saved, rerun the same command to resume")]
    Left(String),
    /// Training cannot resume, because no checkpoint is sound.
    #[error(
        "{damaged}; no sound checkpoint is left: remove {} and rerun, which restarts training \
         from the beginning",
        folder.display()
    )]
    NoCheckpoint {
        /// The files, and what is wrong with them.
        damaged: String,
        /// The folder of checkpoints.
        folder: std::path::PathBuf,
    },
    /// The collection cannot be modelled, or the stages do not fit.
    #[error("{0}")]
    Data(String),
    /// The file system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: std::path::PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

impl RunError {
    /// Turns a draw that is impossible in a document into an error.
    pub(crate) fn inferring(document: u64) -> impl Fn(ImpossibleDraw) -> Self {
        move |source| Self::Project { document, source }
    }

    /// The exit code for this error.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Input(error) if error.is_io() => exit::IO,
            Self::Synth(SynthError::Busy { .. }) => exit::TEMPORARY,
            Self::Foreign(error) if error.is_io() => exit::IO,
            Self::Foreign(ForeignError::NoTerms { .. } | ForeignError::Absent { .. }) => {
                exit::USAGE
            }
            Self::Collection(error) if error.is_absent() => exit::DATA,
            Self::VocabularyFile(VocabularyFileError::Io { .. })
            | Self::Collection(CollectionError::Read { .. })
            // A writer's error of the disk may be text within one of Parquet's.
            | Self::Shard(ShardError::Io { .. } | ShardError::Parquet { .. })
            | Self::Table(TableError::Io { .. } | TableError::Parquet { .. })
            | Self::Synth(SynthError::Io { .. }) => exit::IO,
            Self::Input(_)
            | Self::VocabularyFile(_)
            | Self::Collection(_)
            | Self::Synth(_)
            | Self::Checkpoint(CheckpointError::Damaged { .. })
            | Self::NoCheckpoint { .. }
            | Self::Foreign(_)
            | Self::Knowledge(_)
            | Self::Data(_) => exit::DATA,
            Self::StopWords(_)
            | Self::Job(_)
            | Self::OtherSettings { .. }
            | Self::OtherEvaluation { .. } => exit::USAGE,
            Self::Train(_) | Self::Project { .. } => exit::INTERNAL,
            Self::Left(_) => exit::INTERRUPTED,
            Self::Table(TableError::Locked { .. } | TableError::Lost { .. }) => exit::TEMPORARY,
            Self::Shard(_) | Self::Table(_) => exit::DATA,
            Self::Checkpoint(_) | Self::Io { .. } => exit::IO,
        }
    }
}

impl From<ReportError> for RunError {
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::Table(error) => Self::Table(error),
            ReportError::Topics(error) => Self::Foreign(error),
            ReportError::Collection(error) => Self::Collection(error),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Self {
            code: error.exit_code(),
            message: error.to_string(),
        }
    }
}
