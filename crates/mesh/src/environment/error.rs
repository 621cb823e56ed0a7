//! Errors in an environment, and how to do without it.

use crate::hosts::{HOSTS_VARIABLE, HostsError};

/// Errors in an environment.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// A variable has no sense.
    #[error(
        "the variable {variable} is {value:?}, but must be {expected}; the flags -n, -p and --hosts override it"
    )]
    Value {
        /// The variable.
        variable: &'static str,
        /// Its content.
        value: String,
        /// The value that it should have.
        expected: &'static str,
    },
    /// A variable is missing.
    #[error(
        "this process was started by {by}, but the variable {variable} is missing; set it, or pass --hosts FILE"
    )]
    Missing {
        /// The program that started the process.
        by: &'static str,
        /// The variable.
        variable: &'static str,
    },
    /// Only half of a place was given by our own variables.
    #[error("{given} is set, but {missing} is not; set both or neither")]
    Half {
        /// Set.
        given: &'static str,
        /// Not set.
        missing: &'static str,
    },
    /// The addresses of the other processes are missing.
    #[error(
        "{by} says that this is process {process} of {processes}, but not where the others are; \
         pass --hosts FILE, or set {HOSTS_VARIABLE} to a comma-separated list of host:port{more}"
    )]
    NoPeers {
        /// The program that started the process.
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
        "SLURM placed this task on an unexpected node, {node}; start it with srun --distribution=block, or pass --hosts FILE"
    )]
    Order {
        /// The node this is.
        node: String,
    },
    /// The processes of a host need ports above the last one.
    #[error("the ports of {host} exceed 65535; pass a lower --port")]
    Ports {
        /// The host.
        host: String,
    },
    /// The addresses are unusable.
    #[error(transparent)]
    Hosts(#[from] HostsError),
}
