//! The command line: the only place that knows flags and prints.
//!
//! `command` lists the subcommands, each of which is one file; `args` holds the flags that several files read, as
//! typed, and `placement` checks those that say where a job runs. `summary` shows the end of a run.

mod add;
mod args;
mod beside;
mod change;
mod command;
mod compare;
mod constrain;
mod evaluate;
mod export;
mod follow;
mod forecast;
mod forward;
mod history;
mod inspect;
mod launch;
mod new;
mod pictures;
mod placement;
mod plan;
mod project_stream;
mod remove;
mod report;
mod retrain;
mod run;
mod starter;
mod status;
mod summary;
mod sweep;
mod synth;
mod take;
mod topics;
mod verify;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;

use clap::{CommandFactory, FromArgMatches};

pub(crate) use crate::failure::{Exit, Failure};
pub(crate) use command::{Cli, Command};
use mesh::names::SettingNames;

use crate::config::Stages;
use crate::observe::screen::Display;
use crate::observe::{ExitStatus, end_current, figures, machine};
use crate::tables::output::{LOCK, MODELS, SUCCESS, check_ours, exists};
use store::is_remote;

/// Parses the command line.
///
/// # Errors
/// Returns an exit code if help or the version was requested (0) or if the usage is wrong (64). The text
/// has already been printed.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, ExitCode> {
    let parse = || {
        let matches = Cli::command().try_get_matches_from(arguments)?;
        let mut cli = Cli::from_arg_matches(&matches)?;
        forward::note(&mut cli, &matches);
        Ok(cli)
    };
    parse().map_err(|error: clap::Error| {
        // If even this cannot be printed, there is nothing left to do.
        let _ = error.print();
        if error.use_stderr() { Exit::Usage.into() } else { ExitCode::SUCCESS }
    })
}

/// Runs the command.
///
/// # Errors
/// Returns the command's error, with its exit code and often a remedy.
pub fn execute(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        Command::Topics(args) => topics::run(&args),
        Command::New(args) => new::run(&args),
        Command::Run(args) => run::run(&args.run, &args.placement, Stages::All),
        Command::Ingest(args) => run::run(&args.run, &args.placement, Stages::Ingest),
        Command::Train(args) => run::run(&args.run, &args.placement, Stages::Train),
        Command::Project(args) if args.is_stream() => project_stream::run(&args),
        Command::Project(args) => run::run(&args.run, &args.placement, Stages::Project),
        Command::Add(args) => add::run(&args),
        Command::Follow(args) => follow::run(&args),
        Command::Remove(args) => remove::run(&args),
        Command::Retrain(args) => retrain::run(&args),
        Command::History(args) => history::run(&args),
        Command::Evaluate(args) => evaluate::run(&args),
        Command::Launch(args) => launch::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Constrain(args) => constrain::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Sweep(args) => sweep::run(&args),
        Command::Take(args) => take::run(&args),
        Command::Synth(args) => synth::run(&args),
        Command::Completions(args) => command::completions(&args),
    }
}

/// Prints the error with its causes and remedy on stderr.
pub fn report(failure: &Failure) {
    say(&printable(&failure.report()));
}

/// The most characters of a line of an error or warning.
const LINE_CHARACTERS: usize = 4000;

/// Escapes control characters and shortens lines: an error or a warning quotes its input.
fn printable(message: &str) -> String {
    let line = |line: &str| {
        let mut said = String::new();
        for c in line.chars().take(LINE_CHARACTERS) {
            if c.is_control() && c != '\t' {
                said.extend(c.escape_default());
            } else {
                said.push(c);
            }
        }
        if line.chars().nth(LINE_CHARACTERS).is_some() {
            said.push('…');
        }
        said + "\n"
    };
    message.lines().map(line).collect()
}

/// The names of variables and flags in messages about the processes of a run.
pub const NAMES: mesh::Names = mesh::Names {
    program: "topicmill",
    variables: mesh::variables!("TOPICMILL"),
    settings: SettingNames {
        processes: "-n",
        process: "-p",
        threads: "-w",
        hosts: "--hosts FILE",
        port: "--port",
        tls: "--tls-ca",
        compress: "--compress",
        stall_timeout: "--stall-timeout",
        ssh: "--ssh",
    },
};

/// Ends the whole process when one of its threads fails, a peer is lost, or the process that started it
/// exits. Call this before anything else.
pub fn guard() {
    NAMES.set();
    store::Names {
        program: "topicmill",
        patience: "TOPICMILL_STORE_PATIENCE",
        fault: "TOPICMILL_FAULT",
        copies: "output.scratch",
    }
    .set();
    mesh::guard::install(|failure| {
        let version = match failure.exit {
            Exit::Internal => concat!("topicmill ", env!("CARGO_PKG_VERSION"), ": "),
            _ => "",
        };
        report(&Failure::message(failure.exit, format!("{version}{}", failure.message)));
        store::remove_temporaries();
        // Last, because the log may be on a file system that does not respond.
        end_current(ExitStatus { code: failure.exit as u8, reason: failure.message.clone() });
    });
    if let Err(error) = mesh::interrupt::install(warn) {
        warn(&format!("signals cannot be handled and will end the run at once: {error}"));
    }
    mesh::spawn::follow_parent();
}

/// The prefix of lines on stderr; set once, if there are several processes.
static PREFIX: OnceLock<String> = OnceLock::new();

/// Prefixes this process's lines on stderr with its number.
fn set_prefix(process: usize) {
    let _ = PREFIX.set(format!("[{process}] "));
}

/// Returns the prefix of every line of this process on stderr; usually empty.
fn prefix() -> &'static str {
    PREFIX.get().map_or("", String::as_str)
}

/// Writes lines to stderr.
fn say(text: &str) {
    let prefix = prefix();
    let lines: String = text.lines().map(|line| format!("{prefix}{line}\n")).collect();
    // If even this cannot be printed, there is nothing left to do.
    let _ = io::stderr().lock().write_all(lines.as_bytes());
}

/// Prints a warning on stderr.
fn warn(message: &str) {
    say(&printable(&format!("warning: {message}")));
}

/// Writes text to stdout. A closed pipe (`topicmill plan JOB | head`) is not a failure.
fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::Io, error).context("stdout"))
        }
        _ => Ok(()),
    }
}

/// Writes one JSON object as a line to stdout.
fn print_json(object: &impl serde::Serialize) -> Result<(), Failure> {
    let json = serde_json::to_string(object).expect("numbers and texts are JSON");
    print(&format!("{json}\n"))
}

/// Refuses a path from the command line that does not exist.
fn existing_output(path: &Path) -> Result<(), Failure> {
    if exists(path)? {
        return Ok(());
    }
    let message = format!("{}: does not exist", path.display());
    Err(Failure::message(Exit::Usage, message)
        .help("pass the folder that the job names as `output.path`"))
}

/// Refuses a path that topicmill has not written.
fn check_written(root: &Path) -> Result<(), Failure> {
    let is_file = !is_remote(root) && root.is_file();
    let is_begun = exists(&root.join(LOCK))? || exists(&root.join("corpus"))?;
    if is_file || !is_begun || check_ours(root).is_err() { Err(not_a_result(root)) } else { Ok(()) }
}

fn not_a_result(path: &Path) -> Failure {
    let message = format!("{}: not a result", path.display());
    Failure::data(message).help("pass the folder that the job names as `output.path`")
}

/// Refuses the folder of a sweep.
fn refuse_sweep(root: &Path) -> Result<(), Failure> {
    if is_remote(root) || !root.join(MODELS).is_dir() {
        return Ok(());
    }
    let path = root.display();
    Err(Failure::usage(format!("{path}: is the folder of a sweep"))
        .help(format!("for a result of one of its models: topicmill take {path} K/SEED")))
}

/// Refuses a path that does not exist or is not a result, and a result whose run has not ended.
fn check_finished(root: &Path) -> Result<(), Failure> {
    existing_output(root)?;
    refuse_sweep(root)?;
    if exists(&root.join(SUCCESS))? {
        // Any of these may have been removed to save space; an evaluation has none of them.
        for folder in ["topics", "corpus", "model"] {
            if exists(&root.join(folder))? {
                return Ok(());
            }
        }
        return Err(not_a_result(root));
    }
    check_written(root)?;
    let path = root.display();
    let message = format!("{path}: its run has not ended, so there is no result yet");
    Err(Failure::data(message)
        .help(format!("`topicmill status {path}` shows how far it is; rerun the job to resume it")))
}
