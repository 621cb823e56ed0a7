//! `topicmill completions SHELL`.

use clap::CommandFactory;

use super::Failure;
use super::args::CompletionsArgs;
use super::command::Cli;

/// Prints the completion script of a shell.
///
/// # Errors
/// stdout cannot be written.
pub(super) fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "topicmill", &mut script);
    super::print_data(&String::from_utf8_lossy(&script))
}
