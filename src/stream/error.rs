//! Errors that end a stream.

use std::io;
use std::path::PathBuf;

use crate::checkpoint::CheckpointError;
use crate::job::JobError;
use crate::tables::TableError;
use corpus::collection::CollectionError;
use corpus::vocabulary_file::VocabularyFileError;
use lda::infer::ImpossibleDraw;

/// Why a stream could not be begun, or ended before its time.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The job of a result cannot be used.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A folder that is not a finished result.
    #[error(
        "{}: no job.toml, so this is not a finished result; pass the job file, or finish the run",
        path.display()
    )]
    NotFinished {
        /// The folder.
        path: PathBuf,
    },
    /// There is no trained model.
    #[error(
        "{} has no model yet: run `topicmill train` or `topicmill run` first",
        path.display()
    )]
    NoModel {
        /// The result's folder.
        path: PathBuf,
    },
    /// The method needs a classifier, and the job's is not there for the model.
    #[error(
        "{} is missing, or belongs to another model or other [maxent] settings: run `topicmill \
         project` with this project.method first (with --overwrite, which rewrites the tables, \
         if they are from another method), or set another one, as in --set project.method=cvb0",
        path.display()
    )]
    NoClassifier {
        /// Where it would be.
        path: PathBuf,
    },
    /// Labels are predicted with what was learnt of them, and that is not there for the model and the job.
    #[error(
        "{} is missing, or belongs to another model or other settings: run `topicmill project` with this \
         project.label_count and project.label_topics first (with --overwrite, if the tables are from others), \
         or set others, as in --set project.label_count=3 --set project.label_topics=0",
        path.display()
    )]
    NoLabelModel {
        /// Where it would be.
        path: PathBuf,
    },
    /// The model is another job's, or of another vocabulary.
    #[error(
        "{} was made with different settings of {what}; pass the job that it was trained with",
        path.display()
    )]
    OtherSettings {
        /// The model file.
        path: PathBuf,
        /// The sections of the job that differ.
        what: &'static str,
    },
    /// The job's method cannot project a stream.
    #[error("{0}")]
    Method(&'static str),
    /// An object store, or the copy of what lies there.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The model file.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The result of ingest cannot be read.
    #[error(transparent)]
    Collection(#[from] CollectionError),
    /// The vocabulary's file.
    #[error(transparent)]
    Vocabulary(#[from] VocabularyFileError),
    /// The system cannot start a thread.
    #[error("cannot start a thread for the stream: {0}")]
    Thread(#[source] io::Error),
    /// The stream broke, while the job says `on_damage = "fail"`.
    #[error("standard input failed at line {line}: {source}; send the lines from there again")]
    Read {
        /// The line, from 1.
        line: u64,
        /// The system's error.
        source: io::Error,
    },
    /// An invalid line, if such lines end the stream.
    #[error("standard input, line {line}: {reason}")]
    BadLine {
        /// The line, from 1.
        line: u64,
        /// The problem and its remedy.
        reason: String,
    },
    /// A draw that cannot be made.
    #[error("standard input, line {line}: {source}")]
    Infer {
        /// The line, from 1.
        line: u64,
        /// Why.
        source: ImpossibleDraw,
    },
    /// The answers cannot be written.
    #[error("standard output: {0}")]
    Write(#[source] io::Error),
    /// A signal asked for the end.
    #[error(
        "interrupted by a signal; the lines already read were answered, {documents} documents in all"
    )]
    Interrupted {
        /// Documents that were answered.
        documents: u64,
    },
}
