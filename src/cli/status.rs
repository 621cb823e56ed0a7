//! `topicmill status OUT`: how far a run is, read from its output folder.

use super::Failure;
use super::args::StatusArgs;

/// Prints how far the run is.
///
/// # Errors
/// There is no such folder; it cannot be read; stdout cannot be written.
pub(super) fn run(args: &StatusArgs) -> Result<(), Failure> {
    super::existing_output(&args.output)?;
    let complete = args.output.join("_SUCCESS").exists();
    let state = if complete { "complete" } else { "not complete" };
    super::print(&format!("{}: {state}\n", args.output.display()))
}
