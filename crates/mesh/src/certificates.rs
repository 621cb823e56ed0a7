//! Temporary certificates for the hosts of a run.
//!
//! An authority is created, signs one certificate per host, and is discarded: its key is never
//! written, so no further certificates can be made. To add a host, make all certificates again.
//! Without the Cargo feature `tls`, [`make`] returns an error.

#[cfg(feature = "tls")]
mod maker;

#[cfg(feature = "tls")]
pub use maker::make;

#[cfg(not(feature = "tls"))]
use super::{exit::UsageError, tls::ABSENT};

/// Certificates that were made together; all texts are PEM.
#[derive(Debug)]
pub struct Certificates {
    /// The certificate of the authority, for every host.
    pub authority: String,
    /// A certificate for each host, in the order given.
    pub hosts: Vec<HostCertificate>,
}

/// The certificate that one host shows to the others.
pub struct HostCertificate {
    /// A host name, or an address without brackets.
    pub host: String,
    /// Its certificate.
    pub certificate: String,
    /// The certificate's key, which only this host may have.
    pub key: String,
}

impl std::fmt::Debug for HostCertificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HostCertificate({})", self.host)
    }
}

/// Returns the first part of a host's file names: the host, with unsuitable characters replaced by hyphens.
pub fn file_name(host: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-' || c == '_';
    host.chars().map(|c| if plain(c) { c } else { '-' }).collect()
}

/// Returns an error: this build cannot make certificates.
///
/// # Errors
/// Always returns one.
#[cfg(not(feature = "tls"))]
pub fn make(_: &[String], _: u32) -> Result<Certificates, UsageError> {
    Err(UsageError(ABSENT.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(feature = "tls")]
    #[test]
    fn names_and_addresses_of_both_kinds_get_certificates() {
        let hosts = ["node1.example", "10.0.0.7", "fe80::1"].map(str::to_owned);
        let made = make(&hosts, 1).unwrap();
        assert!(made.authority.starts_with("-----BEGIN CERTIFICATE-----"));
        for (certificate, host) in made.hosts.iter().zip(&hosts) {
            assert_eq!(certificate.host, *host);
            assert!(certificate.key.contains("PRIVATE KEY"));
            assert!(!format!("{certificate:?}").contains("KEY"));
        }
        let error = make(&["nö".to_owned()], 1).unwrap_err().to_string();
        assert!(error.starts_with("cannot make a certificate for nö"), "{error}");
    }

    #[test]
    fn names_of_files_are_those_of_hosts() {
        assert_eq!(file_name("fe80::1"), "fe80--1");
        assert_eq!(file_name("../x"), "..-x");
    }
}
