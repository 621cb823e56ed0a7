//! The exit code for each error of the library. These errors name their remedy themselves.

use std::io;

use super::failure::{Exit, Failure};
use crate::checkpoint::CheckpointError;
use crate::export::ExportError;
use crate::job::state::StateError;
use crate::report::ReportError;
use crate::tables::TableError;
use corpus::collection::CollectionError;
use corpus::input::InputError;
use corpus::shard::ShardError;
use corpus::synth::SynthError;
use corpus::vocabulary_file::VocabularyFileError;
use mesh::environment::EnvironmentError;
use mesh::hosts::HostsError;
use mesh::secret::SecretError;
use mesh::tls::TlsError;
use store::is_remote;

/// `From` an error to a failure with the exit code of its variant.
macro_rules! exits {
    ($error:ty { $($variant:pat $(if $is_so:expr)? => $exit:ident,)* }) => {
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                let exit = match &error { $($variant $(if $is_so)? => Exit::$exit,)* };
                Self::new(exit, error)
            }
        }
    };
}

/// Whether an error of reading or writing is one of what was asked for.
fn is_usage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
    )
}

exits!(SynthError {
    SynthError::Io { .. } => Io,
    SynthError::Setting { .. } => Usage,
    SynthError::Busy { .. } => Temporary,
    _ => Data,
});

exits!(TableError {
    // Of a store: its address, its settings, or that this build has none.
    TableError::Io { path, source } if is_remote(path) && is_usage(source) => Usage,
    TableError::Io { .. } => Io,
    TableError::Locked { .. } | TableError::Lost { .. } => Temporary,
    _ => Data,
});

exits!(CheckpointError {
    CheckpointError::Io { .. } => Io,
    CheckpointError::Damaged { .. } => Data,
});

exits!(CollectionError {
    found if found.is_absent() => Data,
    CollectionError::Read { .. } => Io,
    CollectionError::Format { .. } => Data,
});

exits!(VocabularyFileError {
    VocabularyFileError::Io { .. } => Io,
    _ => Data,
});

exits!(HostsError { _ => Usage, });

exits!(EnvironmentError { _ => Usage, });

exits!(TlsError { _ => Usage, });

impl From<SecretError> for Failure {
    fn from(error: SecretError) -> Self {
        Self::new(Exit::of(error.exit_code()), error)
    }
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        let exit = match &error {
            InputError::Unreadable { .. } => Exit::Io,
            _ => Exit::Data,
        };
        let is_absent = matches!(
            error,
            InputError::NoMatch { .. } | InputError::EmptyFolder { .. } | InputError::NoFiles
        );
        let failure = Self::new(exit, error);
        match is_absent {
            true => failure.help("jobs/planted.toml needs no input: it generates its own corpus"),
            false => failure,
        }
    }
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        let exit = match error {
            ExportError::Table(error) => return error.into(),
            ExportError::Checkpoint(error) => return error.into(),
            ExportError::Collection(error) => return error.into(),
            ExportError::Vocabulary(error) => return error.into(),
            ExportError::Exists(_) | ExportError::InResult(_) => Exit::Usage,
            ExportError::NoTable { .. } => Exit::Data,
            ExportError::Shard(ShardError::Io { .. })
            | ExportError::Store(_)
            | ExportError::Write { .. } => Exit::Io,
            ExportError::Shard(_) => Exit::Data,
            ExportError::Draw { .. } => Exit::Internal,
        };
        Self::new(exit, error)
    }
}

impl From<ReportError> for Failure {
    fn from(error: ReportError) -> Self {
        match error {
            ReportError::Table(error) => error.into(),
            ReportError::Topics(error) => Self::new(Exit::Data, error),
            ReportError::Collection(error) => error.into(),
        }
    }
}

impl From<StateError> for Failure {
    fn from(error: StateError) -> Self {
        match error {
            StateError::Table(error) => error.into(),
            StateError::Checkpoint(error) => error.into(),
            StateError::Collection(error) => error.into(),
        }
    }
}
