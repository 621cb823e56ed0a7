//! Input in an object store: from a pattern like `s3://bucket/docs/**/*.jsonl.zst` to the objects
//! that match.
//!
//! A store has no folders, only keys; `/` is read as in paths. A pattern means the same as for
//! files: an object, everything below a folder, or a glob. Objects with a hidden part in their key
//! are skipped unless the pattern names it.

use std::io;
use std::path::{Path, PathBuf};

use super::InputError;
use super::pattern::{OPTIONS, compile};
use crate::storage::object::{Bucket, ObjectUrl, StoreError, is_remote};

/// The address of an expanded pattern, if it is one: by itself, or relative to such a base.
pub(super) fn address(base: &Path, expanded: &str) -> Option<String> {
    if is_remote(Path::new(expanded)) {
        return Some(expanded.to_owned());
    }
    if !is_remote(base) || expanded.starts_with('/') {
        return None;
    }
    let base = base.to_string_lossy();
    let base = base.trim_end_matches('/');
    let relative = expanded.trim_start_matches("./");
    Some(match relative {
        "." | "" => base.to_owned(),
        relative => format!("{base}/{relative}"),
    })
}

/// Every object that an address with or without wildcards names. `pattern` is the job's wording.
pub(super) fn find(pattern: &str, address: &str) -> Result<Vec<PathBuf>, InputError> {
    let (folder, tail) = split_at_glob(address);
    let store = |error: StoreError| {
        let (path, source) = error.into_parts();
        InputError::Unreadable { path, source }
    };
    let url = ObjectUrl::parse(Path::new(folder)).map_err(store)?;
    let bucket = Bucket::open(&url.bucket).map_err(store)?;
    let glob = if tail.is_empty() { "**/*" } else { tail };
    let matcher = compile(glob, pattern)?;
    let hidden_wanted = glob.starts_with('.') || glob.contains("/.");
    let prefix = url.prefix();
    let mut found = Vec::new();
    for object in bucket.list(&prefix).map_err(store)? {
        let Some(relative) = object.key.strip_prefix(&prefix) else {
            continue;
        };
        let is_hidden = relative.split('/').any(|part| part.starts_with('.'));
        if (hidden_wanted || !is_hidden) && matcher.matches_with(relative, OPTIONS) {
            found.push(url.join(relative).to_path());
        }
    }
    let is_object = found.is_empty() && tail.is_empty() && !url.key.is_empty();
    if is_object && bucket.head(&url.key).map_err(store)?.is_some() {
        return Ok(vec![url.to_path()]);
    }
    if found.is_empty() {
        return Err(InputError::NoMatch {
            pattern: pattern.to_owned(),
            path: PathBuf::from(address),
        });
    }
    Ok(found)
}

/// The folder before the first part with a wildcard, and the pattern from there on.
fn split_at_glob(address: &str) -> (&str, &str) {
    let Some(wildcard) = address.find(['*', '?', '[']) else {
        return (address, "");
    };
    let folder = address[..wildcard].rfind('/').unwrap_or(0);
    (&address[..folder], &address[folder + 1..])
}

/// The names of the files beside a file, or of the objects beside an object.
pub(super) fn names_beside(path: &Path) -> io::Result<Vec<String>> {
    if !is_remote(path) {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(path.parent().unwrap_or(Path::new(".")))? {
            let entry = entry?;
            if entry.path().is_file() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        return Ok(names);
    }
    let url = ObjectUrl::parse(path)?;
    let folder = url.key.rfind('/').map_or("", |end| &url.key[..=end]);
    Ok(Bucket::open(&url.bucket)?.names(folder)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_become_addresses_and_come_apart() {
        let at = |base: &str, pattern| address(Path::new(base), pattern);
        let base = "s3://b/docs/";
        assert_eq!(at("/jobs", "x/*.csv"), None);
        assert_eq!(at("/jobs", "s3://b/x").as_deref(), Some("s3://b/x"));
        assert_eq!(at(base, "x/*.csv").as_deref(), Some("s3://b/docs/x/*.csv"));
        assert_eq!(at(base, ".").as_deref(), Some("s3://b/docs"));
        assert_eq!(at(base, "/data/x.csv"), None);
        assert_eq!(split_at_glob("s3://b/d/**/*.csv"), ("s3://b/d", "**/*.csv"));
        assert_eq!(split_at_glob("s3://b/*.csv"), ("s3://b", "*.csv"));
        assert_eq!(split_at_glob("s3://b/d/x.csv"), ("s3://b/d/x.csv", ""));
    }
}
