//! Flags of export.

use std::path::PathBuf;

use clap::Args;

use crate::export::Format;

/// The end of `--help`.
pub(super) const EXAMPLES: &str = "\
Examples:
  topicmill export out/quickstart --format pyldavis
  topicmill export out/quickstart --format mallet-state --output quickstart.state.gz
  topicmill export out/quickstart --format npy --output arrays

docs/FORMATS.md describes the files.";

/// Flags of export.
#[derive(Clone, Debug, Args)]
pub(crate) struct ExportArgs {
    /// The output folder of a finished run
    #[arg(value_name = "OUT")]
    pub(crate) result: PathBuf,
    /// The format to write
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Format,
    /// The file to write, or the folder for gensim and npy [default: OUT with a suffix]
    #[arg(long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Print only errors and warnings
    #[arg(short, long)]
    pub(crate) quiet: bool,
}
