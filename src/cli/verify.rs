//! `topicmill verify OUT`: a result against its manifest, and its digest.

use super::args::VerifyArgs;
use super::{Exit, Failure};

/// Checks a result.
///
/// # Errors
/// The result is not complete or differs from its manifest; it cannot be read; stdout cannot be
/// written.
pub(super) fn run(args: &VerifyArgs) -> Result<(), Failure> {
    super::existing_output(&args.output)?;
    if !args.output.join("_SUCCESS").exists() {
        let message = format!(
            "{}: not complete: it has no _SUCCESS",
            args.output.display()
        );
        return Err(Failure::message(Exit::Data, message)
            .help("run the job again: it continues where it was stopped"));
    }
    let what = if args.digest {
        "the digest"
    } else {
        "checking a result"
    };
    Err(super::not_connected(what))
}
