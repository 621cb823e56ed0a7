//! The TLS types of a build without the feature `tls`: they have no values, so their methods are
//! never called. See `session` for their documentation.

use std::io::{self, Read, Write};
use std::path::Path;

use super::{ABSENT, BINDING_BYTES};
use crate::exit::UsageError;

/// Certificates that cannot be loaded.
#[derive(Clone, Debug)]
pub enum Tls {}

impl Tls {
    /// Returns an error: this build has no TLS.
    ///
    /// # Errors
    /// Always returns one.
    pub fn load(_: &Path, _: &Path, _: &Path) -> Result<Tls, UsageError> {
        Err(UsageError(ABSENT.to_owned()))
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
