//! The job file: parsed, overridden, and checked once into settings that are always valid.
//!
//! `keys` has a row for every key. `source` holds the file as written, with positions; `resolve` checks it and
//! fills in defaults; serde makes the settings of the values, which have the names of the keys. A job is
//! written out again in full for people, and canonically for the hashes of its stages; `template` writes a first job
//! for a person. [`Stages`] are those that
//! one command runs.
//! docs/JOB.md describes every key for users.

mod files;
pub mod keys;
mod kind;
mod resolve;
pub mod settings;
mod source;
pub mod state;
mod template;
mod varied;

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest, Sha256};
use toml::Value;

use crate::evaluate::settings::EvaluateSettings;
use crate::failure::{Exit, Failure};
use crate::tables::output::JOB_FILE;
use corpus::collection::Collection;
use corpus::compression::read_within;
use corpus::draft::Drafter;
use corpus::language;
use corpus::phrases::{self, Phrase};
use corpus::settings::{
    CorpusSettings, Names, PhraseSettings, SampleSettings, SampleSize, SectionSize, StopWords,
    TokenSettings, VocabularySettings,
};
use corpus::stop_words::StopWordsByLanguage;
use corpus::synth_settings::SynthSettings;
use corpus::tokenizer::Tokenizer;
use files::NamedFile;
use keys::input::BY_FREQUENCY;
use keys::{HashedStage, Key, SECTIONS};
use kind::ValueKind;
use lda::infer::InferenceMethod;
use lda::model::settings::{Alpha, ModelSettings};
use lda::train::settings::TrainSettings;
use resolve::{Values, implied, resolve, resolve_alone};
use settings::{ProjectSettings, TreeSettings};
use source::WrittenJob;

pub(crate) use kind::word;
pub(crate) use template::Template;
pub(crate) use varied::VariedKey;

/// The most bytes of a job file that are read.
const JOB_FILE_BYTES: u64 = 16 << 20;

/// A checked job.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The job file.
    pub path: PathBuf,
    /// The input.
    pub corpus: CorpusSettings,
    /// How text is split into tokens.
    pub tokens: TokenSettings,
    /// Which tokens are joined, replaced and deleted.
    pub(crate) phrases: PhraseSettings,
    /// Which terms are kept.
    pub vocabulary: VocabularySettings,
    /// The sample that is trained on.
    pub sample: SampleSettings,
    /// The model.
    pub model: ModelSettings,
    /// The tree-structured prior over its terms.
    pub tree: Option<TreeSettings>,
    /// How it is trained.
    pub train: TrainSettings,
    /// The folder of the result that training starts from.
    pub(crate) warm_start: Option<PathBuf>,
    /// The folder of the result whose terms are kept, whatever their frequency.
    pub(crate) vocabulary_from: Option<PathBuf>,
    /// The folder of the result whose model is used instead of training one.
    pub(crate) model_from: Option<PathBuf>,
    /// How documents are projected, and what is written of the result.
    pub project: ProjectSettings,
    /// The figures that `topicmill evaluate` computes, and their documents.
    pub(crate) evaluate: EvaluateSettings,
    /// Where the result goes.
    pub output: OutputSettings,
    /// How its processes find each other.
    pub(crate) cluster: ClusterSection,
    /// The corpus that the run generates first, if it generates one.
    pub synth: Option<SynthStage>,
    /// The files that the job names, with the hashes of their contents when it was read.
    pub(crate) files: Vec<NamedFile>,
    /// The values that filled the settings. Hashes and the resolved job are made from these, not from the fields.
    values: Values,
}

/// Section `[output]` of a job.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct OutputSettings {
    /// The result's folder, relative to the current directory, or its address in an object store.
    pub path: PathBuf,
    /// For an output in an object store: the folder of the processes' working copies; the system's temporary
    /// folder by default.
    pub(crate) scratch: Option<PathBuf>,
    /// Bytes of shards that become one part of each table of documents.
    #[serde(rename = "part_mib")]
    pub(crate) part_bytes: u64,
    /// Whether the run writes a report.
    pub(crate) report: bool,
    /// The address of a document, with names of columns in braces; the report has it from the saved job.
    pub link: Option<String>,
    /// How many generations of a result are kept beside it when it changes.
    pub(crate) keep_generations: u64,
}

impl OutputSettings {
    /// Returns about the bytes of shards in a part of the tables of documents, of a collection whose shards have these
    /// bytes: at most a 128th of them, so that workers end projection at about the same time.
    pub(crate) fn part_size(&self, shard_bytes: u64) -> u64 {
        (shard_bytes / 128).min(self.part_bytes).max(1)
    }
}

/// Section `[cluster]` of a job: part of no hash, since it changes no result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct ClusterSection {
    /// The file with the secret that the processes of a run share; absolute or relative to the current directory.
    pub(crate) secret_file: Option<PathBuf>,
}

/// Section `[synth]` of a job: the corpus that the run generates before it reads it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct SynthStage {
    /// The folder to create, relative to the current directory: JSON Lines files `documents-*.jsonl`, and
    /// `answer/`, which the input does not match.
    pub(crate) path: PathBuf,
    /// The shape of the corpus.
    #[serde(flatten)]
    pub settings: SynthSettings,
}

impl SynthStage {
    /// Checks keys of `[synth]` from the command line; a word list is relative to the current directory.
    ///
    /// # Errors
    /// A key is unknown, or its value has the wrong type or range; each error names the flag.
    pub(crate) fn from_flags(
        path: &Path,
        flags: impl IntoIterator<Item = (&'static str, toml::Value)>,
    ) -> Result<Self, Failure> {
        let mut source = WrittenJob::default();
        let folder = toml::Value::String(path.to_string_lossy().into_owned());
        for (key, value) in std::iter::once(("path", folder)).chain(flags) {
            source.set_flag(&format!("synth.{key}"), value)?;
        }
        let section = keys::section("synth").expect("it is in the table");
        let values = resolve_alone(section, &source, path, &absolute(Path::new("")))?;
        Ok(values.section("synth"))
    }

    /// Returns the value of `corpus.input` if the job does not set it.
    pub fn input(&self) -> String {
        synth_input(&self.path)
    }

    /// Whether the folder contains a finished corpus, of these settings or others.
    pub(crate) fn is_made(&self) -> bool {
        self.path.join("answer/corpus.json").exists()
    }
}

impl Job {
    /// Reads and checks the job file at `path`, or the job of the result in the folder `path`, even if that has been
    /// moved. `overrides` are `section.key=value`; later ones win.
    ///
    /// # Errors
    /// The file, or a word list that it names, cannot be read; any error of [`Job::parse`].
    pub fn load(path: &Path, overrides: &[String]) -> Result<Self, Failure> {
        let mut sets = Vec::new();
        let mut file = path.to_owned();
        if path.is_dir() {
            file.push(JOB_FILE);
            let root = Value::from(&*path.to_string_lossy());
            sets.push(format!("output.path={root}"));
        }
        sets.extend_from_slice(overrides);
        match read_text(&file) {
            Ok(text) => Self::parse(&text, &file, &sets),
            Err(source) if source.kind() == io::ErrorKind::InvalidData => {
                let message = format!("{}: is not UTF-8", file.display());
                Err(Failure::usage(message).help("save the job file as UTF-8"))
            }
            Err(source) => Err(unreadable(&file, source).help(
                "pass the path of a job file, such as jobs/quickstart.toml, or the folder of a finished result",
            )),
        }
    }

    /// Checks `text`, the content of a job file at `path`.
    ///
    /// # Errors
    /// The text is not TOML, has unknown sections or keys or values of the wrong type or range, lacks a key, or
    /// names unreadable word lists. Each error names the file, the line (or the override) and the key.
    pub fn parse(text: &str, path: &Path, overrides: &[String]) -> Result<Self, Failure> {
        let mut source = WrittenJob::parse(text, path)?;
        let mut implied = implied(&source);
        overrides.iter().try_for_each(|text| source.set(text))?;
        implied.retain(|(_, by)| source.get(by).is_some_and(|entry| !entry.is_in_file));
        // Values from overrides stay.
        source.forget(|path, entry| {
            entry.is_in_file && implied.iter().any(|(implied, _)| *implied == path)
        });
        source.inherit(path, &folder_of(path))?;
        Self::of(&source, path)
    }

    /// Returns the columns by whose values `topic_trends` sums topics: those that the job names, and the language.
    pub(crate) fn trends(&self) -> Vec<String> {
        let ProjectSettings { infer, rollups, trends, .. } = &self.project;
        let mut columns = self.corpus.columns();
        columns.retain(|name| trends.contains(name) || name == language::COLUMN);
        if infer.is_some() && *rollups { columns } else { Vec::new() }
    }

    /// Returns the seed by which documents are sampled, held out, and split into halves to be scored.
    pub(crate) fn sample_seed(&self) -> u64 {
        self.sample.seed.unwrap_or(self.model.seed)
    }

    /// Whether the job file is in its own output folder, so that `--overwrite` would remove it.
    pub(crate) fn is_of_its_output(&self) -> bool {
        absolute(&self.path) == absolute(&self.output.path.join(JOB_FILE))
    }

    /// Checks a job as written at `path`.
    fn of(source: &WrittenJob, path: &Path) -> Result<Self, Failure> {
        let folder = folder_of(path);
        let values = resolve(source, path, &folder)?;
        let mut job = Self {
            path: path.to_owned(),
            corpus: values.within("corpus", "htrc"),
            tokens: values.section("tokens"),
            phrases: values.section("phrases"),
            vocabulary: values.section("vocabulary"),
            sample: values.section("sample"),
            model: values.section("model"),
            tree: values.names("tree.file").then(|| values.section("tree")),
            train: values.section("train"),
            warm_start: values.get("train.warm_start"),
            vocabulary_from: values.get("vocabulary.from"),
            model_from: values.get("model.from"),
            project: values.within("project", "maxent"),
            evaluate: values.section("evaluate"),
            output: values.section("output"),
            cluster: values.section("cluster"),
            synth: source.has("synth").then(|| values.section("synth")),
            files: Vec::new(),
            values,
        };
        job.settle();
        if source.get("corpus.base").is_none() {
            // A folder's name may not be UTF-8.
            job.corpus.base = folder;
        }
        job.files = job.named_files(source)?;
        let tree = job.read_tree(source)?;
        job.files.extend(tree);
        phrases::load(&job.phrases, &job.tokens)?;
        Ok(job)
    }

    /// Fills the settings that follow from several keys.
    fn settle(&mut self) {
        let values = &self.values;
        if values.get("phrases.detect") {
            self.phrases.detection = Some(values.section("phrases"));
        }
        self.corpus.needs_order = self.phrases.need_order();
        self.corpus.languages = values.languages();
        self.corpus.sections = values.sections();
        if values.names("corpus.labels") {
            self.corpus.labels = Some(values.section("corpus"));
        }
        if self.corpus.htrc.section == SectionSize::Pages(0) {
            self.corpus.htrc.section = SectionSize::Volume;
        }
        if self.model_from.is_some() {
            self.sample =
                SampleSettings { size: SampleSize::Fraction(0.0), held_out: 0.0, seed: None };
        }
        if self.model.alpha.is_none() {
            self.model.alpha = values.get::<Option<f64>>("model.alpha_sum").map(Alpha::Sum);
        }
        if values.names("train.warm_start") {
            self.train.warm_start = values.get("train.unassign");
        }
        if values.get::<Option<&InferenceMethod>>("project.method").is_some() {
            self.project.infer = Some(values.section("project"));
        }
    }

    /// Returns the job's tokenizer, which also joins `found`, the phrases detected in its collection.
    ///
    /// # Errors
    /// A list of phrases, or the file of `phrases.found`, cannot be used.
    pub(crate) fn tokenizer(&self, found: &[Phrase]) -> Result<Tokenizer, Failure> {
        let mut passes = phrases::load(&self.phrases, &self.tokens)?;
        if let Some(path) = &self.phrases.found {
            let found = Collection::read_file(path).map_err(|error| {
                let message = format!("phrases.found: {error}");
                Failure::new(Exit::Usage, error).context(message)
            })?;
            passes.extend(phrases::rules(&found.phrases));
        }
        passes.extend(phrases::rules(found));
        Ok(Tokenizer::new(&self.tokens).with_rules(&passes))
    }

    /// Returns the drafter of the job's documents, with its [`tokenizer`](Self::tokenizer).
    ///
    /// # Errors
    /// Like `tokenizer`.
    pub(crate) fn drafter(&self, found: &[Phrase]) -> Result<Drafter, Failure> {
        let drafter = Drafter::new(self.tokenizer(found)?);
        let by_language = self.vocabulary.stop_words.contains(&StopWords::ByLanguage);
        let stop_words = by_language.then(|| StopWordsByLanguage::new(&self.tokens));
        let drafter = stop_words.into_iter().fold(drafter, Drafter::stopping);
        let marks_names = self.vocabulary.names == Names::Drop;
        Ok(if marks_names { drafter.marking_names() } else { drafter })
    }

    /// Reads the knowledge for the job's tree.
    fn read_tree(&mut self, source: &WrittenJob) -> Result<Option<NamedFile>, Failure> {
        let Some(tree) = &mut self.tree else {
            return Ok(None);
        };
        let knowledge = tree.read().map_err(|mut failure| {
            failure.help = named_at(source, "tree.file", "").or(failure.help);
            failure
        })?;
        tree.word_count = knowledge.word_count();
        tree.is_hierarchy = knowledge.is_hierarchy();
        Ok(Some(NamedFile {
            key: "tree.file",
            path: tree.path.clone(),
            sha256: knowledge.fingerprint(),
        }))
    }
}

/// The stages of a job that one command runs. A stage whose result is complete is not run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Stages {
    /// Everything: ingest, sample, train, project.
    All,
    /// Documents to shards and vocabulary.
    Ingest,
    /// Sample and train, from complete shards.
    Train,
    /// Project every document on a complete model.
    Project,
    /// Train a finished result's model again, on the shards of its next collection, and project every document.
    Retrain,
    /// Measure a model on documents; writes a separate result, and changes none.
    Evaluate,
}

impl Stages {
    /// Returns the subcommand that runs them.
    pub(crate) fn command(self) -> &'static str {
        match self {
            Self::All => "run",
            Self::Ingest => "ingest",
            Self::Train => "train",
            Self::Project => "project",
            Self::Retrain => "retrain",
            Self::Evaluate => "evaluate",
        }
    }

    /// Whether documents are read.
    pub(crate) fn ingests(self) -> bool {
        matches!(self, Self::All | Self::Ingest)
    }

    /// Whether a model is trained.
    pub(crate) fn trains(self) -> bool {
        matches!(self, Self::All | Self::Train | Self::Retrain)
    }

    /// Whether documents are projected.
    pub(crate) fn projects(self) -> bool {
        matches!(self, Self::All | Self::Project | Self::Retrain)
    }
}

impl fmt::Display for Stages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "ingest, sample, train, project",
            Self::Ingest => "ingest",
            Self::Train => "sample, train",
            Self::Project => "project",
            Self::Retrain => "sample, train, project",
            Self::Evaluate => "evaluate",
        })
    }
}

/// Reads a job file.
fn read_text(path: &Path) -> io::Result<String> {
    let bytes = read_within(File::open(path)?, JOB_FILE_BYTES)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Returns the error for a job file, or a file that it names, that cannot be read.
fn unreadable(path: &Path, source: io::Error) -> Failure {
    let exit = match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::FileTooLarge => {
            Exit::Usage
        }
        _ => Exit::Io,
    };
    Failure::new(exit, source).context(format!("{}: cannot be read", path.display()))
}

/// Says where a job names a file.
fn named_at(source: &WrittenJob, key: &str, more: &str) -> Option<String> {
    let entry = source.get(key)?;
    Some(format!("{} names it{more}", entry.place))
}

/// Returns the input of a job that generates its own corpus: the document files in the folder, by absolute
/// path. Glob characters in the path are escaped.
fn synth_input(folder: &Path) -> String {
    let folder = glob::Pattern::escape(&absolute(folder).to_string_lossy());
    format!("{folder}/documents-*.jsonl")
}

/// Returns the folder of a job file, to which paths in it are relative.
fn folder_of(path: &Path) -> PathBuf {
    absolute(path.parent().unwrap_or(Path::new("")))
}

/// Makes a path absolute, from the current directory; returns it unchanged if there is none.
fn absolute(path: &Path) -> PathBuf {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let absolute = std::path::absolute(path);
    absolute.unwrap_or_else(|_| path.to_owned())
}

// A job written out again: in full for people, canonically for hashes.

impl Job {
    /// Returns the complete job as TOML: every key that has an effect, defaults filled in, in a fixed order.
    /// Parsing it returns this job again, wherever the text is stored (`corpus.base` and `synth.path` are absolute;
    /// `output.path` stays relative to the current directory).
    pub fn resolved_toml(&self) -> String {
        let section = |section: &keys::Section| {
            let line = |key: &Key| {
                let value = self.values.value(key.path)?;
                Some(format!("{} = {value}\n", key.name()))
            };
            let lines: String = section.keys.iter().filter_map(line).collect();
            (!lines.is_empty()).then(|| format!("[{}]\n{lines}", section.name))
        };
        let sections: Vec<String> = SECTIONS.iter().filter_map(section).collect();
        sections.join("\n")
    }

    /// Returns the keys that differ from their defaults, as TOML, by section; without the input and the output.
    pub(crate) fn own_keys(&self) -> impl Iterator<Item = (&'static str, String)> {
        const SHOWN: [&str; 4] = ["corpus.base", "corpus.input", "output.path", "synth.path"];
        let own = |key: &&Key| !SHOWN.contains(&key.path) && self.differs(key);
        let sections = SECTIONS.iter().map(move |section| {
            let keys = section.keys.iter().filter(own);
            let keys: Vec<String> = keys
                .filter_map(|key| {
                    Some(format!("{} = {}", key.name(), self.values.value(key.path)?))
                })
                .collect();
            (section.name, keys.join(", "))
        });
        sections.filter(|(_, keys)| !keys.is_empty())
    }

    /// Whether a key has an effect, and not its default.
    fn differs(&self, key: &Key) -> bool {
        let default = key.default_value();
        self.values.value(key.path).is_some_and(|value| Some(value) != default.as_ref())
    }

    /// Identifies the ingested corpus: a sha256, in hex, of `[corpus]`, `[htrc]`, `[tokens]`, `[phrases]`,
    /// `[vocabulary]` and `[synth]`, with the contents of files; not of the job file's location.
    pub fn corpus_hash(&self) -> String {
        self.hash("corpus", HashedStage::Corpus, &[])
    }

    /// Identifies the ingested corpus, except for what chooses its terms.
    pub(crate) fn corpus_hash_without_terms(&self) -> String {
        let mut job = self.clone();
        for path in BY_FREQUENCY.into_iter().chain(["vocabulary.from"]) {
            job.values.forget(path);
        }
        job.corpus_hash()
    }

    /// Identifies the trained model: a sha256, in hex, of [`corpus_hash`](Self::corpus_hash) and of `[sample]`,
    /// `[model]`, `[tree]` and `[train]`, except for keys that change no result.
    pub fn train_hash(&self) -> String {
        let corpus = self.corpus_hash();
        self.hash("train", HashedStage::Train, &[("corpus", &corpus)])
    }

    /// Identifies the projection: a sha256, in hex, of [`train_hash`](Self::train_hash) and of `[project]`, and of
    /// `[maxent]` if the method uses it.
    pub fn project_hash(&self) -> String {
        let train = self.train_hash();
        self.hash("project", HashedStage::Project, &[("train", &train)])
    }

    /// Identifies an evaluation of a model with this fingerprint: a sha256, in hex, of
    /// [`train_hash`](Self::train_hash), which determines the splits, and of `[evaluate]`. No other hash depends
    /// on that section.
    pub fn evaluate_hash(&self, model: &str) -> String {
        let train = self.train_hash();
        let before = [("train", &train[..]), ("model", model)];
        self.hash("evaluate", HashedStage::Evaluate, &before)
    }

    /// Returns what all processes of a run must agree on: the hashes of its results, and the keys that change no
    /// result but determine when processes act together, such as writing a checkpoint.
    pub(crate) fn run_hash(&self) -> String {
        let keys = SECTIONS.iter().flat_map(|section| section.keys);
        let decides =
            |key: &&Key| !key.is_hashed && !matches!(key.kind, ValueKind::File | ValueKind::Name);
        let values = keys.filter(decides).map(|key| self.values.value(key.path));
        let values: Vec<String> = values.map(|value| format!("{value:?}")).collect();
        let (train, project) = (self.train_hash(), self.project_hash());
        let text = format!("{train} {project} {}", values.join(" "));
        hex::encode(Sha256::digest(text.as_bytes()))
    }

    /// Returns the id of the job in its tables: the first digits of [`project_hash`](Self::project_hash).
    pub(crate) fn id(&self) -> String {
        self.project_hash().chars().take(12).collect()
    }

    /// Hashes lines `section.key=value`, with values as JSON, a form that no crate's version changes. The number in
    /// the first line is raised when the same settings no longer give the bytes of the last release.
    fn hash(&self, name: &str, stage: HashedStage, before: &[(&str, &str)]) -> String {
        let mut text = format!("topicmill {name} 1\n");
        for (key, value) in before {
            text.push_str(&format!("{key}={value}\n"));
        }
        let sections = SECTIONS.iter().filter(|section| section.stage == Some(stage));
        for key in sections.flat_map(|section| section.keys) {
            if let Some(value) = self.hashed_value(key) {
                let json =
                    serde_json::to_string(&value).expect("texts and finite numbers are JSON");
                text.push_str(&format!("{}={json}\n", key.path));
            }
        }
        hex::encode(Sha256::digest(text.as_bytes()))
    }

    /// Returns the value of a key in a hash: for files, their contents instead of their paths.
    fn hashed_value(&self, key: &Key) -> Option<Value> {
        let value = self.values.value(key.path).filter(|_| key.is_hashed)?;
        let made = self.synth.as_ref().map(|synth| vec![synth.input()]);
        match key.kind {
            _ if key.path == "corpus.input" && made.as_ref() == Some(&self.corpus.input) => None,
            _ if key.path.starts_with("maxent.") && !self.project.needs_classifier() => None,
            ValueKind::File | ValueKind::StopWords => Some(self.contents(key.path, value)),
            _ => Some(value.clone()),
        }
    }

    /// Replaces the paths of files in a key's value by the hashes of their contents.
    fn contents(&self, key: &str, value: &Value) -> Value {
        let named = |path: &String| {
            let mut files = self.files.iter().filter(|file| file.key == key);
            files.find(|file| file.path.to_string_lossy() == path[..])
        };
        match value {
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.contents(key, item)).collect())
            }
            Value::String(path) => {
                let file = named(path);
                file.map_or_else(|| value.clone(), |file| format!("sha256:{}", file.sha256).into())
            }
            value => value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_job_is_a_usage_error_and_an_unreadable_one_is_not() {
        let exit = |kind: io::ErrorKind| unreadable(Path::new("job.toml"), kind.into()).exit;
        assert_eq!(exit(io::ErrorKind::NotFound), Exit::Usage);
        assert_eq!(exit(io::ErrorKind::PermissionDenied), Exit::Io);
    }
}
