//! Whole text files, on a disk or in an object store, plain or compressed.

use std::io::{self, Read};
use std::path::Path;

use crate::failure::{Exit, Failure};
use corpus::compression::{Compression, read_start};
use store::Source;

/// Reads a text file, without its byte order mark.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    let read = || -> io::Result<Vec<u8>> {
        let compression = Compression::of(&read_start(Source::open(path)?, 16)?);
        let mut bytes = Vec::new();
        let mut file = compression.map_err(io::Error::other)?.open(path)?;
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|source| {
        let message = format!("{}: cannot be read: {source}", path.display());
        Failure::new(Exit::Data, source).context(message)
    })?;
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|&&byte| byte == b'\n').count();
        Failure::line(path, line, "not UTF-8; save the file as UTF-8")
    })?;
    if text.starts_with('\u{FEFF}') {
        text.drain(..'\u{FEFF}'.len_utf8());
    }
    Ok(text)
}
