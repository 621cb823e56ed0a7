//! `topicmill inspect OUT|MODEL|TABLE`: topics, a model's settings, or a table's columns.

use super::Failure;
use super::args::InspectArgs;

/// Shows what lies at a path.
///
/// # Errors
/// There is nothing that can be shown; it cannot be read; stdout cannot be written.
pub(super) fn run(args: &InspectArgs) -> Result<(), Failure> {
    super::existing_output(&args.path)?;
    let what = format!("showing {} topics of {} terms", args.topics, args.terms);
    Err(super::not_connected(&what))
}
