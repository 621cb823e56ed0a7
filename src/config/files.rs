//! The files and the results that a job names: their contents are part of it, and the hashes cover them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::source::WrittenJob;
use super::state::{MODEL_FILE, TRAINED_FILE};
use super::{Job, folder_of, named_at, unreadable};
use crate::checkpoint::{self, Hashing};
use crate::failure::Failure;
use crate::tables::Manifest;
use crate::tables::output::MANIFEST;
use corpus::compression::read_plain;
use corpus::settings::StopWords;
use corpus::vocabulary_file::VOCABULARY_FILE;
use corpus::word_file::{NOT_UTF_8, text_of};

/// A file whose contents are part of the job: the hashes cover them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedFile {
    /// The key that names it.
    pub(super) key: &'static str,
    pub(crate) path: PathBuf,
    /// The sha256 of its contents, in hex; for a tree, of the knowledge in it.
    pub(crate) sha256: String,
}

impl Job {
    /// Hashes every file that the job names, except its tree.
    pub(super) fn named_files(&self, source: &WrittenJob) -> Result<Vec<NamedFile>, Failure> {
        let lists = self.vocabulary.stop_words.iter();
        let lists = lists.filter_map(|list| match list {
            StopWords::File(path) => Some(("vocabulary.stop_words", path)),
            StopWords::Language(_) | StopWords::ByLanguage => None,
        });
        let digest = |(key, path): (&'static str, &PathBuf)| {
            let contents = read_plain(path).map_err(|error| {
                let mut failure = unreadable(path, error);
                failure.help = named_at(source, key, "; such paths are relative to the job file");
                failure
            })?;
            let text = text_of(contents).map_err(|line| {
                Failure::usage(format!("{key}: {}, line {line}: {NOT_UTF_8}", path.display()))
            })?;
            Ok(NamedFile { key, path: path.clone(), sha256: hex::encode(Sha256::digest(text)) })
        };
        let phrases = [
            ("phrases.replacements", &self.phrases.replacements),
            ("phrases.deletions", &self.phrases.deletions),
            ("phrases.found", &self.phrases.found),
        ];
        let phrases = phrases.into_iter().filter_map(|(key, path)| Some((key, path.as_ref()?)));
        let texts = lists.chain(phrases);
        let mut files: Vec<_> = texts.map(digest).collect::<Result<_, Failure>>()?;
        let results = [
            ("train.warm_start", &self.warm_start),
            ("model.from", &self.model_from),
            ("vocabulary.from", &self.vocabulary_from),
        ];
        let mut recorded = self.recorded_results(source);
        for (key, folder) in results {
            let Some(folder) = folder else {
                continue;
            };
            // `--overwrite` would remove that result.
            let [result, output] = [folder, &self.output.path].map(|path| path.canonicalize().ok());
            if output.is_some() && output == result {
                source.refuse("output.path", format!("a folder other than {key}"))?;
            }
            let sha256 = match recorded.remove(key) {
                Some(sha256) => sha256,
                None => {
                    if key == "train.warm_start" {
                        self.check_topics(source, folder)?;
                    }
                    digest_of_result(key, folder).map_err(|mut failure| {
                        let is_result = folder.join(MANIFEST).exists();
                        let more = if is_result {
                            "; the file has been removed from that result: rerun its job with --overwrite"
                        } else {
                            "; name the folder of a finished result"
                        };
                        // A warm start may imply vocabulary.from.
                        failure.help = named_at(source, key, more)
                            .or_else(|| named_at(source, "train.warm_start", more));
                        failure
                    })?
                }
            };
            files.push(NamedFile { key, path: folder.clone(), sha256 });
        }
        Ok(files)
    }

    /// Checks that the job has as many topics as the model that its training starts from; training reports a model
    /// that cannot be read.
    ///
    /// # Errors
    /// It has another number of them.
    fn check_topics(&self, source: &WrittenJob, folder: &Path) -> Result<(), Failure> {
        match checkpoint::read_header(&folder.join(MODEL_FILE)) {
            Ok(header) if header.topic_count != self.model.topics => source
                .refuse("model.topics", format!("{}, as in train.warm_start", header.topic_count)),
            _ => Ok(()),
        }
    }

    /// Returns the hashes of the results that this job names, by key, as recorded by the result that contains the job:
    /// those results may be gone, or have changed.
    fn recorded_results(&self, source: &WrittenJob) -> BTreeMap<String, String> {
        if !self.is_of_its_output() {
            return BTreeMap::new();
        }
        let manifest = Manifest::read(&folder_of(&self.path));
        let mut recorded = manifest.map_or_else(|_| BTreeMap::new(), |manifest| manifest.results);
        recorded.retain(|key, _| {
            let mut entries = source.entries();
            entries.any(|(path, entry)| path == key && entry.is_in_file)
        });
        recorded
    }

    /// Returns the hashes of the results that this job names, by key.
    pub(crate) fn results(&self) -> BTreeMap<String, String> {
        let results = self.files.iter().filter(|file| files_of_result(file.key).is_some());
        results.map(|file| (file.key.to_owned(), file.sha256.clone())).collect()
    }

    /// Checks that the result that a key names is what it was when the job was read.
    ///
    /// # Errors
    /// It is not, or it cannot be read.
    pub(crate) fn check_result(&self, key: &'static str) -> Result<(), Failure> {
        let named = self.files.iter().find(|file| file.key == key);
        match named {
            Some(file) if digest_of_result(key, &file.path)? != file.sha256 => Err(Failure::data(
                format!("{key}: {} has changed since the run began", file.path.display()),
            )
            .help("run again with --overwrite")),
            _ => Ok(()),
        }
    }
}

/// Returns the files of a result that a key reads, the second of which may be absent; `None` if the key names no result.
fn files_of_result(key: &str) -> Option<&'static [&'static str]> {
    match key {
        "train.warm_start" => Some(&[MODEL_FILE]),
        "model.from" => Some(&[MODEL_FILE, TRAINED_FILE]),
        "vocabulary.from" => Some(&[VOCABULARY_FILE]),
        _ => None,
    }
}

/// Hashes the files that a key reads of the result in `folder`.
fn digest_of_result(key: &str, folder: &Path) -> Result<String, Failure> {
    let mut hashing = Hashing::new(io::sink());
    for (place, file) in files_of_result(key).unwrap_or_default().iter().enumerate() {
        let path = folder.join(file);
        match File::open(&path).and_then(|mut file| io::copy(&mut file, &mut hashing)) {
            Err(error) if place > 0 && error.kind() == io::ErrorKind::NotFound => {}
            hashed => drop(hashed.map_err(|error| unreadable(&path, error))?),
        }
    }
    Ok(hex::encode(hashing.hash.finalize()))
}
