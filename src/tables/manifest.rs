//! `manifest.json`: the files of an output, with sizes and hashes (`output` lists them), and its origin.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{COMMIT, PartInfo, SCHEMA_VERSION, VERSION};
use crate::failure::Failure;
use corpus::dates::utc;

/// Its name, at the root of an output.
pub(crate) const MANIFEST: &str = "manifest.json";
/// The last file of a run, written after the manifest: the output is complete.
pub(crate) const SUCCESS: &str = "_SUCCESS";
/// The remedy for a finished result that lacks something.
pub(crate) const MADE_AGAIN: &str = "rerun the job with --overwrite; if it is kept only in the result, as job.toml, copy it out of there first";
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
    /// Hash of what the job read of each other result, by the key that names it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) results: BTreeMap<String, String>,
    /// The job's seed.
    pub(crate) seed: u64,
    /// Fingerprint of the input (names, formats, sizes, samples of the content), as ingest saw it.
    pub(crate) input_fingerprint: String,
    /// Documents of the input by [`DocumentStatus`](corpus::DocumentStatus) name.
    pub(crate) documents_by_status: BTreeMap<String, u64>,
    /// The tables, by name.
    pub(crate) tables: BTreeMap<String, TableManifest>,
    /// The model's files, the vocabulary, and the collection's description.
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
    pub(crate) path: String,
    /// Its rows, size and hash.
    #[serde(flatten)]
    pub(crate) info: PartInfo,
}

/// One other file in the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileManifest {
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub(crate) sha256: String,
}

impl Manifest {
    /// Creates a manifest without tables, for this program and this moment.
    pub fn new(job_id: &str, seed: u64, input_fingerprint: &str) -> Self {
        Self {
            format_version: MANIFEST_VERSION,
            schema_version: SCHEMA_VERSION,
            version: VERSION.to_owned(),
            commit: COMMIT.to_owned(),
            job_id: job_id.to_owned(),
            settings: BTreeMap::new(),
            results: BTreeMap::new(),
            seed,
            input_fingerprint: input_fingerprint.to_owned(),
            documents_by_status: BTreeMap::new(),
            tables: BTreeMap::new(),
            files: Vec::new(),
            created: utc(SystemTime::now()),
        }
    }

    /// Reads `manifest.json` in `root`. Errors: it is missing, is not a manifest, or has another format version.
    pub(crate) fn read(root: &Path) -> Result<Self, Failure> {
        let path = root.join(MANIFEST);
        let text = fs::read_to_string(&path).map_err(Failure::io(&path))?;
        Self::from_json(&text, &path)
    }

    /// Parses a manifest; `path` is for the error. Errors: `json` is not a manifest, or has another format version.
    pub fn from_json(json: &str, path: &Path) -> Result<Self, Failure> {
        let manifest: Self = serde_json::from_str(json).map_err(|e| {
            Failure::file(path, format!("is not a manifest ({e})")).help(MADE_AGAIN)
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

    /// Returns the text of `manifest.json`.
    pub fn to_json(&self) -> String {
        let mut json = serde_json::to_string_pretty(self)
            .expect("strings, numbers and maps with string keys are always JSON");
        json.push('\n');
        json
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
