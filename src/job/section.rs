//! One section of a job file, and the typed reading of its keys.
//!
//! Every `take_*` checks type and range at once, so that an error can name the place, the key, the
//! value found and what is allowed. `"auto"` represents an absent optional value.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use toml::Value;

use super::error::{JobError, Place};

/// A value and where it was set.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The value.
    pub(super) value: Value,
    /// Where it was set.
    pub(super) place: Place,
}

/// The keys of one section that were set.
#[derive(Clone, Debug)]
pub(super) struct Section {
    /// The section's name.
    pub(super) name: &'static str,
    /// Key to value; every key is one of the section's.
    pub(super) entries: BTreeMap<String, Entry>,
}

/// A range of numbers and how an error names it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reals {
    /// What a number must satisfy.
    pub(super) holds: fn(f64) -> bool,
    /// How an error says it: "a number …".
    pub(super) allowed: &'static str,
}

/// Numbers above 0.
pub(super) const POSITIVE: Reals = Reals {
    holds: |x| x > 0.0 && x.is_finite(),
    allowed: "a number above 0",
};
/// Numbers from 0.
pub(super) const NOT_NEGATIVE: Reals = Reals {
    holds: |x| x >= 0.0 && x.is_finite(),
    allowed: "a number from 0",
};
/// Shares that are not nothing: (0, 1].
pub(super) const SHARE: Reals = Reals {
    holds: |x| x > 0.0 && x <= 1.0,
    allowed: "a number above 0, at most 1",
};
/// Shares that are not all: [0, 1).
pub(super) const PART: Reals = Reals {
    holds: |x| (0.0..1.0).contains(&x),
    allowed: "a number from 0, below 1",
};

impl Section {
    /// The error for this key's value.
    pub(super) fn invalid(&self, key: &'static str, entry: &Entry, allowed: &str) -> JobError {
        JobError::Invalid {
            place: entry.place.clone(),
            section: self.name,
            key,
            found: entry.value.to_string(),
            allowed: allowed.to_owned(),
        }
    }

    /// The entry of a key, if it was set.
    pub(super) fn get(&self, key: &'static str) -> Option<&Entry> {
        debug_assert!(
            super::keys::names(self.name).contains(&key),
            "{key} is not in the list"
        );
        self.entries.get(key)
    }

    /// The entry of a key, unless it is absent or `"auto"`.
    pub(super) fn get_unless_auto(&self, key: &'static str) -> Option<&Entry> {
        self.get(key)
            .filter(|entry| entry.value.as_str() != Some("auto"))
    }

    /// A text; `None` when absent.
    pub(super) fn text(&self, key: &'static str) -> Result<Option<String>, JobError> {
        self.get(key)
            .map(|entry| self.text_of(key, entry))
            .transpose()
    }

    /// A text that is not empty; `None` when absent.
    pub(super) fn name(&self, key: &'static str) -> Result<Option<String>, JobError> {
        match self.get(key) {
            Some(entry) if entry.value.as_str() == Some("") => {
                Err(self.invalid(key, entry, "a text, not empty"))
            }
            Some(entry) => self.text_of(key, entry).map(Some),
            None => Ok(None),
        }
    }

    /// A text or a list of texts; `None` when absent.
    pub(super) fn texts(&self, key: &'static str) -> Result<Option<Vec<String>>, JobError> {
        let Some(entry) = self.get(key) else {
            return Ok(None);
        };
        let Value::Array(items) = &entry.value else {
            return Ok(Some(vec![self.text_or(
                key,
                entry,
                "a text or a list of texts",
            )?]));
        };
        let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
        match texts.collect::<Option<Vec<_>>>() {
            Some(texts) => Ok(Some(texts)),
            None => Err(self.invalid(key, entry, "a text or a list of texts")),
        }
    }

    /// true or false.
    pub(super) fn flag(&self, key: &'static str, default: bool) -> Result<bool, JobError> {
        match self.get(key) {
            None => Ok(default),
            Some(entry) => entry
                .value
                .as_bool()
                .ok_or_else(|| self.invalid(key, entry, "true or false")),
        }
    }

    /// A whole number within bounds.
    pub(super) fn whole(
        &self,
        key: &'static str,
        bounds: RangeInclusive<u64>,
        default: u64,
    ) -> Result<u64, JobError> {
        Ok(self.whole_if_set(key, bounds)?.unwrap_or(default))
    }

    /// A whole number within bounds; `None` when absent.
    pub(super) fn whole_if_set(
        &self,
        key: &'static str,
        bounds: RangeInclusive<u64>,
    ) -> Result<Option<u64>, JobError> {
        let Some(entry) = self.get(key) else {
            return Ok(None);
        };
        let number = entry.value.as_integer().and_then(|i| u64::try_from(i).ok());
        match number.filter(|n| bounds.contains(n)) {
            Some(n) => Ok(Some(n)),
            None => Err(self.invalid(key, entry, &whole_allowed(&bounds))),
        }
    }

    /// A number within a range.
    pub(super) fn real(
        &self,
        key: &'static str,
        range: Reals,
        default: f64,
    ) -> Result<f64, JobError> {
        match self.get(key) {
            None => Ok(default),
            Some(entry) => self.real_of(key, entry, range),
        }
    }

    /// A whole number within bounds, or nothing where the key is absent or `"auto"`.
    pub(super) fn whole_or_auto(
        &self,
        key: &'static str,
        bounds: RangeInclusive<u64>,
    ) -> Result<Option<u64>, JobError> {
        let auto = self.get(key).is_some() && self.get_unless_auto(key).is_none();
        match auto {
            true => Ok(None),
            false => self.whole_if_set(key, bounds),
        }
    }

    /// A number within a range; `None` when absent or `"auto"`.
    pub(super) fn real_or_auto(
        &self,
        key: &'static str,
        range: Reals,
    ) -> Result<Option<f64>, JobError> {
        let Some(entry) = self.get_unless_auto(key) else {
            return Ok(None);
        };
        match number(&entry.value).filter(|x| (range.holds)(*x)) {
            Some(x) => Ok(Some(x)),
            None => Err(self.invalid(key, entry, &format!("{}, or \"auto\"", range.allowed))),
        }
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(
        &self,
        key: &'static str,
        choices: &[(&str, T)],
        default: T,
    ) -> Result<T, JobError> {
        match self.get(key) {
            None => Ok(default),
            Some(entry) => self.choice_of(key, entry, choices),
        }
    }

    /// One of a few words, from an entry at hand.
    pub(super) fn choice_of<T: Copy>(
        &self,
        key: &'static str,
        entry: &Entry,
        choices: &[(&str, T)],
    ) -> Result<T, JobError> {
        let word = entry.value.as_str();
        choices
            .iter()
            .find(|(name, _)| Some(*name) == word)
            .map(|(_, value)| *value)
            .ok_or_else(|| {
                let names: Vec<String> = choices.iter().map(|(n, _)| format!("\"{n}\"")).collect();
                self.invalid(key, entry, &format!("one of {}", names.join(", ")))
            })
    }

    /// Refuses two keys that say the same thing.
    pub(super) fn exclude(&self, key: &'static str, other: &'static str) -> Result<(), JobError> {
        match (self.get(key), self.get(other)) {
            (Some(entry), Some(_)) => Err(JobError::Conflict {
                place: entry.place.clone(),
                section: self.name,
                key,
                other,
            }),
            _ => Ok(()),
        }
    }

    fn text_of(&self, key: &'static str, entry: &Entry) -> Result<String, JobError> {
        self.text_or(key, entry, "a text in quotes")
    }

    /// A text; a number or flag after `--set` is one too, since the shell eats quotes.
    fn text_or(&self, key: &'static str, entry: &Entry, allowed: &str) -> Result<String, JobError> {
        match (&entry.value, &entry.place) {
            (Value::String(text), _) => Ok(text.clone()),
            (Value::Integer(_) | Value::Float(_) | Value::Boolean(_), Place::Set(text)) => {
                let value = text.split_once('=').map_or("", |(_, value)| value);
                Ok(value.trim().to_owned())
            }
            _ => Err(self.invalid(key, entry, allowed)),
        }
    }

    /// A number within a range, from an entry at hand.
    pub(super) fn real_of(
        &self,
        key: &'static str,
        entry: &Entry,
        range: Reals,
    ) -> Result<f64, JobError> {
        number(&entry.value)
            .filter(|x| (range.holds)(*x))
            .ok_or_else(|| self.invalid(key, entry, range.allowed))
    }
}

/// A number, whole or not.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(i) => Some(*i as f64),
        Value::Float(x) => Some(*x),
        _ => None,
    }
}

fn whole_allowed(bounds: &RangeInclusive<u64>) -> String {
    if *bounds.end() >= i64::MAX as u64 {
        format!("a whole number from {}", bounds.start())
    } else {
        format!("a whole number from {} to {}", bounds.start(), bounds.end())
    }
}
