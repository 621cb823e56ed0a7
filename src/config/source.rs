//! A job file as written: sections, keys and values, each with its position; and what a job takes from the result that
//! `model.from` names: the settings of its terms and topics.
//!
//! Parsing and overrides only; `resolve` checks the values.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use toml::de::{DeTable, DeValue, ValueDeserializer};
use toml::{Spanned, Value};

use super::keys::input::DETECTION;
use super::keys::{self, Section};
use super::kind::located;
use super::{JOB_FILE, absolute, read_text, unreadable};
use crate::failure::Failure;
use store::is_remote;

/// The sections that are those of the result.
const INHERITED: [&str; 4] = ["tokens", "phrases", "vocabulary", "model"];
/// The sections about a training that does not take place.
const OF_TRAINING: [&str; 3] = ["sample", "tree", "train"];

fn is_inherited(path: &str) -> bool {
    INHERITED.contains(&section(path))
}

/// Whether a key is that of the result, or has no effect.
pub(super) fn is_of_result(path: &str) -> bool {
    !["model.from", "vocabulary.max_distinct"].contains(&path)
        && (is_inherited(path) || OF_TRAINING.contains(&section(path)))
}

fn section(path: &str) -> &str {
    path.split('.').next().unwrap_or(path)
}

/// A value and where it was set.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) value: Value,
    /// Where it was set: a line of the job file, the override as written, or the flag with its value.
    pub(super) place: String,
    /// Whether it was set in the job file.
    pub(super) is_in_file: bool,
}

impl Entry {
    fn given(value: Value, place: String) -> Self {
        Self { value, place, is_in_file: false }
    }

    /// Returns the error for this key's value.
    pub(super) fn invalid(&self, key: &'static str, allowed: impl Display) -> Failure {
        let Self { place, value, .. } = self;
        Failure::usage(format!("{place}: `{key}` is {value}, but must be {allowed}"))
    }
}

/// A job as written.
#[derive(Clone, Debug, Default)]
pub(super) struct WrittenJob {
    /// The names of its sections, including empty ones.
    sections: BTreeSet<&'static str>,
    /// Entries by the paths of their keys.
    entries: BTreeMap<&'static str, Entry>,
}

impl WrittenJob {
    /// Parses `text`, the content of the job file at `path` (used in errors only).
    ///
    /// # Errors
    /// The text is not TOML, or has an unknown section or key.
    pub(super) fn parse(text: &str, path: &Path) -> Result<Self, Failure> {
        let place =
            |span: Range<usize>| format!("{}:{}", path.display(), line_of(text, span.start));
        let syntax = |error: toml::de::Error| {
            let place = place(error.span().unwrap_or(0..0));
            Failure::usage(format!("{place}: invalid TOML: {}", error.message()))
        };
        let mut source = Self::default();
        for (name, value) in DeTable::parse(text).map_err(syntax)?.into_inner() {
            let DeValue::Table(table) = value.into_inner() else {
                return Err(no_section(&place(name.span()), name.get_ref()));
            };
            let section = source.open(name.get_ref(), &place(name.span()))?;
            for (key, value) in table {
                let entry = Entry {
                    place: place(key.span()),
                    value: plain_value(value).map_err(syntax)?,
                    is_in_file: true,
                };
                source.put(section, key.get_ref(), entry)?;
            }
        }
        Ok(source)
    }

    /// Applies one `section.key=value`, where the value is TOML or, failing that, a bare string. It replaces the
    /// other key of a pair.
    ///
    /// # Errors
    /// The text has another form, or an unknown section or key.
    pub(super) fn set(&mut self, text: &str) -> Result<(), Failure> {
        let split = text.split_once('=').and_then(|(name, raw)| {
            let (section, key) = name.trim().split_once('.')?;
            Some((section, key, raw.trim()))
        });
        let (section, name, raw) = split
            .filter(|(section, key, _)| !section.is_empty() && !key.is_empty())
            .ok_or_else(|| {
                Failure::usage(format!("--set {text}: expected section.key=value"))
                    .help("for example: --set train.passes=5")
            })?;
        let bare = || Value::String(raw.to_owned());
        let value = ValueDeserializer::parse(raw).and_then(Value::deserialize);
        let value = value.unwrap_or_else(|_| bare());
        let place = format!("--set {text}");
        let section = self.open(section, &place)?;
        // The shell removes quotes, so a number may be meant as text.
        let is_text = section.key(name).is_some_and(|key| key.kind.is_text());
        let value = match value {
            Value::Integer(_) | Value::Float(_) | Value::Boolean(_) if is_text => bare(),
            value => value,
        };
        let path = self.put(section, name, Entry::given(value, place))?;
        let pair = keys::ALTERNATIVES.iter().find(|pair| pair.contains(&path));
        for other in pair.into_iter().flatten().filter(|other| **other != path) {
            self.entries.remove(other);
        }
        Ok(())
    }

    /// Sets a key from its own flag.
    ///
    /// # Errors
    /// The section or key is unknown.
    pub(super) fn set_flag(&mut self, path: &str, value: Value) -> Result<(), Failure> {
        let (section, key) = path.split_once('.').unwrap_or((path, ""));
        let flag = match (section, key) {
            ("output", "path") => "output".to_owned(),
            ("tree", "must_link") => "strength".to_owned(),
            (_, key) => key.replace('_', "-"),
        };
        let place = format!("--{flag} {value}");
        self.set_from(path, value, place)
    }

    /// Sets a key from a place, such as another job.
    ///
    /// # Errors
    /// The section or key is unknown.
    pub(super) fn set_from(
        &mut self,
        path: &str,
        value: Value,
        place: String,
    ) -> Result<(), Failure> {
        let (section, key) = path.split_once('.').unwrap_or((path, ""));
        let section = self.open(section, &place)?;
        self.put(section, key, Entry::given(value, place)).map(drop)
    }

    /// Removes the entries for which `is_forgotten` holds, given with the paths of their keys.
    pub(super) fn forget(&mut self, is_forgotten: impl Fn(&str, &Entry) -> bool) {
        self.entries.retain(|path, entry| !is_forgotten(path, entry));
    }

    /// Sets a key to a value that follows from another key's.
    pub(super) fn replace(&mut self, path: &'static str, value: Value, because: &Entry) {
        let entry = Entry { value, ..because.clone() };
        self.entries.insert(path, entry);
    }

    /// Takes the entries of another source.
    pub(super) fn extend(&mut self, other: Self) {
        self.entries.extend(other.entries);
    }

    /// Returns all entries, with the paths of their keys.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'static str, &Entry)> {
        self.entries.iter().map(|(path, entry)| (*path, entry))
    }

    /// Returns the entry of a key, if it was set.
    pub(super) fn get(&self, path: &str) -> Option<&Entry> {
        debug_assert!(keys::key(path).is_some(), "{path} is no key");
        self.entries.get(path)
    }

    /// Whether a section was written, even an empty one.
    pub(super) fn has(&self, section: &str) -> bool {
        self.sections.contains(section)
    }

    /// Refuses a key's value, if the key was set.
    ///
    /// # Errors
    /// The key was set.
    pub(super) fn refuse(&self, path: &'static str, allowed: impl Display) -> Result<(), Failure> {
        self.get(path).map_or(Ok(()), |entry| Err(entry.invalid(path, allowed)))
    }

    /// Refuses a key's value, if the key was set on the command line.
    ///
    /// # Errors
    /// The key was set there.
    pub(super) fn refuse_override(
        &self,
        path: &'static str,
        allowed: impl Display,
    ) -> Result<(), Failure> {
        match self.get(path) {
            Some(entry) if !entry.is_in_file => self.refuse(path, allowed),
            _ => Ok(()),
        }
    }

    /// Takes `[tokens]`, `[phrases]`, `[vocabulary]` and `[model]` from the result that `model.from` names, if it
    /// names one; its terms are kept. `job` is the path of the job, `folder` its absolute folder.
    ///
    /// # Errors
    /// There is no such result, or its topics are labels; the job sets a key to another value.
    pub(super) fn inherit(&mut self, job: &Path, folder: &Path) -> Result<(), Failure> {
        let Some(from) = self.get("model.from").cloned() else {
            return Ok(());
        };
        let Some(name) = from.value.as_str().filter(|name| !name.is_empty()) else {
            return Ok(());
        };
        let result = located(name, folder);
        if self.has_inherited(job, &result) {
            return Ok(());
        }
        let root = Path::new(result.as_str().unwrap_or_default());
        let theirs = read_job(root, &from)?;
        let mut derived = theirs.clone();
        derived.forget(|path, _| {
            let is_by_frequency = section(path) == "vocabulary" && path != "vocabulary.stop_words";
            // Detected phrases are in the `collection.json` of the result.
            let is_detection = path == "phrases.detect" || DETECTION.contains(&path);
            !is_inherited(path) || is_by_frequency || is_detection
        });
        for path in ["vocabulary.from", "model.from"] {
            derived.replace(path, result.clone(), &from);
        }
        for (path, entry) in self.entries().filter(|(path, _)| is_of_result(path)) {
            let key = keys::key(path).expect("a source has keys only");
            let value = key.kind.value(&entry.value, folder);
            let value_in = |source: &Self| Some(source.get(path)?.value.clone());
            let default = key.default_value();
            let there = value_in(&theirs).or(default.clone());
            if value != there && value != value_in(&derived).or(default) {
                let there = there.filter(|value| *value != Value::from(""));
                let there = there.map_or_else(String::new, |value| format!(" ({value} there)"));
                let allowed = format!("absent, or as in the result of model.from{there}");
                return Err(entry.invalid(path, allowed));
            }
        }
        self.forget(|path, _| is_of_result(path) || path == "model.from");
        self.extend(derived);
        Ok(())
    }

    /// Whether this is the job of a finished result, which has everything that it has taken from `result`.
    fn has_inherited(&self, job: &Path, result: &Value) -> bool {
        let value = |path| self.get(path).map(|entry| &entry.value);
        let output = value("output.path").and_then(Value::as_str).map(Path::new);
        output.is_some_and(|output| absolute(&output.join(JOB_FILE)) == absolute(job))
            && value("vocabulary.from") == Some(result)
            && (self.entries()).all(|(path, entry)| entry.is_in_file || !is_of_result(path))
    }

    fn open(&mut self, name: &str, place: &str) -> Result<&'static Section, Failure> {
        let section = keys::section(name).ok_or_else(|| {
            let names = || keys::SECTIONS.iter().map(|section| section.name);
            let help = match keys::nearest(name, names()) {
                Some(nearest) => format!("did you mean [{nearest}]?"),
                None => format!("the sections are [{}]", names().collect::<Vec<_>>().join("], [")),
            };
            Failure::usage(format!("{place}: unknown section [{name}]")).help(help)
        })?;
        self.sections.insert(section.name);
        Ok(section)
    }

    fn put(
        &mut self,
        section: &'static Section,
        name: &str,
        entry: Entry,
    ) -> Result<&'static str, Failure> {
        let Some(key) = section.key(name) else {
            return Err(unknown_key(&entry.place, section, name));
        };
        self.entries.insert(key.path, entry);
        Ok(key.path)
    }
}

/// Reads the job of the result in a folder, which `from` names; refuses one whose topics no other job can have.
fn read_job(root: &Path, from: &Entry) -> Result<WrittenJob, Failure> {
    let (path, place, shown) = (root.join(JOB_FILE), &from.place, root.display());
    if is_remote(root) {
        let message = format!("{place}: `model.from` is {shown}, but must be a folder");
        return Err(Failure::usage(message).help("copy that result to a folder on each host"));
    }
    let text = read_text(&path).map_err(|error| {
        let help = format!("{place}: name the folder of a finished result");
        unreadable(&path, error).help(help)
    })?;
    let job = WrittenJob::parse(&text, &path)?;
    let labels = job.get("corpus.labels").map(|entry| &entry.value);
    if labels.is_some_and(|labels| *labels != Value::from("")) {
        let message = format!("{place}: `model.from` names {shown}, whose topics are labels");
        let help = "project new documents by `topicmill project RESULT --stdin`";
        return Err(Failure::usage(message).help(help));
    }
    Ok(job)
}

/// Returns the error for a key outside any section.
fn no_section(place: &str, key: &str) -> Failure {
    let help = match keys::nearest_key(None, key) {
        None => {
            "keys belong in sections: [corpus], [model], [output], …; see docs/JOB.md".to_owned()
        }
        Some(same) => format!("put `{key}` under [{}]", same.section()),
    };
    Failure::usage(format!("{place}: `{key}` is outside any section")).help(help)
}

/// Returns the error for a key that its section does not have.
fn unknown_key(place: &str, section: &Section, name: &str) -> Failure {
    let help = match keys::nearest_key(Some(section), name) {
        Some(key) if key.section() == section.name => format!("did you mean `{}`?", key.name()),
        Some(key) => format!("`{}` belongs in [{}]", key.name(), key.section()),
        None => {
            let names: Vec<_> = section.names().collect();
            format!("the keys of [{}] are {}", section.name, names.join(", "))
        }
    };
    Failure::usage(format!("{place}: unknown key `{name}` in [{}]", section.name)).help(help)
}

fn plain_value(value: Spanned<DeValue<'_>>) -> Result<Value, toml::de::Error> {
    Value::deserialize(ValueDeserializer::from(value))
}

/// Returns the line, from 1, of a byte offset.
fn line_of(text: &str, offset: usize) -> usize {
    let before = &text.as_bytes()[..offset.min(text.len())];
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}
