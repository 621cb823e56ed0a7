//! `topicmill run | ingest | train | project JOB`: the one place where a job is set going.

use std::process::Command;
use std::sync::Arc;

use super::args::RunArgs;
use super::placement::Placement;
use super::progress::{Display, Renderer};
use super::{Exit, Failure, plan, print_summary};
use crate::cluster::{self, ClusterError, hosts, spawn};
use crate::dataflow::process::Process;
use crate::dataflow::run::{RunShared, run as run_stages};
use crate::job::{Job, Stages};
use crate::tables::output::{Output, Place};

/// Documents that are warned of one by one.
const MOST_WARNINGS: usize = 5;

/// Runs stages of a job.
///
/// # Errors
/// The job or the flags are wrong; whatever ends the run.
pub(super) fn run(args: &RunArgs, stages: Stages) -> Result<(), Failure> {
    let placement = Placement::check(&args.placement)?;
    let job = Job::load(&args.job, &args.set)?;
    let display = Display::choose(args.quiet, args.json);
    if matches!(display, Display::Plain | Display::Bar) && !is_follower(&placement) {
        let mut rows = plan::describe(&job, &placement);
        rows.push(("stages", stages.to_string()));
        super::print(&plan::rows(&rows))?;
    }
    match &placement {
        Placement::Threads(threads) => {
            run_here(job, stages, args, cluster::Placement::single(*threads))
        }
        Placement::Member {
            index,
            count,
            threads,
            hosts,
        } => {
            let addresses = hosts::read(hosts, *count)?;
            let placement = cluster::Placement {
                threads: *threads,
                process: *index,
                addresses,
            };
            run_here(job, stages, args, placement)
        }
        Placement::Spawn { processes, threads } => {
            run_in_children(args, stages, *processes, *threads)
        }
    }
}

/// Whether another process of the run speaks for this one.
fn is_follower(placement: &Placement) -> bool {
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
    placement: cluster::Placement,
) -> Result<(), Failure> {
    let leads = placement.process == 0;
    let display = match leads {
        true => Display::choose(args.quiet, args.json),
        false => Display::Quiet,
    };
    let settings = &job.output;
    let place = Place::new(
        &settings.path,
        settings.scratch.as_deref(),
        placement.process,
    );
    let output = match leads {
        true => Output::lead(place)?,
        false => Output::follow(place)?,
    };
    if leads && args.overwrite {
        clear(&output, stages)?;
    }
    let process = Arc::new(Process::new(job, output, placement));
    let shared = Arc::new(RunShared::default());
    let polled = Arc::clone(&process);
    let renderer = Renderer::start(display, move || polled.progress.snapshot());
    let summary = run_stages(&process, &shared, stages);
    renderer.finish();
    if display != Display::Quiet {
        shared.warnings().iter().for_each(|w| super::warn(w));
    }
    let summary = summary?;
    process.output.leave()?;
    if display != Display::Quiet {
        warn_of(shared.remarks());
    }
    match leads {
        true => print_summary(display, &summary),
        false => Ok(()),
    }
}

/// Warns of documents that could not be read: of the first few, for a person; the table has all.
fn warn_of(mut remarks: Vec<String>) {
    remarks.sort();
    for remark in remarks.iter().take(MOST_WARNINGS) {
        super::warn(remark);
    }
    if remarks.len() > MOST_WARNINGS {
        super::warn("… and more: see the column `status` of the table `documents`");
    }
}

/// Removes what the stages will make anew: only what topicmill wrote.
fn clear(output: &Output, stages: Stages) -> Result<(), Failure> {
    let projected = [
        "documents",
        "document_topics",
        "topic_documents",
        "topics",
        "topic_terms",
        "evaluation",
        "vocabulary",
        "checkpoints",
    ];
    let trained = ["model", "training_log"];
    match stages {
        Stages::All | Stages::Ingest => output.clear_all()?,
        Stages::Train | Stages::Project => {
            output.reopen()?;
            let trained = trained.iter().filter(|_| stages.trains());
            for relative in projected.iter().chain(trained) {
                output.clear(relative)?;
            }
        }
    }
    Ok(())
}

/// Starts all processes on this machine and waits for them.
fn run_in_children(
    args: &RunArgs,
    stages: Stages,
    processes: usize,
    threads: usize,
) -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(|e| Failure::new(Exit::Io, e))?;
    let command = || {
        let mut command = Command::new(&program);
        command
            .arg(stages.command())
            .arg(&args.job)
            .args(["-w", &threads.to_string()]);
        for set in &args.set {
            command.args(["--set", set]);
        }
        let flags = [
            (args.overwrite, "--overwrite"),
            (args.quiet, "--quiet"),
            (args.json, "--json"),
        ];
        command.args(
            flags
                .iter()
                .filter(|(is_given, _)| *is_given)
                .map(|(_, flag)| flag),
        );
        command
    };
    match spawn::run(processes, &std::env::temp_dir(), &command)? {
        0 => Ok(()),
        code => Err(Failure::said(Exit::of(code))),
    }
}

impl From<ClusterError> for Failure {
    fn from(error: ClusterError) -> Self {
        Self::new(Exit::of(error.exit_code()), error)
    }
}
