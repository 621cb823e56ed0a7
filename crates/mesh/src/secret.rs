//! The secret that all processes of a job share: a process that has it belongs to the run.
//!
//! It comes from the environment or from a file, never from an argument, which every user of a
//! machine can read in the process list. It appears in no message and no debug output.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit};
use sha2::Sha256;

use crate::Exit;
use crate::names::VariableNames;

/// Minimum number of bytes of a secret: a shorter one could be guessed from one intercepted proof.
const LEAST_BYTES: usize = 16;

/// The most bytes of a file with a secret that are read.
const MOST_FILE_BYTES: u64 = 64 << 10;

/// A shared secret of at least 16 bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

/// A secret, with a warning about where it was stored, if necessary.
#[derive(Debug)]
pub struct FoundSecret {
    /// The secret.
    pub secret: Secret,
    /// The warning, for people, about a file that others can read.
    pub warning: Option<String>,
}

/// Why there is no usable secret.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file cannot be read.
    #[error("cannot read the secret from {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The secret is shorter than 16 bytes.
    #[error(
        "the secret in {origin} has {found} bytes, but must have at least {LEAST_BYTES}; `openssl rand -hex 32` makes a good one"
    )]
    Short {
        /// The variable or file.
        origin: String,
        /// The number of bytes without surrounding white space.
        found: usize,
    },
    /// The environment variable is not UTF-8.
    #[error(
        "the secret in {} is not plain text; `openssl rand -hex 32` makes a good one",
        VariableNames::get().secret
    )]
    NotText,
    /// The secret must be sent as one line, but is not.
    #[error("the secret is not one line of text; `openssl rand -hex 32` makes a good one")]
    NotALine,
    /// The system has no random numbers.
    #[error("cannot make a secret: {0}")]
    Random(getrandom::Error),
}

impl SecretError {
    /// Returns how the process ends: a missing file and an unusable secret are usage errors, the rest is I/O.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Read { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                Exit::Usage
            }
            Self::Read { .. } | Self::Random(_) => Exit::Io,
            Self::Short { .. } | Self::NotText | Self::NotALine => Exit::Usage,
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Secret {
    /// Takes the secret from `text`, without surrounding white space; `origin` is its source, for
    /// the error.
    ///
    /// # Errors
    /// The secret has fewer than 16 bytes.
    pub fn new(text: &[u8], origin: &str) -> Result<Secret, SecretError> {
        let text = text.trim_ascii();
        if text.len() < LEAST_BYTES {
            return Err(SecretError::Short { origin: origin.to_owned(), found: text.len() });
        }
        Ok(Secret(text.to_vec()))
    }

    /// Creates a new secret as text: 32 random bytes in hexadecimal digits.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn random_text() -> Result<String, SecretError> {
        random_hex::<32>()
    }

    /// Returns the secret as a line of text, if it is one.
    pub(super) fn line(&self) -> Option<&str> {
        let text = std::str::from_utf8(&self.0).ok();
        text.filter(|text| !text.contains(['\n', '\r']))
    }

    /// Finds the secret of this process: in its [variable](VariableNames::secret), else in the file that the
    /// [other](VariableNames::secret_file) names, else in `file`.
    ///
    /// # Errors
    /// The file cannot be read; the variable is not UTF-8; the secret has fewer than 16 bytes.
    pub fn find(file: Option<&Path>) -> Result<Option<FoundSecret>, SecretError> {
        let names = VariableNames::get();
        if let Some(value) = std::env::var_os(names.secret) {
            let text = value.into_string().map_err(|_| SecretError::NotText)?;
            let secret = Secret::new(text.as_bytes(), names.secret)?;
            return Ok(Some(FoundSecret { secret, warning: None }));
        }
        let named = std::env::var_os(names.secret_file).map(PathBuf::from);
        match named.as_deref().or(file) {
            Some(path) => Self::read(path).map(Some),
            None => Ok(None),
        }
    }

    /// Reads the secret in a file.
    ///
    /// # Errors
    /// The file cannot be read, or contains fewer than 16 bytes.
    pub(crate) fn read(path: &Path) -> Result<FoundSecret, SecretError> {
        let failed = |source| SecretError::Read { path: path.to_owned(), source };
        let mut text = Vec::new();
        let file = File::open(path).map_err(failed)?;
        let read = file.take(MOST_FILE_BYTES + 1).read_to_end(&mut text).map_err(failed)?;
        if read as u64 > MOST_FILE_BYTES {
            let kind = io::ErrorKind::FileTooLarge;
            return Err(failed(io::Error::new(
                kind,
                "it has more than 64 KiB; is it the right file?",
            )));
        }
        let secret = Secret::new(&text, &path.display().to_string())?;
        let warning = is_open_to_others(path).then(|| {
            format!(
                "{} is readable by other users, and anyone with the secret can join the run; `chmod 600` the file",
                path.display()
            )
        });
        Ok(FoundSecret { secret, warning })
    }

    /// Returns a hash that is keyed by the secret, for a proof.
    pub(super) fn keyed(secret: Option<&Secret>) -> Hmac<Sha256> {
        let key = secret.map_or(&[][..], |secret| &secret.0);
        <Hmac<Sha256> as KeyInit>::new_from_slice(key).expect("a key of any length will do")
    }
}

/// Returns `N` random bytes in hexadecimal digits.
///
/// # Errors
/// The system has no random numbers.
pub(super) fn random_hex<const N: usize>() -> Result<String, SecretError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(SecretError::Random)?;
    Ok(hex::encode(bytes))
}

/// Returns whether the file's mode lets its group or all users read it.
fn is_open_to_others(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o044 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_around_a_secret_does_not_count() {
        let plain = Secret::new(b"0123456789abcdef", "x").unwrap();
        assert_eq!(Secret::new(b" 0123456789abcdef\n", "x").unwrap(), plain);
        assert!(!format!("{plain:?}").contains('0'));
    }

    #[test]
    fn short_secrets_are_refused_with_a_remedy() {
        for text in ["", "  \n", "0123456789abcde"] {
            let error = Secret::new(text.as_bytes(), "the file x").unwrap_err();
            assert_eq!(error.exit(), Exit::Usage);
            let message = error.to_string();
            assert!(message.starts_with("the secret in the file x has "));
            assert!(message.contains("openssl rand -hex 32"), "{message}");
        }
    }

    #[test]
    fn secrets_that_are_made_differ_and_are_long_enough() {
        let one = Secret::random_text().unwrap();
        assert_eq!(one.len(), 64);
        assert_ne!(one, Secret::random_text().unwrap());
        Secret::new(one.as_bytes(), "x").unwrap();
    }

    #[test]
    fn a_file_that_others_can_read_is_warned_of() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        assert_eq!(Secret::read(&path).unwrap_err().exit(), Exit::Usage);
        std::fs::write(&path, "0123456789abcdef0123456789abcdef\n").unwrap();
        for (mode, is_warned_of) in [(0o600, false), (0o640, true), (0o604, true)] {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            let found = Secret::read(&path).unwrap();
            assert_eq!(found.warning.is_some(), is_warned_of, "{mode:o}");
        }
    }
}
