//! Whole text files, on a disk or in an object store, plain or compressed, and the fields of their lines.

use std::io::ErrorKind;
use std::path::Path;

use csv::{ReaderBuilder, StringRecord};

use crate::failure::{Exit, Failure};
use corpus::compression::read_whole;

/// Reads a text file, without its byte order mark.
pub(super) fn read(path: &Path) -> Result<String, Failure> {
    let bytes = read_whole(path).map_err(|source| {
        let message = format!("{}: cannot be read: {source}", path.display());
        let exit = match source.kind() {
            ErrorKind::NotFound => Exit::Usage,
            _ => Exit::Data,
        };
        Failure::new(exit, source).context(message)
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

/// Splits a line into fields, without spaces around them; with commas, fields may be quoted as in CSV.
pub(super) fn fields(line: &str, delimiter: char) -> Result<Vec<String>, String> {
    let owned = |field: &str| field.trim().to_owned();
    if delimiter != ',' || !line.contains('"') {
        return Ok(line.split(delimiter).map(owned).collect());
    }
    if line.matches('"').count() % 2 == 1 {
        return Err("a quote is not closed in its line".to_owned());
    }
    let mut record = StringRecord::new();
    let mut reader = ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
    // A line of text has at most one record.
    _ = reader.read_record(&mut record);
    Ok(record.iter().map(owned).collect())
}
