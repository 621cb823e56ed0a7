//! JSON Lines, one object per line, and JSON, objects in an array or one after the other; the named keys are kept and
//! the rest is skipped. `a.b` names the key `b` of the object under `a`, or of each object in the array there, unless
//! there is a key `a.b`.
//!
//! Strings without escapes are borrowed from the input. Ids and metadata may be of any type (arrays and objects become
//! compact JSON); text may be a string, a number, a boolean, or an array of strings, joined by line breaks. If the job
//! names a key with counts, its value is an object of words and counts. A key that is null counts as absent, and so do
//! NaN and the infinities, as Python writes them.

use super::context::{body, join_texts};
use super::counts::{JsonKey, Pairs, TermCounts};
use super::cutter::{LineScan, NewScan, Piece, Scan, lines};
use super::records::{
    ColumnNames, ColumnRoles, FileRecords, Header, RETURNS_REMEDY, Records, count_records,
};
use super::{Context, Cutting, DocumentSink, Format, InputFile, without_mark};
use crate::document::whole;
use crate::settings::CorpusSettings;
use crate::{Body, RawDocument};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// `corpus.format = "jsonl"`.
pub static JSON_LINES: Format = Format {
    name: "jsonl",
    endings: &["jsonl", "ndjson"],
    names: ", `.json`",
    document: "a line, a JSON object; blank lines are skipped",
    keys: &["corpus.counts"],
    cutting: Cutting::Records(|_| Arc::new(OBJECT_LINES), true),
    ..Format::PLAIN
};

/// `corpus.format = "json"`.
pub static JSON: Format = Format {
    name: "json",
    endings: &["json"],
    names: " that begins with an array of objects, or with a brace alone on its line; any file if \
            `corpus.format = \"json\"`, also with several objects on a line",
    document: "an object, in an array or one after the other, over any number of lines",
    keys: &["corpus.counts"],
    cutting: Cutting::Records(|_| Arc::new(Objects { are_lines: false }), false),
    instead: |_, content| (!spans_lines(&content())).then_some(&JSON_LINES),
    ..Format::PLAIN
};

/// Bytes at the start of a file by which JSON is told from JSON Lines.
const START_BYTES: usize = 64;

/// Returns whether JSON that begins like this is an array of objects, or an object with only its brace on the first
/// line; other JSON is JSON Lines.
pub fn spans_lines(start: &[u8]) -> bool {
    let start = &start[..start.len().min(START_BYTES)];
    match without_mark(start).trim_ascii_start() {
        [b'[', rest @ ..] => matches!(rest.trim_ascii_start(), [b'{' | b']', ..]),
        [b'{', rest @ ..] => {
            let line = rest.split(|&byte| byte == b'\n').next();
            rest.contains(&b'\n') && line.is_some_and(|line| line.trim_ascii().is_empty())
        }
        _ => false,
    }
}

/// Objects, each on a line of its own or not.
struct Objects {
    are_lines: bool,
}

/// Returns scans for objects, each on a line of its own or not.
pub(crate) fn scans(are_lines: bool) -> NewScan {
    Box::new(move || Objects { are_lines }.scan())
}

const OBJECT_LINES: Objects = Objects { are_lines: true };

impl Records for Objects {
    fn names(&self) -> ColumnNames {
        ColumnNames::Keys
    }

    fn scan(&self) -> Box<dyn Scan> {
        if self.are_lines { Box::new(LineScan) } else { Box::<ObjectScan>::default() }
    }

    /// The last object may extend beyond the start.
    fn count(&self, start: &[u8], is_whole: bool) -> (u64, u64) {
        if self.are_lines {
            return count_records(self, start, is_whole);
        }
        let ends = objects(0, start).map(|(begins, object)| begins + object.len() as u64);
        let ends: Vec<u64> = ends.collect();
        let complete = ends.len() - usize::from(!is_whole && ends.len() > 1);
        (complete as u64, ends[..complete].last().copied().unwrap_or(0))
    }

    fn read(
        &self,
        context: &Context<'_>,
        _: &Header,
        (offset, stretch): (u64, &[u8]),
        emit: DocumentSink<'_>,
    ) {
        let keys = KeptKeys::new(context);
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
                    let body = context.unparsable(begins, &self.no_object(&object, &error));
                    context.unknown(begins, body)
                }
            });
        };
        if self.are_lines {
            let is_filled = |(_, line): &(u64, &[u8])| !line.trim_ascii().is_empty();
            lines(offset, stretch).filter(is_filled).for_each(read);
        } else {
            objects(offset, stretch).for_each(read);
        }
    }
}

impl Objects {
    /// Explains why a record is not an object, and what to do.
    fn no_object(&self, object: &str, error: &serde_json::Error) -> String {
        match self.are_lines {
            false if object == "}" => "not a JSON object, but a lone brace; remove it".to_owned(),
            false => format!("not a JSON object: {error}; correct or remove it"),
            true if object.contains('\r') => format!(
                "not a JSON object on one line, which has carriage returns: {error}; {RETURNS_REMEDY}"
            ),
            true => format!("not a JSON object on one line: {error}; correct or remove the line"),
        }
    }
}

/// A scan for the brace that closes an object, in an array or not.
#[derive(Default)]
pub struct ObjectScan {
    /// Open braces.
    depth: u32,
    is_in_string: bool,
    is_escaped: bool,
}

impl Scan for ObjectScan {
    fn find_end(&mut self, bytes: &[u8], _: bool) -> Result<usize, usize> {
        for (at, &byte) in bytes.iter().enumerate() {
            if self.is_in_string {
                self.is_in_string = byte != b'"' || self.is_escaped;
                self.is_escaped = byte == b'\\' && !self.is_escaped;
                continue;
            }
            match byte {
                b'"' => self.is_in_string = true,
                b'{' => self.depth += 1,
                b'}' if self.depth <= 1 => {
                    self.depth = 0;
                    return Ok(at + 1);
                }
                b'}' => self.depth -= 1,
                _ => {}
            }
        }
        Err(bytes.len())
    }

    fn unclosed(&self) -> Option<&'static str> {
        let is_open = self.depth > 0 || self.is_in_string;
        is_open.then_some("the object that begins there has an unclosed brace or quote")
    }
}

/// Returns the objects in `bytes`, each with its offset, without the separators between them. Anything else between two
/// objects counts as one.
pub fn objects(offset: u64, bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let parts = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b'[' | b']');
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let begin = rest.iter().position(|byte| !parts(byte))?;
        let begins = offset + (bytes.len() - rest.len() + begin) as u64;
        let end = match rest[begin] {
            b'{' | b'}' => ObjectScan::default().find_end(&rest[begin..], true).ok(),
            _ => length_of_others(&rest[begin..]),
        };
        let (object, after) = rest[begin..].split_at(end.unwrap_or(rest.len() - begin));
        rest = after;
        Some((begins, object))
    })
}

/// Returns the length of anything but an object, up to the next brace.
fn length_of_others(bytes: &[u8]) -> Option<usize> {
    let (mut is_in_string, mut is_escaped) = (false, false);
    bytes.iter().position(|&byte| {
        let is_quote = byte == b'"' && !is_escaped;
        is_escaped = is_in_string && byte == b'\\' && !is_escaped;
        is_in_string ^= is_quote;
        !is_in_string && matches!(byte, b'{' | b'}')
    })
}

/// The keys that are kept, each once, and their roles.
struct KeptKeys<'s> {
    names: Vec<&'s str>,
    columns: ColumnRoles,
    counts: Option<usize>,
}

impl<'s> KeptKeys<'s> {
    fn new(context: &Context<'s>) -> Self {
        let settings = context.settings;
        let mut names: Vec<&'s str> = Vec::new();
        let mut place = |name: &'s str| {
            names.iter().position(|&known| known == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            })
        };
        let columns = ColumnRoles {
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
        values: Vec<KeptValue<'a>>,
        repaired: bool,
    ) -> RawDocument<'a> {
        let document = self.columns.record(context, offset, |key| values[key].to_value());
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
        mut values: Vec<KeptValue<'a>>,
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
    fn parse<'a>(&self, object: &'a str) -> serde_json::Result<Vec<KeptValue<'a>>> {
        let mut parser = serde_json::Deserializer::from_str(object);
        let values = parser.deserialize_map(self)?;
        parser.end()?;
        Ok(values)
    }

    /// Parses a value with kept keys below `key`, which may be kept itself.
    fn parse_nested<'a>(
        &self,
        key: &str,
        written: &'a str,
        values: &mut [KeptValue<'a>],
    ) -> serde_json::Result<()> {
        let object: Value = serde_json::from_str(written)?;
        for (value, name) in values.iter_mut().zip(&self.names) {
            if let Some(found) = below(name, key).and_then(|path| find(&object, path)) {
                *value = found.into();
            }
            if *name == key {
                *value = serde_json::from_str(written)?;
            }
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for &KeptKeys<'_> {
    type Value = Vec<KeptValue<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut values = vec![KeptValue::Nothing; self.names.len()];
        while let Some(JsonKey(key)) = map.next_key()? {
            if self.names.iter().any(|name| below(name, &key).is_some()) {
                let written: &RawValue = map.next_value()?;
                self.parse_nested(&key, written.get(), &mut values).map_err(A::Error::custom)?;
            } else if let Some(place) = self.names.iter().position(|&name| name == key) {
                values[place] = map.next_value()?;
            } else {
                let _: IgnoredAny = map.next_value()?;
            }
        }
        Ok(values)
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

/// The value of a kept key.
#[derive(Clone, Default)]
enum KeptValue<'a> {
    /// Null, or an absent key.
    #[default]
    Nothing,
    Text(Cow<'a, str>),
    /// Keys and values, including keys that occur twice.
    Object(Vec<(Cow<'a, str>, Value)>),
    /// A number, a boolean or an array.
    Other(Value),
}

impl From<Value> for KeptValue<'_> {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Nothing,
            Value::String(text) => Self::Text(Cow::Owned(text)),
            Value::Object(fields) => Self::Object(
                fields.into_iter().map(|(key, value)| (Cow::Owned(key), value)).collect(),
            ),
            other => Self::Other(other),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for KeptValue<'a> {
    fn deserialize<D: Deserializer<'de>>(parser: D) -> Result<Self, D::Error> {
        parser.deserialize_any(AnyValue)
    }
}

/// A visitor of the value of a kept key.
struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = KeptValue<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(KeptValue::Nothing)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Value::from(value).into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Value::from(value).into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Value::from(value).into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Value::from(value).into())
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(KeptValue::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(KeptValue::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        Value::deserialize(SeqAccessDeserializer::new(items)).map(Into::into)
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Self::Value, A::Error> {
        let Pairs(fields) = Pairs::deserialize(MapAccessDeserializer::new(fields))?;
        Ok(KeptValue::Object(fields))
    }
}

impl<'a> KeptValue<'a> {
    /// Returns the value as an id or as metadata.
    fn to_value(&self) -> Option<Cow<'a, str>> {
        match self {
            Self::Nothing => None,
            Self::Text(text) => Some(text.clone()),
            Self::Other(value) => Some(Cow::Owned(value.to_string())),
            Self::Object(fields) => {
                let fields = fields.iter().map(|(key, value)| (key.to_string(), value.clone()));
                Some(Cow::Owned(Value::Object(fields.collect()).to_string()))
            }
        }
    }

    /// Returns the value as a document's text; an error names its kind if it is not text.
    fn into_text(self) -> Result<Option<Cow<'a, str>>, &'static str> {
        match self {
            Self::Nothing => Ok(None),
            Self::Text(text) => Ok(Some(text)),
            Self::Object(_) => Err("an object"),
            Self::Other(Value::Array(items)) => {
                let text = |item: Value| match item {
                    Value::String(text) => Ok(Cow::Owned(text)),
                    _ => Err("an array with elements that are not strings"),
                };
                let texts: Vec<_> = items.into_iter().map(text).collect::<Result<_, _>>()?;
                Ok(join_texts(texts.into_iter()))
            }
            Self::Other(value) => Ok(Some(Cow::Owned(value.to_string()))),
        }
    }

    /// Returns the value as the counts of a document; an error says what it is instead.
    fn into_counts(self) -> Result<Option<TermCounts<'a>>, String> {
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

/// Numbers that JSON does not have.
const NO_NUMBERS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// Returns the text without the byte order mark that joined files have within them, with `null` for numbers that JSON
/// does not have, and U+FFFD for escaped halves of surrogate pairs; and whether there was such a half.
pub fn mended(json: &str) -> (String, bool) {
    let json = json.trim_start_matches('\u{feff}');
    let bytes = json.as_bytes();
    let mut mended = String::with_capacity(json.len());
    let (mut at, mut copied) = (0, 0);
    let (mut is_in_string, mut is_torn) = (false, false);
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        let number = |number: &&&str| rest.starts_with(number.as_bytes());
        let (length, substitute) = match byte {
            b'"' => {
                is_in_string = !is_in_string;
                (1, None)
            }
            b'\\' => match (unit(rest), rest.get(6..).and_then(unit)) {
                (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (12, None),
                (Some(0xd800..=0xdfff), _) => {
                    is_torn = true;
                    (6, Some("\\ufffd"))
                }
                _ => (2, None),
            },
            b'N' | b'I' | b'-' if !is_in_string => match NO_NUMBERS.iter().find(number) {
                Some(number) => (number.len(), Some("null")),
                None => (1, None),
            },
            _ => (1, None),
        };
        if let Some(substitute) = substitute {
            mended.push_str(&json[copied..at]);
            mended.push_str(substitute);
            copied = at + length;
        }
        at += length;
    }
    mended.push_str(&json[copied..]);
    (mended, is_torn)
}

/// Returns the unit of UTF-16 that an escape at the start of `bytes` denotes.
fn unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// A reader of lines by the keys of a job, like those of a file.
pub struct LineReader {
    file: InputFile,
    settings: CorpusSettings,
    form: FileRecords,
}

impl LineReader {
    /// Creates a reader for a stream of this name, which is used in the ids of documents without one.
    pub fn new(name: &str, settings: &CorpusSettings) -> Self {
        let form = FileRecords { records: Arc::new(OBJECT_LINES), header: Header::default() };
        Self { file: InputFile::stream(name, &JSON_LINES), settings: settings.clone(), form }
    }

    /// Returns whether a line contains a document, however broken: blank ones do not.
    pub fn holds_document(line: &Piece) -> bool {
        !matches!(line, Piece::Records { bytes, .. } if bytes.trim_ascii().is_empty())
    }

    /// Reads the document of a line; nothing for a blank line.
    pub fn read(&self, line: &Piece, emit: DocumentSink<'_>) {
        let context = Context::new(&self.file, &self.settings);
        self.form.read(&context, std::slice::from_ref(line), emit);
    }

    /// Returns the problem with a document, without the place that its reader put before it.
    pub fn without_place<'r>(&self, line: &Piece, reason: &'r str) -> &'r str {
        let place = Context::new(&self.file, &self.settings).place(line.offset());
        let rest = reason.strip_prefix(place.as_str());
        rest.and_then(|rest| rest.strip_prefix(": ")).unwrap_or(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_and_lone_braces_span_lines() {
        for start in ["[{", " [ \n\t{\"a\":", "[]", "\u{feff}{ \r\n", "{\n}"] {
            assert!(spans_lines(start.as_bytes()), "{start}");
        }
        let far = format!("{{{}\n", " ".repeat(START_BYTES));
        for start in ["", "{", "{}\n{}", "{\"a\":\n", "[1]", "[\"a\", {}]", "a\n{\n", &far] {
            assert!(!spans_lines(start.as_bytes()), "{start}");
        }
    }

    #[test]
    fn numbers_that_json_does_not_have_become_null() {
        let json = r#"{"NaN":NaN,"a":[-Infinity,Infinity,-1],"b":"NaN \" -Infinity"}"#;
        let expected = r#"{"NaN":null,"a":[null,null,-1],"b":"NaN \" -Infinity"}"#;
        assert_eq!(mended(json), (expected.to_owned(), false));
    }

    #[test]
    fn halves_of_surrogate_pairs_become_replacement_characters() {
        for (json, expected) in [
            (r#""é\ud83d é""#, r#""é\ufffd é""#),
            (r#""\uDE00""#, r#""\ufffd""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\ud83d\u0041\ude00""#, r#""\ufffd\u0041\ufffd""#),
        ] {
            assert_eq!(mended(json), (expected.to_owned(), true), "{json}");
        }
        for json in [r#""\ud83d\ude00""#, r#""\\ud83d""#, r#""\ud8"#, r#""\"#, ""] {
            assert_eq!(mended(json), (json.to_owned(), false), "{json}");
        }
    }
}
