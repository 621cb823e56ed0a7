//! The result of ingest, in one file: `corpus/collection.json`.
//!
//! It is written last, so its presence means that every shard and the vocabulary exist. Nothing in
//! it depends on the number of workers or on the location of the output, nor on time, except the
//! times of later changes: the same input and settings produce the same bytes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use super::CorpusError;
use super::boilerplate::LeftOut;
use super::document::DocumentStatus;
use super::labels::Label;
use super::phrases::Phrase;
use super::shard::{Columns, ShardInfo, ShardReader, damaged, hash_file, opening};
use super::value_type::ValueType;

/// Path of a [`Collection`] in the output folder.
pub const COLLECTION_FILE: &str = "corpus/collection.json";

/// The folder of the shards in the output folder.
pub const SHARDS_FOLDER: &str = "corpus/shards";

/// An ingested collection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collection {
    /// Version of this file's layout.
    pub format: u32,
    /// Hash of the settings that ingest depends on, in hexadecimal.
    pub settings_hash: String,
    /// Fingerprint of the input, in hexadecimal.
    pub input_fingerprint: String,
    /// Digests of the files that it was ingested from, in hexadecimal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Files of the input.
    pub input_files: u64,
    /// Their size on disk.
    pub input_bytes: u64,
    /// Documents of the input, of any status.
    pub documents: u64,
    /// Documents with tokens in the vocabulary.
    pub documents_with_terms: u64,
    /// Documents by status; every status is listed.
    pub documents_by_status: BTreeMap<String, u64>,
    /// Documents that nearly repeat an earlier one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub duplicates: u64,
    /// Tokens found.
    pub tokens_total: u64,
    /// Tokens in the vocabulary.
    pub tokens_in_vocabulary: u64,
    /// Tokens that are stop words.
    pub tokens_stopped: u64,
    /// Distinct terms found that are listed: they have numbers in the shards.
    pub terms_total: u64,
    /// About the others, each in fewer than `vocabulary.min_documents` documents.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub terms_unlisted: u64,
    /// Terms in the vocabulary (V).
    pub terms_kept: u64,
    /// Fingerprint of the vocabulary, in hexadecimal.
    pub vocabulary_fingerprint: String,
    /// Names of the pass-through columns.
    pub metadata: Vec<String>,
    /// Their types, which are those of the values at ingest; documents that are added later change none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<ValueType>,
    /// Whether documents belong to volumes (`corpus.group`).
    pub grouped: bool,
    /// The labels of documents, sorted by name; empty where the job has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Label>,
    /// The phrases that were found, by pass, name and first token; empty where the job looks for none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phrases: Vec<Phrase>,
    /// What was left out of its texts, by rule; empty where nothing was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Documents that have left the collection: rows of the shards without content, whose numbers are not used again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub removed: u64,
    /// What the sample is drawn from; absent until the collection changes after the model was trained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampled: Option<SampledDocuments>,
    /// Its changes since it was ingested, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generations: Vec<Generation>,
    /// The first shards of batches, except the first batch's: a part of a table is made of shards of one batch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub later_batches: Vec<usize>,
    /// The shards, in the order of their documents.
    pub shards: Vec<ShardEntry>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_false(switch: &bool) -> bool {
    !switch
}

/// The documents that a sample is drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampledDocuments {
    /// Their number: they are the first ones.
    pub documents: u64,
    /// The largest key of a document in the sample ([`SampleRule::key`](crate::sample::SampleRule::key)).
    pub bound: u64,
}

/// A change of a collection after it was ingested: documents that came, documents that left, a new vocabulary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generation {
    /// What documents were read from: files, folders and globs, as `corpus.input` has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input: Vec<String>,
    /// Digests of these files, in hexadecimal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Fingerprint of the input or, without any, of the numbers of the documents that left, in hexadecimal; empty if
    /// the model was trained.
    pub fingerprint: String,
    /// When it was made, in seconds since 1970-01-01 UTC.
    pub unix_seconds: u64,
    /// The number of the first document that came, or that would have come.
    pub first_document: u64,
    /// Documents that came.
    pub documents: u64,
    /// Documents that left.
    pub removed: u64,
    /// Whether the model was trained then, on a sample of all documents, with a new vocabulary.
    #[serde(default, skip_serializing_if = "is_false")]
    pub trained: bool,
}

/// One shard of a collection; its number is its place in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardEntry {
    /// The number of its first document in the collection, from 0.
    pub first_document: u64,
    /// Its documents, at least 1.
    pub documents: u64,
    /// Those that have tokens in the vocabulary.
    pub documents_with_terms: u64,
    /// Their tokens in the vocabulary.
    pub tokens: u64,
    /// The position in its volume of the first document that has one; not 0 if the volume began in another shard.
    pub first_section: u64,
    /// Size of its file.
    pub bytes: u64,
    /// SHA-256 of its file, in hexadecimal.
    pub sha256: String,
}

impl ShardEntry {
    /// Describes the finished shard in the file at `path`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn of(
        path: &Path,
        info: &ShardInfo,
        first_document: u64,
        first_section: u64,
    ) -> Result<Self, CorpusError> {
        let (bytes, sha256) = hash_file(path).map_err(CorpusError::io(path))?;
        Ok(Self {
            first_document,
            documents: info.documents,
            documents_with_terms: DocumentStatus::with_terms(&info.by_status),
            tokens: info.tokens,
            first_section,
            bytes,
            sha256: hex::encode(sha256),
        })
    }

    /// Opens the shard's file, at `path`.
    ///
    /// # Errors
    /// It cannot be read, or is not the file that ingest wrote.
    pub fn open(&self, path: &Path, columns: Columns) -> Result<ShardReader, CorpusError> {
        let (_, sha256) = hash_file(path).map_err(opening(path))?;
        let sha256 = hex::encode(sha256);
        if sha256 != self.sha256 {
            let changed = format!("its SHA-256 is {sha256}, not {}", self.sha256);
            return Err(damaged(path, changed));
        }
        ShardReader::open(path, columns)
    }
}

/// Returns a number as it is written in the names of files, which sort as their numbers do: five digits or, from
/// 100,000 on, an `a` and ten.
///
/// ```
/// # use corpus::collection::in_order;
/// assert_eq!(in_order(42), "00042");
/// assert!(in_order(99_999) < in_order(100_000));
/// ```
pub fn in_order(number: u64) -> String {
    match number {
        ..100_000 => format!("{number:05}"),
        _ => format!("a{number:010}"),
    }
}

impl Collection {
    /// The required version in [`format`](Self::format).
    pub const FORMAT: u32 = 2;

    /// Reads the collection of the output folder `root`.
    ///
    /// # Errors
    /// Fails if the file is missing, damaged, or of another version.
    pub fn read(root: &Path) -> Result<Self, CorpusError> {
        Self::read_file(&root.join(COLLECTION_FILE))
    }

    /// Reads the collection that this file describes.
    ///
    /// # Errors
    /// Fails if the file is missing, damaged, or of another version.
    pub fn read_file(path: &Path) -> Result<Self, CorpusError> {
        match fs::read_to_string(path) {
            Ok(json) => Self::from_json(&json, path),
            Err(source) => {
                let message = format!("{}: {source}; run ingest first", path.display());
                Err(match source.kind() {
                    io::ErrorKind::NotFound => CorpusError::Data(message),
                    _ => CorpusError::Io { message, source },
                })
            }
        }
    }

    /// Parses the collection that `json` describes; `path` is for the error.
    ///
    /// # Errors
    /// Fails if it is not as [`to_json`](Self::to_json) writes it, or its shards do not add up.
    pub fn from_json(json: &str, path: &Path) -> Result<Self, CorpusError> {
        let refuse = |problem: String| {
            let remedy = "choose another output.path, or restart with --overwrite";
            let remedy = format!("it is damaged or from another version: {remedy}");
            CorpusError::data(path, format!("{problem}; {remedy}"))
        };
        let collection: Self = serde_json::from_str(json).map_err(|e| refuse(e.to_string()))?;
        if collection.format != Self::FORMAT {
            return Err(refuse(format!(
                "version {} instead of {}",
                collection.format,
                Self::FORMAT
            )));
        }
        let mut next: u64 = 0;
        for (number, shard) in collection.shards.iter().enumerate() {
            if shard.first_document != next {
                return Err(refuse(format!("shard {number} does not begin at document {next}")));
            }
            next = next.checked_add(shard.documents).ok_or_else(|| {
                refuse(format!("shard {number} has more documents than there are numbers"))
            })?;
        }
        let firsts = collection.later_batches.iter().copied();
        let bounds = std::iter::once(0).chain(firsts).chain([collection.shards.len()]);
        if !collection.later_batches.is_empty() && !bounds.is_sorted_by(|a, b| a < b) {
            return Err(refuse("its batches do not begin at shards of their own".to_owned()));
        }
        if collection.documents.checked_add(collection.removed) != Some(next) {
            return Err(refuse(format!(
                "{next} documents in the shards instead of {} and {} that were removed",
                collection.documents, collection.removed
            )));
        }
        Ok(collection)
    }

    /// Returns the file's content: the same bytes for the same collection.
    pub fn to_json(&self) -> String {
        let mut json = serde_json::to_string_pretty(self).expect("texts and numbers are JSON");
        json.push('\n');
        json
    }

    /// Adds the documents of another collection. Its terms have the numbers of this one's and may be followed by more.
    pub fn append(&mut self, added: Self) {
        let first_document = self.numbers();
        self.shards.extend(added.shards.into_iter().map(|shard| ShardEntry {
            first_document: first_document + shard.first_document,
            ..shard
        }));
        for (status, documents) in added.documents_by_status {
            *self.documents_by_status.entry(status).or_default() += documents;
        }
        self.input_files += added.input_files;
        self.input_bytes += added.input_bytes;
        self.documents += added.documents;
        self.documents_with_terms += added.documents_with_terms;
        self.tokens_total += added.tokens_total;
        self.tokens_in_vocabulary += added.tokens_in_vocabulary;
        self.tokens_stopped += added.tokens_stopped;
        self.terms_total = self.terms_total.max(added.terms_total);
        self.terms_unlisted = self.terms_unlisted.max(added.terms_unlisted);
        self.grouped |= added.grouped;
        LeftOut::add(&mut self.left_out, &added.left_out);
    }

    /// Returns the type of each metadata column.
    pub fn value_types(&self) -> impl Iterator<Item = ValueType> {
        self.types
            .iter()
            .copied()
            .chain(std::iter::repeat(ValueType::Text))
            .take(self.metadata.len())
    }

    /// Returns how many numbers of documents have been given: the next document gets this one.
    pub fn numbers(&self) -> u64 {
        self.documents + self.removed
    }

    /// Returns the documents with tokens that are not counted in the vocabulary, nor trained on, since they repeat others.
    pub fn repeated(&self) -> u64 {
        let dropped = self.documents_by_status.get(DocumentStatus::Duplicate.name());
        self.duplicates.saturating_sub(dropped.copied().unwrap_or(0))
    }

    /// Returns the change at which the model was trained last, from 1 (0: before all changes), and how many numbers had
    /// been given then.
    pub fn last_training(&self) -> (usize, u64) {
        let last = self.generations.iter().rposition(|generation| generation.trained);
        let next = self.generations.get(last.unwrap_or(0));
        (last.map_or(0, |last| last + 1), next.map_or(self.numbers(), |it| it.first_document))
    }

    /// Returns the shards of each batch.
    pub fn batches(&self) -> impl Iterator<Item = Range<usize>> {
        let starts = self.later_batches.iter().copied();
        let ends = starts.clone().chain([self.shards.len()]);
        std::iter::once(0).chain(starts).zip(ends).map(|(start, end)| start..end)
    }

    /// Returns the path of a shard in the output folder.
    ///
    /// ```
    /// # use corpus::collection::Collection;
    /// assert_eq!(Collection::shard_name(7), "corpus/shards/shard-00007.parquet");
    /// ```
    pub fn shard_name(number: usize) -> String {
        format!("{SHARDS_FOLDER}/shard-{}.parquet", in_order(number as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collection(sizes: &[u64]) -> Collection {
        let shards: Vec<ShardEntry> = sizes
            .iter()
            .scan(0, |next, &documents| {
                let first_document = *next;
                *next += documents;
                let (documents_with_terms, tokens) = (documents, documents * 10);
                Some(ShardEntry {
                    first_document,
                    documents,
                    documents_with_terms,
                    tokens,
                    first_section: 0,
                    bytes: 0,
                    sha256: String::new(),
                })
            })
            .collect();
        Collection {
            format: Collection::FORMAT,
            settings_hash: "a".into(),
            input_fingerprint: "b".into(),
            files: vec!["0123".into()],
            input_files: 1,
            input_bytes: 1000,
            documents: sizes.iter().sum(),
            documents_with_terms: sizes.iter().sum(),
            documents_by_status: BTreeMap::from([("ok".into(), sizes.iter().sum())]),
            duplicates: 0,
            tokens_total: 0,
            tokens_in_vocabulary: 0,
            tokens_stopped: 0,
            terms_total: 0,
            terms_unlisted: 0,
            terms_kept: 0,
            vocabulary_fingerprint: "c".into(),
            metadata: vec!["year".into()],
            types: vec![ValueType::Integer],
            grouped: true,
            labels: Vec::new(),
            phrases: Vec::new(),
            left_out: Vec::new(),
            removed: 0,
            sampled: None,
            generations: Vec::new(),
            later_batches: Vec::new(),
            shards,
        }
    }

    #[test]
    fn documents_that_are_appended_follow_all_others() {
        let mut all = collection(&[3, 4]);
        for sizes in [&[5, 1][..], &[2][..]] {
            all.later_batches.push(all.shards.len());
            all.append(Collection { terms_total: 9, ..collection(sizes) });
        }
        let firsts: Vec<u64> = all.shards.iter().map(|shard| shard.first_document).collect();
        assert_eq!(firsts, [0, 3, 7, 12, 13]);
        assert_eq!(all.batches().collect::<Vec<_>>(), [0..2, 2..4, 4..5]);
        assert_eq!((all.documents, all.documents_by_status["ok"], all.terms_total), (15, 15, 9));
        let path = Path::new("c.json");
        assert_eq!(Collection::from_json(&all.to_json(), path).unwrap(), all);
        all.later_batches[1] = 6;
        let error = Collection::from_json(&all.to_json(), path).unwrap_err().to_string();
        assert!(error.contains("at shards of their own"), "{error}");
    }

    #[test]
    fn json_is_read_back_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("corpus")).unwrap();
        let missing = Collection::read(folder.path()).unwrap_err().to_string();
        assert!(missing.contains("run ingest first"), "{missing}");
        let written = collection(&[3, 4, 1]);
        fs::write(folder.path().join(COLLECTION_FILE), written.to_json()).unwrap();
        assert_eq!(Collection::read(folder.path()).unwrap(), written);
        let path = Path::new("c.json");
        let json = written.to_json();
        for damaged in [
            json[..json.len() / 2].to_owned(),
            json.replace("\"format\": 2", "\"format\": 1"),
            json.replace("\"first_document\": 3", "\"first_document\": 2"),
            json.replace("\"documents\": 8", "\"documents\": 9"),
            json.replace("\"grouped\"", "\"unheard_of\""),
        ] {
            assert!(damaged != json);
            let error = Collection::from_json(&damaged, path).unwrap_err().to_string();
            assert!(error.starts_with("c.json: ") && error.contains("--overwrite"), "{error}");
        }
    }
}
