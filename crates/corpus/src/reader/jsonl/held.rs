//! The value of a JSON key, as an id, metadata, text or counts.

use crate::document::whole;
use crate::reader::counts::{Counted, Pairs};
use crate::reader::join_texts;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

/// The value of a key of an object.
#[derive(Clone, Default)]
pub(super) enum Held<'a> {
    /// Null, or an absent key.
    #[default]
    Nothing,
    Text(Cow<'a, str>),
    /// A number or a boolean, as JSON.
    Scalar(String),
    Array(Vec<Value>),
    /// Keys and values, including keys that occur twice.
    Object(Vec<(Cow<'a, str>, Value)>),
}

impl From<Value> for Held<'_> {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Nothing,
            Value::String(text) => Self::Text(Cow::Owned(text)),
            Value::Number(_) | Value::Bool(_) => Self::Scalar(value.to_string()),
            Value::Array(items) => Self::Array(items),
            Value::Object(fields) => Self::Object(
                fields.into_iter().map(|(key, value)| (Cow::Owned(key), value)).collect(),
            ),
        }
    }
}

impl<'a> Held<'a> {
    /// Returns the value as an id or as metadata.
    pub(super) fn to_value(&self) -> Option<Cow<'a, str>> {
        match self {
            Self::Nothing => None,
            Self::Text(text) => Some(text.clone()),
            Self::Scalar(text) => Some(Cow::Owned(text.clone())),
            Self::Array(items) => Some(Cow::Owned(Value::from(items.clone()).to_string())),
            Self::Object(fields) => {
                let fields = fields.iter().map(|(key, value)| (key.to_string(), value.clone()));
                Some(Cow::Owned(Value::Object(fields.collect()).to_string()))
            }
        }
    }

    /// Returns the value as a document's text; an error names its kind if it is not text.
    pub(super) fn into_text(self) -> Result<Option<Cow<'a, str>>, &'static str> {
        match self {
            Self::Nothing => Ok(None),
            Self::Text(text) => Ok(Some(text)),
            Self::Scalar(text) => Ok(Some(Cow::Owned(text))),
            Self::Array(items) => {
                let text = |item: Value| match item {
                    Value::String(text) => Ok(Cow::Owned(text)),
                    _ => Err("an array with elements that are not strings"),
                };
                let texts: Vec<_> = items.into_iter().map(text).collect::<Result<_, _>>()?;
                Ok(join_texts(texts.into_iter()))
            }
            Self::Object(_) => Err("an object"),
        }
    }

    /// Returns the value as the counts of a document; an error says what it is instead.
    pub(super) fn into_counts(self) -> Result<Option<Counted<'a>>, String> {
        match self {
            Self::Nothing => Ok(None),
            Self::Object(words) => {
                let count =
                    |(word, value): (Cow<'a, str>, Value)| match value.as_f64().and_then(whole) {
                        Some(count) => Ok((word, count)),
                        None => Err(format!("holds {value} for `{word}`, not a count")),
                    };
                words.into_iter().map(count).collect::<Result<_, _>>().map(Some)
            }
            _ => Err("is not an object".to_owned()),
        }
    }
}

/// A visitor of a value of any type.
pub(super) struct AnyValue;

impl<'a> DeserializeSeed<'a> for AnyValue {
    type Value = Held<'a>;

    fn deserialize<D: Deserializer<'a>>(self, parser: D) -> Result<Self::Value, D::Error> {
        parser.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for AnyValue {
    type Value = Held<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Self::Value, E> {
        Ok(Held::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Held::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Held::Nothing)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Held::Scalar(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Held::Scalar(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Held::Scalar(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Held::Scalar(Value::from(value).to_string()))
    }

    fn visit_seq<A: SeqAccess<'a>>(self, seq: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Held::Array)
    }

    fn visit_map<A: MapAccess<'a>>(self, map: A) -> Result<Self::Value, A::Error> {
        let Pairs(fields) = Pairs::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Held::Object(fields))
    }
}
