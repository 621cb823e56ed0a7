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

/// Returns the first part of the names of a host's certificate and key: the host, with unsuitable characters replaced by
/// hyphens.
pub fn file_name(host: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-' || c == '_';
    host.chars().map(|c| if plain(c) { c } else { '-' }).collect()
}

/// The error if TLS is requested in a build without the feature.
#[cfg(not(feature = "tls"))]
pub(crate) const ABSENT: &str = "this build has no TLS support: build with `--features tls`";

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn names_of_files_are_those_of_hosts() {
        assert_eq!(file_name("fe80::1"), "fe80--1");
        assert_eq!(file_name("../x"), "..-x");
    }
}
