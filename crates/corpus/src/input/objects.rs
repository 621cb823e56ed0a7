//! Input in an object store: from a pattern like `s3://bucket/docs/**/*.jsonl.zst` to the objects that match.
//!
//! A store has no folders, only keys; `/` is read as in paths. A pattern means the same as for files: an object,
//! everything below a folder, or a glob. Objects with a hidden part in their key are skipped unless the pattern names
//! it, and so are Hadoop's marks.

use std::io;
use std::path::{Path, PathBuf};

use super::InputError;
use super::outputs::{self, is_mark};
use super::pattern::{Matches, OPTIONS, compile};
use store::{StoreError, is_remote};

/// Returns an expanded pattern as an address, if it is one by itself or relative to a base that is one.
pub(super) fn address(base: &Path, expanded: &str) -> Option<String> {
    let whole = match expanded.trim_start_matches("./") {
        "." | "" => PathBuf::from(base.to_str()?.trim_end_matches('/')),
        relative => store::join(base, relative),
    };
    let is_address = is_remote(&whole);
    is_address.then(|| whole.to_string_lossy().into_owned())
}

/// Finds every object that an address with or without wildcards names. `pattern` is the job's wording.
pub(super) fn find(pattern: &str, address: &str) -> Result<Matches, InputError> {
    let (folder, tail) = split_at_glob(address);
    let folder = Path::new(folder);
    let refuse = |StoreError { path, source }| InputError::Unreadable { path, source };
    let listed = store::at(folder).and_then(|store| {
        let entries = store.list(folder)?;
        let paths: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path).collect();
        let outputs = outputs::listed(&*store, &paths)?;
        Ok((paths, outputs))
    });
    let glob = if tail.is_empty() { "**/*" } else { tail };
    let matcher = compile(glob, pattern)?;
    let hidden_wanted = glob.starts_with('.') || glob.contains("/.");
    let is_wanted = |path: &Path| {
        let relative = path.strip_prefix(folder).unwrap_or(path).to_string_lossy();
        if relative.is_empty() {
            return tail.is_empty();
        }
        let mut parts = relative.split('/');
        let is_hidden = parts.any(|part| part.starts_with('.') || is_mark(part));
        (hidden_wanted || !is_hidden) && matcher.matches_with(&relative, OPTIONS)
    };
    let (paths, outputs) = listed.map_err(refuse)?;
    let is_recursive = tail.is_empty() || tail.contains("**");
    let is_written = |path: &PathBuf| {
        let mut below = outputs.iter().filter(|output| *output != folder);
        below.any(|output| path.starts_with(output))
    };
    let found = paths.into_iter().filter(|path| is_wanted(path));
    let files: Vec<_> = found.filter(|path| !is_recursive || !is_written(path)).collect();
    if files.is_empty() {
        return Err(InputError::no_match(pattern, Path::new(address)));
    }
    Ok(Matches { files, outputs, not_files: Vec::new() })
}

/// Returns the folder before the first part with a wildcard, and the pattern from there on.
fn split_at_glob(address: &str) -> (&str, &str) {
    let Some(wildcard) = address.find(['*', '?', '[']) else {
        return (address, "");
    };
    let folder = address[..wildcard].rfind('/').unwrap_or(0);
    (&address[..folder], &address[folder + 1..])
}

/// Returns the names of the files beside a file, or of the objects beside an object.
pub(super) fn names_beside(path: &Path) -> io::Result<Vec<String>> {
    let folder = path.parent().unwrap_or(path);
    let mut names = store::at(folder)?.names(folder)?;
    names.retain(|name| !folder.join(name).is_dir());
    Ok(names)
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
