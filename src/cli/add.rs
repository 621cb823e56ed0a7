//! `topicmill add RESULT INPUT…`: documents for a finished result, which it then has as if they had been there when it
//! was made.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::args::{HereArgs, RunArgs};
use super::placement::JobPlacement;
use super::run::{Here, dispatch, summarized, watched};
use super::{Exit, Failure, figures, summary};
use crate::config::{Job, Stages};
use crate::dataflow::process::Process;
use crate::grow::GrowingResult;
use crate::observe::summary::Summary;
use crate::tables::output::{Output, REPORT};
use corpus::input::identify;
use mesh::interrupt::{self, Words};

pub(super) const EXAMPLES: &str = "\
Examples:
  topicmill add out/news wires/2026-11-29.jsonl
  topicmill add out/archive 'boxes/17/**/*.txt' -w 8

Reads the documents with the settings of the result, keeps its terms and its topics, and infers the
topics of the new documents. All tables and the report then include them. Readers find the result as
it was until everything is complete. An addition that was killed is resumed by the same command.";

/// What to do with a document whose id the result has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnDuplicate {
    /// Add nothing.
    Error,
    /// Add it as another document.
    Keep,
}

/// Flags of add.
#[derive(Clone, Debug, Args)]
pub(crate) struct AddArgs {
    /// The folder of a finished result
    #[arg(value_name = "RESULT")]
    pub(crate) result: PathBuf,
    /// Folders, files and globs with the new documents
    #[arg(value_name = "INPUT", required = true)]
    pub(crate) input: Vec<String>,
    /// What to do with documents whose ids the result has
    #[arg(long, value_name = "WHAT", value_enum, default_value = "error")]
    pub(crate) on_duplicate: OnDuplicate,
    #[command(flatten)]
    pub(crate) here: HereArgs,
}

/// Adds documents to a result.
///
/// # Errors
/// The flags are wrong; there is no finished result, or it is in use; its documents are not of a kind that can be added
/// to; it has one of the new documents; any error that ends a run.
pub(super) fn run(args: &AddArgs) -> Result<(), Failure> {
    let growing = GrowingResult::at(&args.result)?;
    super::check_finished(growing.result())?;
    let placement = JobPlacement::here(args.here.threads)?;
    let run = RunArgs { quiet: args.here.quiet, json: args.here.json, ..RunArgs::default() };
    interrupt::set_words(Words {
        deferred: "stopping at the next point from which the addition can resume",
        ended: "rerun the same command to resume; the result is as it was",
    });
    let job = Job::load(growing.result(), &[])?;
    dispatch(job, &run, Stages::Project, &placement, |job, here| {
        // The lock keeps other runs away.
        let lock = Output::lead(growing.result())?;
        growing.check(&lock)?;
        let summary = add(&growing, job.clone(), args, &run, &here);
        if summary.as_ref().is_err_and(|e| matches!(e.exit, Exit::Data | Exit::Usage)) {
            // The same command would fail again.
            growing.clean()?;
        }
        drop(lock);
        match summary? {
            Some(summary) => summary::print(summary, &job, &[], here.display),
            None => Ok(()),
        }
    })
}

/// Ingests the documents, and makes the next result; `None` if the input was added before.
fn add(
    growing: &GrowingResult,
    job: Job,
    args: &AddArgs,
    run: &RunArgs,
    here: &Here,
) -> Result<Option<Summary>, Failure> {
    let ingest = growing.ingest_job(&job, &args.input)?;
    let (_, fingerprint) = identify(&ingest.corpus)?;
    if growing.is_done(&fingerprint)? {
        growing.clean()?;
        if !args.here.quiet {
            super::say(&format!("{}: has this input already", growing.result().display()));
        }
        return Ok(None);
    }
    growing.forget_other(&fingerprint)?;
    let output = here.output(&ingest, growing.added())?;
    let mut process = here.process(ingest, output, run);
    if let Some(process) = Arc::get_mut(&mut process) {
        process.adds = true;
    }
    let ingested = run_stage(process, Stages::Ingest, here)?;
    if args.on_duplicate == OnDuplicate::Error {
        growing.refuse_known()?;
    }
    let output = here.output(&job, growing.next())?;
    growing.assemble(&output, &args.input)?;
    let mut summary = run_stage(here.process(job, output, run), Stages::Project, here)?;
    growing.publish()?;
    if !args.here.quiet && !args.here.json {
        super::say(&format!(
            "added {} documents to {}",
            figures::grouped(ingested.documents),
            growing.result().display()
        ));
    }
    summary.output = growing.result().to_owned();
    summary.report = summary.report.map(|_| growing.result().join(REPORT));
    summary.ingest = ingested.ingest;
    Ok(Some(summary))
}

fn run_stage(process: Arc<Process>, stage: Stages, here: &Here) -> Result<Summary, Failure> {
    let mut summary = Summary::default();
    watched(&process, stage, || {
        summary = summarized(&process, stage, here.clone())?;
        Ok(())
    })?;
    Ok(summary)
}
