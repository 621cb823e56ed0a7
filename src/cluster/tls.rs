//! Encryption between processes: TLS 1.3, with certificates on both sides.
//!
//! Each side checks the other against its host in the host file: a certificate of the right
//! authority for another host is refused. Membership in the run is still proved by the secret,
//! inside the encrypted connection and bound to it (`proof`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{
    ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig, ServerConnection,
};

/// Bytes of a value that only the two ends of one encrypted connection know.
pub(super) const BINDING_BYTES: usize = 32;

/// Certificates of this process, ready for both ends of a connection.
#[derive(Clone, Debug)]
pub struct Tls {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

/// Why certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or is not PEM.
    #[error("{what} {}: {source}", path.display())]
    File {
        /// What the file should hold.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: rustls::pki_types::pem::Error,
    },
    /// The files do not fit together.
    #[error("{}, {} and {} cannot be used together: {reason}", ca.display(), certificate.display(), key.display())]
    Unusable {
        /// The authority's certificate.
        ca: PathBuf,
        /// This process's certificate.
        certificate: PathBuf,
        /// Its key.
        key: PathBuf,
        /// Why.
        reason: String,
    },
}

impl Tls {
    /// Reads PEM files: the certificate of the authority that both sides trust, this process's
    /// certificate (with those between, if any), and its key.
    ///
    /// # Errors
    /// A file cannot be read or holds something else; certificate and key do not fit.
    pub fn load(ca: &Path, certificate: &Path, key: &Path) -> Result<Tls, TlsError> {
        let authorities = certificates("certificate of the authority", ca)?;
        let chain = certificates("certificate", certificate)?;
        let private = PrivateKeyDer::from_pem_file(key).map_err(|source| TlsError::File {
            what: "key",
            path: key.to_owned(),
            source,
        })?;
        configure(authorities, chain, private).map_err(|reason| TlsError::Unusable {
            ca: ca.to_owned(),
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            reason,
        })
    }

    /// The calling end of a connection with the process at `host`.
    pub(super) fn call(&self, host: &str) -> Result<Connection, String> {
        let name = server_name(host)?;
        let connection = ClientConnection::new(Arc::clone(&self.client), name);
        connection.map(Connection::from).map_err(in_words)
    }

    /// The answering end of a connection.
    pub(super) fn answer(&self) -> Result<Connection, String> {
        let connection = ServerConnection::new(Arc::clone(&self.server));
        connection.map(Connection::from).map_err(in_words)
    }
}

/// Refuses the other end of a connection if its certificate is not for `host`.
pub(super) fn check_peer(connection: &Connection, host: &str) -> Result<(), String> {
    let chain = connection.peer_certificates().unwrap_or_default();
    let leaf = chain.first().ok_or("it presented no certificate")?;
    let parsed = ParsedCertificate::try_from(leaf).map_err(in_words)?;
    verify_server_name(&parsed, &server_name(host)?).map_err(in_words)
}

/// A value of this connection that only its two ends know, and that neither can choose.
pub(super) fn binding(connection: &Connection) -> Result<[u8; BINDING_BYTES], String> {
    let value = [0; BINDING_BYTES];
    connection
        .export_keying_material(value, b"EXPORTER-topicmill-proof", None)
        .map_err(in_words)
}

fn in_words(error: rustls::Error) -> String {
    error.to_string()
}

/// A host of the host file as certificates name it.
fn server_name(host: &str) -> Result<ServerName<'static>, String> {
    ServerName::try_from(host.to_owned()).map_err(|error| format!("{host}: {error}"))
}

fn certificates(what: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let failed = |source| TlsError::File {
        what,
        path: path.to_owned(),
        source,
    };
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path)
        .map_err(failed)?
        .collect();
    match found.map_err(failed)? {
        none if none.is_empty() => Err(failed(rustls::pki_types::pem::Error::NoItemsFound)),
        found => Ok(found),
    }
}

/// Both configurations: TLS 1.3 only, both sides show certificates of the same authorities.
fn configure(
    authorities: Vec<CertificateDer<'static>>,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<Tls, String> {
    let provider: Arc<CryptoProvider> = Arc::new(aws_lc_rs::default_provider());
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(authority).map_err(in_words)?;
    }
    let roots = Arc::new(roots);
    let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&TLS13])
        .map_err(in_words)?
        .with_root_certificates(Arc::clone(&roots))
        .with_client_auth_cert(chain.clone(), key.clone_key())
        .map_err(in_words)?;
    let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider))
        .build()
        .map_err(|error| error.to_string())?;
    let mut server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .map_err(in_words)?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)
        .map_err(in_words)?;
    // No process connects twice.
    server.send_tls13_tickets = 0;
    Ok(Tls {
        client: Arc::new(client),
        server: Arc::new(server),
    })
}
