//! What is wrong with an environment, and how to get along without it.

use crate::cluster::hosts::{HOSTS_VARIABLE, HostsError};

/// What is wrong with an environment.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// A variable has no sense.
    #[error(
        "the variable {variable} is {value:?}, but should be {expected}; flags (-n, -p, --hosts) go before it"
    )]
    Value {
        /// The variable.
        variable: &'static str,
        /// What it holds.
        value: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// A variable is missing.
    #[error(
        "this process was started by {by}, but the variable {variable} is missing; set it, or give --hosts FILE"
    )]
    Missing {
        /// Who started the process.
        by: &'static str,
        /// The variable.
        variable: &'static str,
    },
    /// Only half of a place was given by our own variables.
    #[error("{given} is set, but not {missing}; set both, or neither")]
    Half {
        /// Set.
        given: &'static str,
        /// Not set.
        missing: &'static str,
    },
    /// Nobody says where the other processes are.
    #[error(
        "this is process {process} of {processes} by {by}, which does not say where the others are; \
         give --hosts FILE or set {HOSTS_VARIABLE} to host:port of each, with commas between{more}"
    )]
    NoPeers {
        /// Who started the process.
        by: &'static str,
        /// Its number.
        process: usize,
        /// Processes in all.
        processes: usize,
        /// Another way out, or nothing.
        more: &'static str,
    },
    /// SLURM dealt the tasks to the nodes in another order than supposed.
    #[error(
        "SLURM did not put this task where it was expected, but on {node}; start it with srun --distribution=block, or give --hosts FILE"
    )]
    Order {
        /// The node this is.
        node: String,
    },
    /// The processes of a host need ports above the last one.
    #[error("the ports of {host} go beyond 65535; give a lower --port")]
    Ports {
        /// The host.
        host: String,
    },
    /// The addresses are unusable.
    #[error(transparent)]
    Hosts(#[from] HostsError),
}
