//! Which exit code each error of the library ends the program with. Those errors name their
//! remedy themselves.

use super::failure::{Exit, Failure};
use crate::checkpoint::CheckpointError;
use crate::cluster::hosts::HostsError;
use crate::corpus::collection::CollectionError;
use crate::corpus::input::InputError;
use crate::corpus::synth::SynthError;
use crate::corpus::vocabulary_file::VocabularyFileError;
use crate::tables::TableError;

/// `From` an error to a failure with the exit code of its variant.
macro_rules! exits {
    ($error:ty { $($variant:pat => $exit:ident,)* }) => {
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                let exit = match &error { $($variant => Exit::$exit,)* };
                Self::new(exit, error)
            }
        }
    };
}

exits!(SynthError {
    SynthError::Io { .. } => Io,
    SynthError::Setting { .. } => Usage,
    _ => Data,
});

exits!(InputError {
    InputError::Unreadable { .. } => Io,
    _ => Data,
});

exits!(TableError {
    TableError::Io { .. } => Io,
    TableError::Locked { .. } => Temporary,
    _ => Data,
});

exits!(CheckpointError {
    CheckpointError::Io { .. } => Io,
    CheckpointError::Damaged { .. } => Data,
});

exits!(CollectionError {
    CollectionError::Read { .. } => Io,
    CollectionError::Format { .. } => Data,
});

exits!(VocabularyFileError {
    VocabularyFileError::Io { .. } => Io,
    _ => Data,
});

exits!(HostsError {
    HostsError::Read { .. } => Io,
    _ => Usage,
});
