//! Temporary certificates for the hosts of a run.
//!
//! An authority is created, signs one certificate per host, and is discarded: its key is never
//! written, so no further certificates can be made. To add a host, make all certificates again.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

/// Certificates of one making; all texts are PEM.
#[derive(Debug)]
pub struct Certificates {
    /// The certificate of the authority, for every host.
    pub authority: String,
    /// One for each host, in the order given.
    pub hosts: Vec<HostCertificate>,
}

/// What one host shows to the others.
pub struct HostCertificate {
    /// A name or an address without brackets.
    pub host: String,
    /// Its certificate.
    pub certificate: String,
    /// The certificate's key, for the host's eyes only.
    pub key: String,
}

impl std::fmt::Debug for HostCertificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HostCertificate({})", self.host)
    }
}

/// Why no certificates could be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot make a certificate for {host}: {source}")]
pub struct CertificateError {
    /// The host, or "the authority".
    host: String,
    source: rcgen::Error,
}

/// The first part of the names of a host's files: the host, with what file names dislike replaced.
pub fn file_name(host: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-' || c == '_';
    host.chars()
        .map(|c| if plain(c) { c } else { '-' })
        .collect()
}

/// Makes certificates for `hosts`, names or addresses, valid from yesterday, as clocks differ,
/// for `days` days from now.
///
/// # Errors
/// A host is neither a name nor an address.
pub fn make(hosts: &[String], days: u32) -> Result<Certificates, CertificateError> {
    let failed = |host: &str| {
        let host = host.to_owned();
        move |source| CertificateError { host, source }
    };
    let key = KeyPair::generate().map_err(failed("the authority"))?;
    let mut params = parameters(days);
    params
        .distinguished_name
        .push(DnType::CommonName, "topicmill run");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let authority = params.self_signed(&key).map_err(failed("the authority"))?;
    let issuer = Issuer::new(params, key);
    let certify = |host: &String| {
        let key = KeyPair::generate()?;
        let named = CertificateParams::new(vec![host.clone()])?;
        let mut params = parameters(days);
        params.subject_alt_names = named.subject_alt_names;
        params.distinguished_name.push(DnType::CommonName, host);
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        let certificate = params.signed_by(&key, &issuer)?;
        Ok(HostCertificate {
            host: host.clone(),
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    };
    let hosts: Result<Vec<_>, _> = hosts
        .iter()
        .map(|host| certify(host).map_err(failed(host)))
        .collect();
    Ok(Certificates {
        authority: authority.pem(),
        hosts: hosts?,
    })
}

/// What all certificates of a making have in common.
fn parameters(days: u32) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    let day = std::time::Duration::from_secs(86_400);
    let epoch = date_time_ymd(1970, 1, 1);
    let now = std::time::SystemTime::now()
        .duration_since(std::time::SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    params.not_before = epoch + now.saturating_sub(day);
    params.not_after = epoch + now + day * days;
    params
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(file_name("fe80::1"), "fe80--1");
        assert_eq!(file_name("../x"), "..-x");
        let error = make(&["nö".to_owned()], 1).unwrap_err().to_string();
        assert!(
            error.starts_with("cannot make a certificate for nö"),
            "{error}"
        );
    }
}
