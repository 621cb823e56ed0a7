//! A job file as written: sections, keys and values, each with its position.
//!
//! Parsing and overrides only; `check` checks the meaning of the values.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use toml::de::{DeTable, DeValue, ValueDeserializer};
use toml::{Spanned, Value};

use super::error::{JobError, Place};
use super::keys;
use super::section::{Entry, Section};

/// The sections that were written, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Source {
    sections: BTreeMap<&'static str, Section>,
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
            let section_place = place(name.span());
            let DeValue::Table(table) = value.into_inner() else {
                return Err(no_section(section_place, name.get_ref()));
            };
            source.open(name.get_ref(), section_place)?;
            for (key, value) in table {
                let entry = Entry {
                    place: place(key.span()),
                    value: plain_value(value).map_err(syntax)?,
                };
                source.put(name.get_ref(), key.get_ref(), entry)?;
            }
        }
        Ok(source)
    }

    /// Applies one `section.key=value`, the value being TOML or, failing that, a bare string.
    ///
    /// # Errors
    /// Another form; an unknown section or key.
    pub(super) fn set(&mut self, text: &str) -> Result<(), JobError> {
        let malformed = || JobError::Override {
            text: text.to_owned(),
        };
        let (name, raw) = text.split_once('=').ok_or_else(malformed)?;
        let (section, key) = name.trim().split_once('.').ok_or_else(malformed)?;
        if section.is_empty() || key.is_empty() {
            return Err(malformed());
        }
        let value = ValueDeserializer::parse(raw.trim())
            .and_then(Value::deserialize)
            .unwrap_or_else(|_| Value::String(raw.trim().to_owned()));
        let place = Place::Set(text.to_owned());
        self.open(section, place.clone())?;
        self.put(section, key, Entry { value, place })?;
        self.drop_alternative(section, key);
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
        let place = Place::Flag(format!("--{} {value}", key.replace('_', "-")));
        self.open(section, place.clone())?;
        self.put(section, key, Entry { value, place })
    }

    /// Forgets these keys of a section where the file has them; what an override says stays.
    pub(super) fn forget(&mut self, section: &str, keys: &[&str]) {
        let is_forgotten = |key: &str, entry: &Entry| {
            keys.contains(&key) && matches!(entry.place, Place::Line { .. })
        };
        if let Some(section) = self.sections.get_mut(section) {
            section
                .entries
                .retain(|key, entry| !is_forgotten(key, entry));
        }
    }

    /// A section; empty if it was not written.
    pub(super) fn section(&self, name: &'static str) -> Section {
        let absent = || Section {
            name,
            entries: BTreeMap::new(),
        };
        self.sections.get(name).cloned().unwrap_or_else(absent)
    }

    /// Whether a section was written, be it empty.
    pub(super) fn has(&self, name: &str) -> bool {
        self.sections.contains_key(name)
    }

    fn open(&mut self, name: &str, place: Place) -> Result<(), JobError> {
        let Some(known) = keys::section(name) else {
            let nearest = keys::nearest_section(name);
            return Err(JobError::UnknownSection {
                place,
                section: name.to_owned(),
                nearest,
            });
        };
        let empty = Section {
            name: known.name,
            entries: BTreeMap::new(),
        };
        self.sections.entry(known.name).or_insert(empty);
        Ok(())
    }

    /// Puts a key into a section that `open` has accepted.
    fn put(&mut self, section: &str, key: &str, entry: Entry) -> Result<(), JobError> {
        let Some(section) = self.sections.get_mut(section) else {
            return Ok(());
        };
        if !keys::names(section.name).contains(&key) {
            let nearest = keys::nearest_key(section.name, key);
            let (place, section) = (entry.place, section.name);
            return Err(JobError::UnknownKey {
                place,
                section,
                key: key.to_owned(),
                nearest,
            });
        }
        section.entries.insert(key.to_owned(), entry);
        Ok(())
    }

    fn drop_alternative(&mut self, section: &str, key: &str) {
        for (home, one, other) in keys::ALTERNATIVES {
            let Some(section) = self.sections.get_mut(home).filter(|_| *home == section) else {
                continue;
            };
            if key == *one {
                section.entries.remove(*other);
            } else if key == *other {
                section.entries.remove(*one);
            }
        }
    }
}

fn no_section(place: Place, key: &str) -> JobError {
    JobError::NoSection {
        place,
        key: key.to_owned(),
        sections: keys::sections_with(key),
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
