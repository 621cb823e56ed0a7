//! The flags of report.

use std::path::PathBuf;

use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  topicmill report out/quickstart                     writes out/quickstart/report.html
  topicmill report s3://bucket/library --to page.html

The page is one file that needs no network; open it in a browser. A run writes it at its end, unless
the job says `output.report = false`.";

/// Flags of report.
#[derive(Clone, Debug, Args)]
pub(crate) struct ReportArgs {
    /// An output folder
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// The file to write [default: report.html in the output folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
    /// Replace the file of --to, if it exists
    #[arg(long, requires = "to")]
    pub(crate) overwrite: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
