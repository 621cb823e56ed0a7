//! A finished result in the formats of other programs: what `topicmill export` writes.
//!
//! Each format is one file here. It reads an [`OpenedResult`], shard by shard or table by table, and writes through [`Sink`],
//! which makes every file complete or absent. Only what a format needs is computed: the topics of single tokens
//! (`mallet_state`) and the relevance of terms (`relevance`). The same result gives the same bytes.

mod mallet_state;
mod pyldavis;
mod relevance;
mod sink;

use std::path::{Path, PathBuf};

use clap::ValueEnum;

pub(crate) use sink::Sink;

use crate::failure::Failure;
use crate::result::OpenedResult;
use crate::tables::{FileMetadata, wide};

/// The formats of an export, and what each writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// a topic for each token, as MALLET's --output-state
    MalletState,
    /// what pyLDAvis draws, as JSON
    #[value(name = "pyldavis")]
    PyLdavis,
    /// φ as a table: a row per term, a column per topic
    Parquet,
}

impl Format {
    /// Returns where a result is exported to by default: beside it.
    ///
    /// ```
    /// use topicmill::export::Format;
    /// let beside = Format::MalletState.beside("out/news/".as_ref());
    /// assert_eq!(beside, std::path::Path::new("out/news.state.gz"));
    /// ```
    pub fn beside(self, result: &Path) -> PathBuf {
        let suffix = match self {
            Self::MalletState => ".state.gz",
            Self::PyLdavis => ".pyldavis.json",
            Self::Parquet => ".phi.parquet",
        };
        let path = result.to_string_lossy();
        PathBuf::from(format!("{}{suffix}", path.trim_end_matches('/')))
    }
}

/// Writes the result as `format` to the file of `sink`.
///
/// # Errors
/// The result is not complete, lacks what the format needs, or cannot be read; a file already exists, or cannot
/// be written.
pub(crate) fn export(result: &OpenedResult, format: Format, sink: &Sink) -> Result<(), Failure> {
    sink.check()?;
    match format {
        Format::MalletState => mallet_state::write(result, sink),
        Format::PyLdavis => pyldavis::write(result, sink),
        Format::Parquet => write_phi(result, sink),
    }
}

fn write_phi(result: &OpenedResult, sink: &Sink) -> Result<(), Failure> {
    let (phi, manifest) = (result.phi()?, result.manifest()?);
    let metadata = FileMetadata {
        job_id: manifest.job_id,
        seed: manifest.seed,
        model_hash: phi.model_hash.clone(),
        topic_count: Some(phi.topics.len()),
        vocabulary_size: Some(phi.terms.len()),
        ..FileMetadata::default()
    };
    sink.table(|path| wide::write(path, &metadata, &phi))
}

#[cfg(test)]
mod tests;
