//! The flags of launch.

use std::path::PathBuf;

use clap::Args;

use super::RunArgs;

pub(super) const EXAMPLES: &str = "\
Examples:
  topicmill launch --hosts hosts.txt jobs/library.toml -w 8
  topicmill launch --hosts hosts.txt jobs/library.toml --ssh 'ssh -p 2222' --max-restarts 10
  topicmill launch --hosts hosts.txt jobs/library.toml --dry-run

Starts one process per line of the host file, in order: directly on this machine, by ssh elsewhere.
When one is lost, all are restarted and resume from the newest checkpoint.";

/// Flags of run that place one process; launch chooses the placement itself.
pub(super) const PLACE: [&str; 4] = ["processes", "process_count", "process", "port"];

/// Hides the flags in [`PLACE`] from the help of launch.
pub(super) fn hide_place(arg: clap::Arg) -> clap::Arg {
    let is_place = PLACE.contains(&arg.get_id().as_str());
    arg.hide(is_place)
}

/// Flags of launch: those of run, and how processes are started.
#[derive(Clone, Debug, Args)]
pub(crate) struct LaunchArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
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

impl LaunchArgs {
    /// Returns a given flag that places one process.
    pub(crate) fn place(&self) -> Option<&'static str> {
        let mut given = self.run.placement.given();
        given.find(|flag| *flag != "--hosts")
    }
}
