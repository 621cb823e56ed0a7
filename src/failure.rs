//! The program's error: what happened, with its causes, the exit code, and the remedy.
//!
//! Errors of the crates are converted to it here, with their exit codes. Messages name the file, the place and the
//! remedy, unless the remedy is in `help`.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;

use corpus::CorpusError;
use corpus::input::InputError;
use lda::infer::ImpossibleDraw;
use lda::train::TrainError;
use mesh::ClusterError;
pub use mesh::Exit;
use mesh::UsageError;
use store::{StoreError, is_remote};

/// An error on its way out of the program.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// The message and its causes.
    error: anyhow::Error,
    /// The remedy, if the message contains none.
    pub help: Option<String>,
}

impl Failure {
    /// Wraps an error.
    pub(crate) fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self { exit, error: error.into(), help: None }
    }

    /// Wraps a message.
    pub(crate) fn message(exit: Exit, message: impl fmt::Display) -> Self {
        Self::new(exit, anyhow::Error::msg(message.to_string()))
    }

    /// The command line or the job is wrong.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::message(Exit::Usage, message)
    }

    /// The input or a stored result is wrong.
    pub(crate) fn data(message: impl fmt::Display) -> Self {
        Self::message(Exit::Data, message)
    }

    /// A file is wrong.
    pub(crate) fn file(path: impl AsRef<Path>, problem: impl fmt::Display) -> Self {
        Self::data(format!("{}: {problem}", path.as_ref().display()))
    }

    /// A line of a file, from 1, is wrong.
    pub(crate) fn line(
        path: impl AsRef<Path>,
        line: impl fmt::Display,
        problem: impl fmt::Display,
    ) -> Self {
        let path = path.as_ref().display();
        Self::data(format!("{path}, line {line}: {problem}"))
    }

    /// A file or folder cannot be read or written; for an object store, its address or settings may be wrong, or this
    /// build may lack support.
    pub(crate) fn io(path: impl AsRef<Path>) -> impl Fn(io::Error) -> Self {
        move |source| {
            let path = path.as_ref();
            let is_usage = is_remote(path)
                && matches!(
                    source.kind(),
                    io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
                );
            let exit = if is_usage { Exit::Usage } else { Exit::Io };
            let message = format!("{}: {source}", path.display());
            Self::new(exit, source).context(message)
        }
    }

    /// A document whose topics cannot be drawn.
    pub(crate) fn drawing(what: &'static str, number: u64) -> impl Fn(ImpossibleDraw) -> Self {
        move |source| {
            let message = format!("{what} {number}: {source}");
            Self::new(Exit::Internal, source).context(message)
        }
    }

    /// Adds what was being done.
    #[must_use]
    pub(crate) fn context(mut self, context: impl fmt::Display) -> Self {
        self.error = self.error.context(context.to_string());
        self
    }

    /// Adds the file's name, if this is an I/O error without context.
    pub(crate) fn of_file(self, path: &Path) -> Self {
        let mut errors = self.error.chain();
        if errors.next().is_some_and(<dyn Error>::is::<io::Error>) {
            let message = format!("{}: {self}", path.display());
            self.context(message)
        } else {
            self
        }
    }

    /// Adds a remedy.
    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Returns the first error of this type among it and its causes.
    pub(crate) fn cause<E: Error + 'static>(&self) -> Option<&E> {
        self.error.chain().find_map(<dyn Error>::downcast_ref)
    }

    /// Returns the kind of the I/O error that caused it.
    pub(crate) fn io_kind(&self) -> Option<io::ErrorKind> {
        self.cause().map(io::Error::kind)
    }

    /// Returns `error: …`, a line `cause: …` for each cause not yet mentioned, and `help: …`.
    pub(crate) fn report(&self) -> String {
        let mut said = self.to_string();
        if said.is_empty() {
            return said;
        }
        let mut report = format!("error: {said}\n");
        for cause in self.error.chain().skip(1) {
            let cause = cause.to_string();
            if !said.contains(&cause) {
                report += &format!("cause: {cause}\n");
            }
            said = cause;
        }
        let mut errors = self.error.chain().filter_map(<dyn Error>::downcast_ref);
        let is_full = |error: &io::Error| error.kind() == io::ErrorKind::StorageFull;
        let full = errors.any(is_full).then_some(FULL_DISK);
        if let Some(help) = self.help.as_deref().or(full) {
            report += &format!("help: {help}\n");
        }
        report
    }
}

/// The remedy for a full disk, if no other is known.
const FULL_DISK: &str = "free space on this disk, then rerun the same command";

/// The message alone; with `#`, its causes too.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

/// Implements `From` for each of these errors, with the exit code of its variant.
macro_rules! exits {
    ($($error:ty { $($variant:pat => $exit:ident,)* })*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                let exit = match &error { $($variant => Exit::$exit,)* };
                Self::new(exit, error)
            }
        }
    )*};
}

exits! {
    InputError {
        InputError::Unreadable { .. } => Io,
        _ => Data,
    }
    CorpusError {
        CorpusError::Io { .. } => Io,
        CorpusError::Setting(_) => Usage,
        CorpusError::Data(_) => Data,
        CorpusError::Busy(_) => Temporary,
    }
    TrainError { _ => Internal, }
    UsageError { _ => Usage, }
}

impl From<ClusterError> for Failure {
    fn from(error: ClusterError) -> Self {
        Self::new(error.exit(), error)
    }
}

impl From<io::Error> for Failure {
    /// Names no file; [`of_file`](Self::of_file) adds it.
    fn from(error: io::Error) -> Self {
        Self::new(Exit::Io, error)
    }
}

impl From<StoreError> for Failure {
    fn from(StoreError { path, source }: StoreError) -> Self {
        Self::io(path)(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_said_once_and_help_comes_last() {
        let source = io::Error::other("the disk is gone");
        let failure = Failure::new(Exit::Io, source).context("shard 3").help("bring it back");
        assert_eq!(
            failure.report(),
            "error: shard 3\ncause: the disk is gone\nhelp: bring it back\n"
        );
        assert_eq!(format!("{failure:#}"), "shard 3: the disk is gone");
        let twice = Failure::data("bad").context("so bad");
        assert_eq!(twice.report(), "error: so bad\n");
        let full = Failure::from(io::Error::from(io::ErrorKind::StorageFull)).report();
        assert!(full.ends_with("help: free space on this disk, then rerun the same command\n"));
    }
}
