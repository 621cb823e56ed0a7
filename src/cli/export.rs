//! `topicmill export OUT --format FORMAT`: a result for other programs.

use std::path::PathBuf;

use clap::Args;

use super::Failure;
use super::beside::named;
use crate::export::{Format, Sink, export};
use crate::result::OpenedResult;

/// The end of `--help`.
pub(super) const EXAMPLES: &str = "\
Examples:
  topicmill export out/quickstart --format pyldavis
  topicmill export out/quickstart --format mallet-state --output quickstart.state.gz
  topicmill export out/quickstart --format parquet --output phi.parquet

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
    /// The file to write [default: OUT with a suffix]
    #[arg(long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// Replace existing files
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Print only errors and warnings
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Writes a finished result in another format, and prints where.
///
/// # Errors
/// There is no finished result; the target exists; a file cannot be read or written; stdout cannot be
/// written.
pub(super) fn run(args: &ExportArgs) -> Result<(), Failure> {
    super::check_finished(&args.result)?;
    let beside = || args.format.beside(&named(&args.result));
    let output = args.output.clone().unwrap_or_else(beside);
    let sink = Sink::new(&output, args.overwrite)?;
    export(&OpenedResult::complete(&args.result)?, args.format, &sink)?;
    if args.quiet { Ok(()) } else { super::print(&format!("{}\n", output.display())) }
}
