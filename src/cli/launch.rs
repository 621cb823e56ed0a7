//! `topicmill launch --hosts FILE JOB`: starts all processes of a run from here. Their output, which `run --processes`
//! also relays: lines prefixed with the process's name, and how each process ends.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::args::RunArgs;
use super::machine::cores;
use super::{Exit, Failure};
use crate::config::Stages;
use mesh::ClusterError;
use mesh::family::{Ending, Event, Watch};
use mesh::hosts::{self, host_of};
use mesh::launch::{Launch, are_here};
use mesh::secret::Secret;

pub(super) const EXAMPLES: &str = "\
Examples:
  topicmill launch --hosts hosts.txt jobs/library.toml -w 8
  topicmill launch --hosts hosts.txt jobs/library.toml --ssh 'ssh -p 2222' --max-restarts 10
  topicmill launch --hosts hosts.txt jobs/library.toml --dry-run

Starts one process per line of the host file, in order: directly on this machine, by ssh elsewhere.
When one is lost, all are restarted and resume from the newest checkpoint.";

/// Flags of launch: those of run, and how processes are started.
#[derive(Clone, Debug, Args)]
pub(crate) struct LaunchArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// A file with the `host:port` of each process, one per line; `#` starts a comment
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub(crate) hosts: PathBuf,
    /// Threads of each process [default: its machine's cores, shared among its processes]
    #[arg(short = 'w', long, value_name = "N", help_heading = HEADING)]
    pub(crate) threads: Option<usize>,
    /// Maximum number of restarts of all processes when one is lost
    #[arg(long, value_name = "N", default_value_t = 3, help_heading = HEADING)]
    pub(crate) max_restarts: u32,
    /// The command that runs a command on another host
    #[arg(long, value_name = "COMMAND", default_value = "ssh -o BatchMode=yes", help_heading = HEADING)]
    pub(crate) ssh: String,
    /// Use that command for the processes of this machine too
    #[arg(long, help_heading = HEADING)]
    pub(crate) ssh_all: bool,
    /// Variables of this environment that processes on other hosts get too, such as AWS_ACCESS_KEY_ID
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = HEADING)]
    pub(crate) env: Vec<String>,
    /// Path of the program on every host [default: the path of this program]
    #[arg(long, value_name = "PATH", help_heading = HEADING)]
    pub(crate) program: Option<PathBuf>,
    /// Working directory on every host [default: the current one]
    #[arg(long, value_name = "FOLDER", help_heading = HEADING)]
    pub(crate) directory: Option<PathBuf>,
    /// Print the commands without running them
    #[arg(long, help_heading = HEADING)]
    pub(crate) dry_run: bool,
}

const HEADING: &str = "Launching";

/// Starts the processes, or with `--dry-run` prints the commands.
///
/// # Errors
/// The flags or the host file are wrong; a process cannot be started; any error that ends the run.
pub(super) fn run(args: &LaunchArgs) -> Result<(), Failure> {
    let launch = plan(args)?;
    if args.dry_run {
        let lines = launch.commands().into_iter();
        let lines: String = lines.map(|line| line.display().to_string() + "\n").collect();
        return super::print(&lines);
    }
    let hosts = launch.addresses.iter().map(|address| host_of(address)).enumerate();
    let names = hosts.map(|(process, host)| format!("{process} {host}")).collect();
    let mut interrupts = args.run.peers.take_over_signals();
    relay(names, |watch| launch.run(watch, &mut interrupts))
}

/// Returns the launch that flags, host file and environment describe.
fn plan(args: &LaunchArgs) -> Result<Launch, Failure> {
    let io = |error| Failure::new(Exit::Io, error);
    let addresses = hosts::read(&args.hosts)?;
    // On other hosts each process counts its cores.
    let share = || are_here(&addresses).then(|| (cores() / addresses.len()).max(1));
    let threads = args.threads.or_else(share).map(|threads| format!("-w{threads}").into());
    let arguments = threads.into_iter().chain(args.run.given.iter().cloned()).collect();
    Ok(Launch {
        addresses,
        program: match &args.program {
            Some(program) => program.clone(),
            None => std::env::current_exe().map_err(io)?,
        },
        directory: match &args.directory {
            Some(directory) => std::path::absolute(directory).map_err(io)?,
            None => std::env::current_dir().map_err(io)?,
        },
        command: Stages::All.command(),
        arguments,
        ssh: args.ssh.clone(),
        ssh_all: args.ssh_all,
        secret: Secret::find(None)?.map(|found| found.secret),
        environment: variables(&args.env)?,
        max_restarts: args.max_restarts,
    })
}

/// Returns the variables of this environment with these names.
fn variables(names: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name =
        |name: &str| name.chars().all(is_part) && !name.starts_with(|c: char| c.is_ascii_digit());
    let variable = |name: &String| {
        let (reason, help) = match std::env::var(name) {
            _ if !is_name(name) => (
                "not the name of a variable",
                "give names only, separated by commas; values come from the environment",
            ),
            Ok(value) if !value.contains('\n') => return Ok((name.clone(), value)),
            Ok(_) => ("has more than one line", "set it on the other hosts instead"),
            Err(_) => ("not set, or not UTF-8", "set it, or leave its name out"),
        };
        Err(Failure::usage(format!("--env {name}: {reason}")).help(help))
    };
    names.iter().map(variable).collect()
}

/// Starts processes with these names by `start`, writes their events to stderr, and returns how this process ends
/// when they have ended.
///
/// # Errors
/// A process cannot be started, or has failed.
pub(super) fn relay(
    names: Vec<String>,
    start: impl FnOnce(&Watch) -> Result<Ending, ClusterError>,
) -> Result<(), Failure> {
    let names: Arc<[String]> = names.into();
    let shown = Arc::clone(&names);
    let watch: Watch = Arc::new(move |event| {
        let name = |process: usize| shown.get(process).map_or("?", String::as_str);
        let line = match event {
            Event::Line { process, line } => {
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                [format!("[{}] ", name(*process)).as_bytes(), line, b"\n"].concat()
            }
            Event::Stopping => b"stopping all processes; a second signal kills them\n".to_vec(),
            Event::Killing => b"killing the remaining processes\n".to_vec(),
            Event::Restart { ending, restart, most, wait } => format!(
                "process [{}] {}; restarting all processes in {} s, restart {restart} of {most}\n",
                ending.culprit.map_or("?", name),
                end(ending.code),
                wait.as_secs(),
            )
            .into_bytes(),
        };
        // Written whole, under one lock. If it cannot be written, there is nothing left to do.
        let _ = io::stderr().lock().write_all(&line);
    });
    result(&start(&watch)?, &names)
}

/// Returns how this process ends when those that it started have ended. Their own messages have given the
/// cause, unless a process could not write one.
fn result(ending: &Ending, names: &[String]) -> Result<(), Failure> {
    if ending.code == 0 {
        return Ok(());
    }
    let exit = Exit::of(ending.code);
    let message = match ending.culprit.filter(|_| ending.code > 128 && !ending.interrupted) {
        // A process that was told to stop has told the others.
        Some(_) if exit == Exit::Interrupted => {
            "a process was told to stop; rerun the same command to resume".to_owned()
        }
        Some(process) => format!("process [{}] {}", names[process], end(ending.code)),
        None => String::new(),
    };
    Err(Failure::message(exit, message))
}

/// Describes how a process ended.
fn end(code: u8) -> String {
    match Exit::of(code) {
        Exit::Unavailable => "lost a worker, its peers or its host".to_owned(),
        Exit::Interrupted => "was stopped (signal 15)".to_owned(),
        Exit::Killed => format!("was killed (signal {})", code - 128),
        _ => format!("ended with code {code}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_could_not_speak_is_spoken_for() {
        let told = |code, interrupted| {
            let ending = Ending { code, culprit: Some(1), interrupted };
            let failure = result(&ending, &["0".to_owned(), "1".to_owned()]);
            failure.map_err(|failure| (failure.exit, failure.report()))
        };
        assert!(told(0, true).is_ok());
        let killed = "error: process [1] was killed (signal 9)\n".to_owned();
        assert_eq!(told(137, false).unwrap_err(), (Exit::Killed, killed));
        let (exit, text) = told(139, false).unwrap_err();
        assert_eq!(exit, Exit::Killed);
        assert!(text.contains("signal 11"), "{text}");
        assert_eq!(told(65, false).unwrap_err(), (Exit::Data, String::new()));
        let stopped = told(143, true).unwrap_err();
        assert_eq!(stopped, (Exit::Interrupted, String::new()));
    }
}
