//! `topicmill evaluate JOB`: computes figures of quality on all workers, in a separate folder.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::Display;
use super::args::{PlacementArgs, RunArgs};
use super::beside::named;
use super::pictures::table;
use super::placement::JobPlacement;
use super::run::{self, Here, dispatch, watched};
use super::{Exit, Failure, figures, plan};
use crate::config::{Job, Stages};
use crate::dataflow::evaluate::{Evaluation, EvaluationSummary, evaluate};
use crate::dataflow::process::Process;
use crate::evaluate::measure::Figure;
use crate::tables::output::{Output, Place, exists};

pub(super) const EXAMPLES: &str = "\
Examples:
  topicmill evaluate jobs/newsgroups.toml
  topicmill evaluate jobs/newsgroups.toml --set 'evaluate.metrics=[\"completion\", \"left-to-right\"]'
  topicmill evaluate jobs/newsgroups.toml --model mallet/state.gz --output out/mallet-evaluation
  topicmill evaluate jobs/newsgroups.toml --model lda.parquet --alpha lda.alpha.txt
  topicmill evaluate jobs/newsgroups.toml --model out/other-run --processes 2 -w 4
  topicmill evaluate jobs/newsgroups.toml --set 'evaluate.metrics=[\"c_v\"]' --reference wiki.jsonl

The job's collection must have been ingested and, without --model, its model trained. Neither
changes. docs/EVALUATION.md defines each figure and lists the files that --model reads.";

/// Flags of evaluate: those of run, and the model to evaluate.
#[derive(Clone, Debug, Args)]
pub(crate) struct EvaluateArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    #[command(flatten)]
    pub(crate) placement: PlacementArgs,
    /// Evaluate an external model (Parquet, a topicmill output, MALLET's state) instead of the job's own
    #[arg(long, value_name = "PATH", help_heading = HEADING)]
    pub(crate) model: Option<PathBuf>,
    /// α of the topics: one number, or a file with one per topic [default: the model's own]
    #[arg(long, value_name = "NUMBER|FILE", help_heading = HEADING)]
    pub(crate) alpha: Option<String>,
    /// Terms per topic for the metrics umass and npmi [default: 20 and 10]
    #[arg(long, value_name = "N", help_heading = HEADING)]
    pub(crate) coherence_terms: Option<u64>,
    /// Texts on which to count coherence, instead of the training sample; may be repeated
    #[arg(long, value_name = "FILES", help_heading = HEADING)]
    pub(crate) reference: Vec<String>,
    /// The folder to write to [default: the job's output.path with `-evaluation`]
    #[arg(long, value_name = "FOLDER", help_heading = HEADING)]
    pub(crate) output: Option<PathBuf>,
}

const HEADING: &str = "What is evaluated";

/// Files that the output folder of a run contains and that of an evaluation does not.
const OF_A_RUN: [&str; 4] = ["corpus", "model", "checkpoints", "documents"];

/// Evaluates a model.
///
/// # Errors
/// The job or the flags are wrong; any error that ends the evaluation.
pub(super) fn run(args: &EvaluateArgs) -> Result<(), Failure> {
    let placement = JobPlacement::check(&args.placement)?;
    let job = Job::load(&args.run.job, &overrides(args)?)?;
    run::describe(&job, &args.run, Stages::Evaluate, &placement)?;
    dispatch(job, &args.run, Stages::Evaluate, &placement, |job, here| run_here(job, args, here))
}

/// Returns the keys that `--set` and other flags set.
fn overrides(args: &EvaluateArgs) -> Result<Vec<String>, Failure> {
    let mut set = args.run.set.clone();
    if let Some(alpha) = &args.alpha {
        set.push(format!("evaluate.alpha={}", alpha_value(alpha)?));
    }
    if let Some(terms) = args.coherence_terms {
        set.push(format!("evaluate.coherence_terms={terms}"));
    }
    if !args.reference.is_empty() {
        let names = args.reference.iter().map(|name| from_here(name));
        let names = toml::Value::Array(names.map(toml::Value::String).collect());
        set.push(format!("evaluate.reference={names}"));
    }
    Ok(set)
}

/// Anchors a pattern in the current directory; patterns in a job are relative to its base folder.
fn from_here(name: &str) -> String {
    if Path::new(name).is_absolute() || name.starts_with(['~', '$']) || name.contains("://") {
        return name.to_owned();
    }
    let here = std::path::absolute(".").unwrap_or_default();
    format!("{}/{name}", glob::Pattern::escape(&here.to_string_lossy()))
}

/// Returns the value of `evaluate.alpha`: the given number, or a list of the numbers in a file.
fn alpha_value(given: &str) -> Result<String, Failure> {
    // As TOML requires: with digits on both sides of the point.
    let number = |text: &str| {
        let number = text.parse::<f64>().ok().filter(|it| it.is_finite());
        number.map(|number| format!("{number:?}"))
    };
    if let Some(number) = number(given) {
        return Ok(number);
    }
    let refuse = |error: io::Error| {
        let exit = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::InvalidData => Exit::Usage,
            _ => Exit::Io,
        };
        let failure = Failure::new(exit, error).context(format!("--alpha {given}"));
        failure.help(
            "pass one number for every topic, or a text file with one per topic (numpy.savetxt writes one)",
        )
    };
    let text = std::fs::read_to_string(given).map_err(refuse)?;
    let values: Option<Vec<String>> = text.split_whitespace().map(number).collect();
    let Some(values) = values else {
        let message = format!("--alpha {given}: the file contains something other than numbers");
        return Err(Failure::usage(message).help("write one number per topic, one per line"));
    };
    Ok(format!("[{}]", values.join(", ")))
}

/// Runs this process's workers.
fn run_here(job: Job, args: &EvaluateArgs, here: Here) -> Result<(), Failure> {
    let target = target(&job, args);
    refuse_run(&target)?;
    super::existing_output(&job.output.path)?;
    let output = here.output(&job, &target)?;
    let scratch = job.output.scratch.as_deref();
    let place = Place::new(&job.output.path, scratch, here.placement.process);
    let source = Output::follow(place)?;
    let run = Process::new(job.clone(), source, here.placement.clone());
    let process = here.process(job, output, &args.run);
    let evaluation = Evaluation::new(Arc::clone(&process), run, args.model.clone());
    watched(&process, Stages::Evaluate, || work(&Arc::new(evaluation), here))
}

/// Returns the folder for the evaluation.
fn target(job: &Job, args: &EvaluateArgs) -> PathBuf {
    let beside = || {
        let path = named(&job.output.path);
        let path = path.to_string_lossy();
        PathBuf::from(format!("{}-evaluation", path.trim_end_matches('/')))
    };
    args.output.clone().unwrap_or_else(beside)
}

/// Refuses the output folder of any run.
fn refuse_run(target: &Path) -> Result<(), Failure> {
    for name in OF_A_RUN {
        if exists(&target.join(name))? {
            let message = format!("{} is the output of a run", target.display());
            return Err(Failure::usage(message)
                .help("an evaluation needs its own folder: name one with --output"));
        }
    }
    Ok(())
}

/// Runs this process's workers and shows the result.
fn work(evaluation: &Arc<Evaluation>, here: Here) -> Result<(), Failure> {
    let screen = run::show(&evaluation.process, here.display);
    let summary = evaluate(evaluation, here.settings);
    drop(screen);
    let summary = summary?;
    match (evaluation.process.placement.process, here.display) {
        (1.., _) | (_, Display::Quiet) => Ok(()),
        (0, Display::Json | Display::QuietJson) => {
            let json = serde_json::to_value(&summary);
            super::print_json(&json.expect("numbers and texts are JSON"))
        }
        (0, _) => super::print(&page(&summary)),
    }
}

/// Returns the figures as a table, followed by notes on the model.
fn page(summary: &EvaluationSummary) -> String {
    let mut table = table("metric|method|split|>value|>±|unit|>documents|>tokens");
    let count = |count| match count {
        0 => String::new(),
        count => figures::grouped(count),
    };
    for figure in &summary.figures {
        table.add_row([
            figure.metric.to_owned(),
            figure.method.clone(),
            figure.split.to_owned(),
            value(figure),
            figure.standard_error.map_or_else(String::new, |error| format!("{error:.4}")),
            figure.unit.to_owned(),
            count(figure.documents),
            count(figure.tokens),
        ]);
    }
    let notes = summary.notes.iter().map(|note| ("note", note.clone()));
    let output = ("output", summary.output.display().to_string());
    let rows: Vec<_> = notes.chain([output]).collect();
    format!("{}\n\n{}", table.trim_fmt(), plan::rows(&rows))
}

/// Formats counts in full, everything else with four decimals.
fn value(figure: &Figure) -> String {
    match figure.unit {
        "documents" | "tokens" | "topics" => figures::grouped(figure.value as u64),
        _ => format!("{:.4}", figure.value),
    }
}
