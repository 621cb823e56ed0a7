//! `topicmill topics INPUT…`: a result without a job file, and a job file for the next one.

use std::path::{Path, PathBuf};

use super::args::{HereArgs, RunArgs, StartArgs, TopicsArgs};
use super::beside::{instead_of, named, write_beside};
use super::placement::JobPlacement;
use super::starter::{Starter, job_file};
use super::{Failure, plan, run};
use crate::config::state::{OutputState, output_state};
use crate::config::{Job, Stages};
use crate::tables::output::{Output, check_ours, holder, in_use};

/// Writes a job for the input, and runs it.
///
/// # Errors
/// The flags are wrong; the input cannot be read or modelled; the output belongs to another job;
/// any error that ends a run.
pub(super) fn run(args: &TopicsArgs) -> Result<(), Failure> {
    let output = named(&args.output);
    super::refuse_sweep(&output)?;
    let path = job_file(&output);
    check_free(&output, args.start.overwrite)?;
    let starter =
        Starter::new(&args.starter, args.number.topics, &path, &output, args.start.overwrite)?;
    if !args.start.overwrite {
        refuse_other_job(&starter.job)?;
    }
    write_beside(&path, starter.text.as_bytes(), args.start.overwrite)?;
    if !args.start.here.quiet {
        super::say(&plan::rows(&starter.rows));
    }
    start(starter.job, path, args.start)
}

/// Runs a job that has been written at `path`, in this process.
///
/// # Errors
/// Any error that ends a run.
pub(super) fn start(job: Job, path: PathBuf, args: StartArgs) -> Result<(), Failure> {
    let StartArgs { here, overwrite } = args;
    let placement = JobPlacement::here(here.threads)?;
    let HereArgs { quiet, json, .. } = here;
    let args = RunArgs { job: path, overwrite, quiet, json, ..RunArgs::default() };
    run::start(job, &args, Stages::All, &placement)
}

/// Refuses an output that another run is writing, and a folder that topicmill has not written, before anything is
/// written beside it: `--overwrite` replaces neither, nor a table folder that contains other files.
pub(super) fn check_free(output: &Path, overwrite: bool) -> Result<(), Failure> {
    check_ours(output)?;
    if let Some(holder) = holder(output)? {
        return Err(in_use(output, &holder));
    }
    if overwrite { Output::follow(output)?.check_tables() } else { Ok(()) }
}

/// Refuses an output with the result of another job, before anything is written.
pub(super) fn refuse_other_job(job: &Job) -> Result<(), Failure> {
    let OutputState::OtherJob { differs } = output_state(job)? else {
        return Ok(());
    };
    let output = job.output.path.display();
    let message = format!("{output}: contains the result of another job, whose {differs} differs");
    Err(Failure::usage(message).help(instead_of(&job.path)))
}
