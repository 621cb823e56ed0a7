//! Encryption between processes: TLS 1.3, with certificates on both sides.
//!
//! Each side checks the other against its host in the host file: a certificate of the right
//! authority for another host is refused. Membership in the run is still proved by the secret,
//! inside the encrypted connection and bound to it (`proof`).
//! Without the Cargo feature `tls`, [`Tls::load`] returns an error.

pub(super) use session::Session;
pub use session::Tls;

/// The bytes of a value that only the two ends of one encrypted connection know.
pub(super) const BINDING_BYTES: usize = 32;

/// Returns the first part of the names of a host's certificate and key: the host, with unsuitable characters replaced by
/// hyphens.
pub fn file_name(host: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-' || c == '_';
    host.chars().map(|c| if plain(c) { c } else { '-' }).collect()
}

/// Certificates and encrypted connections, using rustls.
#[cfg(feature = "tls")]
mod session {
    use std::io::{self, Read, Write};
    use std::path::Path;
    use std::sync::Arc;

    use rustls::client::verify_server_name;
    use rustls::crypto::{CryptoProvider, ring};
    use rustls::pki_types::pem::{Error as PemError, PemObject};
    use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
    use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
    use rustls::version::TLS13;
    use rustls::{
        ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig, ServerConnection,
    };

    use super::BINDING_BYTES;
    use crate::UsageError;

    /// The certificates of this process, configured for both ends of a connection.
    #[derive(Clone, Debug)]
    pub struct Tls {
        client: Arc<ClientConfig>,
        server: Arc<ServerConfig>,
    }

    impl Tls {
        /// Reads PEM files: the certificate of the authority that both sides trust, this process's
        /// certificate (with intermediate certificates, if any), and its key.
        ///
        /// # Errors
        /// A file cannot be read or contains something else; certificate and key do not match; this build
        /// has no TLS.
        pub fn load(ca: &Path, certificate: &Path, key: &Path) -> Result<Tls, UsageError> {
            let authorities = certificates("certificate of the authority", ca)?;
            let chain = certificates("certificate", certificate)?;
            let private = PrivateKeyDer::from_pem_file(key).map_err(unusable("key", key))?;
            configure(authorities, chain, private).map_err(|reason| {
                let [ca, certificate, key] = [ca, certificate, key].map(Path::display);
                UsageError(format!(
                    "{ca}, {certificate} and {key} cannot be used together: {reason}"
                ))
            })
        }

        /// Returns the calling end of a connection with the process at `host`.
        pub(crate) fn call(&self, host: &str) -> Result<Session, String> {
            let name = server_name(host)?;
            let connection = ClientConnection::new(Arc::clone(&self.client), name);
            connection.map(|end| Session(end.into())).map_err(in_words)
        }

        /// Returns the answering end of a connection.
        pub(crate) fn answer(&self) -> Result<Session, String> {
            let connection = ServerConnection::new(Arc::clone(&self.server));
            connection.map(|end| Session(end.into())).map_err(in_words)
        }
    }

    /// The state of an encrypted connection; the caller has the socket.
    pub(crate) struct Session(Connection);

    impl Session {
        /// Performs the TLS handshake over `stream`, and refuses a peer whose certificate is not for `host`.
        /// Returns a value of this connection that nobody between its ends knows or can choose.
        pub(crate) fn begin(
            &mut self,
            stream: &mut (impl Read + Write),
            host: &str,
        ) -> io::Result<[u8; BINDING_BYTES]> {
            while self.0.is_handshaking() {
                if self.0.complete_io(stream)? == (0, 0) {
                    let kind = io::ErrorKind::UnexpectedEof;
                    return Err(io::Error::new(kind, "it closed the connection"));
                }
            }
            self.check_peer(host).map_err(io::Error::other)?;
            self.0.set_buffer_limit(None);
            self.0
                .export_keying_material([0; BINDING_BYTES], b"EXPORTER-mesh-proof", None)
                .map_err(io::Error::other)
        }

        /// Refuses the other end if its certificate is not for `host`.
        fn check_peer(&self, host: &str) -> Result<(), String> {
            let chain = self.0.peer_certificates().unwrap_or_default();
            let leaf = chain.first().ok_or("it showed no certificate")?;
            let parsed = ParsedCertificate::try_from(leaf).map_err(in_words)?;
            verify_server_name(&parsed, &server_name(host)?).map_err(in_words)
        }

        /// Appends `pieces`, encrypted, to `sealed`.
        pub(crate) fn seal(&mut self, pieces: &[&[u8]], sealed: &mut Vec<u8>) -> io::Result<()> {
            for piece in pieces {
                self.0.writer().write_all(piece)?;
            }
            while self.0.wants_write() {
                self.0.write_tls(sealed)?;
            }
            Ok(())
        }

        /// Reads as many available decrypted bytes as fit; returns their number, 0 if the other end has
        /// closed the connection, `None` if more must be [taken](Session::take) first.
        pub(crate) fn open(&mut self, target: &mut [u8]) -> io::Result<Option<usize>> {
            match self.0.reader().read(target) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
                result => result.map(Some),
            }
        }

        /// Takes encrypted bytes from `source`; returns how many, 0 at its end.
        pub(crate) fn take(&mut self, source: &mut impl Read) -> io::Result<usize> {
            let taken = self.0.read_tls(source)?;
            if taken > 0 {
                self.0.process_new_packets().map_err(io::Error::other)?;
            }
            Ok(taken)
        }
    }

    fn in_words(error: rustls::Error) -> String {
        error.to_string()
    }

    /// Converts a host of the host file to the form used in certificates.
    fn server_name(host: &str) -> Result<ServerName<'static>, String> {
        ServerName::try_from(host.to_owned()).map_err(|error| format!("{host}: {error}"))
    }

    /// Returns the error that a file cannot be read, or is not PEM.
    fn unusable<'p>(what: &'p str, path: &'p Path) -> impl Fn(PemError) -> UsageError + 'p {
        move |error| UsageError(format!("{what} {}: {error}", path.display()))
    }

    fn certificates(what: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, UsageError> {
        let failed = unusable(what, path);
        let found: Result<Vec<_>, _> =
            CertificateDer::pem_file_iter(path).map_err(&failed)?.collect();
        match found.map_err(&failed)? {
            none if none.is_empty() => Err(failed(PemError::NoItemsFound)),
            found => Ok(found),
        }
    }

    /// Builds both configurations: only TLS 1.3; both sides present certificates of the same authorities.
    fn configure(
        authorities: Vec<CertificateDer<'static>>,
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Tls, String> {
        let provider: Arc<CryptoProvider> = Arc::new(ring::default_provider());
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
        // No session is resumed.
        server.send_tls13_tickets = 0;
        Ok(Tls { client: Arc::new(client), server: Arc::new(server) })
    }
}

/// The types of a build without TLS: they have no values, so their methods are never called.
#[cfg(not(feature = "tls"))]
mod session {
    use std::io::{self, Read, Write};
    use std::path::Path;

    use super::BINDING_BYTES;
    use crate::UsageError;

    /// Certificates that cannot be loaded.
    #[derive(Clone, Debug)]
    pub enum Tls {}

    impl Tls {
        /// Returns an error: this build has no TLS.
        ///
        /// # Errors
        /// Always returns one.
        pub fn load(_: &Path, _: &Path, _: &Path) -> Result<Tls, UsageError> {
            Err(UsageError("this build has no TLS support: build with `--features tls`".to_owned()))
        }

        pub(crate) fn call(&self, _: &str) -> Result<Session, String> {
            match *self {}
        }

        pub(crate) fn answer(&self) -> Result<Session, String> {
            match *self {}
        }
    }

    /// A connection that cannot be encrypted.
    pub(crate) enum Session {}

    impl Session {
        pub(crate) fn begin(
            &mut self,
            _: &mut (impl Read + Write),
            _: &str,
        ) -> io::Result<[u8; BINDING_BYTES]> {
            match *self {}
        }

        pub(crate) fn seal(&mut self, _: &[&[u8]], _: &mut Vec<u8>) -> io::Result<()> {
            match *self {}
        }

        pub(crate) fn open(&mut self, _: &mut [u8]) -> io::Result<Option<usize>> {
            match *self {}
        }

        pub(crate) fn take(&mut self, _: &mut impl Read) -> io::Result<usize> {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn names_of_files_are_those_of_hosts() {
        assert_eq!(file_name("fe80::1"), "fe80--1");
        assert_eq!(file_name("../x"), "..-x");
    }
}
