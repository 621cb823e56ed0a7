//! Errors in a job: every variant names the place, the key and what is allowed.
//!
//! [`JobError::help`] is the remedy, which the command line prints on a separate line.

use std::fmt;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::keys::{self, Preset};
use crate::knowledge::KnowledgeError;
use corpus::collection::CollectionError;
use corpus::word_file::WordFileError;

/// Where a key was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line of a job file, from 1.
    Line {
        /// The job file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// An override, as it was written after `--set`.
    Set(String),
    /// A flag of the command line, with its value.
    Flag(String),
}

impl Place {
    /// Whether it is in a job file, and no override.
    pub(super) fn is_in_file(&self) -> bool {
        matches!(self, Self::Line { .. })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Set(text) => write!(f, "--set {text}"),
            Self::Flag(text) => write!(f, "{text}"),
        }
    }
}

/// Why a job cannot be run as written.
#[derive(Debug, Error)]
pub enum JobError {
    /// The job file, or a file that it names, cannot be read.
    #[error("{}: cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Where it is named, if not on the command line.
        place: Option<Place>,
        /// The system's error.
        source: io::Error,
    },
    /// A list of words that the job names means nothing in some line.
    #[error(transparent)]
    Words(#[from] WordFileError),
    /// The collection whose phrases are joined cannot be used.
    #[error("phrases.found: {0}")]
    Found(#[from] CollectionError),
    /// The file is not TOML.
    #[error("{place}: invalid TOML: {message}")]
    Syntax {
        /// The first line that cannot be read.
        place: Place,
        /// The parser's error.
        message: String,
    },
    /// A key outside every section.
    #[error("{place}: `{key}` is outside any section")]
    NoSection {
        /// Where.
        place: Place,
        /// The key.
        key: String,
        /// Sections that have a key of this name.
        sections: Vec<&'static str>,
    },
    /// There is no such section.
    #[error("{place}: unknown section [{section}]")]
    UnknownSection {
        /// Where.
        place: Place,
        /// The section.
        section: String,
        /// The section that was probably meant.
        nearest: Option<&'static str>,
    },
    /// The section has no such key.
    #[error("{place}: unknown key `{key}` in [{section}]")]
    UnknownKey {
        /// Where.
        place: Place,
        /// The section.
        section: &'static str,
        /// The key.
        key: String,
        /// The section and key that were probably meant.
        nearest: Option<(&'static str, &'static str)>,
    },
    /// A value is of the wrong type or out of range.
    #[error("{place}: `{key}` is {found}, but must be {allowed}")]
    Invalid {
        /// Where.
        place: Place,
        /// The key, with its section.
        key: &'static str,
        /// The value as written.
        found: String,
        /// The allowed values.
        allowed: String,
    },
    /// Two keys say the same thing in two ways.
    #[error("{place}: `{key}` cannot be used with `{other}`")]
    Conflict {
        /// The position of the first of them.
        place: Place,
        /// One key, with its section.
        key: &'static str,
        /// The other, with its section.
        other: &'static str,
    },
    /// A key that has no default is absent.
    #[error("{}: `{key}` is missing", path.display())]
    Missing {
        /// The job file.
        path: PathBuf,
        /// The key, with its section.
        key: &'static str,
    },
    /// The knowledge for the tree is wrong.
    #[error("{source}")]
    Tree {
        /// Where it is named.
        place: Option<Place>,
        /// The problem.
        source: KnowledgeError,
    },
    /// An override is not of the form `section.key=value`.
    #[error("--set {text}: expected section.key=value")]
    Override {
        /// As it was written.
        text: String,
    },
}

impl JobError {
    /// The remedy, in one sentence, where the message has none.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Read {
                place: Some(place), ..
            } => Some(format!(
                "{place} names it; such paths are relative to the job file"
            )),
            Self::Read { .. } => {
                let help = "pass the path of a job file, such as jobs/quickstart.toml, or the folder of a \
                            finished result";
                Some(help.into())
            }
            Self::NoSection { key, sections, .. } => Some(match sections.as_slice() {
                [] => "keys belong in sections: [corpus], [model], [output], …; see docs/JOB.md"
                    .into(),
                [section, ..] => format!("put `{key}` under [{section}]"),
            }),
            Self::UnknownSection {
                nearest: Some(nearest),
                ..
            } => Some(format!("did you mean [{nearest}]?")),
            Self::UnknownSection { .. } => {
                let names = keys::SECTIONS.iter().map(|section| section.name);
                let names: Vec<String> = names.map(|name| format!("[{name}]")).collect();
                Some(format!("the sections are {}", names.join(", ")))
            }
            Self::UnknownKey {
                section,
                nearest: Some((home, key)),
                ..
            } if section == home => Some(format!("did you mean `{key}`?")),
            Self::UnknownKey {
                nearest: Some((home, key)),
                ..
            } => Some(format!("`{key}` belongs in [{home}]")),
            Self::UnknownKey { section, .. } => {
                let names: Vec<_> = keys::section(section)?.names().collect();
                Some(format!("the keys of [{section}] are {}", names.join(", ")))
            }
            Self::Conflict { key, other, .. } => {
                let [key, other] = [key, other].map(|path| keys::split(path).1);
                Some(format!("keep `{key}` or `{other}`, not both"))
            }
            Self::Missing { key, .. } => match keys::key(key)?.preset {
                Preset::Required(example) => {
                    let (section, key) = keys::split(key);
                    Some(format!("add to [{section}]: {key} = {example}"))
                }
                Preset::Default(_) | Preset::Absent => None,
            },
            Self::Tree { place, .. } => place.as_ref().map(|place| format!("{place} names it")),
            Self::Override { .. } => Some("for example: --set train.passes=5".into()),
            Self::Words(_) | Self::Found(_) | Self::Syntax { .. } | Self::Invalid { .. } => None,
        }
    }
}
