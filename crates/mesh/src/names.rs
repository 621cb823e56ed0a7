//! The names by which a program's users know the variables and settings of a run.

use std::sync::OnceLock;

/// The names that messages use, so that a remedy is one that the program's users can follow: of the environment
/// variables, and of the settings, as flags or otherwise. By default the variables begin with `MESH_`, and settings
/// have the names of this library's fields.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// The program.
    pub program: &'static str,
    /// The environment variables.
    pub variables: VariableNames,
    /// The settings.
    pub settings: SettingNames,
}

/// The names of environment variables; the macro [`variables!`](crate::variables) makes them from a prefix.
#[derive(Clone, Copy, Debug)]
pub struct VariableNames {
    /// The secret.
    pub secret: &'static str,
    /// The path of a file that contains the secret.
    pub secret_file: &'static str,
    /// The name that all processes of one attempt share.
    pub run: &'static str,
    /// The addresses of all processes, in order, separated by commas.
    pub hosts: &'static str,
    /// The number of this process, from 0.
    pub process: &'static str,
    /// The number of processes.
    pub processes: &'static str,
    /// The first port on each host.
    pub port: &'static str,
    /// The headless service through which the pods of a Kubernetes Job find each other.
    pub service: &'static str,
    /// Set for processes that must end with their parent.
    pub follow_parent: &'static str,
}

/// The names of settings in messages.
#[derive(Clone, Copy, Debug)]
pub struct SettingNames {
    /// The number of processes.
    pub processes: &'static str,
    /// The number of this process. A launched process gets this and `processes` as arguments, if they are flags.
    pub process: &'static str,
    /// The worker threads of each process.
    pub threads: &'static str,
    /// What to pass for the addresses of all processes.
    pub hosts: &'static str,
    /// The first port on each host.
    pub port: &'static str,
    /// The encryption.
    pub tls: &'static str,
    /// The compression.
    pub compress: &'static str,
    /// How long a worker may show no sign of life.
    pub stall_timeout: &'static str,
    /// The remote shell.
    pub ssh: &'static str,
}

/// Makes [`VariableNames`](crate::names::VariableNames) that begin with a prefix:
/// `mesh::variables!("MESH")` has `MESH_SECRET` and so on.
#[macro_export]
macro_rules! variables {
    ($prefix:literal) => {
        $crate::names::VariableNames {
            secret: concat!($prefix, "_SECRET"),
            secret_file: concat!($prefix, "_SECRET_FILE"),
            run: concat!($prefix, "_RUN"),
            hosts: concat!($prefix, "_HOSTS"),
            process: concat!($prefix, "_PROCESS"),
            processes: concat!($prefix, "_PROCESSES"),
            port: concat!($prefix, "_PORT"),
            service: concat!($prefix, "_SERVICE"),
            follow_parent: concat!($prefix, "_FOLLOW_PARENT"),
        }
    };
}

/// The names of a program that sets none.
const OWN_NAMES: Names = Names {
    program: "version",
    variables: variables!("MESH"),
    settings: SettingNames {
        processes: "processes",
        process: "process",
        threads: "threads",
        hosts: "hosts",
        port: "port",
        tls: "tls",
        compress: "compress",
        stall_timeout: "stall_timeout",
        ssh: "ssh",
    },
};

/// The names that the program has set.
static NAMES: OnceLock<Names> = OnceLock::new();

impl Names {
    /// Sets the names of this process; call it before anything else of this library. The first call wins.
    pub fn set(self) {
        let _ = NAMES.set(self);
    }

    /// Returns the names of this process.
    pub fn get() -> &'static Names {
        NAMES.get().unwrap_or(&OWN_NAMES)
    }
}

impl VariableNames {
    /// Returns the names of this process's variables.
    pub(crate) fn get() -> &'static VariableNames {
        &Names::get().variables
    }
}

impl SettingNames {
    /// Returns the names of this process's settings.
    pub(crate) fn get() -> &'static SettingNames {
        &Names::get().settings
    }
}
