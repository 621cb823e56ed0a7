//! Constraints between keys. A constraint is a row, beside the keys that it is about; `resolve`
//! enforces it, and docs/JOB.md has its sentence.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::de::value::{Error, StrDeserializer};
use toml::Value;
use toml::de::ValueDeserializer;

use super::{CONSTRAINTS, Key, key, section};
use crate::config::kind::ValueKind;

/// A demand on keys, under conditions. Keys without effect are exempt.
#[derive(Debug)]
pub(in crate::config) struct KeyConstraint {
    /// The paths of the keys; the name of a section stands for all of its keys.
    pub(super) keys: &'static [&'static str],
    pub(in crate::config) demand: Demand,
    /// The conditions, all of which must hold.
    pub(in crate::config) when: &'static [When],
    /// The reason, where the conditions do not say it.
    pub(in crate::config) why: &'static str,
}

/// A condition on the value of a key. It does not hold if the key has no effect.
#[derive(Debug)]
pub(in crate::config) enum When {
    /// It is this text, number or flag.
    Is(&'static str, &'static str),
    /// It is such a word, or all of its words are.
    If(&'static str, fn(&str) -> bool),
    /// It names something.
    Names(&'static str),
    /// It is empty.
    Lacks(&'static str),
}

/// What is demanded of a key.
#[derive(Debug)]
pub(in crate::config) enum Demand {
    /// It has no effect, and may not be set.
    Absent,
    /// It has no effect, and may be set to its default only, as in a job that spells out all defaults.
    Unused,
    /// It has no effect, whatever it is set to.
    Ignored,
    /// It has no effect, so that the command line may not set it; a job file may, for other commands.
    NotGiven,
    /// It has this value only.
    Only(Given),
    /// It has this value, if it is not set or `"auto"`.
    Implied(Given),
    /// It is such a word.
    OneOf(fn(&str) -> bool),
    /// This holds, in words.
    Holds(fn(&Value) -> bool, &'static str),
}

/// A value that a constraint gives to a key.
#[derive(Debug)]
pub(in crate::config) enum Given {
    /// This text or whole number.
    Text(&'static str),
    /// The one that follows from the text of another key, if one does.
    By(&'static str, fn(&str) -> Option<Value>),
}

/// Builds constraints from rows: `keys => demand, if condition, …, because "why";`.
macro_rules! constraints {
    ($($keys:expr => $demand:expr $(, if $when:expr)* $(, because $why:literal)?;)+) => {
        &[$($crate::config::keys::constraint::KeyConstraint {
            keys: &$keys,
            demand: $demand,
            when: &[$($when),*],
            why: concat!($($why)?),
        }),+]
    };
}
pub(super) use constraints;

/// Returns the value of a word, if it is one of that type.
pub(super) fn read<T: DeserializeOwned>(word: &str) -> Option<T> {
    T::deserialize(StrDeserializer::<Error>::new(word)).ok()
}

impl KeyConstraint {
    /// Returns its keys.
    pub(in crate::config) fn keys(&self) -> impl Iterator<Item = &'static Key> {
        self.keys.iter().flat_map(|name| match section(name) {
            Some(section) => section.keys,
            None => std::slice::from_ref(key(name).expect("constraints are about keys")),
        })
    }

    /// Returns its sentence in the documentation of a key.
    fn sentence(&self, key: &Key) -> String {
        let conditions: Vec<String> = self.when.iter().map(When::said).collect();
        let conditions = conditions.join(" and ");
        let given = |given: &Given, before: &str| match given {
            Given::Text(text) => format!("{before} `{}` {conditions}", toml(text)),
            Given::By(by, follows) if words(by).is_empty() => {
                let value = follows("").expect("it is the same for every text");
                format!("{before} `{value}` {conditions}")
            }
            Given::By(by, follows) => {
                let mut words_of: BTreeMap<String, Vec<&str>> = BTreeMap::new();
                for word in words(by) {
                    let value = follows(word);
                    let is_said = before == "Only" || value != key.default_value();
                    if let Some(value) = value.filter(|_| is_said) {
                        words_of.entry(value.to_string()).or_default().push(word);
                    }
                }
                let said = words_of
                    .iter()
                    .map(|(value, words)| format!("`{value}` if `{by}` is {}", listed(words)));
                format!("{before} {}", said.collect::<Vec<_>>().join(", "))
            }
        };
        let said = match &self.demand {
            Demand::Absent | Demand::Unused | Demand::Ignored | Demand::NotGiven => {
                format!("No effect {conditions}")
            }
            Demand::Only(value) => given(value, "Only"),
            Demand::Implied(value) => given(value, "Default"),
            Demand::OneOf(is_allowed) => {
                let allowed = key.words().into_iter().filter(|word| is_allowed(word));
                format!("Only {} {conditions}", listed(&allowed.collect::<Vec<_>>()))
            }
            Demand::Holds(_, allowed) => format!("Only {allowed} {conditions}"),
        };
        let why = if self.why.is_empty() { String::new() } else { format!(": {}", self.why) };
        format!(" {said}{why}.")
    }
}

/// Returns the sentences about a key that follow from the constraints on it alone.
pub(super) fn sentences(path: &'static str) -> String {
    let constraints = CONSTRAINTS.iter().copied().flatten();
    let about = constraints.filter(|constraint| constraint.keys.contains(&path));
    let key = key(path).expect("it is a key's path");
    let mut sentences: Vec<String> = about.map(|constraint| constraint.sentence(key)).collect();
    sentences.dedup();
    sentences.concat()
}

impl When {
    /// Returns the path of its key.
    pub(in crate::config) fn key(&self) -> &'static str {
        match self {
            Self::Is(path, _) | Self::If(path, _) | Self::Names(path) | Self::Lacks(path) => path,
        }
    }

    /// Whether it holds if this is the key's value.
    pub(in crate::config) fn holds(&self, value: &Value) -> bool {
        match self {
            Self::Is(_, text) => *value == toml(text),
            Self::If(_, holds) => match value {
                Value::Array(words) => words.iter().filter_map(Value::as_str).all(holds),
                value => value.as_str().is_some_and(holds),
            },
            Self::Names(_) => *value != Value::from(""),
            Self::Lacks(_) => *value == Value::from(""),
        }
    }

    /// Names it in the documentation.
    fn said(&self) -> String {
        match self {
            Self::Is(path, text) => format!("with `{path} = {}`", toml(text)),
            Self::Names(path) => format!("with `{path}`"),
            Self::Lacks(path) => format!("without `{path}`"),
            Self::If(path, holds) => {
                let (those, others): (Vec<&str>, Vec<&str>) =
                    words(path).into_iter().partition(|word| holds(word));
                let is_list = key(path).is_some_and(|key| matches!(key.kind, ValueKind::Words(_)));
                if is_list {
                    format!("unless `{path}` has {}", listed(&others))
                } else if others.len() < those.len() {
                    format!("unless `{path}` is {}", listed(&others))
                } else {
                    format!("if `{path}` is {}", listed(&those))
                }
            }
        }
    }
}

/// Returns the words of the key at a path.
fn words(path: &str) -> Vec<&'static str> {
    key(path).map_or_else(Vec::new, Key::words)
}

/// Lists words for the documentation.
fn listed(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`\"{word}\"`")).collect();
    match words.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        _ => words.concat(),
    }
}

/// Reads a value as on the command line, where words have no quotes.
pub(in crate::config) fn toml(text: &str) -> Value {
    let value = ValueDeserializer::parse(text).and_then(serde::Deserialize::deserialize);
    value.unwrap_or_else(|_| text.into())
}
