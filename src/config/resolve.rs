//! Turns a job as written into the value of every key: checks values by their kinds, fills in defaults, and
//! enforces what one key demands of another, by the rows in `keys`. Nothing is read from disk here.

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::de::value::UnitDeserializer;
use toml::{Table, Value};

use super::keys::constraint::{Demand, Given, KeyConstraint, When, toml};
use super::keys::input::BY_FREQUENCY;
use super::keys::{self, CONSTRAINTS, Key, Preset, SECTIONS, Section};
use super::source::WrittenJob;
use super::{absolute, synth_input};
use crate::failure::Failure;
use corpus::language;
use corpus::settings::TextSection;
use lda::infer::settings::Estimator;

/// The value of every key of a job, by path. Keys that have no effect in the job are absent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Values(BTreeMap<&'static str, Value>);

/// Returns the values of a job: those that are set, and what follows for all others.
///
/// # Errors
/// A value has the wrong type or range, a key is missing, or keys contradict each other.
pub(super) fn resolve(source: &WrittenJob, path: &Path, folder: &Path) -> Result<Values, Failure> {
    let is_there = |section: &&Section| section.name != "synth" || source.has("synth");
    let sections = || SECTIONS.iter().filter(is_there);
    let mut values = Values(BTreeMap::new());
    sections().try_for_each(|section| values.take(section, source, folder))?;
    values.settle_alternatives(source)?;
    values.settle_corpus(source, folder);
    values.keep_terms(source);
    for constraint in CONSTRAINTS.iter().copied().flatten() {
        values.enforce(constraint, source)?;
    }
    values.check_lengths(source)?;
    values.check_columns(source)?;
    values.check_alpha(source)?;
    values.check_estimator(source)?;
    sections().try_for_each(|section| values.require(section, path))?;
    Ok(values)
}

/// Returns the values of a section that depends on no other.
///
/// # Errors
/// Those of [`resolve`].
pub(super) fn resolve_alone(
    section: &Section,
    source: &WrittenJob,
    path: &Path,
    folder: &Path,
) -> Result<Values, Failure> {
    let mut values = Values(BTreeMap::new());
    values.take(section, source, folder)?;
    values.require(section, path)?;
    Ok(values)
}

/// Returns the keys that a file sets to what another of its keys implies, as all do in a resolved job, each with that
/// other key: another value of it replaces them. Values that differ from the implied ones are not among them.
pub(super) fn implied(source: &WrittenJob) -> Vec<(&'static str, &'static str)> {
    let mut implied = Vec::new();
    for constraint in CONSTRAINTS.iter().copied().flatten() {
        if let Demand::Only(Given::By(by, follows)) | Demand::Implied(Given::By(by, follows)) =
            constraint.demand
            // Errors are reported when the values are taken.
            && let Some(word) = source.get(by).and_then(|entry| entry.value.as_str())
            && keys::key(by).is_some_and(|key| key.words().contains(&word))
        {
            let value = follows(word);
            let is_implied = |key: &&Key| {
                let value = value.clone().or_else(|| key.default_value());
                source.get(key.path).is_some_and(|entry| Some(&entry.value) == value.as_ref())
            };
            implied.extend(constraint.keys().filter(is_implied).map(|key| (key.path, by)));
        }
    }
    implied
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

    /// Returns the size of the sections that texts are cut into, if they are.
    pub(super) fn sections(&self) -> Option<TextSection> {
        let words: Option<u64> = self.get("corpus.section_words");
        let paragraphs: Option<u64> = self.get("corpus.section_paragraphs");
        let words = words.filter(|&words| words > 0).map(TextSection::Words);
        words.or(paragraphs.map(TextSection::Paragraphs))
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
    fn take(
        &mut self,
        section: &Section,
        source: &WrittenJob,
        folder: &Path,
    ) -> Result<(), Failure> {
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
        let is_absent = |key: &Key| {
            let mut constraints = CONSTRAINTS.iter().copied().flatten();
            constraints.any(|constraint| {
                matches!(constraint.demand, Demand::Absent)
                    && self.meets(constraint)
                    && constraint.keys().any(|absent| absent.path == key.path)
            })
        };
        for key in section.keys {
            if let Preset::Required(example) = key.preset
                && !self.has(key.path)
                && !is_absent(key)
            {
                let help = format!("add to [{}]: {} = {example}", section.name, key.name());
                let message = format!("{}: `{}` is missing", path.display(), key.path);
                return Err(Failure::usage(message).help(help));
            }
        }
        Ok(())
    }

    fn settle_alternatives(&mut self, source: &WrittenJob) -> Result<(), Failure> {
        for &[key, other] in keys::ALTERNATIVES {
            let Some(entry) = source.get(key) else {
                continue;
            };
            if source.get(other).is_some() {
                let message = format!("{}: `{key}` cannot be used with `{other}`", entry.place);
                let help = format!("keep `{key}` or `{other}`, not both");
                return Err(Failure::usage(message).help(help));
            }
            self.0.remove(other);
        }
        Ok(())
    }

    fn settle_corpus(&mut self, source: &WrittenJob, folder: &Path) {
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

    /// Whether a job meets the conditions of a constraint.
    fn meets(&self, constraint: &KeyConstraint) -> bool {
        let mut conditions = constraint.when.iter();
        conditions.all(|when| self.value(when.key()).is_some_and(|value| when.holds(value)))
    }

    /// Enforces a constraint.
    fn enforce(&mut self, constraint: &KeyConstraint, source: &WrittenJob) -> Result<(), Failure> {
        if !self.meets(constraint) {
            return Ok(());
        }
        let because = self.reason(constraint);
        let why = constraint.why;
        let no_effect = if why.is_empty() {
            format!("absent: it has no effect with {because}")
        } else {
            format!("absent: with {because}, {why}")
        };
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        let with = |allowed: &str| format!("{allowed}, with {because}{why}");
        for key in constraint.keys() {
            let path = key.path;
            let Some(value) = self.value(path) else {
                continue;
            };
            let word = value.as_str().unwrap_or_default();
            match &constraint.demand {
                Demand::NotGiven => source.refuse_override(path, &no_effect)?,
                Demand::Ignored => self.forget(path),
                Demand::Unused if Some(value) == key.default_value().as_ref() => self.forget(path),
                Demand::Absent | Demand::Unused => {
                    source.refuse(path, &no_effect)?;
                    self.forget(path);
                }
                Demand::Only(given) => {
                    if let Some(only) = self.given(given).filter(|only| only != value) {
                        source.refuse(path, with(&only.to_string()))?;
                        self.set(path, only);
                    }
                }
                Demand::Implied(given) => {
                    let is_open = source.get(path).is_none() || word == "auto";
                    if let Some(implied) = self.given(given).filter(|_| is_open) {
                        self.set(path, implied);
                    }
                }
                Demand::OneOf(is_allowed) if !is_allowed(word) => {
                    let words = key.words().into_iter().filter(|word| is_allowed(word));
                    let words: Vec<String> = words.map(|word| format!("\"{word}\"")).collect();
                    source.refuse(path, with(&words.join(" or ")))?;
                }
                Demand::Holds(holds, allowed) if !holds(value) => {
                    source.refuse(path, with(allowed))?;
                }
                Demand::OneOf(_) | Demand::Holds(..) => {}
            }
        }
        Ok(())
    }

    /// Returns the value that a constraint gives to a key, if it gives one.
    fn given(&self, given: &Given) -> Option<Value> {
        match given {
            Given::Text(text) => Some(toml(text)),
            Given::By(by, follows) => follows(self.value(by)?.as_str()?),
        }
    }

    /// Names what a constraint follows from.
    fn reason(&self, constraint: &KeyConstraint) -> String {
        let by = match constraint.demand {
            Demand::Only(Given::By(by, _)) => Some(by),
            _ => None,
        };
        let keys = constraint.when.iter().map(When::key).chain(by);
        let named = keys.map(|path| match self.value(path) {
            Some(value) if *value == "".into() => format!("an empty {path}"),
            Some(value) if !matches!(keys::key(path), Some(key) if key.kind.is_text()) => {
                format!("{path} = {value}")
            }
            _ => path.to_owned(),
        });
        named.collect::<Vec<_>>().join(" and ")
    }

    /// A warm start keeps its terms, unless the job has a tree: then its documents, and so its terms, are those of the
    /// start.
    fn keep_terms(&mut self, source: &WrittenJob) {
        let is_given = |path: &&str| source.get(path).is_some_and(|entry| !entry.is_in_file);
        if self.names("train.warm_start")
            && !self.names("tree.file")
            && source.get("vocabulary.from").is_none()
            && !BY_FREQUENCY.iter().any(is_given)
        {
            let start = self.value("train.warm_start").cloned();
            self.0.extend(start.map(|start| ("vocabulary.from", start)));
        }
    }

    fn check_lengths(&mut self, source: &WrittenJob) -> Result<(), Failure> {
        let least: u32 = self.get("tokens.min_length");
        if least > self.get("tokens.max_length") {
            let allowed =
                format!("a whole number from {least} to 1000, at least tokens.min_length");
            source.refuse("tokens.max_length", allowed)?;
            self.set("tokens.max_length", least);
        }
        Ok(())
    }

    /// The label column is metadata, no metadata column may have the name of a column that is added to documents, and
    /// trends need columns that documents have.
    fn check_columns(&mut self, source: &WrittenJob) -> Result<(), Failure> {
        let mut columns: Vec<String> = self.get("corpus.metadata");
        if self.names("corpus.labels") {
            let labels: String = self.get("corpus.labels");
            if !columns.contains(&labels) {
                columns.push(labels);
                self.set("corpus.metadata", columns.clone());
            }
        }
        let (cuts, identifies) = (self.sections().is_some(), self.languages().is_some());
        for (is_added, column, allowed) in [
            (
                cuts,
                TextSection::COLUMN,
                "a column other than `section_start`, which is that of the sections of texts \
                 (corpus.section_words, corpus.section_paragraphs)",
            ),
            (
                identifies,
                language::COLUMN,
                "a column other than `language`, which is that of identified languages \
                 (corpus.identify_language, corpus.languages)",
            ),
        ] {
            if is_added && columns.iter().any(|name| name == column) {
                source.refuse("corpus.metadata", allowed)?;
                source.refuse("corpus.labels", allowed)?;
            }
            columns.extend(is_added.then(|| column.to_owned()));
        }
        let link: Option<String> = self.get("output.link");
        let link = link.unwrap_or_default();
        let is_known = |name: &str| {
            ["source_id", "group_id"].contains(&name) || columns.iter().any(|it| it == name)
        };
        let is_address = link.starts_with("https://") || link.starts_with("http://");
        if !link.is_empty() && !is_address {
            source.refuse("output.link", "an address that begins with https:// or http://")?;
        }
        if let Some(name) = placeholders(&link).find(|name| !is_known(name)) {
            let fields =
                ["source_id", "group_id"].into_iter().chain(columns.iter().map(String::as_str));
            let fields = fields.collect::<Vec<_>>().join("}, {");
            source.refuse("output.link", format!("without {{{name}}}, which is none of {{{fields}}} (corpus.metadata has the columns)"))?;
        }
        let trends: Vec<String> = self.get("project.trends");
        if trends.iter().all(|name| columns.contains(name)) {
            return Ok(());
        }
        source.refuse("project.trends", match &columns[..] {
            [] => "columns of corpus.metadata, which is empty; the collection must be ingested with them".into(),
            columns => format!("columns of corpus.metadata: {}", columns.join(", ")),
        })
    }

    /// A list has a number for each topic.
    fn check_alpha(&self, source: &WrittenJob) -> Result<(), Failure> {
        let topics = self.value("model.topics").and_then(Value::as_integer);
        match (self.value("model.alpha"), topics) {
            (Some(Value::Array(alpha)), Some(topics)) if alpha.len() as i64 != topics => source
                .refuse(
                    "model.alpha",
                    format!(
                        "a number from 1e-6 to 1e6, or a list of {topics} of them (one per topic)"
                    ),
                ),
            _ => Ok(()),
        }
    }

    /// φ^p is estimated in Gibbs passes.
    fn check_estimator(&self, source: &WrittenJob) -> Result<(), Failure> {
        let number = |path| self.value(path).and_then(Value::as_integer);
        let passes = number("train.passes");
        let is_online = passes.is_some_and(|passes| Some(passes) <= number("train.online_passes"));
        if is_online && self.get::<Estimator>("train.estimator") == Estimator::Soft {
            let allowed = "more than train.online_passes, with train.estimator = \"soft\"";
            source.refuse("train.passes", allowed)?;
        }
        Ok(())
    }
}

/// Returns what is in braces in a link.
fn placeholders(link: &str) -> impl Iterator<Item = &str> {
    let behind = link.split('{').skip(1);
    behind.map(|rest| rest.split_once('}').map_or("", |(name, _)| name))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::Job;
    use crate::config::keys::{Key, SECTIONS};
    use crate::config::state::MODEL_FILE;
    use crate::tables::output::JOB_FILE;
    use corpus::settings::TokenSettings;
    use corpus::vocabulary_file::VOCABULARY_FILE;
    use lda::train::settings::TrainSettings;

    /// Candidate values; for every key, one of them is valid and not the default.
    const CANDIDATES: [&str; 13] = [
        "https://x.org",
        "true",
        "false",
        "2",
        "3",
        "0.7",
        "0.6",
        "de",
        "m",
        "w",
        "[0.1, 0.2]",
        "[\"m\"]",
        "latin1",
    ];

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
            "corpus.duplicates=once",
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

    #[test]
    fn a_job_that_says_nothing_has_the_settings_of_the_libraries() {
        let text = "[corpus]\ninput = [\"x.txt\"]\n[model]\ntopics = 2\n[output]\npath = \"out\"\n";
        let job = Job::parse(text, Path::new("job.toml"), &[]).unwrap();
        assert_eq!(job.train, TrainSettings::default());
        assert_eq!(job.tokens, TokenSettings::DEFAULT);
    }
}
