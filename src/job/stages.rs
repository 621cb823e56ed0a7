//! The stages of a job to run.

use std::fmt;

/// The stages of a job that one command runs. A stage whose result is complete is not run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Stages {
    /// Everything: ingest, sample, train, project.
    All,
    /// Documents to shards and vocabulary.
    Ingest,
    /// Sample and train, from complete shards.
    Train,
    /// Project every document on a complete model.
    Project,
    /// Measure a model on documents; writes a separate result, and changes none.
    Evaluate,
}

impl Stages {
    /// Returns the subcommand that runs them.
    pub(crate) fn command(self) -> &'static str {
        match self {
            Self::All => "run",
            Self::Ingest => "ingest",
            Self::Train => "train",
            Self::Project => "project",
            Self::Evaluate => "evaluate",
        }
    }

    /// Whether documents are read.
    pub(crate) fn ingests(self) -> bool {
        matches!(self, Self::All | Self::Ingest)
    }

    /// Whether a model is trained.
    pub(crate) fn trains(self) -> bool {
        matches!(self, Self::All | Self::Train)
    }

    /// Whether documents are projected.
    pub(crate) fn projects(self) -> bool {
        matches!(self, Self::All | Self::Project)
    }
}

impl fmt::Display for Stages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "ingest, sample, train, project",
            Self::Ingest => "ingest",
            Self::Train => "sample, train",
            Self::Project => "project",
            Self::Evaluate => "evaluate",
        })
    }
}
