//! Makes the certificates with rcgen.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

use super::{Certificates, HostCertificate};
use crate::exit::UsageError;

/// Makes certificates for `hosts`, which are names or addresses. They are valid from yesterday,
/// because clocks differ, until `days` days from now.
///
/// # Errors
/// A host is neither a name nor an address.
pub fn make(hosts: &[String], days: u32) -> Result<Certificates, UsageError> {
    let failed = |host: &str| {
        let made = format!("cannot make a certificate for {host}");
        move |error: rcgen::Error| UsageError(format!("{made}: {error}"))
    };
    let key = KeyPair::generate().map_err(failed("the authority"))?;
    let mut params = parameters(days);
    params.distinguished_name.push(DnType::CommonName, "topicmill run");
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
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&key, &issuer)?;
        Ok(HostCertificate {
            host: host.clone(),
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    };
    let hosts: Result<Vec<_>, _> =
        hosts.iter().map(|host| certify(host).map_err(failed(host))).collect();
    Ok(Certificates { authority: authority.pem(), hosts: hosts? })
}

/// Returns the parameters that all certificates of a set share.
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
