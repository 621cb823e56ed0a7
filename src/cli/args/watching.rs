//! The flags for watching a run.

use clap::Args;

/// How a run is watched, as typed.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Monitoring")]
pub(crate) struct WatchingArgs {
    /// Serve OpenMetrics at http://HOST:PORT/metrics; process I listens on PORT + I, 0 means any free port
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) metrics_addr: Option<String>,
    /// Report at the end where the workers' time went, by operator
    #[arg(long)]
    pub(crate) profile: bool,
}
