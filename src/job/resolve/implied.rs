//! What a training method, labels, languages, a tree or another result imply for other keys.

use toml::Value;

use super::Values;
use crate::failure::Failure;
use crate::job::inherit::is_of_training;
use crate::job::kind::word;
use crate::job::source::Source;
use corpus::language::COLUMN;
use lda::infer::settings::Estimator;
use lda::infer::{self, InferenceMethod};
use lda::model::settings::{Geometry, LabelPrior};
use lda::train::labels;
use lda::train::settings::DocumentSchedule;
use lda::train::step::{METHODS, Requirements, TrainingMethod};

/// The keys that choose terms by their frequency.
pub(in crate::job) const BY_FREQUENCY: [&str; 4] = [
    "vocabulary.stop_top",
    "vocabulary.min_documents",
    "vocabulary.max_share",
    "vocabulary.max_terms",
];

/// `train.passes` after a warm start; docs/measurements/DEFAULTS.md has the measurements.
const PASSES_OF_WARM_START: i64 = 20;

impl Values {
    /// Fixes the keys to which the training method leaves no choice.
    pub(super) fn settle_method(&mut self, source: &Source) -> Result<(), Failure> {
        let method: &TrainingMethod = self.get("train.method");
        let Requirements { memory, passes, schedule, geometry, .. } = method.requires;
        let fixed = [
            ("train.memory", memory.map(|memory| word(memory).into())),
            ("train.passes", passes.map(Value::from)),
            ("model.geometry", geometry.map(|geometry| word(geometry).into())),
            ("train.schedule", schedule.map(|schedule| word(schedule).into())),
        ];
        let with = format!("train.method = \"{}\"", method.name);
        for (path, value) in fixed {
            if let Some(value) = value {
                self.fix(source, path, value, &with)?;
            }
        }
        if let Some(prune) = method.prune.filter(|_| source.get("train.prune").is_none()) {
            self.set("train.prune", prune);
        }
        Ok(())
    }

    /// Sets a key to the only value that it may have; `with` names what allows no other.
    fn fix(
        &mut self,
        source: &Source,
        path: &'static str,
        value: Value,
        with: &str,
    ) -> Result<(), Failure> {
        if source.get(path).is_some_and(|entry| entry.value != value) {
            source.refuse(path, format!("{value}, with {with}"))?;
        }
        self.set(path, value);
        Ok(())
    }

    /// The label column is metadata, the labels set the number of topics, and α is the paper's and is not learnt.
    pub(super) fn settle_labels(&mut self, source: &Source) -> Result<(), Failure> {
        if !self.names("corpus.labels") {
            return Ok(());
        }
        let column: String = self.get("corpus.labels");
        let mut metadata: Vec<String> = self.get("corpus.metadata");
        if !metadata.contains(&column) {
            metadata.push(column);
            self.set("corpus.metadata", metadata);
        }
        source.refuse("model.topics", "absent: with corpus.labels, each label is a topic")?;
        if let Some(Value::Array(_)) = self.value("model.alpha") {
            source.refuse("model.alpha", "a number above 0, with corpus.labels")?;
        }
        if !self.get::<&TrainingMethod>("train.method").takes_labels {
            let allowed = format!("{}, with corpus.labels", names(|method| method.takes_labels));
            source.refuse("train.method", allowed)?;
        }
        self.fix(source, "train.alpha_every", 0.into(), "corpus.labels")?;
        if self.value("model.alpha_sum") == Some(&"auto".into()) {
            self.set("model.alpha_sum", labels::ALPHA_SUM);
        }
        if self
            .get::<Option<&InferenceMethod>>("project.method")
            .is_some_and(InferenceMethod::is_joint)
        {
            source.refuse(
                "project.method",
                "one that infers each document alone, with corpus.labels",
            )?;
        }
        Ok(())
    }

    /// Some methods use which labels occur together.
    pub(super) fn settle_label_topics(&mut self, source: &Source) -> Result<(), Failure> {
        if !self.names("corpus.labels") {
            return Ok(());
        }
        let is_uniform = self.get::<LabelPrior>("model.label_prior") == LabelPrior::Uniform;
        let method: Option<&InferenceMethod> = self.get("project.method");
        let is_used = method.is_some_and(|method| method.takes_label_topics);
        let is_set = source.get("project.label_topics").is_some();
        if !is_set && (is_uniform || !is_used) {
            self.set("project.label_topics", 0);
        }
        if self.get::<usize>("project.label_topics") > 0 && !is_used {
            let all = infer::METHODS.iter().filter(|method| method.takes_label_topics);
            let allowed = words(all.map(|method| method.name));
            source
                .refuse("project.label_topics", format!("0, unless project.method is {allowed}"))?;
        }
        Ok(())
    }

    /// Returns the columns of documents: those of metadata, and the language if it is identified.
    pub(super) fn columns(&self) -> Vec<String> {
        let mut columns: Vec<String> = self.get("corpus.metadata");
        columns.extend(self.languages().map(|_| COLUMN.to_owned()));
        columns
    }

    /// No metadata column may have the name of the column of languages.
    pub(super) fn settle_languages(&self, source: &Source) -> Result<(), Failure> {
        let metadata: Vec<String> = self.get("corpus.metadata");
        if self.languages().is_none() || !metadata.iter().any(|name| name == COLUMN) {
            return Ok(());
        }
        let allowed = "a column other than `language`, which is that of identified languages \
                       (corpus.identify_language, corpus.languages)";
        source.refuse("corpus.metadata", allowed)?;
        source.refuse("corpus.labels", allowed)
    }

    /// Only sampling supports a tree's leaves.
    pub(super) fn settle_tree(&mut self, source: &Source) -> Result<(), Failure> {
        if !self.names("tree.file") {
            return Ok(());
        }
        let refuse =
            |path, allowed: &str| source.refuse(path, format!("{allowed}, with tree.file"));
        if !self.get::<&TrainingMethod>("train.method").takes_tree {
            refuse("train.method", &names(|method| method.takes_tree))?;
        }
        if self.get::<DocumentSchedule>("train.schedule").is_drawn() {
            refuse("train.schedule", "\"uniform\", \"sorted\" or \"influence\"")?;
        }
        if self.get::<Estimator>("train.estimator") == Estimator::Soft {
            refuse("train.estimator", "\"counts\"")?;
        }
        // exp Ψ of the small prior of a cannot-link is 0.
        if self.get::<Geometry>("model.geometry") == Geometry::ExpPsi {
            refuse("model.geometry", "\"mean\"")?;
        }
        let method: Option<&InferenceMethod> = self.get("project.method");
        if method.is_some_and(InferenceMethod::is_joint) {
            refuse("project.method", "one that infers each document alone")?;
        }
        Ok(())
    }

    /// Documents are assigned once by the topics of that result, and then visited by a few Gibbs passes.
    pub(super) fn settle_warm_start(&mut self, source: &Source) -> Result<(), Failure> {
        if !self.names("train.warm_start") {
            return Ok(());
        }
        let fixed: [(&'static str, Value); 5] = [
            ("train.method", "sampled".into()),
            ("train.schedule", "uniform".into()),
            ("train.memory", "on".into()),
            ("train.online_passes", 0.into()),
            ("train.estimator", "counts".into()),
        ];
        for (path, value) in fixed {
            self.fix(source, path, value, "train.warm_start")?;
        }
        if self.value("train.passes") == Some(&"auto".into()) {
            self.set("train.passes", PASSES_OF_WARM_START);
        }
        if self.names("corpus.labels") {
            source.refuse("corpus.labels", "absent, with train.warm_start")?;
        }
        Ok(())
    }

    /// Terms that are given are not chosen; a model that is not trained has no training documents. A warm start keeps its
    /// terms, unless the job has a tree: then its documents, and so its terms, are those of the start.
    pub(super) fn settle_from(&mut self, source: &Source) -> Result<(), Failure> {
        let is_given = |path: &&str| source.get(path).is_some_and(|entry| !entry.is_in_file);
        if self.names("train.warm_start")
            && !self.names("tree.file")
            && source.get("vocabulary.from").is_none()
            && !BY_FREQUENCY.iter().any(is_given)
        {
            let start = self.value("train.warm_start").cloned();
            self.0.extend(start.map(|start| ("vocabulary.from", start)));
        }
        if self.names("vocabulary.from") {
            for path in BY_FREQUENCY {
                // A proposed job has some of these keys; there they have no effect.
                source.refuse_override(path, "absent: it has no effect with vocabulary.from")?;
                self.0.remove(path);
            }
        }
        if !self.names("model.from") {
            return Ok(());
        }
        if self.names("corpus.labels") {
            source.refuse("corpus.labels", "absent, with model.from")?;
        }
        let method: Option<&InferenceMethod> = self.get("project.method");
        if method.is_some_and(|method| method.is_joint() || method.needs_classifier) {
            source.refuse(
                "project.method",
                "one that needs no training documents, with model.from",
            )?;
        }
        Ok(())
    }

    /// Forgets the settings of a training that does not take place.
    pub(super) fn forget_training(&mut self) {
        if self.names("model.from") {
            self.0.retain(|path, _| !is_of_training(path));
        }
    }
}

/// Names the training methods that are `allowed`.
fn names(allowed: impl Fn(&TrainingMethod) -> bool) -> String {
    words(METHODS.iter().filter(|&method| allowed(method)).map(|method| method.name))
}

/// Returns the words in quotes, as alternatives.
fn words<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.map(|word| format!("\"{word}\"")).collect();
    words.join(" or ")
}
