//! `topicmill run | ingest | train | project JOB`: the one place that starts a job.

use std::process::Command;
use std::sync::Arc;

use super::args::RunArgs;
use super::placement::Placement;
use super::progress::Renderer;
use super::screen::Display;
use super::shares::Shares;
use super::watching::Watch;
use super::{Exit, Failure, Page, figures, machine, peers, plan, watch};
use crate::dataflow::process::Process;
use crate::dataflow::run::{RunShared, run as run_stages};
use crate::job::{Job, Stages, Summary};
use crate::tables::TABLES;
use crate::tables::output::{Output, Place};
use mesh::interrupt::Interrupts;
use mesh::secret::SECRET_VARIABLE;
use mesh::{ClusterError, ClusterSettings, spawn};

/// Runs stages of a job.
///
/// # Errors
/// The job or the flags are wrong; any error that ends the run.
pub(super) fn run(args: &RunArgs, stages: Stages) -> Result<(), Failure> {
    let placement = Placement::check(&args.placement)?;
    let job = Job::load(&args.job, &args.overrides())?;
    let display = Display::choose(args.quiet, args.json);
    if matches!(display, Display::Plain | Display::Bar) && !is_follower(&placement) {
        let mut rows = plan::describe(&job, &placement)?;
        rows.push(("stages", stages.to_string()));
        super::print(&plan::rows(&rows))?;
    }
    start(job, args, stages, &placement)
}

/// Runs stages of a job that is read and shown already.
///
/// # Errors
/// Any error that ends the run.
pub(super) fn start(
    job: Job,
    args: &RunArgs,
    stages: Stages,
    placement: &Placement,
) -> Result<(), Failure> {
    match placement {
        Placement::Threads(threads) => {
            let alone = mesh::Placement::single(*threads);
            run_here(job, stages, args, alone, String::new())
        }
        Placement::Member {
            index,
            count,
            threads,
            peers,
            ..
        } => {
            let addresses = peers.addresses(*count)?;
            let here = mesh::Placement {
                threads: *threads,
                process: *index,
                addresses,
            };
            run_here(job, stages, args, here, placement.token())
        }
        Placement::Spawn { processes, threads } => {
            run_in_children(&job, args, stages, *processes, *threads)
        }
    }
}

/// Whether another process of the run reports for this one.
pub(super) fn is_follower(placement: &Placement) -> bool {
    match placement {
        Placement::Member { index, .. } => *index > 0,
        Placement::Spawn { .. } => true,
        Placement::Threads(_) => false,
    }
}

/// Runs this process's workers.
fn run_here(
    job: Job,
    stages: Stages,
    args: &RunArgs,
    placement: mesh::Placement,
    token: String,
) -> Result<(), Failure> {
    let leads = placement.process == 0;
    let display = match leads {
        true => Display::choose(args.quiet, args.json),
        false => Display::Quiet,
    };
    let settings = args.peers.settings(&job, &placement, token)?;
    if placement.processes() > 1 && !spawn::follows_parent() {
        super::set_prefix(placement.process);
    }
    let written = &job.output;
    let place = Place::new(&written.path, written.scratch.as_deref(), placement.process);
    let output = match leads {
        true => Output::lead(place)?,
        false => Output::follow(place)?,
    };
    if leads && args.overwrite {
        clear(&output, stages)?;
    }
    let mut process = Process::new(job, output, placement);
    if args.watching.profile {
        process = process.with_profile();
    }
    let process = Arc::new(process);
    let watch = Watch::start(&process, stages, &args.watching);
    let result = watched(&process, stages, settings, display);
    match &result {
        Ok(()) => watch.end(0, ""),
        Err(failure) => watch.end(failure.exit as u8, &format!("{:#}", failure.error)),
    }
    result?;
    Ok(process.output.leave()?)
}

/// Runs this process's workers and shows the result.
fn watched(
    process: &Arc<Process>,
    stages: Stages,
    settings: ClusterSettings,
    display: Display,
) -> Result<(), Failure> {
    let shared = Arc::new(RunShared::default());
    let polled = Arc::clone(process);
    let shares = Shares::new(process.output.logs(), process.placement.processes());
    let renderer = Renderer::start(display, move || shares.whole(polled.progress.snapshot()));
    let summary = run_stages(process, &shared, stages, settings);
    renderer.finish();
    for warning in shared.warnings() {
        tracing::warn!(warning, "warning");
        if display != Display::Quiet {
            super::warn(&warning);
        }
    }
    let mut summary = summary?;
    summary.peak_memory_bytes = machine::peak_resident_bytes();
    let remarks = shared.remarks();
    for remark in &remarks {
        tracing::warn!(remark, "document without text");
    }
    if display != Display::Quiet {
        without_text(&remarks, &summary)
            .iter()
            .for_each(|line| super::warn(line));
    }
    match process.placement.process {
        0 => Page::new(summary, &process.job)?.print(display),
        _ => Ok(()),
    }
}

/// One warning for all documents without text, which names the first.
fn without_text(remarks: &[String], summary: &Summary) -> Option<String> {
    let first = remarks.iter().min()?;
    let statuses = summary.documents_by_status.iter();
    let without = statuses.filter(|(status, count)| {
        **count > 0 && !matches!(status.as_str(), "ok" | "no_vocabulary" | "filtered")
    });
    let kinds: Vec<String> = without
        .clone()
        .map(|(status, count)| format!("{} {status}", figures::grouped(*count)))
        .collect();
    Some(match without.map(|(_, count)| count).sum() {
        0 | 1 => first.clone(),
        documents => format!(
            "{} documents have no text that can be read ({}), the first: {first}; the table \
             `documents` has the status of each",
            figures::grouped(documents),
            kinds.join(", "),
        ),
    })
}

/// Removes what the stages will write again: only files that topicmill wrote.
fn clear(output: &Output, stages: Stages) -> Result<(), Failure> {
    match stages {
        Stages::All | Stages::Ingest => output.clear_all()?,
        // Its result is a separate folder, which it clears itself.
        Stages::Evaluate => {}
        Stages::Train | Stages::Project => {
            output.reopen()?;
            let stays = |name: &str| matches!(name, "training_log" | "model") && !stages.trains();
            let tables = TABLES.iter().map(|table| table.name);
            for name in tables.chain(["checkpoints", "model"]) {
                if !stays(name) {
                    output.clear(name)?;
                }
            }
        }
    }
    Ok(())
}

/// Starts all processes on this machine and waits for them.
pub(super) fn run_in_children(
    job: &Job,
    args: &RunArgs,
    stages: Stages,
    processes: usize,
    threads: usize,
) -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(|e| Failure::new(Exit::Io, e))?;
    let secret = peers::secret_for_children(job)?;
    let place = |process: usize| [processes, process, threads].map(|number| number.to_string());
    let command = |process: usize| {
        let [processes, process, threads] = place(process);
        let mut command = Command::new(&program);
        command
            .arg(stages.command())
            .args(["-n", &processes, "-p", &process, "-w", &threads])
            .args(&args.given);
        if let Some(secret) = &secret {
            command.env(SECRET_VARIABLE, secret);
        }
        command
    };
    let mut interrupts = Interrupts::take_over();
    let names = (0..processes).map(|process| process.to_string()).collect();
    let watch = watch::on_stderr(names);
    let ending = spawn::run(processes, &command, &watch, &mut interrupts)?;
    watch::result(&ending, |process| format!("process {process}"))
}

impl From<ClusterError> for Failure {
    fn from(error: ClusterError) -> Self {
        Self::new(Exit::of(error.exit_code()), error)
    }
}
