//! `topicmill launch --hosts FILE JOB`: starts all processes of a run from here.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::Path;

use super::args::LaunchArgs;
use super::{Exit, Failure, relay};
use crate::job::Stages;
use mesh::hosts::{self, host_of};
use mesh::launch::{Launch, are_here};
use mesh::secret::Secret;

/// Starts the processes, or with `--dry-run` prints the commands.
///
/// # Errors
/// The flags or the host file are wrong; a process cannot be started; any error that ends the run.
pub(super) fn run(args: &LaunchArgs) -> Result<(), Failure> {
    let launch = plan(args)?;
    if args.dry_run {
        let lines = launch.commands().into_iter();
        let lines: String = lines
            .map(|line| line.display().to_string() + "\n")
            .collect();
        return super::print_data(&lines);
    }
    let names: Vec<String> = launch
        .addresses
        .iter()
        .enumerate()
        .map(|(process, address)| format!("{process} {}", host_of(address)))
        .collect();
    let mut interrupts = args.run.peers.take_over_signals();
    let watch = relay::on_stderr(names);
    let ending = launch.run(&watch, &mut interrupts)?;
    relay::result(&ending, |process| {
        format!("process {process} ({})", launch.addresses[process])
    })
}

/// Returns the launch that flags, host file and environment describe.
fn plan(args: &LaunchArgs) -> Result<Launch, Failure> {
    if let Some(flag) = args.place() {
        let message = format!("launch cannot be used with {flag}");
        let help = "launch starts one process per line of the host file";
        return Err(Failure::usage(message).help(help));
    }
    let io = |error| Failure::new(Exit::Io, error);
    let file = args.run.placement.hosts.as_deref();
    let addresses = hosts::read_all(file.unwrap_or(Path::new("")))?;
    let threads = threads(args, &addresses);
    let mut arguments: Vec<OsString> = Vec::new();
    if let Some(threads) = threads {
        arguments.extend(["-w".to_owned(), threads.to_string()].map(OsString::from));
    }
    arguments.extend(args.run.given.iter().cloned());
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
    let variable = |name: &String| {
        let refuse = |reason: &str, help: &str| {
            let message = format!("--env {name}: {reason}");
            Err(Failure::usage(message).help(help.to_owned()))
        };
        let is_name = |name: &str| {
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
            name.chars().all(is_part) && !name.starts_with(|c: char| c.is_ascii_digit())
        };
        if !is_name(name) {
            return refuse(
                "not the name of a variable",
                "give names only, separated by commas; values come from the environment",
            );
        }
        match std::env::var(name) {
            Ok(value) if !value.contains('\n') => Ok((name.clone(), value)),
            Ok(_) => refuse(
                "has more than one line",
                "set it on the other hosts instead",
            ),
            Err(_) => refuse("not set, or not UTF-8", "set it, or leave its name out"),
        }
    };
    names.iter().map(variable).collect()
}

/// Returns the threads of each process, if they are known here; on other hosts each process counts its cores.
fn threads(args: &LaunchArgs, addresses: &[String]) -> Option<usize> {
    let share = || {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        are_here(addresses).then_some((cores / addresses.len()).max(1))
    };
    args.run.placement.threads.or_else(share)
}
