//! `topicmill add RESULT INPUT…`: documents for a finished result, which it then has as if they had been there when it
//! was made.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};

use super::Failure;
use super::args::{HereArgs, RunArgs};
use super::change::{change, make, named, run_stage};
use super::run::Here;
use crate::config::{Job, Stages};
use crate::grow::{Change, Duplicates, GrowingResult};
use crate::observe::summary::Summary;
use corpus::collection::Generation;
use corpus::input::identify;

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
    /// Add nothing
    Error,
    /// Replace the result's document, as a correction
    Replace,
    /// Leave the new document out
    Skip,
    /// Add it as another document
    Keep,
}

/// Flags of everything that adds documents to a result.
#[derive(Clone, Debug, Args)]
pub(crate) struct GrowthArgs {
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

/// Flags of add.
#[derive(Clone, Debug, Args)]
pub(crate) struct AddArgs {
    #[command(flatten)]
    pub(crate) growth: GrowthArgs,
    /// For follow: a JSON list of the files of INPUT to add
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) found: Option<PathBuf>,
}

/// Adds documents to a result.
///
/// # Errors
/// The flags are wrong; there is no finished result, or it is in use; its documents are not of a kind that can be added
/// to; it has one of the new documents; any error that ends a run.
pub(super) fn run(args: &AddArgs) -> Result<(), Failure> {
    let GrowthArgs { result, here, .. } = &args.growth;
    change(result, here, |growing, job, run, here| add(growing, job, args, run, here))
}

/// Ingests the documents, and makes the next result; `None` if the input was added before.
fn add(
    growing: &GrowingResult,
    job: Job,
    AddArgs { growth: args, found }: &AddArgs,
    run: &RunArgs,
    here: &Here,
) -> Result<Option<Summary>, Failure> {
    let listed = found.as_deref().map(read_list).transpose()?;
    let mut ingest = growing.ingest_job(&job, listed.as_ref().unwrap_or(&args.input))?;
    ingest.corpus.are_found = listed.is_some();
    let (input, fingerprint) = identify(&ingest.corpus)?;
    if growing.is_done(&fingerprint)? {
        growing.clean(&job)?;
        if !args.here.quiet {
            super::say(&format!("{}: has this input already", growing.result().display()));
        }
        return Ok(None);
    }
    growing.keep_added(&fingerprint)?;
    let output = here.output(&ingest, growing.added())?;
    let mut process = here.process(ingest, output, run);
    if let Some(process) = Arc::get_mut(&mut process) {
        process.adds = true;
    }
    let ingested = run_stage(process, Stages::Ingest, here)?;
    let leaving = match args.on_duplicate {
        OnDuplicate::Keep => BTreeSet::new(),
        OnDuplicate::Replace => growing.duplicates()?.known,
        OnDuplicate::Skip => growing.duplicates()?.new,
        OnDuplicate::Error => refuse_known(growing)?,
    };
    growing.of_other_types()?.iter().for_each(|warning| super::warn(warning));
    let generation = Generation {
        input: args.input.clone(),
        files: input.digests,
        fingerprint,
        ..Generation::default()
    };
    let change = Change { leaving, generation };
    let mut summary = make(growing, job, change, run, here)?;
    summary.ingest = ingested.ingest;
    Ok(Some(summary))
}

/// Reads the list of files that a process of follow adds.
///
/// # Errors
/// It cannot be read.
pub(super) fn read_list(list: &Path) -> Result<Vec<String>, Failure> {
    let json = std::fs::read(list).map_err(Failure::io(list))?;
    serde_json::from_slice(&json).map_err(|error| Failure::file(list, error))
}

/// Refuses new documents whose ids the result has; there are none otherwise.
fn refuse_known(growing: &GrowingResult) -> Result<BTreeSet<u64>, Failure> {
    let Duplicates { ids, new, .. } = growing.duplicates()?;
    if ids.is_empty() {
        return Ok(new);
    }
    let message = format!(
        "{}: has documents with the same ids as {} of the new ones, such as {}",
        growing.result().display(),
        new.len(),
        named(&ids)
    );
    Err(Failure::data(message).help(
        "correct the result's documents with --on-duplicate replace, leave the new ones out with --on-duplicate skip \
         or, if they are other documents, add them with --on-duplicate keep",
    ))
}
