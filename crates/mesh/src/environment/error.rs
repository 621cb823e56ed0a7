//! Errors in an environment, and how to override it.

use crate::hosts::{HOSTS_VARIABLE, HostsError};

/// Errors in an environment.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// A variable is invalid.
    #[error(
        "the variable {variable} is {value:?}, but must be {expected}; the flags -n, -p and --hosts override it"
    )]
    Value {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// The form that it must have.
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
    /// Our own variables give only half of a place.
    #[error("{given} is set, but {missing} is not; set both or neither")]
    Half {
        /// The variable that is set.
        given: &'static str,
        /// The variable that is not set.
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
        /// The number of processes.
        processes: usize,
        /// Another remedy, or nothing.
        more: &'static str,
    },
    /// SLURM distributed the tasks to the nodes in an unexpected order.
    #[error(
        "SLURM placed this task on an unexpected node, {node}; start it with srun --distribution=block, or pass --hosts FILE"
    )]
    Order {
        /// The node of this task.
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
