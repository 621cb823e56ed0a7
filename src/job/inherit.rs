//! What a job takes from the result that `model.from` names: the settings of its terms and topics.

use std::path::Path;

use super::kind::located;
use super::source::{Entry, Source};
use super::{JOB_FILE, unreadable};
use crate::failure::Failure;
use corpus::collection::COLLECTION_FILE;

/// The sections that are those of the result.
const INHERITED: [&str; 4] = ["tokens", "phrases", "vocabulary", "model"];
/// The sections about a training that does not take place.
const OF_TRAINING: [&str; 3] = ["sample", "tree", "train"];
/// The keys about phrases that are detected in a collection.
const DETECTED: [&str; 4] = [
    "phrases.detect",
    "phrases.min_count",
    "phrases.threshold",
    "phrases.max_words",
];

/// Whether a key is about a training that does not take place.
pub(super) fn is_of_training(path: &str) -> bool {
    OF_TRAINING.contains(&section(path))
}

fn is_inherited(path: &str) -> bool {
    INHERITED.contains(&section(path))
}

fn section(path: &str) -> &str {
    path.split('.').next().unwrap_or(path)
}

impl Source {
    /// Takes `[tokens]`, `[phrases]`, `[vocabulary]` and `[model]` from the result that `model.from` names, if it
    /// names one: phrases that were detected there are joined, and its terms are kept. A resolved job has all of this
    /// already. `folder` is that of the job.
    ///
    /// # Errors
    /// There is no such result, or its topics are labels; the job sets a key to another value.
    pub(super) fn inherit(&mut self, folder: &Path) -> Result<(), Failure> {
        let Some(from) = self.get("model.from").cloned() else {
            return Ok(());
        };
        let Some(name) = from.value.as_str().filter(|name| !name.is_empty()) else {
            return Ok(());
        };
        let result = located(name, folder);
        if self
            .get("vocabulary.from")
            .is_some_and(|it| it.value == result)
        {
            return Ok(());
        }
        let root = Path::new(result.as_str().unwrap_or_default());
        let mut theirs = read_job(root, &from)?;
        for (path, entry) in self.entries() {
            let there = theirs.get(path).map(|entry| &entry.value);
            let is_concerned = is_inherited(path) || is_of_training(path);
            if path != "model.from" && is_concerned && there != Some(&entry.value) {
                let there = there.map_or_else(String::new, |value| format!(" ({value} there)"));
                let allowed = format!("absent, or as in the result of model.from{there}");
                return Err(entry.invalid(path, allowed));
            }
        }
        if theirs.has_effect("phrases.detect") {
            let found = root.join(COLLECTION_FILE).to_string_lossy().into_owned();
            theirs.forget(|path, _| DETECTED.contains(&path));
            theirs.replace("phrases.found", found.into(), &from);
        }
        theirs.forget(|path, _| {
            let is_by_frequency = section(path) == "vocabulary" && path != "vocabulary.stop_words";
            !is_inherited(path) || is_by_frequency
        });
        for path in ["vocabulary.from", "model.from"] {
            theirs.replace(path, result.clone(), &from);
        }
        self.forget(|path, _| is_inherited(path) || is_of_training(path));
        self.extend(theirs);
        Ok(())
    }

    /// Whether a key is set, and not to `""` or `false`.
    fn has_effect(&self, path: &str) -> bool {
        let value = self.get(path).map(|entry| &entry.value);
        value.is_some_and(|value| *value != "".into() && *value != false.into())
    }
}

/// Reads the job of the result in a folder, which `from` names; refuses one whose settings no other job can have.
fn read_job(root: &Path, from: &Entry) -> Result<Source, Failure> {
    let (path, place) = (root.join(JOB_FILE), &from.place);
    let text = std::fs::read_to_string(&path).map_err(|error| {
        let help = format!("{place}: name the folder of a finished result");
        unreadable(&path, error).help(help)
    })?;
    let job = Source::parse(&text, &path)?;
    let refuse = |problem: &str| {
        let root = root.display();
        Err(
            Failure::usage(format!("{place}: `model.from` names {root}, {problem}"))
                .help("project new documents by `topicmill project RESULT --stdin`"),
        )
    };
    if job.has_effect("corpus.labels") {
        return refuse("whose topics are labels");
    }
    if job.has_effect("phrases.detect") && job.has_effect("phrases.found") {
        return refuse("which has detected phrases besides those of phrases.found");
    }
    Ok(job)
}
