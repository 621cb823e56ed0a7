//! `manifest.json`: the files of an output, with sizes and hashes (`output::contents` lists them), and its origin.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::{COMMIT, SCHEMA_VERSION, VERSION};
use crate::failure::Failure;

/// Its name, at the root of an output.
pub(crate) const MANIFEST: &str = "manifest.json";
/// Version of the manifest's layout.
const MANIFEST_VERSION: u32 = 1;

/// The content of `manifest.json`. Paths are relative to the output folder, with `/`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`MANIFEST_VERSION`].
    format_version: u32,
    /// [`SCHEMA_VERSION`] of the tables.
    pub(crate) schema_version: u32,
    /// Version of the program.
    pub(crate) version: String,
    /// Commit it was built from.
    pub(crate) commit: String,
    /// The job's id.
    pub(crate) job_id: String,
    /// Hash of the settings that each stage depends on, by stage.
    pub(crate) settings: BTreeMap<String, String>,
    /// The job's seed.
    pub(crate) seed: u64,
    /// Hash over names and sizes of the input, as ingest saw it.
    pub(crate) input_fingerprint: String,
    /// Documents of the input by [`DocumentStatus`](corpus::DocumentStatus) name.
    pub(crate) documents_by_status: BTreeMap<String, u64>,
    /// The tables, by name.
    pub(crate) tables: BTreeMap<String, TableManifest>,
    /// All other files that are part of the result: the model's.
    pub(crate) files: Vec<FileManifest>,
    /// When the output was completed, UTC; outside the promise of equal bytes.
    created: String,
}

/// One table in the manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TableManifest {
    /// Rows of all parts.
    pub(crate) rows: u64,
    /// The columns, in order.
    pub(crate) columns: Vec<ColumnManifest>,
    /// The parts, in order.
    pub(crate) parts: Vec<PartManifest>,
}

/// One column in the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ColumnManifest {
    /// Its name.
    pub(crate) name: String,
    /// The name of its [`Kind`](super::Kind).
    #[serde(rename = "type")]
    pub(crate) kind: String,
    /// Whether it may hold nulls.
    pub(crate) nullable: bool,
}

/// One part in the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PartManifest {
    /// Its path.
    pub(crate) path: String,
    /// Its rows.
    pub(crate) rows: u64,
    /// Its size.
    pub(crate) bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub(crate) sha256: String,
}

/// One other file in the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileManifest {
    /// Its path.
    pub(crate) path: String,
    /// Its size.
    pub(crate) bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub(crate) sha256: String,
}

impl Manifest {
    /// A manifest without tables, of this program and this moment.
    pub fn new(job_id: &str, seed: u64, input_fingerprint: &str) -> Self {
        Self {
            format_version: MANIFEST_VERSION,
            schema_version: SCHEMA_VERSION,
            version: VERSION.to_owned(),
            commit: COMMIT.to_owned(),
            job_id: job_id.to_owned(),
            settings: BTreeMap::new(),
            seed,
            input_fingerprint: input_fingerprint.to_owned(),
            documents_by_status: BTreeMap::new(),
            tables: BTreeMap::new(),
            files: Vec::new(),
            created: utc(SystemTime::now()),
        }
    }

    /// Reads `manifest.json` in `root`. Errors: missing, not JSON of this form, or of a later
    /// version.
    pub(crate) fn read(root: &Path) -> Result<Self, Failure> {
        let path = root.join(MANIFEST);
        let text = fs::read_to_string(&path).map_err(Failure::io(&path))?;
        Self::from_json(&text, &path)
    }

    /// The manifest that `json` describes; `path` is for the error. Errors: not JSON of this form,
    /// or of a later version.
    pub fn from_json(json: &str, path: &Path) -> Result<Self, Failure> {
        let manifest: Self = serde_json::from_str(json).map_err(|e| {
            let message = format!("is not a manifest ({e}); run the job again");
            Failure::file(path, message)
        })?;
        if manifest.format_version != MANIFEST_VERSION {
            let message = format!(
                "has format version {}, but this program reads {MANIFEST_VERSION}",
                manifest.format_version
            );
            return Err(Failure::file(path, message));
        }
        Ok(manifest)
    }

    /// The text of `manifest.json`.
    pub fn to_json(&self) -> String {
        let mut json = serde_json::to_string_pretty(self)
            .expect("strings, numbers and maps with string keys are always JSON");
        json.push('\n');
        json
    }
}

/// A moment as `2026-01-31T12:34:56Z`.
fn utc(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    // Howard Hinnant, "chrono-compatible low-level date algorithms", civil_from_days: years begin
    // in March, eras have 400 years.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = (shifted_month + 2) % 12 + 1;
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let at = |seconds| utc(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_709_251_199), "2024-02-29T23:59:59Z");
        assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00Z");
    }

    #[test]
    fn a_manifest_survives_its_json() {
        let folder = tempfile::tempdir().unwrap();
        let mut manifest = Manifest::new("job", u64::MAX, "f");
        manifest.settings.insert("train".into(), "00ff".into());
        fs::write(folder.path().join(MANIFEST), manifest.to_json()).unwrap();
        assert_eq!(Manifest::read(folder.path()).unwrap(), manifest);

        manifest.format_version += 1;
        fs::write(folder.path().join(MANIFEST), manifest.to_json()).unwrap();
        let error = Manifest::read(folder.path()).unwrap_err();
        assert!(error.to_string().contains("version"), "{error}");
    }
}
