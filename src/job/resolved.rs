//! A checked job written out again: in full for people, canonically for hashes.
//!
//! The resolved text has every key with its value and parses back to the same job, from any folder.
//! The canonical text leaves out what must not change a result's id: the locations of files.

use std::path::Path;

use sha2::{Digest, Sha256};
use toml::Value;

use super::check::{
    BUDGETS, ESTIMATORS, FORMATS, GEOMETRIES, MEMORIES, METHODS, METRICS, MIB, ON_DAMAGE, RULES,
    SPLITS, unused,
};
use super::{Job, SynthStage};
use crate::corpus::settings::{SampleSize, StopWords};
use crate::hex::hex;
use lda::model::settings::Alpha;

/// A key with its value, in the order of the keys list.
type Pair = (&'static str, Value);

impl Job {
    /// The complete job as TOML: every key, defaults filled in, in a fixed order. Parsing it
    /// returns this job again, wherever the text is stored (`corpus.base` is absolute;
    /// `output.path` and `synth.path` stay relative to the current directory).
    pub fn resolved_toml(&self) -> String {
        let mut text = String::new();
        let synth = self
            .synth
            .as_ref()
            .map(|synth| ("synth", synth_pairs(synth)));
        for (section, pairs) in self.sections().into_iter().chain(synth) {
            text.push_str(if text.is_empty() { "" } else { "\n" });
            text.push_str(&format!("[{section}]\n"));
            for (key, value) in pairs {
                text.push_str(&format!("{key} = {value}\n"));
            }
        }
        text
    }

    /// Identifies the ingested corpus: a sha256, in hex, of `[corpus]`, `[tokens]`, `[vocabulary]`
    /// and `[synth]` and of the stop-word files' contents; not of the job file's location.
    pub fn corpus_hash(&self) -> String {
        let mut lines = Canonical::new("corpus");
        let input = self.synth.as_ref().map(|synth| vec![synth.input()]);
        let own_corpus = input.as_ref() == Some(&self.corpus.input);
        let corpus = corpus_pairs(self).into_iter();
        lines.section(
            "corpus",
            corpus.filter(|(key, _)| *key != "base" && !(own_corpus && *key == "input")),
        );
        lines.section("tokens", token_pairs(self));
        let mut vocabulary = vocabulary_pairs(self);
        vocabulary[0].1 = texts(self.vocabulary.stop_words.iter().map(|list| match list {
            StopWords::Language(language) => language.clone(),
            StopWords::File(path) => self.digest_of(path),
        }));
        lines.section("vocabulary", vocabulary);
        if let Some(synth) = &self.synth {
            let pairs = synth_pairs(synth).into_iter();
            lines.section(
                "synth",
                pairs.filter(|(key, _)| !matches!(*key, "path" | "words")),
            );
            let words = synth.settings.words.as_deref();
            let digest = words.map_or_else(String::new, |path| self.digest_of(path));
            lines.section("synth", [("words", Value::from(digest))]);
        }
        lines.hash()
    }

    /// Names the trained model: a sha256, in hex, of [`corpus_hash`](Self::corpus_hash) and what
    /// `[sample]`, `[model]` and `[train]` say, but for what changes no result: the `checkpoint_`
    /// keys and `sample_mib`.
    pub fn train_hash(&self) -> String {
        let mut lines = Canonical::new("train");
        lines.line("corpus", &self.corpus_hash());
        lines.section("sample", sample_pairs(self));
        lines.section("model", model_pairs(self));
        let train = train_pairs(self).into_iter();
        lines.section(
            "train",
            train.filter(|(key, _)| !key.starts_with("checkpoint_") && *key != "sample_mib"),
        );
        lines.hash()
    }

    /// Names the projection: a sha256, in hex, of [`train_hash`](Self::train_hash) and what
    /// `[project]` says, and `[maxent]` but its memory where the method heeds it.
    pub fn project_hash(&self) -> String {
        let mut lines = Canonical::new("project");
        lines.line("train", &self.train_hash());
        let project = project_pairs(self).into_iter();
        lines.section("project", project.filter(|(key, _)| *key != "budget"));
        if self.project.needs_classifier() {
            let maxent = maxent_pairs(self).into_iter();
            lines.section("maxent", maxent.filter(|(key, _)| *key != "memory_mib"));
        }
        lines.hash()
    }

    /// Names an evaluation of a model with this fingerprint: a sha256, in hex, of
    /// [`train_hash`](Self::train_hash), which decides the splits, and what `[evaluate]` says. No
    /// other hash depends on that section.
    pub fn evaluate_hash(&self, model: &str) -> String {
        let mut lines = Canonical::new("evaluate");
        lines.line("train", &self.train_hash());
        lines.line("model", model);
        lines.section("evaluate", evaluate_pairs(self));
        lines.hash()
    }

    /// What the job's tables say they belong to: the first digits of
    /// [`project_hash`](Self::project_hash).
    pub fn id(&self) -> String {
        self.project_hash().chars().take(12).collect()
    }

    fn sections(&self) -> Vec<(&'static str, Vec<Pair>)> {
        vec![
            ("corpus", corpus_pairs(self)),
            ("tokens", token_pairs(self)),
            ("vocabulary", vocabulary_pairs(self)),
            ("sample", sample_pairs(self)),
            ("model", model_pairs(self)),
            ("train", train_pairs(self)),
            ("project", project_pairs(self)),
            ("maxent", maxent_pairs(self)),
            ("evaluate", evaluate_pairs(self)),
            ("output", output_pairs(self)),
            ("cluster", cluster_pairs(self)),
        ]
    }

    fn digest_of(&self, path: &Path) -> String {
        let found = self.files.iter().find(|file| file.path == path);
        found.map_or_else(String::new, |file| format!("sha256:{}", file.sha256))
    }
}

/// Lines `section.key=value`, the values as JSON: a form that no crate's version changes.
struct Canonical(String);

impl Canonical {
    fn new(kind: &str) -> Self {
        Self(format!("topicmill {kind} 1\n"))
    }

    fn line(&mut self, key: &str, value: &str) {
        self.0.push_str(&format!("{key}={value}\n"));
    }

    fn section(&mut self, section: &str, pairs: impl IntoIterator<Item = Pair>) {
        for (key, value) in pairs {
            let json = serde_json::to_string(&value).expect("texts and finite numbers are JSON");
            self.line(&format!("{section}.{key}"), &json);
        }
    }

    fn hash(self) -> String {
        hex(&Sha256::digest(self.0.as_bytes()))
    }
}

fn corpus_pairs(job: &Job) -> Vec<Pair> {
    let corpus = &job.corpus;
    vec![
        ("base", path(&corpus.base)),
        ("input", texts(corpus.input.iter().cloned())),
        ("exclude", texts(corpus.exclude.iter().cloned())),
        ("format", word(FORMATS, corpus.format)),
        ("id", corpus.id.as_str().into()),
        ("text", texts(corpus.text.iter().cloned())),
        ("group", corpus.group.as_deref().unwrap_or_default().into()),
        ("metadata", texts(corpus.metadata.iter().cloned())),
        (
            "block_mib",
            or_auto(corpus.block_bytes.map(|bytes| bytes as f64 / MIB)),
        ),
        (
            "max_document_mib",
            Value::Float(corpus.max_document_bytes as f64 / MIB),
        ),
        ("on_damage", word(ON_DAMAGE, corpus.on_damage)),
    ]
}

fn token_pairs(job: &Job) -> Vec<Pair> {
    let tokens = &job.tokens;
    vec![
        ("rule", word(RULES, tokens.rule)),
        ("lower_case", tokens.lower_case.into()),
        ("min_length", whole(tokens.min_length as u64)),
        ("max_length", whole(tokens.max_length as u64)),
        ("numbers", tokens.numbers.into()),
        ("identifiers", tokens.identifiers.into()),
    ]
}

fn vocabulary_pairs(job: &Job) -> Vec<Pair> {
    let vocabulary = &job.vocabulary;
    let lists = vocabulary.stop_words.iter().map(|list| match list {
        StopWords::Language(language) => language.clone(),
        StopWords::File(path) => path.to_string_lossy().into_owned(),
    });
    vec![
        ("stop_words", texts(lists)),
        ("stop_top", whole(vocabulary.stop_top as u64)),
        ("min_documents", whole(vocabulary.min_documents)),
        ("max_share", vocabulary.max_share.into()),
        ("max_terms", whole(vocabulary.max_terms as u64)),
    ]
}

fn sample_pairs(job: &Job) -> Vec<Pair> {
    let size = match job.sample.size {
        SampleSize::Fraction(fraction) => ("fraction", fraction.into()),
        SampleSize::Documents(documents) => ("documents", whole(documents)),
    };
    vec![size, ("held_out", job.sample.held_out.into())]
}

fn model_pairs(job: &Job) -> Vec<Pair> {
    let model = &job.model;
    let alpha = match &model.alpha {
        None => ("alpha_sum", "auto".into()),
        Some(Alpha::Sum(sum)) => ("alpha_sum", (*sum).into()),
        Some(Alpha::Each(each)) => ("alpha", (*each).into()),
        Some(Alpha::Vector(values)) => ("alpha", values.clone().into()),
    };
    vec![
        ("topics", whole(model.topics as u64)),
        ("seed", whole(model.seed)),
        alpha,
        ("eta", or_auto(model.eta)),
        ("published_eta", or_auto(model.published_eta)),
        ("geometry", word(GEOMETRIES, model.geometry)),
    ]
}

/// Keys that say nothing to the phases there are are left out.
fn train_pairs(job: &Job) -> Vec<Pair> {
    let train = &job.train;
    let auto = |number: Option<u64>| number.map_or_else(|| Value::from("auto"), whole);
    let passes = |number: Option<u32>| auto(number.map(u64::from));
    let mib = |bytes: u64| Value::Float(bytes as f64 / MIB);
    let mut pairs = vec![
        ("minibatch", auto(train.minibatch.map(|n| n as u64))),
        ("passes", passes(train.passes)),
        ("memory", word(MEMORIES, train.memory)),
        ("memory_mib", mib(train.memory_bytes)),
        ("online_passes", train.online_passes.into()),
        ("burn_in", train.burn_in_sweeps.into()),
        ("sweeps", train.kept_sweeps.into()),
        ("step_offset", train.step_offset.into()),
        ("step_decay", train.step_decay.into()),
        ("prune", train.prune.into()),
        ("alpha_after", passes(train.alpha_after)),
        ("alpha_every", passes(train.alpha_every)),
        ("average_every", passes(train.average_every)),
        ("sample_mib", mib(train.sample_bytes)),
        ("evaluate_every", passes(train.evaluate_every)),
        ("patience", train.patience.into()),
        ("tolerance", train.tolerance.into()),
        ("checkpoint_every", train.checkpoint_every.into()),
        ("checkpoint_minutes", train.checkpoint_minutes.into()),
    ];
    let unused = unused(train.memory, train.online_passes);
    pairs.retain(|(key, _)| !unused.contains(key));
    pairs
}

/// Without projection the sampler's keys say nothing and are left out.
fn project_pairs(job: &Job) -> Vec<Pair> {
    let project = &job.project;
    let budget = word(BUDGETS, project.budget);
    let mut pairs = match &project.infer {
        None => vec![("budget", budget), ("method", "none".into())],
        Some(infer) => vec![
            ("budget", budget),
            ("method", word(METHODS, Some(infer.method))),
            ("burn_in", infer.burn_in_sweeps.into()),
            ("sweeps", infer.kept_sweeps.into()),
            ("chains", infer.chains.into()),
            ("estimator", word(ESTIMATORS, infer.estimator)),
            ("iterations", infer.iterations.into()),
            ("tolerance", infer.tolerance.into()),
            ("temperature", infer.temperature.into()),
        ],
    };
    pairs.extend([
        ("threshold", project.threshold.into()),
        ("top", whole(project.top as u64)),
        ("topic_documents", whole(project.documents_per_topic as u64)),
        ("top_terms", whole(project.top_terms as u64)),
    ]);
    pairs
}

fn maxent_pairs(job: &Job) -> Vec<Pair> {
    let maxent = &job.project.maxent;
    vec![
        ("documents", whole(maxent.documents as u64)),
        ("prior_variance", maxent.prior_variance.into()),
        ("iterations", maxent.iterations.into()),
        ("memory_mib", Value::Float(maxent.most_bytes as f64 / MIB)),
    ]
}

fn evaluate_pairs(job: &Job) -> Vec<Pair> {
    let evaluate = &job.evaluate;
    let metrics = evaluate.metrics.iter().map(|&metric| word(METRICS, metric));
    let alpha = match &evaluate.alpha {
        None => "auto".into(),
        Some(Alpha::Vector(values)) => values.clone().into(),
        Some(Alpha::Each(value) | Alpha::Sum(value)) => Value::Float(*value),
    };
    vec![
        ("metrics", Value::Array(metrics.collect())),
        ("split", word(SPLITS, evaluate.split)),
        ("documents", whole(evaluate.documents)),
        ("particles", evaluate.particles.into()),
        ("resample", evaluate.resample.into()),
        ("completion_sweeps", evaluate.completion_sweeps.into()),
        ("alpha", alpha),
        ("coherence_terms", whole(evaluate.coherence_terms as u64)),
        ("reference", texts(evaluate.reference.iter().cloned())),
        (
            "labels",
            evaluate.labels.as_deref().unwrap_or_default().into(),
        ),
        ("folds", whole(evaluate.folds as u64)),
        (
            "compare",
            path(evaluate.compare.as_deref().unwrap_or("".as_ref())),
        ),
    ]
}

fn cluster_pairs(job: &Job) -> Vec<Pair> {
    let file = job.cluster.secret_file.as_deref();
    let file = file.map_or_else(|| Value::from(""), path);
    vec![("secret_file", file)]
}

fn output_pairs(job: &Job) -> Vec<Pair> {
    let scratch = job.output.scratch.as_deref();
    vec![
        ("path", path(&job.output.path)),
        ("scratch", scratch.map_or_else(|| Value::from(""), path)),
    ]
}

fn synth_pairs(synth: &SynthStage) -> Vec<Pair> {
    let settings = &synth.settings;
    vec![
        ("path", path(&synth.path)),
        ("topics", whole(settings.topics as u64)),
        ("documents", whole(settings.documents)),
        ("terms", whole(settings.vocabulary as u64)),
        ("mean_length", settings.mean_length.into()),
        ("alpha_sum", settings.alpha_sum.into()),
        ("zipf", settings.zipf.into()),
        ("seed", whole(settings.seed)),
        (
            "words",
            settings
                .words
                .as_deref()
                .map_or_else(|| Value::from(""), path),
        ),
    ]
}

fn word<T: Copy + PartialEq>(words: &[(&str, T)], value: T) -> Value {
    let found = words.iter().find(|(_, candidate)| *candidate == value);
    found
        .map(|(word, _)| Value::from(*word))
        .expect("every variant has its word")
}

fn texts(items: impl Iterator<Item = String>) -> Value {
    Value::Array(items.map(Value::String).collect())
}

fn whole(number: u64) -> Value {
    Value::Integer(i64::try_from(number).expect("checked settings fit in TOML's integers"))
}

fn or_auto(number: Option<f64>) -> Value {
    number.map_or_else(|| Value::from("auto"), Value::Float)
}

fn path(path: &Path) -> Value {
    Value::String(path.to_string_lossy().into_owned())
}
