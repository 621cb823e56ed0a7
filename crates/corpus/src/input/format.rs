//! The format of a file, by its name, and a check that it suits the job.

use std::path::Path;

use super::error::InputError;
use super::{objects, vocabulary};
use crate::compression::{Compression, stripped};
use crate::settings::{CorpusSettings, Format};

/// The UTF-8 byte order mark that some programs put before a file's content.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns the content of a file after its byte order mark, if it has one.
pub fn without_mark(content: &[u8]) -> &[u8] {
    content.strip_prefix(BYTE_ORDER_MARK).unwrap_or(content)
}

/// Bytes at the start of a file's content by which its format is recognised.
pub(super) const MARK_BYTES: usize = 64;

/// Returns the requested format of a file, or else that of its name; `None` for a vocabulary.
pub(super) fn of(path: &Path, asked: Option<Format>) -> Option<Format> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match asked {
        Some(format) if vocabulary::is_used_by(format) && vocabulary::is_vocabulary(&name) => None,
        Some(format) => Some(format),
        None if vocabulary::is_vocabulary(&name) && stands_beside_documents(path) => None,
        None => Some(guess(&name)),
    }
}

/// Returns the kind of a text that is not only text, or more than one, by its name.
pub(super) fn unsupported(name: &str) -> Option<&'static str> {
    Some(match extension(&name.to_ascii_lowercase()) {
        "bib" => "BibTeX",
        "msf" => "an index of mail",
        "ris" => "RIS",
        "tex" => "LaTeX",
        "warc" => "WARC",
        _ => return None,
    })
}

/// Returns the kind of a document that is not text, by the first bytes of its content.
pub fn kind_of_document(start: &[u8]) -> Option<&'static str> {
    match start {
        [b'%', b'P', b'D', b'F', b'-', ..] => Some("PDF"),
        [b'{', b'\\', b'r', b't', b'f', ..] => Some("RTF"),
        _ => Compression::of(start).err(),
    }
}

/// Returns the extension of a name, before that of its compression.
fn extension(name: &str) -> &str {
    let extension = stripped(name).rsplit_once('.');
    extension.map_or("", |(_, extension)| extension)
}

pub(super) fn guess(name: &str) -> Format {
    let name = name.to_ascii_lowercase();
    match extension(&name) {
        "json" if name.ends_with(".json.bz2") => Format::Htrc,
        "jsonl" | "ndjson" => Format::JsonLines,
        "json" => Format::Json,
        "csv" => Format::Csv,
        "eml" | "emlx" | "mbox" | "mbx" => Format::Mail,
        "tsv" => Format::Tsv,
        "parquet" => Format::Parquet,
        "arrow" | "feather" => Format::Arrow,
        "svmlight" | "svm" | "libsvm" => Format::SvmLight,
        "vw" => Format::Vw,
        "ldac" => Format::LdaC,
        "mtx" => Format::MatrixMarket,
        "txt" if vocabulary::is_documents(stripped(&name)) => Format::Uci,
        _ => Format::Text,
    }
}

/// Returns whether JSON that begins like this is an array of objects, or an object with only its brace on the first
/// line; other JSON is JSON Lines.
pub fn spans_lines(start: &[u8]) -> bool {
    let start = &start[..start.len().min(MARK_BYTES)];
    match without_mark(start).trim_ascii_start() {
        [b'[', rest @ ..] => matches!(rest.trim_ascii_start(), [b'{' | b']', ..]),
        [b'{', rest @ ..] => {
            let line = rest.split(|&byte| byte == b'\n').next();
            rest.contains(&b'\n') && line.is_some_and(|line| line.trim_ascii().is_empty())
        }
        _ => false,
    }
}

/// Returns whether the file's folder has a file of a format with a vocabulary.
fn stands_beside_documents(path: &Path) -> bool {
    let names = objects::names_beside(path).unwrap_or_default();
    names.iter().any(|name| vocabulary::is_used_by(guess(name)))
}

/// Refuses a file whose format cannot provide what the job requires.
pub(super) fn check(
    path: &Path,
    format: Format,
    settings: &CorpusSettings,
) -> Result<(), InputError> {
    let gives_counts = settings.gives_counts(format);
    let problem = if settings.counts.is_some() && !CorpusSettings::finds_counts(format) {
        "corpus.counts is for JSON Lines, Parquet and Arrow only, and this file is none of them; convert it, exclude \
         it, or take corpus.counts out of the job"
    } else if gives_counts && settings.languages.is_some() {
        "holds counts of words, not texts whose language can be identified; take corpus.identify_language and \
         corpus.languages out of the job (volumes of Extracted Features have a language of their own: name it in \
         corpus.metadata, or filter by htrc.languages)"
    } else if gives_counts && settings.needs_order {
        "holds counts of words, without the order that [phrases] needs; read texts instead, or take [phrases] out of \
         the job"
    } else {
        return Ok(());
    };
    Err(InputError::refused(path, problem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_mean_the_same_in_upper_case() {
        for (name, format) in [
            ("DATA.CSV.GZ", Format::Csv),
            ("VOLUME.JSON.BZ2", Format::Htrc),
            ("x.Jsonl.Zst", Format::JsonLines),
            ("NOTES.TXT.GZIP", Format::Text),
        ] {
            assert_eq!(guess(name), format, "{name}");
        }
    }

    #[test]
    fn arrays_and_lone_braces_span_lines() {
        for start in ["[{", " [ \n\t{\"a\":", "[]", "\u{feff}{ \r\n", "{\n}"] {
            assert!(spans_lines(start.as_bytes()), "{start}");
        }
        let far = format!("{{{}\n", " ".repeat(MARK_BYTES));
        for start in ["", "{", "{}\n{}", "{\"a\":\n", "[1]", "[\"a\", {}]", "a\n{\n", &far] {
            assert!(!spans_lines(start.as_bytes()), "{start}");
        }
    }
}
