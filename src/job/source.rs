//! A job file as written: sections, keys and values, each with its position.
//!
//! Parsing and overrides only; `resolve` checks the values.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use toml::de::{DeTable, DeValue, ValueDeserializer};
use toml::{Spanned, Value};

use super::error::{JobError, Place};
use super::keys::{self, Section};

/// A value and where it was set.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The value.
    pub(super) value: Value,
    /// Where it was set.
    pub(super) place: Place,
}

impl Entry {
    /// The error for this key's value.
    pub(super) fn invalid(&self, key: &'static str, allowed: String) -> JobError {
        JobError::Invalid {
            place: self.place.clone(),
            key,
            found: self.value.to_string(),
            allowed,
        }
    }
}

/// A job as written.
#[derive(Clone, Debug, Default)]
pub(super) struct Source {
    /// Names of sections, be they empty.
    sections: BTreeSet<&'static str>,
    /// Entries by the paths of their keys.
    entries: BTreeMap<&'static str, Entry>,
}

impl Source {
    /// Parses `text`, the content of the job file at `path` (used in errors only).
    ///
    /// # Errors
    /// Not TOML; an unknown section or key.
    pub(super) fn parse(text: &str, path: &Path) -> Result<Self, JobError> {
        let place = |span: Range<usize>| Place::Line {
            path: path.to_owned(),
            line: line_of(text, span.start),
        };
        let syntax = |error: toml::de::Error| JobError::Syntax {
            place: place(error.span().unwrap_or(0..0)),
            message: error.message().to_owned(),
        };
        let mut source = Self::default();
        for (name, value) in DeTable::parse(text).map_err(syntax)?.into_inner() {
            let DeValue::Table(table) = value.into_inner() else {
                return Err(JobError::NoSection {
                    place: place(name.span()),
                    key: name.get_ref().to_string(),
                    sections: keys::sections_with(name.get_ref()),
                });
            };
            let section = source.open(name.get_ref(), &place(name.span()))?;
            for (key, value) in table {
                let entry = Entry {
                    place: place(key.span()),
                    value: plain_value(value).map_err(syntax)?,
                };
                source.put(section, key.get_ref(), entry)?;
            }
        }
        Ok(source)
    }

    /// Applies one `section.key=value`, the value being TOML or, failing that, a bare string. It
    /// replaces the other key of a pair.
    ///
    /// # Errors
    /// Another form; an unknown section or key.
    pub(super) fn set(&mut self, text: &str) -> Result<(), JobError> {
        let split = text.split_once('=').and_then(|(name, raw)| {
            let (section, key) = name.trim().split_once('.')?;
            Some((section, key, raw.trim()))
        });
        let (section, name, raw) = split
            .filter(|(section, key, _)| !section.is_empty() && !key.is_empty())
            .ok_or_else(|| JobError::Override {
                text: text.to_owned(),
            })?;
        let bare = || Value::String(raw.to_owned());
        let value = ValueDeserializer::parse(raw).and_then(Value::deserialize);
        let value = value.unwrap_or_else(|_| bare());
        let place = Place::Set(text.to_owned());
        let section = self.open(section, &place)?;
        // The shell eats quotes, so that a number may be a text.
        let is_text = section.key(name).is_some_and(|key| key.kind.is_text());
        let value = match value {
            Value::Integer(_) | Value::Float(_) | Value::Boolean(_) if is_text => bare(),
            value => value,
        };
        let path = self.put(section, name, Entry { value, place })?;
        let pair = keys::ALTERNATIVES.iter().find(|pair| pair.contains(&path));
        for other in pair.into_iter().flatten().filter(|other| **other != path) {
            self.entries.remove(other);
        }
        Ok(())
    }

    /// Sets a key to the value of a flag of its own.
    ///
    /// # Errors
    /// An unknown section or key.
    pub(super) fn set_flag(
        &mut self,
        section: &str,
        key: &str,
        value: Value,
    ) -> Result<(), JobError> {
        let flag = match (section, key) {
            ("output", "path") => "output".to_owned(),
            ("tree", "must_link") => "strength".to_owned(),
            (_, key) => key.replace('_', "-"),
        };
        let place = Place::Flag(format!("--{flag} {value}"));
        let section = self.open(section, &place)?;
        self.put(section, key, Entry { value, place }).map(drop)
    }

    /// Forgets the entries, given with the paths of their keys, of which `is_forgotten` holds.
    pub(super) fn forget(&mut self, is_forgotten: impl Fn(&str, &Entry) -> bool) {
        self.entries
            .retain(|path, entry| !is_forgotten(path, entry));
    }

    /// The entry of a key, if it was set.
    pub(super) fn get(&self, path: &str) -> Option<&Entry> {
        debug_assert!(keys::key(path).is_some(), "{path} is no key");
        self.entries.get(path)
    }

    /// Whether a section was written, be it empty.
    pub(super) fn has(&self, section: &str) -> bool {
        self.sections.contains(section)
    }

    /// The error for a key's value, if the key was set.
    ///
    /// # Errors
    /// That one.
    pub(super) fn refuse(
        &self,
        path: &'static str,
        allowed: impl Fn() -> String,
    ) -> Result<(), JobError> {
        self.get(path)
            .map_or(Ok(()), |entry| Err(entry.invalid(path, allowed())))
    }

    /// The error for a key's value, if the key was set on the command line.
    ///
    /// # Errors
    /// That one.
    pub(super) fn refuse_override(
        &self,
        path: &'static str,
        allowed: impl Fn() -> String,
    ) -> Result<(), JobError> {
        match self.get(path).map(|entry| &entry.place) {
            None | Some(Place::Line { .. }) => Ok(()),
            Some(_) => self.refuse(path, allowed),
        }
    }

    fn open(&mut self, name: &str, place: &Place) -> Result<&'static Section, JobError> {
        let section = keys::section(name).ok_or_else(|| JobError::UnknownSection {
            place: place.clone(),
            section: name.to_owned(),
            nearest: keys::nearest_section(name),
        })?;
        self.sections.insert(section.name);
        Ok(section)
    }

    fn put(
        &mut self,
        section: &'static Section,
        name: &str,
        entry: Entry,
    ) -> Result<&'static str, JobError> {
        let Some(key) = section.key(name) else {
            return Err(JobError::UnknownKey {
                place: entry.place,
                section: section.name,
                key: name.to_owned(),
                nearest: keys::nearest_key(section, name),
            });
        };
        self.entries.insert(key.path, entry);
        Ok(key.path)
    }
}

fn plain_value(value: Spanned<DeValue<'_>>) -> Result<Value, toml::de::Error> {
    Value::deserialize(ValueDeserializer::from(value))
}

/// The line, from 1, of a byte offset.
fn line_of(text: &str, offset: usize) -> usize {
    let before = &text.as_bytes()[..offset.min(text.len())];
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}
