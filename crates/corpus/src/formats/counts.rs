//! What formats of counts share: lines of counts.

use super::cutter::lines;
use super::records::{ColumnNames, Header, Records};
use super::{Context, DocumentSink};
use crate::Body;
use crate::document::count_of;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// Terms and their counts.
pub(super) type TermCounts<'a> = Vec<(Cow<'a, str>, u32)>;

/// Parses the counts of fields `number:count`; an error names an invalid one. A number refers to a term of the
/// vocabulary, the first of which has the number `first`; without a vocabulary it is the term itself.
pub(super) fn numbered<'a>(
    fields: impl Iterator<Item = &'a str>,
    vocabulary: Option<&'a [String]>,
    first: u64,
) -> Result<TermCounts<'a>, String> {
    let count = |field: &'a str| {
        let pair = field.split_once(':').and_then(|(number, count)| {
            let count = count_of(count)?;
            Some((number.parse::<u64>().ok()?, number, count))
        });
        let Some((number, text, count)) = pair else {
            return Err(format!(
                "`{field}`, where a term's number and its count are expected, as in `17:2`; correct the line"
            ));
        };
        let Some(terms) = vocabulary else {
            return Ok((Cow::Borrowed(text), count));
        };
        let place = number.checked_sub(first).and_then(|at| usize::try_from(at).ok());
        match place.and_then(|place| terms.get(place)) {
            Some(term) => Ok((Cow::Borrowed(&term[..]), count)),
            None => Err(format!(
                "term {number} is not one of {first} to {}; use the vocabulary that belongs to the file",
                (terms.len() as u64 + first).saturating_sub(1)
            )),
        }
    };
    fields.map(count).collect()
}

/// The content of a line of a format of counts.
pub(super) struct Line<'a> {
    /// The document's id and label; empty if it has none.
    pub(super) fields: [&'a str; 2],
    /// An error says what is wrong with the line.
    pub(super) counts: Result<TermCounts<'a>, String>,
}

/// A parser of a line, with the vocabulary beside the file: `None` if the line contains no document.
pub(super) type ParseLine = for<'a> fn(&'a str, Option<&'a [String]>) -> Option<Line<'a>>;

/// The lines of a format of counts: the columns of a line, and its parser.
pub(super) struct CountLines(pub(super) &'static [&'static str], pub(super) ParseLine);

impl Records for CountLines {
    fn names(&self) -> ColumnNames {
        ColumnNames::Fixed(self.0)
    }

    fn read(
        &self,
        context: &Context<'_>,
        header: &Header,
        (offset, stretch): (u64, &[u8]),
        emit: DocumentSink<'_>,
    ) {
        for (begins, line) in lines(offset, stretch) {
            let (text, repaired) = context.settings.encoding.decode(line);
            if text.trim().is_empty() {
                continue;
            }
            let Some(Line { fields, counts }) = self.1(&text, header.vocabulary.as_deref()) else {
                continue;
            };
            let body = match counts {
                Ok(counts) => Body::Counts { counts, words: false, repaired },
                Err(what) => context.unparsable(begins, &what),
            };
            let [id, label] = fields.map(str::as_bytes);
            emit(header.with_body(context, begins, &[id, label, b""], body));
        }
    }
}

/// The keys and values of a JSON object in order, including keys that occur twice; keys without escapes are borrowed.
pub(super) struct Pairs<'a, V>(pub(super) Vec<(Cow<'a, str>, V)>);

impl<'de: 'a, 'a, V: Deserialize<'de>> Deserialize<'de> for Pairs<'a, V> {
    fn deserialize<D: Deserializer<'de>>(parser: D) -> Result<Self, D::Error> {
        parser.deserialize_map(PairsOf(PhantomData)).map(Self)
    }
}

/// A key that is borrowed if it can be.
#[derive(Deserialize)]
pub(super) struct JsonKey<'k>(#[serde(borrow)] pub(super) Cow<'k, str>);

/// A visitor of an object of such values.
struct PairsOf<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for PairsOf<V> {
    type Value = Vec<(Cow<'de, str>, V)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some((JsonKey(key), value)) = map.next_entry()? {
            pairs.push((key, value));
        }
        pairs.shrink_to_fit();
        Ok(pairs)
    }
}
