//! What a file holds, by its name, and whether that can be read as the job asks.

use std::path::Path;

use super::error::InputError;
use super::{objects, vocabulary};
use crate::compression::stripped;
use crate::settings::{CorpusSettings, Format};

/// What the file holds: as the job says, else by its name; `None` for a vocabulary.
pub(super) fn of(path: &Path, asked: Option<Format>) -> Option<Format> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match asked {
        Some(format) if vocabulary::is_used_by(format) && vocabulary::is_vocabulary(&name) => None,
        Some(format) => Some(format),
        None if vocabulary::is_vocabulary(&name) && stands_beside_documents(path) => None,
        None => Some(guess(&name)),
    }
}

pub(super) fn guess(name: &str) -> Format {
    let plain = stripped(name).to_ascii_lowercase();
    match plain
        .rsplit_once('.')
        .map_or("", |(_, extension)| extension)
    {
        "json" if name.ends_with(".json.bz2") => Format::Htrc,
        "jsonl" | "ndjson" | "json" => Format::JsonLines,
        "csv" => Format::Csv,
        "tsv" => Format::Tsv,
        "parquet" => Format::Parquet,
        "arrow" | "feather" => Format::Arrow,
        "svmlight" | "svm" | "libsvm" => Format::SvmLight,
        "vw" => Format::Vw,
        "ldac" => Format::LdaC,
        "mtx" => Format::MatrixMarket,
        "txt" if vocabulary::is_documents(&plain) => Format::Uci,
        _ => Format::Text,
    }
}

/// Whether there is a file with a vocabulary in the file's folder.
fn stands_beside_documents(path: &Path) -> bool {
    let names = objects::names_beside(path).unwrap_or_default();
    names.iter().any(|name| vocabulary::is_used_by(guess(name)))
}

/// Refuses a file that cannot have what the job reads.
pub(super) fn check(
    path: &Path,
    format: Format,
    settings: &CorpusSettings,
) -> Result<(), InputError> {
    let path = path.to_owned();
    if settings.counts.is_some() && !CorpusSettings::finds_counts(format) {
        return Err(InputError::NoCounts { path });
    }
    if !settings.gives_counts(format) {
        return Ok(());
    }
    if settings.languages.is_some() {
        return Err(InputError::NoText { path });
    }
    match settings.needs_order {
        true => Err(InputError::NoOrder { path }),
        false => Ok(()),
    }
}
