//! A job as a person starts one: a few keys, each below its meaning, in the order of `keys`.
//!
//! The values of a template are checked like those of a job file, and errors name the flag. The text of a
//! template is a job file that means the same job.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::Value;

use super::keys::input::BY_FREQUENCY;
use super::keys::{self, Key, SECTIONS};
use super::kind::ValueKind;
use super::source::{Entry, WrittenJob, is_of_result};
use super::{Job, folder_of};
use crate::failure::Failure;

/// Width of a comment.
const WIDTH: usize = 100;
/// Maximum number of items of a list on one line; a longer list has a line for each.
const ITEMS_ON_A_LINE: usize = 3;

/// A job to be written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Template {
    heading: Vec<String>,
    source: WrittenJob,
    remarks: BTreeMap<&'static str, String>,
}

impl Template {
    /// Returns the template of a job, without its defaults.
    pub(crate) fn of(job: &Job) -> Self {
        let mut template = Self::default();
        for key in SECTIONS.iter().flat_map(|section| section.keys) {
            let value = job.values.value(key.path).cloned();
            if let Some(value) = value.filter(|_| job.differs(key)) {
                // The key was found, so it is known.
                let _ = template.source.set_from(key.path, value, job.path.display().to_string());
            }
        }
        template
    }

    /// Removes the keys, "section.key", for which `is_forgotten` holds.
    pub(crate) fn forget(&mut self, is_forgotten: impl Fn(&str) -> bool) {
        self.source.forget(|path, _| is_forgotten(path));
    }

    /// Adds a paragraph to the comment at the start of the text.
    pub(crate) fn say(&mut self, paragraph: impl Into<String>) {
        self.heading.push(paragraph.into());
    }

    /// Sets the key at `path`, "section.key".
    ///
    /// # Errors
    /// There is no such key.
    pub(crate) fn set(&mut self, path: &str, value: impl Into<Value>) -> Result<(), Failure> {
        self.source.set_flag(path, value.into())
    }

    /// Sets the key at `path` to its default, so that the text contains it.
    pub(crate) fn set_default(&mut self, path: &str) {
        if let Some(value) = keys::key(path).and_then(Key::default_value) {
            // The key was found, so it is known.
            let _ = self.set(path, value);
        }
    }

    /// Sets a key as the flag `--set` does: `section.key=value`.
    ///
    /// # Errors
    /// The text has another form, or an unknown section or key.
    pub(crate) fn set_text(&mut self, text: &str) -> Result<(), Failure> {
        self.source.set(text)
    }

    /// Whether a key is set.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.source.get(path).is_some()
    }

    /// Adds a sentence to the comment above a key.
    pub(crate) fn remark(&mut self, path: &str, sentence: impl Into<String>) {
        if let Some(key) = keys::key(path) {
            self.remarks.insert(key.path, sentence.into());
        }
    }

    /// Whether a key is set, and not to `""`.
    pub(crate) fn names(&self, path: &str) -> bool {
        let value = self.source.get(path).map(|entry| &entry.value);
        value.is_some_and(|value| *value != Value::from(""))
    }

    /// Whether the value of a key follows from another result that the job names: a proposed job does not set it.
    pub(crate) fn is_settled(&self, path: &str) -> bool {
        let takes_terms = if self.has("vocabulary.from") {
            self.names("vocabulary.from")
        } else {
            self.names("train.warm_start") && !self.names("tree.file")
        };
        self.names("model.from") && is_of_result(path)
            || takes_terms && BY_FREQUENCY.contains(&path)
    }

    /// Returns the folder of the result that a key names, in the job at `path`.
    pub(crate) fn result(&self, key: &str, path: &Path) -> Option<PathBuf> {
        let name = self.source.get(key)?.value.as_str()?;
        let is_named = !name.is_empty();
        is_named.then(|| store::join(&folder_of(path), name))
    }

    /// Makes the paths of files and results that the job reads start from `folder`.
    pub(crate) fn locate_files(&mut self, folder: &Path) {
        let located = |(path, entry): (&'static str, &Entry)| {
            let kind = &keys::key(path)?.kind;
            let value = kind.value(&entry.value, folder)?;
            matches!(kind, ValueKind::File).then(|| (path, value, entry.clone()))
        };
        let located: Vec<_> = self.source.entries().filter_map(located).collect();
        for (path, value, entry) in located {
            self.source.replace(path, value, &entry);
        }
    }

    /// Returns the job at `path`; its own paths are relative to that folder.
    ///
    /// # Errors
    /// Those of [`Job::parse`].
    pub(crate) fn job(&self, path: &Path) -> Result<Job, Failure> {
        let mut source = self.source.clone();
        source.inherit(path, &folder_of(path))?;
        Job::of(&source, path)
    }

    /// Returns the text of the job file.
    pub(crate) fn to_toml(&self) -> String {
        let mut text: String = self.heading.iter().map(|line| comment(line)).collect();
        for section in SECTIONS {
            let keys: String = section.keys.iter().filter_map(|key| self.line(key)).collect();
            if !keys.is_empty() {
                text.push_str(&format!("\n[{}]\n{keys}", section.name));
            }
        }
        text
    }

    /// Returns a key with the comment above it, if it is set.
    fn line(&self, key: &Key) -> Option<String> {
        let entry = self.source.get(key.path)?;
        let remark = self.remarks.get(key.path);
        let remark = remark.map_or_else(String::new, |remark| format!(" {remark}"));
        let meaning = without_links(first_sentence(&key.meaning()));
        let meaning = comment(&format!("{meaning}{remark}"));
        Some(format!("{meaning}{} = {}\n", key.name(), written(&entry.value)))
    }
}

/// Formats a value as TOML.
fn written(value: &Value) -> String {
    match value {
        Value::Array(items) if items.len() > ITEMS_ON_A_LINE => {
            let items: String = items.iter().map(|item| format!("    {item},\n")).collect();
            format!("[\n{items}]")
        }
        value => value.to_string(),
    }
}

/// Returns the text up to the first full stop that ends a sentence.
fn first_sentence(text: &str) -> &str {
    let text = text.trim();
    text.find(". ").map_or(text, |end| &text[..=end])
}

/// Removes links in parentheses, which lead nowhere from a job file.
fn without_links(text: &str) -> String {
    let Some((before, rest)) = text.split_once(" ([") else {
        return text.to_owned();
    };
    let after = rest.split_once("))").map_or("", |(_, after)| after);
    format!("{before}{}", without_links(after))
}

/// Formats text as lines of a comment.
fn comment(text: &str) -> String {
    let mut lines = vec!["#".to_owned()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("it begins with one");
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(format!("# {word}"))
        } else {
            line.extend([" ", word])
        }
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template() -> Template {
        let mut template = Template::default();
        template.say("Topics of texts: 12 files.");
        template.set("corpus.input", vec!["texts".to_owned()]).unwrap();
        template.set("model.topics", 7).unwrap();
        template.set("output.path", "out").unwrap();
        template.set_default("vocabulary.max_share");
        template.set_text("vocabulary.stop_words=de").unwrap();
        template
    }

    #[test]
    fn the_text_means_the_same_job() {
        let path = Path::new("jobs/first.toml");
        let job = template().job(path).unwrap();
        assert_eq!(Job::parse(&template().to_toml(), path, &[]).unwrap(), job);
        assert_eq!((job.model.topics, job.vocabulary.max_share), (7, 0.5));
    }

    #[test]
    fn each_key_stands_below_its_meaning() {
        let mut template = template();
        template.remark("model.topics", "More topics are narrower.");
        let text = template.to_toml();
        let expected = "# Topics of texts: 12 files.\n\n[corpus]\n# Files, folders (recursively) and \
                        globs (`*`, `**`, `?`, `[a-z]`).\ninput = [\"texts\"]\n";
        assert!(text.starts_with(expected), "{text}");
        let expected = "[model]\n# Number of topics. More topics are narrower.\ntopics = 7\n";
        assert!(text.contains(expected), "{text}");
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
    }

    #[test]
    fn a_wrong_value_names_its_flag() {
        let mut template = template();
        template.set("vocabulary.stop_words", "xx").unwrap();
        let error = template.job(Path::new("first.toml")).unwrap_err().to_string();
        assert!(error.starts_with("--stop-words \"xx\": "), "{error}");
        let error = template.set_text("model.topix=3").unwrap_err();
        assert_eq!(error.help.as_deref(), Some("did you mean `topics`?"));
    }

    #[test]
    fn links_are_left_out() {
        assert_eq!(without_links("A folder ([here](X.md#y))."), "A folder.");
        assert_eq!(without_links("A folder (or not)."), "A folder (or not).");
    }

    #[test]
    fn long_lists_have_a_line_for_each_item() {
        let list = Value::from(vec!["a", "b", "c", "d"]);
        assert_eq!(written(&list), "[\n    \"a\",\n    \"b\",\n    \"c\",\n    \"d\",\n]");
    }
}
