//! A failure that ends the program: an error, its exit code, its remedy.

use std::error::Error;
use std::fmt;
use std::io;
use std::process::ExitCode;

use crate::job::JobError;
use crate::knowledge::KnowledgeError;
use mesh::exit;

/// How the program ends where it does not succeed, by [exit code](mesh::exit).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The command line or the job is wrong; nothing was done.
    Usage = exit::USAGE,
    /// The input or a stored result is wrong.
    Data = exit::DATA,
    /// Another process or host cannot be reached, or was lost; a worker stalled.
    Unavailable = exit::UNAVAILABLE,
    /// A mistake in topicmill.
    Internal = exit::INTERNAL,
    /// Reading or writing failed.
    Io = exit::IO,
    /// Something passing: the same command later may succeed.
    Temporary = exit::TEMPORARY,
    /// A process was killed (SIGKILL).
    Killed = exit::KILLED,
    /// Told to stop (SIGTERM, SIGINT).
    Interrupted = exit::INTERRUPTED,
}

impl Exit {
    /// The exit with this code; an internal error if there is none.
    pub(crate) fn of(code: u8) -> Self {
        let all = [
            Self::Usage,
            Self::Data,
            Self::Unavailable,
            Self::Internal,
            Self::Io,
            Self::Temporary,
            Self::Killed,
            Self::Interrupted,
        ];
        all.into_iter()
            .find(|&exit| exit as u8 == code)
            .unwrap_or(Self::Internal)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// An error on its way out of the program.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// The error, with its causes.
    pub(crate) error: anyhow::Error,
    /// The remedy.
    pub(crate) help: Option<String>,
}

impl Failure {
    /// A failure without a remedy.
    pub(crate) fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self {
            exit,
            error: error.into(),
            help: None,
        }
    }

    /// A failure that is a sentence.
    pub(crate) fn message(exit: Exit, message: impl fmt::Display) -> Self {
        Self {
            exit,
            error: anyhow::anyhow!("{message}"),
            help: None,
        }
    }

    /// A failure that another process has reported already.
    pub(crate) fn said(exit: Exit) -> Self {
        Self::message(exit, "")
    }

    /// The same, with what was being done.
    #[must_use]
    pub(crate) fn context(mut self, context: impl fmt::Display) -> Self {
        self.error = self.error.context(context.to_string());
        self
    }

    fn is_of_full_disk(&self) -> bool {
        let errors = self.error.chain().map(<dyn Error>::downcast_ref);
        let kinds = errors.flatten().map(io::Error::kind);
        kinds
            .into_iter()
            .any(|kind| kind == io::ErrorKind::StorageFull)
    }

    /// The same, with a remedy.
    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// `error: …`, a line `cause: …` for each cause that is not already said, `help: …`.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said = self.error.to_string();
        if said.is_empty() {
            return Ok(());
        }
        writeln!(f, "error: {said}")?;
        for cause in self.error.chain().skip(1) {
            let cause = cause.to_string();
            if !said.contains(&cause) {
                writeln!(f, "cause: {cause}")?;
            }
            said = cause;
        }
        match &self.help {
            Some(help) => writeln!(f, "help: {help}"),
            None if self.is_of_full_disk() => writeln!(f, "help: {FULL_DISK}"),
            None => Ok(()),
        }
    }
}

/// The remedy where no other is known.
const FULL_DISK: &str =
    "free space on this disk, or choose another output.path, then rerun the same command";

impl From<JobError> for Failure {
    fn from(error: JobError) -> Self {
        let exit = match &error {
            JobError::Read { source, .. } if source.kind() != io::ErrorKind::NotFound => Exit::Io,
            JobError::Tree { .. } => Exit::Data,
            _ => Exit::Usage,
        };
        let help = error.help();
        Self {
            exit,
            error: error.into(),
            help,
        }
    }
}

impl From<KnowledgeError> for Failure {
    fn from(error: KnowledgeError) -> Self {
        Self::new(Exit::Data, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_said_once_and_help_comes_last() {
        let source = io::Error::other("the disk is gone");
        let failure = Failure::new(Exit::Io, source)
            .context("shard 3")
            .help("bring it back");
        assert_eq!(
            failure.to_string(),
            "error: shard 3\ncause: the disk is gone\nhelp: bring it back\n"
        );
        let twice = Failure::message(Exit::Data, "bad").context("so bad");
        assert_eq!(twice.to_string(), "error: so bad\n");
    }

    #[test]
    fn a_missing_job_is_a_usage_error_and_an_unreadable_one_is_not() {
        let read = |kind: io::ErrorKind| JobError::Read {
            path: "job.toml".into(),
            place: None,
            source: kind.into(),
        };
        assert_eq!(
            Failure::from(read(io::ErrorKind::NotFound)).exit,
            Exit::Usage
        );
        assert_eq!(
            Failure::from(read(io::ErrorKind::PermissionDenied)).exit,
            Exit::Io
        );
    }
}
