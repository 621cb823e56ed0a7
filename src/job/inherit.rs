//! What a job takes from the result that `model.from` names: the settings of its terms and topics.

use std::path::Path;

use toml::Value;

use super::keys::input::DETECTION;
use super::kind::located;
use super::source::{Entry, WrittenJob};
use super::{JOB_FILE, absolute, keys, read_text, unreadable};
use crate::failure::Failure;
use store::is_remote;

/// The sections that are those of the result.
const INHERITED: [&str; 4] = ["tokens", "phrases", "vocabulary", "model"];
/// The sections about a training that does not take place.
const OF_TRAINING: [&str; 3] = ["sample", "tree", "train"];

/// Whether a key is about a training that does not take place.
fn is_of_training(path: &str) -> bool {
    OF_TRAINING.contains(&section(path))
}

fn is_inherited(path: &str) -> bool {
    INHERITED.contains(&section(path))
}

/// Whether a key is that of the result, or has no effect.
pub(super) fn is_of_result(path: &str) -> bool {
    path != "model.from" && (is_inherited(path) || is_of_training(path))
}

fn section(path: &str) -> &str {
    path.split('.').next().unwrap_or(path)
}

impl WrittenJob {
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
