//! The command line: the only place that knows flags, prints, and chooses exit codes.
//!
//! `args` holds the flags as they are typed, `placement` checks them once; one file a subcommand;
//! `failure` turns errors into lines for people and codes for schedulers; `progress` and `summary`
//! are what a person sees of a run.

mod args;
mod completions;
mod exits;
mod failure;
mod figures;
mod forecast;
mod inspect;
mod machine;
mod pace;
mod placement;
mod plan;
mod progress;
mod run;
mod screen;
mod status;
mod summary;
mod synth;
mod verify;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

pub use args::{Cli, Command};
pub use failure::{Exit, Failure};
pub use placement::{Placement, PlacementError, Threads};
pub use progress::{Display, Renderer};
pub use summary::{print_summary, render_summary};

use crate::cluster;
use crate::job::Stages;
use crate::storage::object::is_remote;
use crate::tables::output::exists;

/// Reads the command line.
///
/// # Errors
/// What was asked for is not a run: help or the version (already printed; exit 0), or a usage
/// error (already printed; exit 64).
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, ExitCode> {
    Cli::try_parse_from(arguments).map_err(|error| {
        // Nothing is left to be done if even this cannot be printed.
        let _ = error.print();
        if error.use_stderr() {
            Exit::Usage.into()
        } else {
            ExitCode::SUCCESS
        }
    })
}

/// Does what was asked for.
///
/// # Errors
/// Whatever went wrong, with its exit code and, often, a remedy.
pub fn execute(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        Command::Run(args) => run::run(&args, Stages::All),
        Command::Ingest(args) => run::run(&args, Stages::Ingest),
        Command::Train(args) => run::run(&args, Stages::Train),
        Command::Project(args) => run::run(&args, Stages::Project),
        Command::Plan(args) => plan::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Synth(args) => synth::run(&args),
        Command::Completions(args) => completions::run(&args),
    }
}

/// Prints what went wrong, with its causes and remedy, on stderr.
pub fn report(failure: &Failure) {
    // Nothing is left to be done if even this cannot be printed.
    let _ = io::stderr()
        .lock()
        .write_all(failure.to_string().as_bytes());
}

/// Makes this process end as one when any of its threads fails or its peers are lost, and with the
/// process that started it. To be called before anything else.
pub fn guard() {
    cluster::guard::install(|failure| {
        report(&Failure::message(Exit::of(failure.code), &failure.message));
    });
    cluster::spawn::follow_parent();
}

/// Says on stderr what did not stop the program.
fn warn(message: &str) {
    // Nothing is left to be done if even this cannot be printed.
    let _ = writeln!(io::stderr().lock(), "warning: {message}");
}

/// Writes to stdout. A reader that went away (`topicmill plan JOB | head`) is no failure.
fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::Io, error).context("stdout"))
        }
        _ => Ok(()),
    }
}

/// Writes one JSON object on a line of stdout.
fn print_json(object: &serde_json::Value) -> Result<(), Failure> {
    print(&format!("{object}\n"))
}

/// Refuses a path that a person gave and that does not exist.
fn existing_output(path: &Path) -> Result<(), Failure> {
    if is_remote(path) {
        return match exists(path)? {
            true => Ok(()),
            false => Err(not_there(path)),
        };
    }
    match path.try_exists() {
        Ok(true) => Ok(()),
        Ok(false) => Err(not_there(path)),
        Err(error) => Err(Failure::new(Exit::Io, error).context(path.display())),
    }
}

fn not_there(path: &Path) -> Failure {
    Failure::message(Exit::Usage, format!("{}: not there", path.display()))
        .help("give what a job names as `output.path`")
}
