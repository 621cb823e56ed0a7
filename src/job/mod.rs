//! The job file: parsed, overridden, and checked once into settings that cannot be wrong.
//!
//! `source` keeps the text and its positions, `section` reads typed values, `check` turns each
//! section into settings with `defaults` filled in, `resolved` writes a job out again and
//! identifies its stages by hashes. [`Stages`], [`ProgressSnapshot`] and [`Summary`] describe the
//! stages to run, their progress, and the outcome. docs/JOB.md describes every key for users.

mod check;
pub mod defaults;
mod error;
pub mod estimate;
pub mod keys;
pub mod process_status;
mod progress;
mod resolved;
mod section;
pub mod settings;
mod source;
mod stages;
pub mod state;
mod summary;
pub mod survey;

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::corpus::settings::{
    CorpusSettings, SampleSettings, StopWords, TokenSettings, VocabularySettings,
};
use crate::corpus::synth_settings::SynthSettings;
use crate::evaluate::settings::EvaluateSettings;
use crate::hex::hex;
use lda::model::settings::ModelSettings;
use lda::train::settings::TrainSettings;
use settings::ProjectSettings;

pub use error::{JobError, Place};
pub use progress::{CheckpointMark, ProgressSnapshot, TrainingSnapshot, Work, WorkStage};
pub use stages::Stages;
pub use summary::{
    DriftSummary, Faulty, IngestSummary, ProjectSummary, Summary, TopicFaults, TopicSummary,
    TrainSummary,
};

/// A job, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The job file.
    pub path: PathBuf,
    /// What is read.
    pub corpus: CorpusSettings,
    /// How text is cut into tokens.
    pub tokens: TokenSettings,
    /// Which terms are kept.
    pub vocabulary: VocabularySettings,
    /// What is trained on.
    pub sample: SampleSettings,
    /// The model.
    pub model: ModelSettings,
    /// How it is trained.
    pub train: TrainSettings,
    /// How documents are projected, and what of that is written.
    pub project: ProjectSettings,
    /// What `topicmill evaluate` computes, and on which documents.
    pub evaluate: EvaluateSettings,
    /// Where the result goes.
    pub output: OutputSettings,
    /// What its processes need to find each other.
    pub cluster: ClusterSection,
    /// The corpus that the run makes first, if it makes its own.
    pub synth: Option<SynthStage>,
    /// The word lists that the job names, with what they held when it was read.
    pub files: Vec<NamedFile>,
}

/// Section `[output]` of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputSettings {
    /// The result's folder, relative to the current directory, or its address in an object store.
    pub path: PathBuf,
    /// For an output in an object store: the folder that processes keep their working copies in;
    /// the system's temporary folder where the job does not say.
    pub scratch: Option<PathBuf>,
}

/// Section `[cluster]` of a job: no part of any hash, since it changes no result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterSection {
    /// The file with the secret that the processes of a run share; from the root or relative to
    /// the current directory.
    pub secret_file: Option<PathBuf>,
}

/// Section `[synth]` of a job: the corpus that the run makes before it reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct SynthStage {
    /// The folder to make, relative to the current directory: JSON Lines files
    /// `documents-*.jsonl`, and `answer/` out of the input's way.
    pub path: PathBuf,
    /// What it looks like.
    pub settings: SynthSettings,
}

impl SynthStage {
    /// Checks keys of `[synth]` that a command line gave; a word list is relative to the current
    /// directory.
    ///
    /// # Errors
    /// Unknown keys, wrong types and ranges; each names the flag.
    pub fn from_flags(
        path: &Path,
        flags: impl IntoIterator<Item = (&'static str, toml::Value)>,
    ) -> Result<Self, JobError> {
        let mut source = source::Source::default();
        let folder = toml::Value::String(path.to_string_lossy().into_owned());
        for (key, value) in std::iter::once(("path", folder)).chain(flags) {
            source.set_flag("synth", key, value)?;
        }
        check::synth(&source.section("synth"), path, &absolute(Path::new("")))
    }

    /// What `corpus.input` is when the job does not say: the files of documents in the folder, by
    /// its absolute path. Characters of the path that a glob would read otherwise are escaped.
    pub fn input(&self) -> String {
        let folder = absolute(&self.path);
        let folder = glob::Pattern::escape(&folder.to_string_lossy());
        format!("{folder}/documents-*.jsonl")
    }

    /// Whether the folder contains a finished corpus, of these settings or others.
    pub fn is_made(&self) -> bool {
        self.path.join("answer/corpus.json").exists()
    }
}

/// A file whose contents are part of the job: the hashes cover them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedFile {
    /// The file.
    pub path: PathBuf,
    /// The sha256 of its contents, in hex.
    pub sha256: String,
}

impl Job {
    /// Reads and checks the job file at `path`; `overrides` are `section.key=value`, later ones
    /// winning.
    ///
    /// # Errors
    /// The file, or a word list that it names, cannot be read; any error of [`Job::parse`].
    pub fn load(path: &Path, overrides: &[String]) -> Result<Self, JobError> {
        let text = std::fs::read_to_string(path).map_err(|source| JobError::Read {
            path: path.to_owned(),
            place: None,
            source,
        })?;
        Self::parse(&text, path, overrides)
    }

    /// Checks `text`, the content of a job file at `path`.
    ///
    /// # Errors
    /// Not TOML; unknown sections and keys; wrong types and ranges; missing keys; unreadable word
    /// lists. Each names the file, the line (or the override) and the key.
    pub fn parse(text: &str, path: &Path, overrides: &[String]) -> Result<Self, JobError> {
        let mut source = source::Source::parse(text, path)?;
        let of_budget = check::keys_of_budget(&source.section("project"));
        for text in overrides {
            source.set(text)?;
        }
        let project = source.section("project");
        if [project.get("budget"), project.get("method")]
            .into_iter()
            .flatten()
            .any(|entry| !matches!(entry.place, error::Place::Line { .. }))
        {
            source.forget("project", &of_budget);
        }
        let folder = absolute(path.parent().unwrap_or(Path::new("")));
        let synth = match source.has("synth") {
            true => Some(check::synth(&source.section("synth"), path, &folder)?),
            false => None,
        };
        let train = check::train(&source.section("train"))?;
        let corpus = check::corpus(&source.section("corpus"), path, &folder, synth.as_ref())?;
        let mut job = Self {
            path: path.to_owned(),
            tokens: check::tokens(&source.section("tokens"))?,
            vocabulary: check::vocabulary(&source.section("vocabulary"), &folder)?,
            sample: check::sample(&source.section("sample"))?,
            model: check::model(&source.section("model"), path, train.memory)?,
            train,
            project: check::project(&source.section("project"), &source.section("maxent"))?,
            evaluate: check::evaluate(&source.section("evaluate"), &corpus)?,
            corpus,
            output: check::output(&source.section("output"), path)?,
            cluster: check::cluster(&source.section("cluster"), &folder)?,
            synth,
            files: Vec::new(),
        };
        job.files = job.named_files(&source)?;
        Ok(job)
    }

    /// Reads every word list that the job names.
    fn named_files(&self, source: &source::Source) -> Result<Vec<NamedFile>, JobError> {
        let lists = self
            .vocabulary
            .stop_words
            .iter()
            .filter_map(|list| match list {
                StopWords::File(path) => Some(("vocabulary", "stop_words", path)),
                StopWords::Language(_) => None,
            });
        let words = self
            .synth
            .as_ref()
            .and_then(|synth| synth.settings.words.as_ref());
        let words = words.map(|path| ("synth", "words", path));
        let digest = |(section, key, path): (&'static str, &'static str, &PathBuf)| {
            let contents = std::fs::read(path).map_err(|error| JobError::Read {
                path: path.clone(),
                place: source
                    .section(section)
                    .get(key)
                    .map(|entry| entry.place.clone()),
                source: error,
            })?;
            let sha256 = hex(&Sha256::digest(&contents));
            Ok(NamedFile {
                path: path.clone(),
                sha256,
            })
        };
        lists.chain(words).map(digest).collect()
    }
}

/// The absolute path, by the current directory; unchanged if there is none.
fn absolute(path: &Path) -> PathBuf {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    let absolute = std::path::absolute(path);
    absolute.unwrap_or_else(|_| path.to_owned())
}
