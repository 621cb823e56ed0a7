//! `topicmill take SWEEP K/SEED`: a result of one model of a sweep.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;

use super::args::{HereArgs, RunArgs, StartArgs};
use super::beside::{named, write_beside};
use super::placement::JobPlacement;
use super::starter::job_file;
use super::topics::{check_free, refuse_other_job};
use super::{Failure, run};
use crate::config::{Job, Stages};
use crate::sweep::{link_collection, link_model, models_of, write_stability};
use crate::tables::output::{MODELS, Output};

pub(super) const EXAMPLES: &str = "\
Examples:
  topicmill take out/sweep 100/2                      the model of 100 topics and seed 2
  topicmill take out/sweep 100 --output out/hundred   the one that predicts held-out documents best

Infers the topics of all documents with a model of a sweep: nothing is read or trained again. The
result is like that of `topicmill run`, shares files with the sweep, and stays when the sweep is
removed. The job is written beside it, as FOLDER.toml: to do this on several hosts, stop here and run
that job.";

/// Flags of take.
#[derive(Clone, Debug, Args)]
pub(crate) struct TakeArgs {
    /// The folder of a sweep
    #[arg(value_name = "SWEEP")]
    pub(crate) sweep: PathBuf,
    /// The model: its number of topics, seed and settings; of several, the one that predicts held-out documents best
    #[arg(value_name = "K[/SEED][/SETTINGS]")]
    pub(crate) model: String,
    /// The folder of the result [default: that of the sweep with the number of topics and the seed]
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) start: StartArgs,
}

/// Projects the collection of a sweep with one of its models.
///
/// # Errors
/// There is no such sweep or model; the output belongs to another job; any error that ends a run.
pub(super) fn run(args: &TakeArgs) -> Result<(), Failure> {
    let sweep = named(&args.sweep);
    super::existing_output(&sweep)?;
    let models = models_of(&sweep)?;
    let model = models.iter().find(|model| model.is_named(&args.model)).ok_or_else(|| {
        let number = args.model.split('/').next().unwrap_or_default();
        let mut of_number: BTreeSet<_> = models.iter().filter(|it| it.is_named(number)).collect();
        if of_number.is_empty() {
            of_number.extend(&models);
        }
        let names: Vec<String> = of_number.into_iter().map(ToString::to_string).collect();
        let message = format!("{}: has no model {}", sweep.display(), args.model);
        Failure::usage(message).help(format!("its models are {}", names.join(", ")))
    })?;
    let output = named(&args.output.clone().unwrap_or_else(|| {
        let mut name = sweep.file_name().unwrap_or(MODELS.as_ref()).to_owned();
        name.push(format!("-{}", model.file_name()));
        sweep.with_file_name(name)
    }));
    if is_within(&output, &sweep) {
        let message = format!("--output {}: is in the folder of the sweep", output.display());
        return Err(Failure::usage(message).help("choose a folder beside it"));
    }
    super::refuse_sweep(&output)?;
    let path = job_file(&output);
    check_free(&output, args.start.overwrite)?;
    let base = Job::load(&sweep, &[])?;
    let mut template = model.template(&base)?;
    template.set("output.path", output.to_string_lossy().into_owned())?;
    template.say(format!("Model {model} of the sweep {}.", sweep.display()));
    let job = template.job(&path)?;
    if !args.start.overwrite {
        refuse_other_job(&job)?;
    }
    write_beside(&path, template.to_toml().as_bytes(), args.start.overwrite)?;
    let placement = JobPlacement::here(args.start.here.threads)?;
    let folder = Output::lead(&*output)?;
    if args.start.overwrite {
        folder.clear_all()?;
    }
    link_collection(&folder, &sweep)?;
    link_model(&folder, &model.folder(&sweep))?;
    write_stability(&folder, &base, &sweep, model)?;
    drop(folder);
    let HereArgs { quiet, json, .. } = args.start.here;
    let run_args = RunArgs { job: path, quiet, json, ..RunArgs::default() };
    run::start(job, &run_args, Stages::Project, &placement)
}

/// Whether a folder, which may not exist yet, is another one or below it.
fn is_within(folder: &Path, other: &Path) -> bool {
    let Ok(other) = other.canonicalize() else {
        return false;
    };
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let there = folder.ancestors().find_map(|part| part.canonicalize().ok());
    there.is_some_and(|there| there.starts_with(other))
}
