//! The files of a job's input, their order and their formats.
//!
//! Files are ordered by name, byte by byte, and everything that follows depends on this order: document numbers,
//! blocks, shards. A file's **name** is its path from `corpus.base` (the job file's folder) if it lies below it or is
//! named relative to it (`../books/a.txt` stays so), and its whole path otherwise. The name is also the `source_id` of
//! a text file, and the first half of `name@offset`, the id of a record without one; the offset is where the record
//! begins, in bytes of the decompressed file (in rows, for Parquet and Arrow).

mod examine;
mod objects;
mod outputs;
mod pattern;
mod vocabulary;

pub use super::error::{InputError, hint};
pub use super::formats::InputFile;
pub use examine::{FoundFile, digests};
use examine::{FoundFiles, input};
pub use outputs::LOCK_MARK;
use outputs::is_beside;
use pattern::Matches;

use super::formats::{self, Format, LIST};
use super::settings::CorpusSettings;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use store::is_remote;

/// Maximum number of left-out files that are named.
const NAMED: usize = 5;

/// Everything a job reads, in the order of the documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// The files, ascending by the bytes of their names, each once.
    pub files: Vec<InputFile>,
    /// The digest of each file, if the input was [identified](identify): of its name, format, size and ends, 16 hexadecimal
    /// digits.
    pub digests: Vec<String>,
    /// The sum of their sizes on disk.
    pub total_bytes: u64,
    /// The names of files that matched and are left out, because topicmill has written them.
    pub written: Vec<String>,
    /// The names of what matched and is no file: links that lead nowhere, pipes, sockets and devices.
    pub not_files: Vec<String>,
}

impl Input {
    /// Returns the expected bytes of content of all files together.
    pub fn expected_bytes(&self) -> u64 {
        self.files.iter().map(InputFile::expected_bytes).sum()
    }

    /// Describes what is left out, except the job at this path: the first few names of each kind, and their number.
    pub fn left_out(&self, job: &Path) -> Vec<String> {
        let is_other = |name: &&String| Path::new(name).file_name() != job.file_name();
        let kinds = [
            (&self.written, "which topicmill has written"),
            (
                &self.not_files,
                "which is not a file, but a pipe, a device, or a link that leads nowhere",
            ),
        ];
        let described = kinds.into_iter().filter_map(|(names, why)| {
            let names: Vec<&str> = names.iter().filter(is_other).map(String::as_str).collect();
            let named = names[..names.len().min(NAMED)].join(", ");
            let named = match names.len().saturating_sub(NAMED) {
                0 => named,
                more => format!("{named} and {more} more"),
            };
            (!names.is_empty()).then(|| format!("{named}, {why}"))
        });
        described.collect()
    }

    /// Returns whether some files are volumes, whose documents are sections.
    pub fn has_volumes(&self) -> bool {
        self.files.iter().any(|file| file.format.is_volume())
    }
}

/// Finds every file of the job's input.
///
/// Patterns start from `settings.base`; each must match something. See [`InputError`] for what can be wrong.
pub fn discover(settings: &CorpusSettings) -> Result<Input, InputError> {
    Ok(input(settings, find(settings, false)?, false, None)?.0)
}

/// Finds the same files except unsupported ones, which are returned with their errors.
pub fn discover_supported(
    settings: &CorpusSettings,
) -> Result<(Input, Vec<(PathBuf, InputError)>), InputError> {
    let mut refused = Vec::new();
    let (input, _) = input(settings, find(settings, false)?, false, Some(&mut refused))?;
    Ok((input, refused))
}

/// Finds the same files, and the fingerprint of the input: a digest (64 hexadecimal digits) that reveals changes
/// cheaply. Opens each file once (compressed JSON twice).
///
/// The digest is SHA-256 over that of every file: of its name, format, size, and first and last 64 KiB, including
/// vocabularies; modification times do not count. For an object, its tag replaces the first and last 64 KiB.
pub fn identify(settings: &CorpusSettings) -> Result<(Input, String), InputError> {
    input(settings, find(settings, false)?, true, None)
}

/// Finds the files that are there now without opening them, possibly none: a pattern may match nothing.
pub fn found_now(settings: &CorpusSettings) -> Result<Vec<FoundFile>, InputError> {
    Ok(find(settings, true)?.files)
}

/// Returns whether no pattern of the job's input matches anything.
pub fn is_gone(settings: &CorpusSettings) -> bool {
    let is_gone = |pattern: &String| {
        matches!(find_pattern(settings, pattern, &|_| false), Err(InputError::NoMatch(_)))
    };
    settings.input.iter().all(is_gone)
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Returns what a pattern of the job matches, and whether it is the name of a file.
fn find_pattern(
    settings: &CorpusSettings,
    text: &str,
    excluded: &dyn Fn(&Path) -> bool,
) -> Result<(Matches, bool), InputError> {
    let is_path = text.contains('$') && settings.base.join(text).exists();
    let expanded = if is_path { text.to_owned() } else { pattern::expand(text, &environment)? };
    let found = match objects::address(&settings.base, &expanded) {
        Some(address) => objects::find(text, &address)?,
        None => pattern::find(&settings.base, text, &expanded, excluded)?,
    };
    let name = Path::new(&expanded).file_name();
    let is_name = matches!(&found.files[..], [file] if file.file_name() == name);
    Ok((found, is_name))
}

/// Returns what the job names, which may be nothing if `may_lack` says so.
fn find(settings: &CorpusSettings, may_lack: bool) -> Result<FoundFiles, InputError> {
    let asked = settings.format.as_deref().map(format_named).transpose()?;
    let exclusions = pattern::Exclusions::new(&settings.base, &settings.exclude, &environment)?;
    let name = |path: &Path| name_of(path, &settings.base);
    let is_excluded = |path: &Path| exclusions.contain(path, Path::new(&name(path)));
    let mut paths: BTreeMap<OsString, (PathBuf, bool)> = BTreeMap::new();
    let mut outputs = Vec::new();
    let mut not_files = BTreeSet::new();
    for text in &settings.input {
        let (found, is_name) = match find_pattern(settings, text, &is_excluded) {
            Err(InputError::NoMatch(_) | InputError::Empty(_)) if may_lack => continue,
            found => found?,
        };
        for path in found.files {
            let normal = pattern::normalize(&path).into_os_string();
            paths.entry(normal).or_insert((path, false)).1 |= is_name;
        }
        outputs.extend(found.outputs);
        let names = found.not_files.into_iter().filter(|path| !is_excluded(path));
        not_files.extend(names.map(|path| name(&path)));
    }
    let is_export = |path: &Path| outputs.iter().any(|output| is_beside(path, output));
    let (mut files, mut written) = (Vec::new(), Vec::new());
    for (path, is_named) in paths.into_values() {
        if is_excluded(&path) {
            continue;
        }
        if !is_named && is_export(&path) {
            written.push(name(&path));
        } else if let Some(format) = format_of(&path, asked) {
            let is_named = is_named && !settings.are_found;
            files.push(FoundFile { name: name(&path), path, format, is_named });
        }
    }
    if files.is_empty() && !may_lack {
        return Err(InputError::nothing_left());
    }
    files.sort_by(|a, b| a.name.as_bytes().cmp(b.name.as_bytes()));
    Ok(FoundFiles { files, written, not_files: not_files.into_iter().collect() })
}

/// Returns the format of this word.
fn format_named(word: &str) -> Result<&'static Format, InputError> {
    formats::named(word).ok_or_else(|| {
        let words = formats::words().join(", ");
        InputError::Refused(format!("corpus.format: `{word}` is not one of {words}"))
    })
}

/// Returns the requested format of a file, or else that of its name; `None` for a vocabulary.
fn format_of(path: &Path, asked: Option<&'static Format>) -> Option<&'static Format> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_vocabulary = vocabulary::is_vocabulary(&name);
    match asked {
        Some(format) if is_vocabulary && has_vocabulary(format) => None,
        Some(format) => Some(format),
        None if is_vocabulary && is_beside_documents(path) => None,
        None => Some(formats::guess(&name)),
    }
}

/// Returns whether files of this format may have a vocabulary beside them.
fn has_vocabulary(format: &Format) -> bool {
    format.vocabulary.is_some()
}

/// Returns whether the file's folder has a file of a format with a vocabulary.
fn is_beside_documents(path: &Path) -> bool {
    let names = objects::names_beside(path).unwrap_or_default();
    names.iter().any(|name| has_vocabulary(formats::guess(name)))
}

/// Refuses a file whose format cannot provide what the job requires.
fn check(
    path: &Path,
    format: &'static Format,
    settings: &CorpusSettings,
) -> Result<(), InputError> {
    let gives_counts = format.gives_counts(settings);
    let problem = if settings.counts.is_some() && !format.takes("corpus.counts") {
        let formats = LIST.iter().filter(|format| format.takes("corpus.counts"));
        let names: Vec<_> = formats.map(|format| format.name).collect();
        &format!(
            "corpus.counts is for the formats {} only, and this file is of another; convert it, exclude it, or take \
             corpus.counts out of the job",
            names.join(", ")
        )
    } else if format.is_counts && !format.is_volume() && settings.languages.is_some() {
        "holds counts of terms, not texts whose language can be identified; take corpus.identify_language and \
         corpus.languages out of the job"
    } else if gives_counts && settings.needs_order {
        "holds counts of words, without the order that [phrases] needs; read texts instead, or take [phrases] out of \
         the job"
    } else {
        return Ok(());
    };
    Err(InputError::refused(path, problem))
}

/// Returns the path from `base`, if the file lies below it or was named relative to it; else the whole path.
fn name_of(path: &Path, base: &Path) -> String {
    let relative = path.strip_prefix(base).unwrap_or(path);
    if is_remote(relative) {
        return relative.to_string_lossy().into_owned();
    }
    pattern::normalize(relative).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compression::Compression;
    use crate::compression::tests::{gzip, zstandard};
    use crate::formats::tests::settings;

    /// Creates a folder with these files, and settings that read all of it.
    fn folder(files: &[(&str, &[u8])]) -> (tempfile::TempDir, CorpusSettings) {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        let settings = settings(folder.path());
        (folder, settings)
    }

    #[test]
    fn files_are_sorted_once_each_with_format_and_compression() {
        let (_folder, mut settings) = folder(&[
            ("b/x.jsonl.gz", &gzip(b"{}")),
            ("b/y.CSV", b"id,text"),
            ("a.jsonl.zst", b"unpacked in place"),
            ("b-c.md", &zstandard(b"x")),
            ("b/docword.k.txt", b""),
            ("b/vocab.k.txt", b"the"),
            ("vocab.txt", b"a document here"),
        ]);
        settings.input = vec![".".into(), "b/*".into(), "./b/../a.jsonl*".into()];
        let input = discover(&settings).unwrap();
        let seen: Vec<_> = input
            .files
            .iter()
            .map(|file| (file.name.as_str(), file.format.name, file.compression))
            .collect();
        use Compression::{Gzip, Plain, Zstd};
        assert_eq!(
            seen,
            [
                ("a.jsonl.zst", "jsonl", Plain),
                ("b-c.md", "text", Zstd),
                ("b/docword.k.txt", "uci", Plain),
                ("b/x.jsonl.gz", "jsonl", Gzip),
                ("b/y.CSV", "csv", Plain),
                ("vocab.txt", "text", Plain),
            ]
        );
        let sizes: u64 = input.files.iter().map(|file| file.bytes).sum();
        assert_eq!(input.total_bytes, sizes);
        assert!(input.files[2].vocabulary.as_ref().unwrap().ends_with("b/vocab.k.txt"));
    }

    #[test]
    fn names_start_from_the_base_even_above_it() {
        let (folder, mut settings) = folder(&[("jobs/a.toml", b""), ("data/x.txt", b"")]);
        settings.base = folder.path().join("jobs");
        settings.input = vec!["../data".into()];
        assert_eq!(discover(&settings).unwrap().files[0].name, "../data/x.txt");
        let whole = folder.path().join("data/x.txt").to_string_lossy().into_owned();
        settings.input = vec![whole.clone()];
        assert_eq!(discover(&settings).unwrap().files[0].name, whole);
    }

    #[test]
    fn exclusions_leave_out_files_folders_and_paths() {
        let (_folder, mut settings) = folder(&[
            ("a.txt", b""),
            ("b.log", b""),
            ("old/c.txt", b""),
            ("x/old/d.txt", b""),
            ("x/y/e.txt", b""),
        ]);
        let names = |settings: &CorpusSettings| -> Vec<String> {
            discover(settings).unwrap().files.into_iter().map(|file| file.name).collect()
        };
        settings.exclude = vec!["*.log".into(), "old".into()];
        assert_eq!(names(&settings), ["a.txt", "x/y/e.txt"]);
        settings.exclude = vec!["x/y".into(), "./*.log".into()];
        assert_eq!(names(&settings), ["a.txt", "old/c.txt", "x/old/d.txt"]);
        settings.exclude = vec!["**/*.txt".into(), "*.log".into()];
        assert!(matches!(discover(&settings), Err(InputError::Empty(_))));
        let root = settings.base.clone();
        settings.input = vec![root.to_string_lossy().into_owned()];
        settings.base = root.join("x/y");
        settings.exclude = vec!["**/old/**".into(), "**/*.log".into()];
        assert_eq!(discover(&settings).unwrap().files.len(), 2);
    }

    #[test]
    fn the_fingerprint_sees_content_and_names_but_no_times() {
        let long = vec![b'x'; 300_000];
        let (folder, settings) = folder(&[("a.txt", b"one"), ("b.txt", &long)]);
        let fingerprint = || identify(&settings).unwrap().1;
        let first = fingerprint();
        assert_eq!(first.len(), 64);
        std::fs::write(folder.path().join("a.txt"), "one").unwrap();
        assert_eq!(fingerprint(), first);
        let mut changed = long.clone();
        *changed.last_mut().unwrap() = b'y';
        std::fs::write(folder.path().join("b.txt"), &changed).unwrap();
        let second = fingerprint();
        assert_ne!(second, first);
        std::fs::rename(folder.path().join("b.txt"), folder.path().join("c.txt")).unwrap();
        assert_ne!(fingerprint(), second);
    }

    #[test]
    fn files_have_digests_whatever_else_is_there() {
        let (folder, mut settings) =
            folder(&[("a.txt", b"one"), ("b.jsonl", b"\xfd7zXZ\0"), ("c.toml", b"[corpus]\n")]);
        let found = found_now(&settings).unwrap();
        let digests = digests(&settings, &found);
        let [Ok(Some(of_text)), Err(refused), Ok(None)] = &digests[..] else {
            panic!("{digests:?}");
        };
        assert!(refused.to_string().contains("b.jsonl: is xz"), "{refused}");
        std::fs::remove_file(folder.path().join("b.jsonl")).unwrap();
        assert_eq!(identify(&settings).unwrap().0.digests, std::slice::from_ref(of_text));
        settings.input = vec!["nothing/*".into(), "none".into()];
        assert!(found_now(&settings).unwrap().is_empty());
        settings.input = vec!["[".into()];
        assert!(found_now(&settings).is_err());
    }

    #[test]
    fn a_file_that_was_found_is_one_of_many() {
        let (_folder, mut settings) = folder(&[("a.tex", b"text"), ("b.dat", b"\xfd7zXZ\0")]);
        for name in ["a.tex", "b.dat"] {
            settings.input = vec![name.into()];
            settings.are_found = false;
            assert!(discover(&settings).is_err(), "{name}");
            settings.are_found = true;
            assert_eq!(discover(&settings).unwrap().files.len(), 1, "{name}");
        }
    }

    #[test]
    fn many_files_keep_their_order_and_the_first_error_is_returned() {
        let names: Vec<_> = (0..500).map(|number| format!("{number:03}.jsonl")).collect();
        let files: Vec<_> = names.iter().map(|name| (name.as_str(), &b"{}"[..])).collect();
        let (folder, settings) = folder(&files);
        let (input, fingerprint) = identify(&settings).unwrap();
        assert!(input.files.iter().map(|file| &file.name).eq(&names));
        assert_eq!(identify(&settings).unwrap(), (input, fingerprint));
        for number in [490, 300, 20] {
            std::fs::write(folder.path().join(&names[number]), b"\xfd7zXZ\0").unwrap();
            let error = identify(&settings).unwrap_err().to_string();
            assert!(error.contains(&names[number]), "{error}");
        }
        let (input, refused) = discover_supported(&settings).unwrap();
        let refused: Vec<_> = refused.iter().map(|(path, _)| path.file_name().unwrap()).collect();
        assert_eq!(
            (input.files.len(), refused),
            (497, vec!["020.jsonl".as_ref(), "300.jsonl".as_ref(), "490.jsonl".as_ref()])
        );
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_a_remedy() {
        let refusal = |name: &str, bytes: &[u8]| {
            let (_folder, settings) = folder(&[(name, bytes)]);
            discover(&settings).unwrap_err().to_string()
        };
        assert!(refusal("a.jsonl.xz", b"\xfd7zXZ\0").contains("is xz"));
        assert!(refusal("a.docx", b"PK\x03\x04").contains("pandoc"));
        assert!(refusal("a.csv", b"\xff\xfei\0d\0").contains("iconv -f UTF-16"));
        assert!(refusal("a.parquet", &gzip(b"PAR1")).contains("decompress it"));
        assert!(refusal("docword.a.txt", b"1\n1\n0\n").contains("`vocab.a.txt`; found none"));
        assert!(refusal("A.BIB.gz", &gzip(b"@book{}")).contains("is BibTeX"));
        let (_folder, mut settings) = folder(&[("a.tex", b"text")]);
        settings.format = Some("text".into());
        assert_eq!(discover(&settings).unwrap().files.len(), 1);
    }

    #[test]
    fn a_kind_of_text_among_others_is_refused_only_by_name() {
        let (_folder, mut settings) = folder(&[("a.tex", b"text"), ("b.txt", b"text")]);
        assert_eq!(discover(&settings).unwrap().files.len(), 2);
        assert_eq!(discover_supported(&settings).unwrap().1.len(), 1);
        settings.input = vec!["*.txt".into(), "a.tex".into()];
        let error = discover(&settings).unwrap_err().to_string();
        assert!(error.contains("is LaTeX"), "{error}");
    }

    #[test]
    fn an_input_is_gone_if_nothing_of_it_is_left() {
        let (folder, mut settings) = folder(&[("a.txt", b"text")]);
        settings.input = vec!["a.txt".into(), "b.txt".into()];
        assert!(discover(&settings).is_err() && !is_gone(&settings));
        std::fs::remove_file(folder.path().join("a.txt")).unwrap();
        assert!(is_gone(&settings));
    }
}
