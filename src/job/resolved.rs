//! A job written out again: in full for people, canonically for hashes.

use sha2::{Digest, Sha256};
use toml::Value;

use super::Job;
use super::keys::input::BY_FREQUENCY;
use super::keys::{HashedStage, Key, SECTIONS};
use super::kind::Kind;

impl Job {
    /// Returns the complete job as TOML: every key that has an effect, defaults filled in, in a fixed order.
    /// Parsing it returns this job again, wherever the text is stored (`corpus.base` and `synth.path` are absolute;
    /// `output.path` stays relative to the current directory).
    pub fn resolved_toml(&self) -> String {
        let section = |section: &super::keys::Section| {
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
    pub(super) fn differs(&self, key: &Key) -> bool {
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
        let decides = |key: &&Key| !key.is_hashed && !matches!(key.kind, Kind::File | Kind::Name);
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
            Kind::File | Kind::StopWords => Some(self.contents(key.path, value)),
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
