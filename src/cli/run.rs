//! `topicmill run | ingest | train | project JOB`: the one place where a job is set going.

use super::args::RunArgs;
use super::placement::Placement;
use super::progress::Display;
use super::{Failure, plan};
use crate::job::{Job, Stages};

/// Runs stages of a job.
///
/// # Errors
/// The job or the flags are wrong; whatever ends the run.
pub(super) fn run(args: &RunArgs, stages: Stages) -> Result<(), Failure> {
    let placement = Placement::check(&args.placement)?;
    let job = Job::load(&args.job, &args.set)?;
    let mut rows = plan::describe(&job, &placement);
    rows.push(("stages", stages.to_string()));
    if matches!(
        Display::choose(args.quiet, args.json),
        Display::Plain | Display::Bar
    ) {
        super::print(&plan::rows(&rows))?;
    }
    Err(super::not_connected("running a job"))
}
