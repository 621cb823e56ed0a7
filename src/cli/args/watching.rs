//! Flags of whoever watches a run.

use clap::Args;

/// How a run is watched, as typed.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Watching")]
pub struct WatchingArgs {
    /// Serve OpenMetrics at http://HOST:PORT/metrics; process I listens at PORT + I, and 0 takes any port
    #[arg(long, value_name = "HOST:PORT")]
    pub metrics_addr: Option<String>,
    /// Say at the end where the workers' time went, by operator
    #[arg(long)]
    pub profile: bool,
}
