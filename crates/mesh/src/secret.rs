//! The secret that all processes of a job share: a process that has it belongs to the run.
//!
//! It comes from the environment or from a file, never from an argument, which every user of a
//! machine can read in the process list. It appears in no message and no debug output.

use std::fmt::{self, Display};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit};
use sha2::Sha256;

use crate::names::VariableNames;
use crate::{ClusterError, UsageError};

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
    pub fn new(text: &[u8], origin: &str) -> Result<Secret, ClusterError> {
        let text = text.trim_ascii();
        if text.len() < LEAST_BYTES {
            let found = text.len();
            return Err(unusable(format!(
                "in {origin} has {found} bytes, but must have at least {LEAST_BYTES}"
            )));
        }
        Ok(Secret(text.to_vec()))
    }

    /// Creates a new secret as text: 32 random bytes in hexadecimal digits.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn random_text() -> Result<String, ClusterError> {
        random_hex::<32>()
    }

    /// Returns the secret as a line of text.
    ///
    /// # Errors
    /// It is not one.
    pub(super) fn line(&self) -> Result<&str, ClusterError> {
        let text = std::str::from_utf8(&self.0).ok();
        let line = text.filter(|text| !text.contains(['\n', '\r']));
        line.ok_or_else(|| unusable("is not one line of text"))
    }

    /// Finds the secret of this process: in its [variable](VariableNames::secret), else in the file that the
    /// [other](VariableNames::secret_file) names, else in `file`.
    ///
    /// # Errors
    /// The file cannot be read; the variable is not UTF-8; the secret has fewer than 16 bytes.
    pub fn find(file: Option<&Path>) -> Result<Option<FoundSecret>, ClusterError> {
        let names = VariableNames::get();
        if let Some(value) = std::env::var_os(names.secret) {
            let text = value
                .into_string()
                .map_err(|_| unusable(format!("in {} is not plain text", names.secret)))?;
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
    pub(crate) fn read(path: &Path) -> Result<FoundSecret, ClusterError> {
        let mut text = Vec::new();
        let read = File::open(path)
            .and_then(|file| file.take(MOST_FILE_BYTES + 1).read_to_end(&mut text))
            .and_then(|read| match read as u64 {
                0..=MOST_FILE_BYTES => Ok(()),
                _ => Err(io::Error::other("it has more than 64 KiB; is it the right file?")),
            });
        read.map_err(ClusterError::failed_to(format!("read the secret from {}", path.display())))?;
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

/// Returns the error for a secret that is not what it must be.
fn unusable(problem: impl Display) -> ClusterError {
    let message = format!("the secret {problem}; `openssl rand -hex 32` makes a good one");
    ClusterError::Usage(UsageError(message))
}

/// Returns `N` random bytes in hexadecimal digits.
///
/// # Errors
/// The system has no random numbers.
pub(super) fn random_hex<const N: usize>() -> Result<String, ClusterError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(io::Error::other)
        .map_err(ClusterError::failed_to("make a secret"))?;
    Ok(hex::encode(bytes))
}

/// Returns whether the file's mode lets its group or all users read it.
fn is_open_to_others(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o044 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Exit;

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
