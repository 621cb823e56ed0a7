//! `topicmill export OUT --format FORMAT`: a result for other programs.

use super::Failure;
use super::args::ExportArgs;
use super::beside::named;
use crate::export::{Sink, Source, export};

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
    export(&Source::open(&args.result)?, args.format, &sink)?;
    match args.quiet {
        true => Ok(()),
        false => super::print_data(&format!("{}\n", output.display())),
    }
}
