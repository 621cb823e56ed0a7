//! The kinds of values that keys take. Each checks a value, brings it into the one form that hashes and saved
//! jobs use, and names the allowed values in an error.

use std::path::Path;

use corpus::encoding::TextEncoding;
use corpus::settings::StopWords;
use corpus::stop_words::is_name;
use serde::Serialize;
use serde::de::{DeserializeOwned, Deserializer, Visitor};
use toml::Value;

use crate::knowledge::EDGE_PRIORS;

/// Bytes per MiB; a power of two, so that sizes in MiB are exact.
pub(super) const MIB: f64 = 1_048_576.0;
/// Counts that are kept in 32 bits.
pub(super) const COUNT: u64 = u32::MAX as u64;

/// The word for a value that follows from others.
pub(super) const AUTO: &[&str] = &["auto"];

/// The values of a key.
#[derive(Debug)]
pub(super) enum ValueKind {
    /// true or false.
    Flag,
    /// A whole number in this range.
    Whole(u64, u64),
    /// 0, or a whole number in this range.
    ZeroOr(u64, u64),
    /// A number.
    Real(Reals),
    /// A size in MiB, exact to a byte.
    Mib(Reals),
    /// A number, or a list of them.
    Prior(Reals),
    /// One of these words.
    Word(WordList),
    /// One of these words, each of which does what is said of it.
    Described(fn() -> Vec<(&'static str, &'static str)>),
    /// A list of these words, not empty, each at most once.
    Words(WordList),
    /// A text.
    Text,
    /// A text; empty for none.
    Optional,
    /// A text that is not empty.
    Name,
    /// A file or folder to read, relative to the job file's folder; empty for none.
    File,
    /// The label of an encoding.
    Encoding,
    /// A text or a list of texts; the condition for them, and its wording in an error.
    List(fn(&[&str]) -> bool, &'static str),
    /// Lists of stop words.
    StopWords,
    /// A value of this kind, or one of these words. With the first of them there is none.
    Or(&'static [&'static str], &'static ValueKind),
}

/// A range of numbers: the condition, and its wording in an error.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reals(pub(super) fn(f64) -> bool, pub(super) &'static str);

/// Numbers above 0.
pub(super) const POSITIVE: Reals = Reals(|x| x > 0.0 && x.is_finite(), "a number above 0");
/// Parameters of a Dirichlet prior. Smaller ones vanish beside counts of 32 bits.
pub(super) const CONCENTRATION: Reals =
    Reals(|x| (1e-6..=1e6).contains(&x), "a number from 1e-6 to 1e6");
/// β of an edge of a tree.
pub(super) const EDGE: Reals = Reals(|x| EDGE_PRIORS.contains(&x), "a number from 1e-30 to 1e30");
/// Numbers from 0 on.
pub(super) const NOT_NEGATIVE: Reals = Reals(|x| x >= 0.0 && x.is_finite(), "a number from 0");
/// Shares above 0: (0, 1].
pub(super) const SHARE: Reals = Reals(|x| x > 0.0 && x <= 1.0, "a number above 0, at most 1");
/// Shares below 1: [0, 1).
pub(super) const PART: Reals = Reals(|x| (0.0..1.0).contains(&x), "a number from 0, below 1");

impl Reals {
    fn value(&self, value: &Value) -> Option<Value> {
        let number = number(value).filter(|x| (self.0)(*x));
        number.map(Value::Float)
    }
}

impl ValueKind {
    /// Returns the value in its one form, if it is of this kind. Files are relative to `folder`.
    pub(super) fn value(&self, value: &Value, folder: &Path) -> Option<Value> {
        let text = || value.as_str().map(str::to_owned);
        let within = |least, most| {
            let holds = |n| u64::try_from(n).is_ok_and(|n| (least..=most).contains(&n));
            value.as_integer().filter(|n| holds(*n)).map(Value::Integer)
        };
        match self {
            Self::Flag => value.as_bool().map(Value::Boolean),
            Self::Whole(least, most) => within(*least, *most),
            Self::ZeroOr(least, most) => within(0, 0).or_else(|| within(*least, *most)),
            Self::Real(range) => range.value(value),
            Self::Mib(range) => range.value(value)?.as_float().map(exact),
            Self::Prior(range) => match value.as_array() {
                Some(items) if items.is_empty() => None,
                Some(items) => collect(items.iter().map(|item| range.value(item))),
                None => range.value(value),
            },
            Self::Word(_) | Self::Described(_) => {
                text().filter(|word| self.words().contains(&&word[..])).map(Value::String)
            }
            Self::Words(words) => list(value, |chosen| {
                let is_known = |word| words().contains(word);
                !chosen.is_empty() && is_distinct(chosen) && chosen.iter().all(is_known)
            }),
            Self::Text | Self::Optional => text().map(Value::String),
            Self::Name => text().filter(|name| !name.is_empty()).map(Value::String),
            Self::File => text().map(|name| located(&name, folder)),
            Self::Encoding => {
                let encoding = TextEncoding::of(value.as_str()?)?;
                Some(Value::String(encoding.name()))
            }
            Self::List(holds, _) => list(value, holds),
            Self::StopWords => stop_words(&list(value, |_| true)?, folder),
            Self::Or(words, kind) => {
                let word = text().filter(|word| words.contains(&&word[..])).map(Value::String);
                word.or_else(|| kind.value(value, folder))
            }
        }
    }

    /// Describes the allowed values, for errors and docs/JOB.md.
    pub(super) fn allowed(&self) -> String {
        let all = |words: &[&str], between: &str| {
            let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            words.join(between)
        };
        match self {
            Self::Flag => "true or false".into(),
            Self::Whole(least, most) if *most >= i64::MAX as u64 => {
                format!("a whole number from {least}")
            }
            Self::Whole(least, most) => format!("a whole number from {least} to {most}"),
            Self::ZeroOr(least, most) => format!("0, or a whole number from {least} to {most}"),
            Self::Real(range) | Self::Mib(range) => range.1.into(),
            Self::Prior(range) => format!("{}, or a list of them", range.1),
            Self::Word(_) | Self::Described(_) | Self::Or(_, Self::Word(_) | Self::Described(_)) => {
                format!("one of {}", all(&self.words(), ", "))
            }
            Self::Words(words) => format!("a list of {}, not empty, without repetition", all(words(), ", ")),
            Self::Text | Self::Optional | Self::File => "a text in quotes".into(),
            Self::Name => "a text, not empty".into(),
            Self::Encoding => {
                "an encoding that contains ASCII: \"utf-8\", \"windows-1252\", \"iso-8859-2\", \"gbk\", …".into()
            }
            Self::List(_, allowed) => (*allowed).into(),
            Self::StopWords => {
                "\"none\", a language (\"en\", \"de\", …; \"rust\"), a file (\"./words.txt\"), \
                                or a list of these"
                    .into()
            }
            Self::Or(words, kind) => {
                format!("{}, or {}", kind.allowed(), all(words, " or "))
            }
        }
    }

    /// Returns the words that a value may be.
    pub(super) fn words(&self) -> Vec<&'static str> {
        match self {
            Self::Word(words) | Self::Words(words) => words().to_vec(),
            Self::Or(words, kind) => [words.to_vec(), kind.words()].concat(),
            _ => self.described().into_iter().map(|(word, _)| word).collect(),
        }
    }

    /// Returns the words that a value may be and what they do, if that is said.
    pub(super) fn described(&self) -> Vec<(&'static str, &'static str)> {
        match self {
            Self::Described(words) => words(),
            Self::Or(_, kind) => kind.described(),
            _ => Vec::new(),
        }
    }

    /// Returns what a setting is read from: the value, with sizes in bytes; nothing if it says that there is none.
    pub(super) fn setting(&self, value: &Value) -> Option<Value> {
        match self {
            Self::Or(words, _) if value.as_str() == Some(words[0]) => None,
            Self::Or(_, kind) => kind.setting(value),
            Self::Optional | Self::File => Some(value.clone()).filter(|value| *value != "".into()),
            Self::Mib(_) => number(value).map(|mib| Value::Integer((mib * MIB) as i64)),
            _ => Some(value.clone()),
        }
    }

    /// Whether a number or boolean after `--set` is a text of this kind, since the shell removes quotes.
    pub(super) fn is_text(&self) -> bool {
        matches!(
            self,
            Self::Text | Self::Optional | Self::Name | Self::File | Self::Encoding | Self::List(..)
        )
    }
}

/// Returns a number, whole or not.
pub(super) fn number(value: &Value) -> Option<f64> {
    value.as_float().or(value.as_integer().map(|i| i as f64))
}

/// Whether no text is empty.
pub(super) fn is_named(texts: &[&str]) -> bool {
    texts.iter().all(|text| !text.is_empty())
}

/// Whether no text occurs twice.
pub(super) fn is_distinct(texts: &[&str]) -> bool {
    (1..texts.len()).all(|i| !texts[..i].contains(&texts[i]))
}

/// Rounds a size in MiB to whole bytes; at least one byte, unless it is 0.
fn exact(mebibytes: f64) -> Value {
    let bytes = (mebibytes * MIB) as u64;
    let bytes = bytes.max(u64::from(mebibytes > 0.0));
    Value::Float(bytes as f64 / MIB)
}

/// Makes a list of texts from such a list or a single text.
fn list(value: &Value, holds: impl Fn(&[&str]) -> bool) -> Option<Value> {
    let texts: Option<Vec<&str>> = match value {
        Value::Array(items) => items.iter().map(Value::as_str).collect(),
        value => value.as_str().map(|text| vec![text]),
    };
    texts.filter(|texts| holds(texts)).map(Value::from)
}

/// Resolves a file that a job names to a path that does not depend on the job file's folder.
pub(super) fn located(name: &str, folder: &Path) -> Value {
    if name.is_empty() {
        Value::from(name)
    } else {
        Value::String(store::join(folder, name).to_string_lossy().into_owned())
    }
}

fn collect(values: impl Iterator<Item = Option<Value>>) -> Option<Value> {
    values.collect::<Option<_>>().map(Value::Array)
}

fn stop_words(lists: &Value, folder: &Path) -> Option<Value> {
    let lists = lists.as_array()?;
    if lists == &[Value::from("none")] {
        return Some(Value::Array(Vec::new()));
    }
    let list = |list: &Value| match list.as_str()? {
        name if StopWords::is_file(name) => Some(located(name, folder)),
        name => is_name(name).then(|| list.clone()),
    };
    collect(lists.iter().map(list))
}

/// Words that a value may be.
pub(super) type WordList = fn() -> &'static [&'static str];

/// Returns the words for the variants of an enum, as serde reads them.
pub(super) fn words_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut words: &'static [&'static str] = &[];
    // It ends with an error, since there is no value.
    let _ = T::deserialize(Variants(&mut words));
    words
}

/// Returns the word for a value of an enum.
pub(crate) fn word<T: Serialize>(value: T) -> String {
    let word = Value::try_from(value).ok().and_then(|value| Some(value.as_str()?.to_owned()));
    word.expect("variants without fields are words")
}

/// A deserializer without a value, which keeps the names of an enum's variants.
struct Variants<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for Variants<'_> {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(serde::de::Error::custom("not an enum"))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = variants;
        self.deserialize_any(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct
        seq tuple tuple_struct map struct identifier ignored_any
    }
}
