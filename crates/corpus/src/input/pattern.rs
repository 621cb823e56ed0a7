//! From a pattern of the job to the files that match.
//!
//! A pattern is a file, a folder (read recursively) or a glob with `?`, `*`, `[…]` and `**`. `$NAME`, `${NAME}`,
//! `${NAME:-default}` and a leading `~/` are expanded first, unless a file has that very name. Hidden files and
//! folders, and Hadoop's marks, are skipped unless the pattern names them; a folder linked into itself is entered once.
//! Outputs of topicmill are skipped when folders are read recursively.

use super::InputError;
use super::outputs::{is_mark, is_output};
use glob::{MatchOptions, Pattern};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use store::is_remote;
use walkdir::{DirEntry, WalkDir};

/// `*` stays within a folder and does not match a leading dot.
pub(super) const OPTIONS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// For exclusions, `*` matches a leading dot: hidden folders above the input (`~/.cargo`) must not hide their content.
const EXCLUSION_OPTIONS: MatchOptions =
    MatchOptions { require_literal_leading_dot: false, ..OPTIONS };

/// A lookup of environment variables.
pub(super) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Replaces variables and a leading `~/`.
pub(super) fn expand(pattern: &str, environment: Environment<'_>) -> Result<String, InputError> {
    let missing = |name: &str| {
        InputError::Refused(format!(
            "corpus: `{pattern}` uses the environment variable {name}, which is not set; set it, or write a default: \
             ${{{name}:-folder}}"
        ))
    };
    let mut expanded = String::new();
    let mut rest = pattern;
    while let Some(at) = rest.find('$') {
        expanded.push_str(&rest[..at]);
        let (reference, after) = split_reference(&rest[at + 1..]);
        rest = after;
        match reference {
            None => expanded.push('$'),
            Some((name, default)) => match environment(name).filter(|value| !value.is_empty()) {
                Some(value) => expanded.push_str(&value),
                None => expanded.push_str(default.ok_or_else(|| missing(name))?),
            },
        }
    }
    expanded.push_str(rest);
    if expanded == "~" || expanded.starts_with("~/") {
        let home = environment("HOME").ok_or_else(|| missing("HOME"))?;
        expanded.replace_range(..1, &home);
    }
    Ok(expanded)
}

/// Splits the text after a `$` into (name, default) and the rest; `None` if it names no variable.
fn split_reference(text: &str) -> (Option<(&str, Option<&str>)>, &str) {
    if let Some((inner, rest)) = text.strip_prefix('{').and_then(|t| t.split_once('}')) {
        let reference = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        return (Some(reference), rest);
    }
    let is_name = |c: char| c == '_' || c.is_ascii_alphanumeric();
    let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
    if end == 0 || text.starts_with(|c: char| c.is_ascii_digit()) {
        return (None, text);
    }
    (Some((&text[..end], None)), &text[end..])
}

/// What a pattern matches.
#[derive(Debug, Default)]
pub(super) struct Matches {
    pub(super) files: Vec<PathBuf>,
    /// Outputs of topicmill beside them.
    pub(super) outputs: Vec<PathBuf>,
    /// What is neither a file nor a folder beside them: links that lead nowhere, pipes, sockets and devices.
    pub(super) not_files: Vec<PathBuf>,
}

/// Finds every file that a pattern names, in no particular order.
///
/// `pattern` is the job's own wording, for errors; `expanded` is the result of [`expand`]. What is unreadable matters
/// only if it may match and is not `excluded`.
pub(super) fn find(
    base: &Path,
    pattern: &str,
    expanded: &str,
    excluded: &dyn Fn(&Path) -> bool,
) -> Result<Matches, InputError> {
    // Collecting drops every `.` but a leading one.
    let whole: PathBuf = base.join(expanded).components().collect();
    let found = match std::fs::metadata(&whole) {
        Ok(found) if found.is_dir() => {
            let mut matches = walk(&whole, "**/*", pattern, excluded)?;
            for folder in mail_folders(&whole) {
                let more = walk(&folder, "**/*", pattern, excluded)?;
                matches.files.extend(more.files);
                matches.outputs.extend(more.outputs);
                matches.not_files.extend(more.not_files);
            }
            matches
        }
        Ok(found) if found.is_file() => {
            Matches { files: vec![whole.clone()], ..Matches::default() }
        }
        Ok(_) => return Err(InputError::pipe(&whole)),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            return Err(InputError::unreadable(&whole)(error));
        }
        Err(_) => {
            let (folder, tail) = split_at_glob(base, expanded);
            match tail {
                Some(tail) if folder.is_dir() => walk(&folder, &tail, pattern, excluded)?,
                _ => Matches::default(),
            }
        }
    };
    if found.files.is_empty() && whole.is_dir() {
        return Err(InputError::Empty(format!(
            "the folder contains no file: {} (hidden files are skipped); put files there, or name another",
            whole.display()
        )));
    }
    if found.files.is_empty() {
        return Err(InputError::no_match(pattern, &whole));
    }
    Ok(found)
}

/// Returns the folders that a Maildir hides beside its first one (Maildir++).
fn mail_folders(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let is_maildir = |folder: &Path| ["cur", "new"].iter().all(|name| folder.join(name).is_dir());
    let entries = folder.read_dir().ok().filter(|_| is_maildir(folder));
    let within = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    within.filter(move |path| path.file_name().is_some_and(is_hidden) && is_maildir(path))
}

/// Returns the folder before the first component with a wildcard, and the pattern from there on.
fn split_at_glob(base: &Path, expanded: &str) -> (PathBuf, Option<String>) {
    let mut folder = base.to_owned();
    let mut components = Path::new(expanded).components();
    loop {
        let tail = components.as_path();
        let Some(component) = components.next() else {
            return (folder, None);
        };
        let text = component.as_os_str().to_string_lossy();
        if text.contains(['*', '?', '[']) {
            return (folder, Some(tail.to_string_lossy().into_owned()));
        }
        folder.push(component);
    }
}

/// Finds the files under `folder` whose path from there matches `tail`.
fn walk(
    folder: &Path,
    tail: &str,
    pattern: &str,
    excluded: &dyn Fn(&Path) -> bool,
) -> Result<Matches, InputError> {
    let matcher = compile(tail, pattern)?;
    let is_recursive = tail.contains("**");
    let depth = if is_recursive { usize::MAX } else { Path::new(tail).components().count() };
    let hidden_wanted = tail.starts_with('.') || tail.contains("/.");
    let relative = |path: &Path| path.strip_prefix(folder).unwrap_or(path).to_owned();
    let mut outputs = Vec::new();
    let is_wanted = |entry: &DirEntry| {
        if entry.depth() == 0 {
            return true;
        }
        let is_folder = entry.file_type().is_dir();
        let is_ours = is_folder && is_output(entry.path());
        if is_ours {
            outputs.push(entry.path().to_owned());
        }
        let leads = !is_folder || may_lead(tail, &relative(entry.path()));
        !(is_ours && is_recursive) && leads && (hidden_wanted || !is_hidden(entry.file_name()))
    };
    let entries = WalkDir::new(folder)
        .min_depth(1)
        .max_depth(depth)
        .follow_links(true)
        .into_iter()
        .filter_entry(is_wanted);
    let (mut files, mut not_files) = (Vec::new(), Vec::new());
    let is_match = |path: &Path| matches(&matcher, &relative(path), OPTIONS);
    for entry in entries {
        match entry {
            Ok(entry) if entry.file_type().is_dir() || !is_match(entry.path()) => {}
            Ok(entry) if entry.file_type().is_file() => files.push(entry.into_path()),
            Ok(entry) => not_files.push(entry.into_path()),
            Err(error) if error.loop_ancestor().is_some() => {}
            Err(error) => {
                let path = error.path().unwrap_or(folder);
                if excluded(path) || !may_lead(tail, &relative(path)) {
                    continue;
                }
                if !leads_nowhere(&error) {
                    let path = path.to_owned();
                    return Err(InputError::unreadable(&path)(error.into()));
                }
                not_files.extend(Some(path.to_owned()).filter(|path| is_match(path)));
            }
        }
    }
    Ok(Matches { files, outputs, not_files })
}

/// Returns whether a path may match the pattern, or be a folder with files that do: its components match those of the
/// pattern, as far as there is no `**`.
fn may_lead(tail: &str, path: &Path) -> bool {
    let mut wanted = tail.split('/');
    path.iter().all(|part| match wanted.next() {
        None => false,
        Some(glob) if glob.contains("**") => {
            wanted = "**".split('/');
            true
        }
        Some(glob) => {
            Pattern::new(glob).map_or(true, |glob| matches(&glob, Path::new(part), OPTIONS))
        }
    })
}

/// Returns whether a path matches; bytes that are not UTF-8 match like any character.
fn matches(pattern: &Pattern, path: &Path, options: MatchOptions) -> bool {
    pattern.matches_with(&path.to_string_lossy(), options)
}

/// Returns whether a link leads to nothing.
fn leads_nowhere(error: &walkdir::Error) -> bool {
    let kind = error.io_error().map(std::io::Error::kind);
    error.path().is_some_and(Path::is_symlink) && kind == Some(std::io::ErrorKind::NotFound)
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".") || is_mark(&name.to_string_lossy())
}

pub(super) fn compile(glob: &str, pattern: &str) -> Result<Pattern, InputError> {
    Pattern::new(glob).map_err(|error| {
        InputError::Refused(format!(
            "corpus: the pattern `{pattern}` is not valid: {error}; write `[[]` for a literal `[`"
        ))
    })
}

/// The globs of `corpus.exclude`, compiled.
///
/// One without `/` is matched against each component of a file's name; one with `/` against the path and every folder
/// on it, from the base folder on, or from anywhere if it begins with `**/`. So `drafts`, `*.log` and `old/2019`
/// exclude the files and folders that they name, and everything inside.
pub(super) struct Exclusions {
    components: Vec<Pattern>,
    paths: Vec<Pattern>,
}

impl Exclusions {
    pub(super) fn new(
        base: &Path,
        patterns: &[String],
        environment: Environment<'_>,
    ) -> Result<Self, InputError> {
        let mut exclusions = Self { components: Vec::new(), paths: Vec::new() };
        for pattern in patterns {
            let expanded = expand(pattern, environment)?;
            let trimmed = expanded.trim_end_matches('/');
            if !trimmed.contains('/') {
                exclusions.components.push(compile(trimmed, pattern)?);
                continue;
            }
            let base = if trimmed.starts_with("**/") {
                "/".to_owned()
            } else {
                Pattern::escape(&base.to_string_lossy())
            };
            let whole = rooted(&store::join(Path::new(&base), trimmed));
            exclusions.paths.push(compile(&whole.to_string_lossy(), pattern)?);
        }
        Ok(exclusions)
    }

    /// Returns whether the file at `path` (as returned by [`find`]), called `name`, is excluded.
    pub(super) fn contain(&self, path: &Path, name: &Path) -> bool {
        let path = rooted(path);
        let component = |pattern: &Pattern| {
            name.iter().any(|part| pattern.matches_with(&part.to_string_lossy(), OPTIONS))
        };
        let whole = |pattern: &Pattern| {
            path.ancestors().any(|folder| matches(pattern, folder, EXCLUSION_OPTIONS))
        };
        self.components.iter().any(component) || self.paths.iter().any(whole)
    }
}

/// Returns the path to match: an address begins with `/` too.
fn rooted(path: &Path) -> PathBuf {
    if is_remote(path) { Path::new("/").join(normalize(path)) } else { normalize(path) }
}

/// Returns the path without `.` and without `..` after a name.
pub(super) fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        let is_named = || matches!(normal.components().next_back(), Some(Component::Normal(_)));
        match component {
            Component::CurDir => {}
            Component::ParentDir if is_named() => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(name: &str) -> Option<String> {
        match name {
            "HOME" => Some("/home/ann".into()),
            "DATA" => Some("/data".into()),
            "NOTHING" => Some(String::new()),
            _ => None,
        }
    }

    fn files(base: &Path, pattern: &str) -> Result<Vec<PathBuf>, InputError> {
        find(base, pattern, pattern, &|_| false).map(|found| found.files)
    }

    #[test]
    fn variables_defaults_and_the_home_folder_are_expanded() {
        let check = |pattern: &str, expected: &str| {
            assert_eq!(expand(pattern, &environment).unwrap(), expected);
        };
        check("${CARGO_HOME:-~/.cargo}/registry/**/*.rs", "/home/ann/.cargo/registry/**/*.rs");
        check("$DATA/x-${DATA}", "/data/x-/data");
        check("${NOTHING:-there}", "there");
        check("~/a~/b", "/home/ann/a~/b");
        check("price$ $5 ~x", "price$ $5 ~x");
        let error = expand("$ABSENT/x", &environment).unwrap_err().to_string();
        assert!(
            error.contains("variable ABSENT") && error.contains("${ABSENT:-folder}"),
            "{error}"
        );
    }

    #[test]
    fn a_device_is_refused() {
        assert!(files(Path::new("/"), "dev/null").is_err());
    }

    #[test]
    fn paths_are_normalized_by_their_text() {
        assert_eq!(normalize(Path::new("/a/./b/../c")), Path::new("/a/c"));
        assert_eq!(normalize(Path::new("../a/..")), Path::new(".."));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn names_that_are_not_utf_8_are_found() {
        use std::os::unix::ffi::OsStrExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(OsStr::from_bytes(b"a\xff.txt"));
        std::fs::write(&path, "x").unwrap();
        for pattern in ["", "*.txt", "a?.txt"] {
            let found = files(folder.path(), pattern).unwrap();
            assert_eq!(found, std::slice::from_ref(&path));
        }
        let excluded = |glob: &str| {
            let exclusions = Exclusions::new(folder.path(), &[glob.to_owned()], &environment);
            exclusions.unwrap().contain(&path, Path::new(path.file_name().unwrap()))
        };
        assert!(excluded("a*") && excluded("./a?.txt") && !excluded("b*"));
    }

    #[test]
    fn globs_stay_in_their_folders_and_leave_hidden_files() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        for name in ["a.txt", "b/c.txt", "b/d/e.txt", ".hidden/f.txt", "b/.g.txt", "[x].txt"] {
            let path = base.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        for (name, text) in [("b/out/_lock", "topicmill output\nprocess 1\n"), ("b/own/_lock", "")]
        {
            std::fs::create_dir_all(base.join(name).parent().unwrap()).unwrap();
            std::fs::write(base.join(name), text).unwrap();
            std::fs::write(base.join(name).with_file_name("h.md"), "x").unwrap();
        }
        let found = |pattern: &str| {
            let mut names: Vec<String> = files(base, pattern)
                .unwrap()
                .iter()
                .map(|p| p.strip_prefix(base).unwrap().to_str().unwrap().to_owned())
                .collect();
            names.sort();
            names.join(" ")
        };
        assert_eq!(found("**/*.txt"), "[x].txt a.txt b/c.txt b/d/e.txt");
        assert_eq!(found("*/*.txt"), "b/c.txt");
        assert_eq!(found("b/**/*.txt"), "b/c.txt b/d/e.txt");
        // An output of topicmill is read only if it is named.
        assert_eq!(found("b"), "b/c.txt b/d/e.txt b/own/_lock b/own/h.md");
        assert_eq!(found("**/*.md"), "b/own/h.md");
        assert_eq!(found("b/*/*.md"), "b/out/h.md b/own/h.md");
        assert_eq!(found("b/out"), "b/out/_lock b/out/h.md");
        assert_eq!(found("[x].txt"), "[x].txt");
        assert_eq!(found(".hidden/*"), ".hidden/f.txt");
        assert_eq!(found("*/.g*"), "b/.g.txt");
        let none = files(base, "no/*");
        assert!(matches!(none, Err(InputError::NoMatch(_))));
        let error = files(base, "b/a**").unwrap_err().to_string();
        assert!(error.contains("`b/a**` is not valid"), "{error}");
    }

    #[test]
    fn links_into_their_own_folder_and_to_nothing_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        std::fs::create_dir(base.join("a")).unwrap();
        std::fs::write(base.join("a/x.txt"), "x").unwrap();
        std::os::unix::fs::symlink(base, base.join("a/up")).unwrap();
        std::os::unix::fs::symlink(base.join("gone"), base.join("a/dangling")).unwrap();
        let found = find(base, ".", ".", &|_| false).unwrap();
        assert_eq!(found.files.len(), 1);
        assert_eq!(found.not_files, [base.join("a/dangling")]);
        assert!(find(base, "a/*.txt", "a/*.txt", &|_| false).unwrap().not_files.is_empty());
    }

    #[test]
    fn what_cannot_be_read_matters_only_if_it_may_match() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        std::fs::create_dir_all(base.join("a/b")).unwrap();
        std::fs::write(base.join("a/x.csv"), "x").unwrap();
        std::fs::write(base.join("a/b/x.csv"), "x").unwrap();
        // Nobody can follow a link to itself, whatever their permissions.
        std::os::unix::fs::symlink(base.join("secret"), base.join("secret")).unwrap();
        for pattern in ["a*/*.csv", "?/*.csv", "a/**/*.csv", "a*/**/x.csv", "[a]/b/*"] {
            assert!(files(base, pattern).is_ok(), "{pattern}");
        }
        for pattern in [".", "*/*.csv", "**/*.csv", "s*/*.csv", "*/**/x.csv"] {
            let error = files(base, pattern).unwrap_err().to_string();
            assert!(error.contains("secret: cannot be read"), "{pattern}: {error}");
            assert!(error.contains("exclude it"), "{pattern}: {error}");
            let rest = find(base, pattern, pattern, &|path| path.ends_with("secret"));
            let is_gone = matches!(rest, Err(InputError::NoMatch(_)));
            assert!(rest.is_ok() || is_gone && pattern.starts_with('s'), "{pattern}");
        }
    }
}
