//! Encryption between processes: TLS 1.3, with certificates on both sides.
//!
//! Each side checks the other against its host in the host file: a certificate of the right
//! authority for another host is refused. Membership in the run is still proved by the secret,
//! inside the encrypted connection and bound to it (`proof`).
//! Without the Cargo feature `tls`, [`Tls::load`] returns an error.

#[cfg(not(feature = "tls"))]
mod absent;
#[cfg(feature = "tls")]
mod session;

use std::path::PathBuf;

#[cfg(not(feature = "tls"))]
pub(super) use absent::Session;
#[cfg(not(feature = "tls"))]
pub use absent::Tls;
#[cfg(feature = "tls")]
pub(super) use session::Session;
#[cfg(feature = "tls")]
pub use session::Tls;

/// The bytes of a value that only the two ends of one encrypted connection know.
pub(super) const BINDING_BYTES: usize = 32;

/// The error if TLS is requested in a build without the feature.
pub(crate) const ABSENT: &str = "this build has no TLS support: build with `--features tls`";

/// Why certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or is not PEM.
    #[error("{what} {}: {reason}", path.display())]
    File {
        /// The expected content of the file.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// The files do not match.
    #[error("{}, {} and {} cannot be used together: {reason}", ca.display(), certificate.display(), key.display())]
    Unusable {
        /// The authority's certificate.
        ca: PathBuf,
        /// This process's certificate.
        certificate: PathBuf,
        /// Its key.
        key: PathBuf,
        /// The reason.
        reason: String,
    },
    /// This build has no TLS.
    #[error("{ABSENT}")]
    Absent,
}
