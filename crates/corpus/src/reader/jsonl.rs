//! JSON Lines, one object per line, and JSON, objects in an array or one after the other; the named keys are kept and
//! the rest is skipped. `a.b` names the key `b` of the object under `a`, or of each object in the array there, unless
//! there is a key `a.b`.
//!
//! Strings without escapes are borrowed from the input. Ids and metadata may be of any type (arrays and objects become
//! compact JSON); text may be a string, a number, a boolean, or an array of strings, joined by line breaks. If the job
//! names a key with counts, its value is an object of words and counts. A key that is null counts as absent, and so do
//! NaN and the infinities, as Python writes them.

mod held;

use super::counts::Key;
use super::mend::mended;
use super::{Context, DocumentSink, body, join_texts};
use crate::block::cutter::{lines, objects};
use crate::block::header::{Columns, RETURNS_REMEDY};
use crate::settings::Format;
use crate::{Body, RawDocument};
use held::{AnyValue, Held};
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use std::fmt;

/// Reads the documents of a stretch that begins at `offset`.
pub(super) fn read(context: &Context<'_>, offset: u64, bytes: &[u8], emit: DocumentSink<'_>) {
    let keys = Keys::new(context);
    let read = |(begins, object): (u64, &[u8])| {
        let (object, repaired) = context.settings.encoding.decode(object);
        let error = match keys.parse(&object) {
            Ok(values) => return emit(keys.document(context, begins, values, repaired)),
            Err(error) => error,
        };
        let (mended, is_torn) = mended(&object);
        emit(match keys.parse(&mended) {
            Ok(values) => keys.document(context, begins, values, repaired | is_torn),
            Err(later) => {
                // The error that remains after mending is the real one.
                let error = if mended == object { error } else { later };
                let body = context.unparsable(begins, &no_object(context, &object, &error));
                context.unknown(begins, body)
            }
        });
    };
    match context.file.format {
        Format::Json => objects(offset, bytes).for_each(read),
        _ => lines(offset, bytes).filter(|(_, line)| !line.trim_ascii().is_empty()).for_each(read),
    }
}

/// Explains why a record is not an object, and what to do.
fn no_object(context: &Context<'_>, object: &str, error: &serde_json::Error) -> String {
    match context.file.format {
        Format::Json if object == "}" => {
            "not a JSON object, but a lone brace; remove it".to_owned()
        }
        Format::Json => format!("not a JSON object: {error}; correct or remove it"),
        _ if object.contains('\r') => format!(
            "not a JSON object on one line, which has carriage returns: {error}; {RETURNS_REMEDY}"
        ),
        _ => format!("not a JSON object on one line: {error}; correct or remove the line"),
    }
}

/// The keys that are kept, each once, and their roles.
struct Keys<'s> {
    names: Vec<&'s str>,
    columns: Columns,
    counts: Option<usize>,
}

impl<'s> Keys<'s> {
    fn new(context: &Context<'s>) -> Self {
        let settings = context.settings;
        let mut names: Vec<&'s str> = Vec::new();
        let mut place = |name: &'s str| {
            names.iter().position(|&known| known == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            })
        };
        let columns = Columns {
            id: Some(place(&settings.id)),
            text: settings.text.iter().map(|name| place(name)).collect(),
            group: settings.group.as_deref().map(&mut place),
            metadata: (settings.metadata.iter()).map(|name| Some(place(name))).collect(),
        };
        let counts = settings.counts.as_deref().map(&mut place);
        Self { names, columns, counts }
    }

    /// Returns the document with these values.
    fn document<'a>(
        &self,
        context: &Context<'_>,
        offset: u64,
        values: Vec<Held<'a>>,
        repaired: bool,
    ) -> RawDocument<'a> {
        let document = context.record(&self.columns, offset, |key| values[key].to_value());
        let body = self.body(context, offset, values, repaired);
        RawDocument {
            body: body.unwrap_or_else(|what| context.unparsable(offset, &what)),
            ..document
        }
    }

    /// Returns the document's text or counts; an error says what the key contains instead, and what to do.
    fn body<'a>(
        &self,
        context: &Context<'_>,
        offset: u64,
        mut values: Vec<Held<'a>>,
        repaired: bool,
    ) -> Result<Body<'a>, String> {
        if let Some(key) = self.counts {
            let name = self.names[key];
            let counts = std::mem::take(&mut values[key]).into_counts();
            let error = |what| format!("`{name}` {what}; name a key with counts in corpus.counts");
            return Ok(match counts.map_err(error)? {
                Some(counts) => Body::Counts { counts, words: true, repaired },
                None => context.empty(offset, &format!("counts under `{name}`")),
            });
        }
        let mut texts = Vec::with_capacity(self.columns.text.len());
        for &key in &self.columns.text {
            let text = std::mem::take(&mut values[key]).into_text();
            texts.extend(text.map_err(|kind| {
                let name = self.names[key];
                format!("`{name}` holds {kind}; name a key with text in corpus.text")
            })?);
        }
        let text = join_texts(texts.into_iter());
        Ok(body(context, offset, text, repaired))
    }

    /// Parses the values of the kept keys.
    fn parse<'a>(&self, object: &'a str) -> serde_json::Result<Vec<Held<'a>>> {
        let mut parser = serde_json::Deserializer::from_str(object);
        let values = parser.deserialize_map(Object(&self.names))?;
        parser.end()?;
        Ok(values)
    }
}

/// A visitor of an object that keeps the values of these keys.
struct Object<'n>(&'n [&'n str]);

impl<'a> Visitor<'a> for Object<'_> {
    type Value = Vec<Held<'a>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut values = vec![Held::Nothing; self.0.len()];
        while let Some(Key(key)) = map.next_key()? {
            let is_within = |name: &&str| below(name, &key).is_some();
            match self.0.iter().position(|&name| name == key) {
                whole if self.0.iter().any(is_within) => {
                    let object: Value = map.next_value()?;
                    take(&object, &key, self.0, &mut values);
                    if let Some(place) = whole {
                        values[place] = object.into();
                    }
                }
                Some(place) => values[place] = map.next_value_seed(AnyValue)?,
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(values)
    }
}

/// Takes the values that the names want from the object under `key`.
fn take(object: &Value, key: &str, names: &[&str], values: &mut [Held<'_>]) {
    for (name, value) in names.iter().zip(values) {
        if let Some(found) = below(name, key).and_then(|path| find(object, path)) {
            *value = found.into();
        }
    }
}

/// Returns the rest of `name` if it names a key of the object under `key`.
fn below<'n>(name: &'n str, key: &str) -> Option<&'n str> {
    name.strip_prefix(key)?.strip_prefix('.')
}

/// Returns the value at `path` in an object, or those in the objects of an array.
fn find(value: &Value, path: &str) -> Option<Value> {
    if let Value::Array(items) = value {
        let found = items.iter().filter_map(|item| find(item, path));
        let values = found.flat_map(|found| match found {
            Value::Array(inner) => inner,
            Value::Null => Vec::new(),
            other => vec![other],
        });
        let values: Vec<Value> = values.collect();
        return (!values.is_empty()).then_some(Value::Array(values));
    }
    let within = |(dot, _)| find(value.get(&path[..dot])?, &path[dot + 1..]);
    let nested = || path.match_indices('.').find_map(within);
    value.get(path).cloned().or_else(nested)
}
