//! Exit codes: those of sysexits.h that a scheduler can act on.

use std::process::ExitCode;

/// How an unsuccessful process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The command line or the settings are wrong; nothing was done (EX_USAGE).
    Usage = 64,
    /// The input or a stored result is wrong (EX_DATAERR).
    Data = 65,
    /// Another process or host cannot be reached, or was lost; a worker stalled (EX_UNAVAILABLE).
    Unavailable = 69,
    /// A bug in the program (EX_SOFTWARE).
    Internal = 70,
    /// Reading or writing failed (EX_IOERR).
    Io = 74,
    /// A temporary failure: the same command may succeed later (EX_TEMPFAIL).
    Temporary = 75,
    /// A process was killed, by SIGKILL or any other signal except SIGTERM (128 + SIGKILL).
    Killed = 137,
    /// Stopped by SIGTERM, SIGINT or SIGHUP (128 + SIGTERM).
    Interrupted = 143,
}

impl Exit {
    /// Returns how a process with this exit code ended; `code` is not 0, and above 128 for a signal.
    pub fn of(code: u8) -> Self {
        match code {
            64 => Self::Usage,
            65 => Self::Data,
            69 => Self::Unavailable,
            74 => Self::Io,
            75 => Self::Temporary,
            143 => Self::Interrupted,
            129.. => Self::Killed,
            _ => Self::Internal,
        }
    }
}

/// Why a run cannot start as it is described by flags, files and the environment, and the remedy: [`Exit::Usage`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
