//! Turns a job as written into the value of every key: checks values by their kinds, fills in defaults, and
//! enforces what one key demands of another. Nothing is read from disk here.

mod implied;

use std::collections::BTreeMap;
use std::path::Path;

pub(super) use implied::BY_FREQUENCY;

use serde::de::DeserializeOwned;
use serde::de::value::UnitDeserializer;
use toml::{Table, Value};

use super::defaults;
use super::keys::{self, Key, Mark, Preset, SECTIONS, Section};
use super::source::Source;
use super::{absolute, synth_input};
use crate::evaluate::settings::Metric;
use crate::failure::Failure;
use corpus::formats;
use corpus::settings::TokenRule;
use lda::infer::InferenceMethod;
use lda::infer::settings::Estimator;
use lda::model::settings::Geometry;
use lda::train::settings::{DocumentSchedule, Memory};
use lda::train::step::{TrainingMethod, Unused};

/// `train.sample_mib` without memory: about as much as a process reads ahead; small samples need no file.
const STREAMED_SAMPLE_MIB: f64 = 32.0;
/// The least η: exp Ψ of a smaller one is almost nothing, in every topic.
const LEAST_ETA_OF_EXP_PSI: f64 = 0.01;

/// The value of every key of a job, by path. Keys that have no effect in the job are absent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Values(BTreeMap<&'static str, Value>);

/// Returns the values of a job: those that are set, and what follows for all others.
///
/// # Errors
/// A value has the wrong type or range, a key is missing, or keys contradict each other.
pub(super) fn resolve(source: &Source, path: &Path, folder: &Path) -> Result<Values, Failure> {
    let is_there = |section: &&Section| section.name != "synth" || source.has("synth");
    let sections = || SECTIONS.iter().filter(is_there);
    let mut values = Values(BTreeMap::new());
    sections().try_for_each(|section| values.take(section, source, folder))?;
    values.settle_alternatives(source)?;
    values.settle_corpus(source, folder);
    values.settle_tokens(source)?;
    values.settle_format(source)?;
    values.settle_from(source)?;
    values.settle_labels(source)?;
    values.settle_languages(source)?;
    values.settle_tree(source)?;
    values.settle_warm_start(source)?;
    values.settle_method(source)?;
    values.settle_model(source)?;
    values.settle_train(source)?;
    values.settle_estimator(source)?;
    values.settle_project(source);
    values.settle_label_topics(source)?;
    values.settle_trends(source)?;
    values.settle_evaluate(source)?;
    values.forget_training();
    sections().try_for_each(|section| values.require(section, path))?;
    Ok(values)
}

/// Returns the values of a section that depends on no other.
///
/// # Errors
/// Those of [`resolve`].
pub(super) fn resolve_alone(
    section: &Section,
    source: &Source,
    path: &Path,
    folder: &Path,
) -> Result<Values, Failure> {
    let mut values = Values(BTreeMap::new());
    values.take(section, source, folder)?;
    values.require(section, path)?;
    Ok(values)
}

/// Returns the keys that a file sets to what its method implies, as all do in a resolved job: another method replaces
/// them. Values that differ from the method's are not among them.
pub(super) fn implied_by_method(source: &Source) -> Vec<&'static str> {
    let set = |path| source.get(path).map(|entry| &entry.value);
    // Errors are reported when the values are taken.
    let method =
        set("project.method").and_then(|value| value.clone().try_into::<&InferenceMethod>().ok());
    let implied = method.into_iter().flat_map(defaults::values);
    let implied = implied.filter(|(path, value)| set(path) == Some(value));
    implied.map(|(path, _)| path).collect()
}

/// Reads the settings in a section.
fn read<T: DeserializeOwned>(name: &str, table: Table) -> T {
    let read = Value::Table(table).try_into();
    read.unwrap_or_else(|error| panic!("[{name}], whose values are checked: {error}"))
}

impl Values {
    /// Returns the setting of a key; its default if it has no effect.
    pub(super) fn get<T: DeserializeOwned>(&self, path: &'static str) -> T {
        let read = match keys::key(path).and_then(|key| self.setting(key)) {
            Some(value) => value.try_into(),
            None => T::deserialize(UnitDeserializer::new()),
        };
        read.unwrap_or_else(|error: toml::de::Error| panic!("{path}, which is checked: {error}"))
    }

    /// Returns the settings in a section, which have the names of its keys.
    pub(super) fn section<T: DeserializeOwned>(&self, name: &'static str) -> T {
        read(name, self.table(name))
    }

    /// Returns the settings in a section, of which one has the name of another section, with its settings.
    pub(super) fn within<T: DeserializeOwned>(&self, name: &'static str, inner: &str) -> T {
        let mut table = self.table(name);
        table.insert(inner.to_owned(), self.table(inner).into());
        read(name, table)
    }

    fn table(&self, name: &str) -> Table {
        let keys = keys::section(name).into_iter().flat_map(|section| section.keys);
        let set = keys.filter_map(|key| Some((key.name().to_owned(), self.setting(key)?)));
        set.collect()
    }

    /// Returns what the setting of a key is read from; by its default if it has no effect.
    fn setting(&self, key: &Key) -> Option<Value> {
        let is_replaced = |[one, other]: &[&str; 2]| *other == key.path && self.has(one);
        let default =
            || key.default_value().filter(|_| !keys::ALTERNATIVES.iter().any(is_replaced));
        key.kind.setting(&self.value(key.path).cloned().or_else(default)?)
    }

    /// Returns the languages that are read, if languages are identified.
    pub(super) fn languages(&self) -> Option<Vec<String>> {
        let languages: Vec<String> = self.get("corpus.languages");
        let identifies = self.get("corpus.identify_language") || !languages.is_empty();
        identifies.then_some(languages)
    }

    /// Returns the value of a key, unless it has no effect.
    pub(super) fn value(&self, path: &str) -> Option<&Value> {
        self.0.get(path)
    }

    /// Whether a key has an effect.
    pub(super) fn has(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    /// Whether a key names something: it has an effect, and its value is not `""`.
    pub(super) fn names(&self, path: &str) -> bool {
        self.value(path).is_some_and(|value| *value != "".into())
    }

    /// Removes a key, as one that has no effect.
    pub(super) fn forget(&mut self, path: &str) {
        self.0.remove(path);
    }

    fn set(&mut self, path: &'static str, value: impl Into<Value>) {
        self.0.insert(path, value.into());
    }

    /// Takes each value of a section by itself: the one that is set, or the default.
    fn take(&mut self, section: &Section, source: &Source, folder: &Path) -> Result<(), Failure> {
        for key in section.keys {
            let value = match source.get(key.path) {
                Some(entry) => match key.kind.value(&entry.value, folder) {
                    None => return Err(entry.invalid(key.path, key.allowed())),
                    value => value,
                },
                None => key.default_value(),
            };
            self.0.extend(value.map(|value| (key.path, value)));
        }
        Ok(())
    }

    /// Checks that every required key has a value.
    fn require(&self, section: &Section, path: &Path) -> Result<(), Failure> {
        let labels = self.names("corpus.labels").then_some("model.topics");
        for key in section.keys {
            if let Preset::Required(example) = key.preset
                && !self.has(key.path)
                && labels != Some(key.path)
            {
                let help = format!("add to [{}]: {} = {example}", section.name, key.name());
                let message = format!("{}: `{}` is missing", path.display(), key.path);
                return Err(Failure::usage(message).help(help));
            }
        }
        Ok(())
    }

    fn settle_alternatives(&mut self, source: &Source) -> Result<(), Failure> {
        for &[key, other] in keys::ALTERNATIVES {
            let Some(entry) = source.get(key) else {
                continue;
            };
            if source.get(other).is_some() {
                let message = format!("{}: `{key}` cannot be used with `{other}`", entry.place);
                let [key, other] = [key, other].map(|path| keys::split(path).1);
                return Err(
                    Failure::usage(message).help(format!("keep `{key}` or `{other}`, not both"))
                );
            }
            self.0.remove(other);
        }
        Ok(())
    }

    fn settle_corpus(&mut self, source: &Source, folder: &Path) {
        if self.value("corpus.base") == Some(&"".into()) {
            self.set("corpus.base", folder.to_string_lossy().into_owned());
        }
        if source.has("synth") {
            let made = self.value("synth.path").and_then(Value::as_str);
            let made = made.map(|path| absolute(Path::new(path)));
            if !self.has("corpus.input") {
                let input = synth_input(made.as_deref().unwrap_or(Path::new("")));
                self.set("corpus.input", vec![input]);
            }
            if let Some(made) = made {
                self.set("synth.path", made.to_string_lossy().into_owned());
            }
        }
    }

    fn settle_tokens(&mut self, source: &Source) -> Result<(), Failure> {
        let least: u32 = self.get("tokens.min_length");
        if least > self.get("tokens.max_length") {
            let allowed =
                format!("a whole number from {least} to 1000, at least tokens.min_length");
            source.refuse("tokens.max_length", allowed)?;
            self.set("tokens.max_length", least);
        }
        let cuts_at_apostrophes = matches!(self.get("tokens.rule"), TokenRule::Letters);
        let keeps_all = matches!(self.get("tokens.rule"), TokenRule::Whitespace);
        let rule = format!("tokens.rule = {}", self.value("tokens.rule").expect("a word for it"));
        if cuts_at_apostrophes || keeps_all {
            self.refuse_unused(source, "tokens.elisions", &rule)?;
        }
        if keeps_all {
            self.refuse_unused(source, "tokens.addresses", &rule)?;
        }
        Ok(())
    }

    /// Refuses keys of other formats than the one that the job names.
    fn settle_format(&self, source: &Source) -> Result<(), Failure> {
        let word = self.get::<Option<String>>("corpus.format");
        let Some(format) = word.as_deref().and_then(formats::named) else {
            return Ok(());
        };
        let with = format!("corpus.format = \"{}\"", format.name);
        let of_some = formats::LIST.iter().flat_map(|format| format.keys);
        for &path in of_some.filter(|key| !format.takes(key)) {
            match keys::section(path) {
                None => self.refuse_unused(source, path, &with)?,
                Some(section) => {
                    let mut keys = section.keys.iter();
                    keys.try_for_each(|key| self.refuse_unused(source, key.path, &with))?;
                }
            }
        }
        Ok(())
    }

    /// Refuses a key that has no effect, unless it is set to its default, as a saved job sets it.
    fn refuse_unused(
        &self,
        source: &Source,
        path: &'static str,
        reason: &str,
    ) -> Result<(), Failure> {
        let default = keys::key(path).and_then(Key::default_value);
        if self.value(path) == default.as_ref() {
            return Ok(());
        }
        source.refuse(path, format!("absent: it has no effect with {reason}"))
    }

    /// The paper's geometry needs `memory` off, because Gibbs passes support only the mean.
    fn settle_model(&mut self, source: &Source) -> Result<(), Failure> {
        let topics = self.value("model.topics").and_then(Value::as_integer);
        if let (Some(Value::Array(alpha)), Some(topics)) = (self.value("model.alpha"), topics)
            && alpha.len() as i64 != topics
        {
            source.refuse(
                "model.alpha",
                format!("a number from 1e-6 to 1e6, or a list of {topics} of them (one per topic)"),
            )?;
        }
        let is_exp_psi = self.get::<Geometry>("model.geometry") == Geometry::ExpPsi;
        let is_trained = !self.names("model.from");
        if is_exp_psi && is_trained && self.get::<Memory>("train.memory") != Memory::Off {
            source.refuse(
                "model.geometry",
                "\"mean\", unless train.memory is \"off\": Gibbs passes support only the mean",
            )?;
        }
        let eta = self.value("model.eta").and_then(Value::as_float);
        if is_exp_psi && eta.is_some_and(|eta| eta < LEAST_ETA_OF_EXP_PSI) {
            source.refuse(
                "model.eta",
                format!("at least {LEAST_ETA_OF_EXP_PSI} with model.geometry = \"exp-psi\""),
            )?;
        }
        Ok(())
    }

    fn settle_train(&mut self, source: &Source) -> Result<(), Failure> {
        let memory: Memory = self.get("train.memory");
        let schedule: DocumentSchedule = self.get("train.schedule");
        let streams = memory == Memory::Off && !schedule.is_drawn();
        if streams && source.get("train.sample_mib").is_none() {
            self.set("train.sample_mib", STREAMED_SAMPLE_MIB);
        }
        let method: &TrainingMethod = self.get("train.method");
        let forgets = memory == Memory::Off && method.requires.memory.is_none();
        if forgets && schedule.needs_memory() {
            source.refuse("train.schedule", "one that compares no visits, with train.memory = \"off\": \"uniform\", \"sorted\", \
                 \"influence\" or \"influence-draws\"")?;
        }
        if method.requires.one_visit_a_pass && schedule.is_drawn() {
            let name = method.name;
            source.refuse(
                "train.schedule",
                format!("one that visits each document once, with train.method = \"{name}\""),
            )?;
        }
        self.refuse_without_effect(source)
    }

    /// Refuses keys that have no effect beside others.
    fn refuse_without_effect(&mut self, source: &Source) -> Result<(), Failure> {
        let memory: Memory = self.get("train.memory");
        let schedule: DocumentSchedule = self.get("train.schedule");
        let method: &TrainingMethod = self.get("train.method");
        let ignores = |unused| method.ignores.contains(&unused);
        let is = |path| format!("{path} = {}", self.value(path).expect("a word for it"));
        let (schedule_is, method_is) = (is("train.schedule"), is("train.method"));
        let is_off = memory == Memory::Off;
        let is_empty = |path| !self.names(path);
        let is_false = |path| !self.get::<bool>(path);
        let starts_with_gibbs = !is_off && self.get::<u32>("train.online_passes") == 0;
        let unused = [
            (is_off, Mark::Memory, "train.memory = \"off\""),
            (is_off, Mark::Gibbs, "train.memory = \"off\""),
            (ignores(Unused::Gibbs), Mark::Gibbs, &method_is),
            (starts_with_gibbs, Mark::Online, "train.online_passes = 0"),
            (ignores(Unused::Sweeps), Mark::Sweeps, &method_is),
            (ignores(Unused::Steps), Mark::Steps, &method_is),
            (ignores(Unused::Minibatch), Mark::NotBatch, &method_is),
            (!schedule.is_drawn(), Mark::Drawn, &schedule_is),
            (!schedule.needs_memory(), Mark::Residual, &schedule_is),
            (is_empty("corpus.labels"), Mark::Labelled, "an empty corpus.labels"),
            (is_empty("tree.file"), Mark::Tree, "an empty tree.file"),
            (is_empty("train.warm_start"), Mark::WarmStart, "an empty train.warm_start"),
            (is_false("phrases.detect"), Mark::Detected, "phrases.detect = false"),
            (is_false("project.rollups"), Mark::RolledUp, "project.rollups = false"),
        ];
        for (_, unused, reason) in unused.into_iter().filter(|(is_unused, ..)| *is_unused) {
            for key in keys::marked(unused) {
                if unused.may_be_spelt_out() {
                    self.refuse_unused(source, key.path, reason)?;
                } else {
                    source.refuse(key.path, format!("absent: it has no effect with {reason}"))?;
                }
                self.0.remove(key.path);
            }
        }
        Ok(())
    }

    /// φ^p is estimated in Gibbs passes.
    fn settle_estimator(&self, source: &Source) -> Result<(), Failure> {
        let number = |path| self.value(path).and_then(Value::as_integer);
        let passes = number("train.passes");
        let is_online = passes.is_some_and(|passes| Some(passes) <= number("train.online_passes"));
        if is_online && self.get::<Estimator>("train.estimator") == Estimator::Soft {
            let allowed = "more than train.online_passes, with train.estimator = \"soft\"";
            source.refuse("train.passes", allowed)?;
        }
        Ok(())
    }

    fn settle_project(&mut self, source: &Source) {
        let method: Option<&InferenceMethod> = self.get("project.method");
        for (path, value) in method.into_iter().flat_map(defaults::values) {
            if source.get(path).is_none() {
                self.set(path, value);
            }
        }
        if method.is_none() {
            for key in keys::marked(Mark::Inference) {
                self.0.remove(key.path);
            }
        }
    }

    /// Trends need columns that documents have.
    fn settle_trends(&mut self, source: &Source) -> Result<(), Failure> {
        if !self.has("project.trends") {
            return Ok(());
        }
        let columns = self.columns();
        let trends: Vec<String> = self.get("project.trends");
        if trends.iter().all(|name| columns.contains(name)) {
            Ok(())
        } else {
            source.refuse("project.trends", match &columns[..] {
                [] => "columns of corpus.metadata, which is empty; the collection must be ingested with them".into(),
                columns => format!("columns of corpus.metadata: {}", columns.join(", ")),
            })
        }
    }

    fn settle_evaluate(&mut self, source: &Source) -> Result<(), Failure> {
        let metrics: Vec<Metric> = self.get("evaluate.metrics");
        if !metrics.iter().any(|metric| metric.is_coherence()) {
            let allowed = "absent unless evaluate.metrics has one of umass, npmi, c_v";
            source.refuse_override("evaluate.reference", allowed)?;
            source.refuse_override("evaluate.coherence_terms", allowed)?;
        }
        if !metrics.contains(&Metric::LeftToRight) {
            let allowed = "absent without left-to-right in evaluate.metrics";
            source.refuse_override("evaluate.particles", allowed)?;
            source.refuse_override("evaluate.resample", allowed)?;
        }
        if metrics.is_empty() {
            source.refuse("evaluate.metrics", "a list of metrics, not empty".to_owned())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::job::Job;
    use crate::job::keys::{Key, SECTIONS};
    use crate::job::state::MODEL_FILE;
    use crate::tables::output::JOB_FILE;
    use corpus::vocabulary_file::VOCABULARY_FILE;

    /// Candidate values; for every key, one of them is valid and not the default.
    const CANDIDATES: [&str; 11] =
        ["true", "false", "2", "3", "0.7", "de", "m", "w", "[0.1, 0.2]", "[\"m\"]", "latin1"];

    #[test]
    fn every_key_is_read_into_a_setting() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("m"), "must: word, other\n").unwrap();
        for file in [MODEL_FILE, VOCABULARY_FILE, JOB_FILE] {
            let path = folder.path().join("w").join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "[model]\ntopics = 2\n").unwrap();
        }
        let text = "[corpus]\ninput = \"x\"\nmetadata = [\"m\", \"n\"]\n[model]\ntopics = 2\n\
                    [output]\npath = \"o\"\n[synth]\npath = \"s\"\n";
        let labelled = text.replace("topics = 2\n", "");
        let job = |sets: &[String]| {
            let has_labels = sets.iter().any(|set| set.starts_with("corpus.labels="));
            let text = if has_labels { &labelled } else { text };
            Job::parse(text, &folder.path().join("job.toml"), sets)
        };
        // Some keys have an effect in only one of these jobs.
        let bases = [
            "train.memory=auto",
            "train.memory=off",
            "train.schedule=residual",
            "corpus.labels=m",
            "tree.file=m",
            "train.warm_start=w",
            "phrases.detect=true",
            "project.trends=[\"m\"]",
            "evaluate.metrics=[\"npmi\"]",
            "evaluate.metrics=[\"left-to-right\"]",
        ];
        let bases = bases.map(str::to_owned);
        let is_read = |key: &Key, value: &str| {
            bases.iter().any(|base| {
                let set = job(&[base.clone(), format!("{}={value}", key.path)]);
                let base = job(std::slice::from_ref(base)).unwrap();
                // The values differ, of course; the question is whether a setting does.
                let values = base.values.clone();
                set.is_ok_and(|set| Job { values, ..set } != base)
            })
        };
        for key in SECTIONS.iter().flat_map(|section| section.keys) {
            let mut candidates = key.words().into_iter().chain(CANDIDATES);
            let is_read = candidates.any(|value| is_read(key, value));
            assert!(is_read, "{} changes no setting", key.path);
        }
    }
}
