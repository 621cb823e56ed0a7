//! `topicmill run | ingest | train | project JOB`: the only place that starts a job.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use super::args::{PlacementArgs, RunArgs};
use super::launch::relay;
use super::placement::JobPlacement;
use super::{Display, Exit, Failure, figures, machine, plan, summary};
use crate::config::state::{OutputState, recorded_state};
use crate::config::{Job, Stages, word};
use crate::dataflow::process::Process;
use crate::dataflow::run::run as run_stages;
use crate::observe::summary::Summary;
use crate::observe::whole::Others;
use crate::observe::{ExitStatus, Observed, ProcessStatus, Watch, screen};
use crate::tables::output::{Output, Place};
use corpus::encoding::TextEncoding;
use mesh::interrupt::{self, Words};
use mesh::secret::Secret;
use mesh::{ClusterSettings, spawn};

/// Runs stages of a job.
///
/// # Errors
/// The job or the flags are wrong; any error that ends the run.
pub(super) fn run(args: &RunArgs, place: &PlacementArgs, stages: Stages) -> Result<(), Failure> {
    let placement = JobPlacement::check(place)?;
    let job = Job::load(&args.job, &args.set)?;
    if args.overwrite && job.is_of_its_output() {
        let message = format!("{}: --overwrite would remove this job file", job.path.display());
        return Err(Failure::usage(message).help("copy it out of the result, and run the copy"));
    }
    describe(&job, args, stages, &placement)?;
    start(job, args, stages, &placement)
}

/// Prints what is about to run, if a person is to see it.
///
/// # Errors
/// The output cannot be read: this build has no S3 support, or the store does not respond; stdout cannot be written.
pub(super) fn describe(
    job: &Job,
    args: &RunArgs,
    stages: Stages,
    placement: &JobPlacement,
) -> Result<(), Failure> {
    let display = Display::choose(args.quiet, args.json);
    if !matches!(display, Display::Plain | Display::Bar) || is_follower(placement) {
        return Ok(());
    }
    let mut rows = plan::describe(job, placement);
    let state = match recorded_state(job) {
        Ok((
            OutputState::Complete | OutputState::Resumable { .. } | OutputState::OtherJob { .. },
            _,
        )) if args.overwrite => "written again, by --overwrite".to_owned(),
        Ok((state, _)) => state.to_string(),
        // The run itself decides whether it can do without what is damaged.
        Err(failure) if failure.exit == Exit::Data || args.overwrite => "damaged".to_owned(),
        Err(failure) => return Err(failure),
    };
    rows.push(("output", format!("{} ({state})", job.output.path.display())));
    rows.push(match &job.model_from {
        Some(_) if stages == Stages::All => ("stages", "ingest, project".to_owned()),
        _ => ("stages", stages.to_string()),
    });
    super::print(&plan::rows(&rows))
}

/// The messages for signals.
const SIGNAL_WORDS: Words = Words {
    deferred: "stopping at the next point from which the run can resume",
    ended: "rerun the same command to resume",
};

/// Runs stages of a job that has been read and shown.
///
/// # Errors
/// Any error that ends the run.
pub(super) fn start(
    job: Job,
    args: &RunArgs,
    stages: Stages,
    placement: &JobPlacement,
) -> Result<(), Failure> {
    super::refuse_sweep(&job.output.path)?;
    interrupt::set_words(SIGNAL_WORDS);
    dispatch(job, args, stages, placement, |job, here| run_here(job, stages, args, here))
}

/// This process, as one of a run.
#[derive(Clone)]
pub(super) struct Here {
    pub(super) placement: mesh::Placement,
    pub(super) settings: ClusterSettings,
    pub(super) display: Display,
}

impl Here {
    /// Opens the output folder at `path`; process 0 leads it.
    pub(super) fn output(&self, job: &Job, path: &Path) -> Result<Output, Failure> {
        let process = self.placement.process;
        let place = Place::new(path, job.output.scratch.as_deref(), process);
        Ok(match process {
            0 => Output::lead(place)?,
            _ => Output::follow(place)?,
        })
    }

    pub(super) fn process(&self, job: Job, output: Output, args: &RunArgs) -> Arc<Process> {
        let mut process = Process::new(job, output, self.placement.clone());
        process.overwrites = args.overwrite;
        Arc::new(process)
    }
}

/// Runs a job in children, or in this process by `run_here`.
///
/// # Errors
/// Any error that ends the run.
pub(super) fn dispatch(
    job: Job,
    args: &RunArgs,
    stages: Stages,
    placement: &JobPlacement,
    run_here: impl FnOnce(Job, Here) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (here, token) = match placement {
        JobPlacement::Threads(threads) => (mesh::Placement::single(*threads), String::new()),
        JobPlacement::Member { here, token, .. } => (here.clone(), token.clone()),
        JobPlacement::Spawn { processes, threads } => {
            return run_in_children(&job, args, stages, *processes, *threads);
        }
    };
    let settings = args.peers.settings(&job, &here, token)?;
    if here.processes() > 1 && !spawn::follows_parent() {
        super::set_prefix(here.process);
    }
    let display = match here.process {
        0 => Display::choose(args.quiet, args.json),
        _ => Display::Quiet,
    };
    run_here(job, Here { placement: here, settings, display })
}

/// Does the work of a process while watching it, and leaves its output folder.
pub(super) fn watched(
    process: &Arc<Process>,
    stages: Stages,
    work: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    if process.placement.process == 0 {
        ProcessStatus::clear(&process.output.logs());
        process.set_joined();
    }
    let sharing = Arc::clone(process);
    let observed = Observed {
        logs: process.output.logs(),
        // The log has the reason too, and the working folder keeps a copy of what a store refuses.
        share: Box::new(move |name| drop(sharing.output.share_log(name))),
        warn: super::warn,
        look: Box::new(looking_at(process)),
    };
    let watch = Watch::of_process(observed, &stages.to_string());
    let result = work().map_err(|failure| match failure.exit {
        Exit::Io => process.output.check().err().unwrap_or(failure),
        _ => failure,
    });
    watch.end(match &result {
        Ok(()) => ExitStatus::default(),
        Err(failure) => ExitStatus { code: failure.exit as u8, reason: format!("{failure:#}") },
    });
    result?;
    process.output.leave()
}

/// Returns what observes a process.
fn looking_at(process: &Arc<Process>) -> impl Fn() -> ProcessStatus + Send + 'static {
    let process = Arc::clone(process);
    let placement = &process.placement;
    let (here, processes) = (placement.process, placement.processes());
    let identity = ProcessStatus::identity(process.job.id(), here, processes, placement.threads);
    move || process.progress.status(&identity, process.is_joined())
}

/// Shows the progress of a run, until this is dropped.
pub(super) fn show(process: &Arc<Process>, display: Display) -> Watch {
    let others = Others::new(process.output.logs(), process.placement.processes());
    let sinks = screen::of(display, super::prefix());
    Watch::start(looking_at(process), Some(others), sinks)
}

/// Whether another process of the run reports for this one.
fn is_follower(placement: &JobPlacement) -> bool {
    match placement {
        JobPlacement::Member { here, .. } => here.process > 0,
        JobPlacement::Spawn { .. } => true,
        JobPlacement::Threads(_) => false,
    }
}

/// Runs this process's workers.
fn run_here(job: Job, stages: Stages, args: &RunArgs, here: Here) -> Result<(), Failure> {
    let output = here.output(&job, &job.output.path)?;
    let process = here.process(job, output, args);
    watched(&process, stages, || work(&process, stages, args, here))
}

/// Runs this process's workers and shows the result.
fn work(process: &Arc<Process>, stages: Stages, args: &RunArgs, here: Here) -> Result<(), Failure> {
    let display = here.display;
    let summary = summarized(process, stages, here)?;
    let is_first = process.placement.process == 0;
    if is_first { summary::print(summary, &process.job, &args.set, display) } else { Ok(()) }
}

/// Runs this process's workers while showing their progress; prints the warnings.
pub(super) fn summarized(
    process: &Arc<Process>,
    stages: Stages,
    here: Here,
) -> Result<Summary, Failure> {
    let screen = show(process, here.display);
    let summary = run_stages(process, stages, here.settings);
    drop(screen);
    let mut warnings = process.warnings();
    if let Ok(summary) = &summary {
        warnings.extend(many_of_a_status(summary, &process.job));
        warnings.extend(without_text(summary));
    }
    let is_first = process.placement.process == 0;
    for warning in &warnings {
        tracing::warn!(warning, "warning");
        if is_first {
            super::warn(warning);
        }
    }
    let mut summary = summary?;
    summary.peak_memory_bytes = machine::peak_resident_bytes();
    summary.warnings = warnings;
    Ok(summary)
}

/// Returns one warning for all documents without text, which names the first.
fn without_text(summary: &Summary) -> Option<String> {
    let first = summary.remarks.first()?;
    let statuses = summary.documents_by_status.iter();
    let without = statuses.filter(|(status, count)| {
        **count > 0
            && !matches!(
                status.as_str(),
                "ok" | "repaired" | "no_vocabulary" | "filtered" | "duplicate"
            )
    });
    let kinds: Vec<String> = without
        .clone()
        .map(|(status, count)| format!("{} {status}", figures::grouped(*count)))
        .collect();
    Some(match without.map(|(_, count)| count).sum() {
        0 | 1 => first.clone(),
        documents => format!(
            "{} documents have no text that can be read ({}), for example {first}; the table \
             `documents` has the status of each",
            figures::grouped(documents),
            kinds.join(", "),
        ),
    })
}

/// Returns a warning for each status that more than a share of the documents have: a hundredth, a twentieth, a fifth.
fn many_of_a_status(summary: &Summary, job: &Job) -> Vec<String> {
    let remedy = if job.corpus.encoding == TextEncoding::default() {
        "if they are not UTF-8, set corpus.encoding, for example to \"windows-1252\""
    } else {
        "if they have another encoding than corpus.encoding says, correct it"
    };
    let repaired = format!(
        "have bytes, or in JSON escaped halves of surrogate pairs, that are no characters; they were replaced by U+FFFD: \
         {remedy}"
    );
    let no_vocabulary = format!(
        "have no term of the vocabulary: terms in fewer than {} documents or in more than {} % of them are dropped \
         (vocabulary.min_documents, vocabulary.max_share), which can remove every term of unusual documents, and of many \
         copies of one text",
        job.vocabulary.min_documents,
        100.0 * job.vocabulary.max_share,
    );
    let empty = format!(
        "are empty: they have no text, or no token that the job keeps (tokens.rule = \"{}\", tokens.min_length = {}, \
         tokens.numbers = {})",
        word(job.tokens.rule),
        job.tokens.min_length,
        job.tokens.numbers,
    );
    let statuses = &summary.documents_by_status;
    let all = statuses.values().sum();
    [("repaired", 100, repaired), ("no_vocabulary", 20, no_vocabulary), ("empty", 5, empty)]
        .into_iter()
        .filter_map(|(status, times, said)| {
            let documents = statuses.get(status).filter(|documents| times * **documents > all)?;
            let [documents, all] = [*documents, all].map(figures::grouped);
            Some(format!("{documents} of {all} documents {said}"))
        })
        .collect()
}

/// Starts all processes on this machine and waits for them.
fn run_in_children(
    job: &Job,
    args: &RunArgs,
    stages: Stages,
    processes: usize,
    threads: usize,
) -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(|e| Failure::new(Exit::Io, e))?;
    // A new one, unless the children find one themselves.
    let secret = match Secret::find(job.cluster.secret_file.as_deref())? {
        Some(_) => None,
        None => Some(Secret::random_text()?),
    };
    let command = |process: usize| {
        let place = [processes, process, threads].map(|number| number.to_string());
        let mut command = Command::new(&program);
        command
            .arg(stages.command())
            .args(["-n", &place[0], "-p", &place[1], "-w", &place[2]])
            .args(&args.given);
        if let Some(secret) = &secret {
            command.env(super::NAMES.variables.secret, secret);
        }
        command
    };
    let mut interrupts = args.peers.take_over_signals();
    let names = (0..processes).map(|process| process.to_string()).collect();
    relay(names, |watch| spawn::run(processes, &command, watch, &mut interrupts))
}
