//! What changes a finished result has in common: they are made beside it, and then take its place.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::args::{HereArgs, RunArgs};
use super::placement::JobPlacement;
use super::run::{Here, dispatch, summarized, watched};
use super::{Display, Exit, Failure, figures, summary};
use crate::config::{Job, Stages};
use crate::dataflow::process::Process;
use crate::grow::{Change, GrowingResult};
use crate::observe::summary::Summary;
use crate::tables::generations::GenerationRow;
use crate::tables::output::{Output, REPORT};
use crate::tables::records::rows;
use corpus::collection::Generation;
use mesh::interrupt::{self, Words};

/// Ids of documents that a message names.
const NAMED_IDS: usize = 3;

/// Changes a result, and prints the summary unless nothing had to be done.
///
/// # Errors
/// There is no finished result, or it is in use; documents can neither come to it nor leave it; any error that ends a
/// run; those of `change`.
pub(super) fn change(
    result: &Path,
    args: &HereArgs,
    change: impl FnOnce(&GrowingResult, Job, &RunArgs, &Here) -> Result<Option<Summary>, Failure>,
) -> Result<(), Failure> {
    let growing = GrowingResult::at(result)?;
    super::check_finished(growing.result())?;
    let placement = JobPlacement::here(args.threads)?;
    let run = RunArgs { quiet: args.quiet, json: args.json, ..RunArgs::default() };
    interrupt::set_words(Words {
        deferred: "stopping at the next point from which the change can resume",
        ended: "rerun the same command to resume; the result is as it was",
    });
    let job = Job::load(growing.result(), &[])?;
    dispatch(job, &run, Stages::Project, &placement, |job, here| {
        // The lock keeps other runs away.
        let lock = Output::lead(growing.result())?;
        growing.check(&lock, &job)?;
        let summary = change(&growing, job.clone(), &run, &here);
        if summary.as_ref().is_err_and(|e| matches!(e.exit, Exit::Data | Exit::Usage)) {
            // The same command would fail again.
            growing.clean(&job)?;
        }
        drop(lock);
        match summary? {
            Some(summary) => summary::print(summary, &job, &[], here.display),
            None => Ok(()),
        }
    })
}

/// Makes the next result of documents that come or leave, and puts it in the place of the result.
pub(super) fn make(
    growing: &GrowingResult,
    job: Job,
    mut change: Change,
    run: &RunArgs,
    here: &Here,
) -> Result<Summary, Failure> {
    growing.begin(&mut change)?;
    let output = here.output(&job, growing.next())?;
    growing.assemble(&output, &job, &change)?;
    let Generation { documents, removed, .. } = change.generation;
    let changed = match [documents, removed] {
        [came, 0] => format!("added {}", figures::counted(came, "document")),
        [0, left] => format!("removed {}", figures::counted(left, "document")),
        [came, left] => format!(
            "added {}, which replace {}",
            figures::counted(came, "document"),
            figures::grouped(left)
        ),
    };
    let process = here.process(job, output, run);
    complete(growing, process, Stages::Project, here, |_| changed)
}

/// Completes the next result by the last stages, and puts it in the place of the result; `changed` says what has.
pub(super) fn complete(
    growing: &GrowingResult,
    process: Arc<Process>,
    stages: Stages,
    here: &Here,
    changed: impl FnOnce(&Summary) -> String,
) -> Result<Summary, Failure> {
    let job = process.job.clone();
    let mut summary = run_stage(process, stages, here)?;
    growing.publish(&job)?;
    if matches!(here.display, Display::Plain | Display::Bar) {
        super::say(&format!("{}: {}", growing.result().display(), changed(&summary)));
    }
    if let Some(last) = rows::<GenerationRow>(growing.result())?.last().filter(|row| row.retrain) {
        super::warn(&format!(
            "the model no longer fits the documents that came with generation {}: train it again with `topicmill \
             retrain` (`topicmill history` has the figures)",
            last.generation
        ));
    }
    summary.output = growing.result().to_owned();
    summary.report = summary.report.map(|_| growing.result().join(REPORT));
    Ok(summary)
}

/// Returns the first few ids, for a message.
pub(super) fn named(ids: &BTreeSet<String>) -> String {
    let first: Vec<&str> = ids.iter().take(NAMED_IDS).map(String::as_str).collect();
    first.join(", ")
}

/// Runs one stage of a job.
pub(super) fn run_stage(
    process: Arc<Process>,
    stage: Stages,
    here: &Here,
) -> Result<Summary, Failure> {
    let mut summary = Summary::default();
    watched(&process, stage, || {
        summary = summarized(&process, stage, here.clone())?;
        Ok(())
    })?;
    Ok(summary)
}
