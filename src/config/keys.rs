//! The keys of a job file, one row each: name, kind of value, default, meaning, and whether a hash covers it.
//!
//! Everything else follows from the rows: which keys are known and what is suggested for an unknown one, which
//! values are allowed (`kind`), what a job means that does not set a key, the resolved job, the hashes, the
//! tables of docs/JOB.md and the fuzzer's dictionary. A row's doc comment is its description in docs/JOB.md, where
//! `{words}` stands for what each word of the key means; the comment below it is the reason for its default.
//! `constraint` defines the constraints between keys.

pub(super) mod constraint;
pub(super) mod input;
mod output;
mod training;

use toml::Value;

use super::kind::ValueKind;
use constraint::{KeyConstraint, toml};

/// Every section, in the order of a resolved job.
pub const SECTIONS: &[Section] = &[
    input::CORPUS,
    input::HTRC,
    input::TOKENS,
    input::PHRASES,
    input::VOCABULARY,
    training::SAMPLE,
    training::MODEL,
    training::TREE,
    training::TRAIN,
    output::PROJECT,
    output::MAXENT,
    output::EVALUATE,
    output::OUTPUT,
    output::CLUSTER,
    input::SYNTH,
];

/// The constraints between keys, in the order in which they are enforced.
pub(super) const CONSTRAINTS: [&[KeyConstraint]; 3] =
    [input::CONSTRAINTS, training::CONSTRAINTS, output::CONSTRAINTS];

/// Pairs of keys that are alternatives: without either, the second has its default, if it has one.
pub(super) const ALTERNATIVES: &[[&str; 2]] = &[
    ["sample.fraction", "sample.documents"],
    ["model.alpha", "model.alpha_sum"],
    ["htrc.section_words", "htrc.section_pages"],
    ["corpus.section_words", "corpus.section_paragraphs"],
];

/// A section of a job file.
#[derive(Debug)]
pub struct Section {
    /// Its name, without brackets.
    pub name: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
    /// The hash that covers it.
    pub(super) stage: Option<HashedStage>,
}

/// A key of a job file.
#[derive(Debug)]
pub struct Key {
    /// Its section and name: "train.passes".
    pub path: &'static str,
    /// Its meaning, with `{words}` for what its words mean.
    template: &'static str,
    /// What a job means that does not set it.
    pub preset: Preset,
    /// The allowed values.
    pub(super) kind: ValueKind,
    /// Whether the hash of its section covers it.
    pub(super) is_hashed: bool,
}

/// What a job means that does not set a key. Values are TOML.
#[derive(Clone, Copy, Debug)]
pub enum Preset {
    /// The same as with this value.
    Default(&'static str),
    /// The same as with this value: that of the library whose setting it is.
    Library(fn() -> Value),
    /// An error: the key must be set, for example to this value.
    Required(&'static str),
    /// That the other key of a pair applies, or neither.
    Absent,
}

/// The stage whose result a hash identifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HashedStage {
    Corpus,
    Train,
    Project,
    Evaluate,
}

/// Marks a key that the hash of its section does not cover.
const UNHASHED: bool = false;

/// Builds a section from its rows: `name: kind, preset, UNHASHED;`.
macro_rules! rows {
    ($section:literal, $stage:expr; $(
        $(#[doc = $meaning:literal])+
        $name:ident: $kind:expr, $preset:ident $(($($value:tt)+))? $(, $mark:ident)?;
    )+) => {
        $crate::config::keys::Section {
            name: $section,
            keys: &[$($crate::config::keys::Key {
                path: concat!($section, ".", stringify!($name)),
                template: concat!($($meaning),+),
                preset: $crate::config::keys::preset!($preset $(($($value)+))?),
                kind: $kind,
                is_hashed: true $(&& $crate::config::keys::$mark)?,
            }),+],
            stage: $stage,
        }
    };
}
use rows;

/// Builds a preset; a value is TOML, or an expression over a library's settings.
macro_rules! preset {
    (Library($value:expr)) => {
        $crate::config::keys::Preset::Library(|| ::toml::Value::from($value))
    };
    ($preset:ident $(($value:tt))?) => {
        $crate::config::keys::Preset::$preset $((stringify!($value)))?
    };
}
use preset;

impl Section {
    /// Returns the key of this name.
    pub(super) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name() == name)
    }

    /// Returns the names of its keys.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().map(Key::name)
    }
}

impl Key {
    /// Returns its name within the section.
    pub fn name(&self) -> &'static str {
        self.path.split_once('.').unwrap_or_default().1
    }

    /// Returns the name of its section.
    pub(super) fn section(&self) -> &'static str {
        self.path.split_once('.').unwrap_or_default().0
    }

    /// Returns its meaning.
    pub(super) fn meaning(&self) -> String {
        let words = self.kind.described().into_iter();
        let words: Vec<String> = words.map(|(word, doc)| format!("`\"{word}\"` {doc}")).collect();
        self.template.trim().replace("{words}", &words.join("; "))
    }

    /// Returns its description in docs/JOB.md: its meaning, and what the values of other keys demand of it.
    pub fn description(&self) -> String {
        self.meaning() + &constraint::sentences(self.path)
    }

    /// Returns the allowed values, as an error names them.
    pub fn allowed(&self) -> String {
        self.kind.allowed()
    }

    /// Returns the words that are allowed.
    pub fn words(&self) -> Vec<&'static str> {
        self.kind.words()
    }

    /// Returns its default value as its row says it, as TOML.
    pub fn default_text(&self) -> Option<String> {
        match self.preset {
            Preset::Default(text) => Some(text.to_owned()),
            Preset::Library(value) => Some(value().to_string()),
            Preset::Required(_) | Preset::Absent => None,
        }
    }

    /// Returns its default value, in the one form of its kind.
    pub(super) fn default_value(&self) -> Option<Value> {
        let value = self.kind.value(&toml(&self.default_text()?), "".as_ref());
        Some(value.unwrap_or_else(|| panic!("the default of {} is not of its kind", self.path)))
    }
}

/// Returns the section of this name.
pub(super) fn section(name: &str) -> Option<&'static Section> {
    SECTIONS.iter().find(|section| section.name == name)
}

/// Returns the key at this path.
pub(super) fn key(path: &str) -> Option<&'static Key> {
    let (name, key) = path.split_once('.')?;
    section(name)?.key(key)
}

/// Returns the default of a key, as text for a flag's default value.
pub(crate) fn default_of(path: &str) -> &'static str {
    match key(path).map(|key| key.preset) {
        Some(Preset::Default(value)) => value,
        _ => "",
    }
}

/// Returns the key that was probably meant by `name`: of the same name in any section, or else of a similar one in
/// `home`.
pub(super) fn nearest_key(home: Option<&Section>, name: &str) -> Option<&'static Key> {
    let similar = || nearest(name, home?.names()).and_then(|similar| home?.key(similar));
    SECTIONS.iter().find_map(|section| section.key(name)).or_else(similar)
}

/// Returns the candidate most similar to `word`, if it is similar enough to be a typing error.
pub(super) fn nearest(
    word: &str,
    candidates: impl Iterator<Item = &'static str>,
) -> Option<&'static str> {
    const LIKE_ENOUGH: f64 = 0.5;
    let word = word.to_lowercase();
    let likeness = |name: &&str| strsim::normalized_damerau_levenshtein(&word, name);
    let best = candidates.max_by(|one, other| likeness(one).total_cmp(&likeness(other)));
    best.filter(|name| likeness(name) >= LIKE_ENOUGH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_pen_are_understood() {
        let nearest_key = |home, name| nearest_key(section(home), name).map(|key| key.path);
        assert_eq!(nearest_key("train", "minibach"), Some("train.minibatch"));
        assert_eq!(nearest_key("vocabulary", "min_docs"), Some("vocabulary.min_documents"));
        assert_eq!(nearest_key("train", "topics"), Some("model.topics"));
        assert_eq!(nearest_key("train", "qqqqqq"), None);
        assert_eq!(nearest("modle", SECTIONS.iter().map(|section| section.name)), Some("model"));
    }

    #[test]
    fn every_default_is_of_its_kind() {
        let keys = SECTIONS.iter().flat_map(|section| section.keys);
        let defaults = keys.filter_map(Key::default_value).count();
        assert!(defaults > 100);
    }
}
