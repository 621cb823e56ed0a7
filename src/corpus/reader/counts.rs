//! What formats of counts have in common.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

/// Terms and their counts.
pub(super) type Counted<'a> = Vec<(Cow<'a, str>, u32)>;

/// A number as a count, if it is one: whole and not negative.
pub(super) fn whole(number: f64) -> Option<u32> {
    let is_count = number >= 0.0 && number.fract() == 0.0;
    // A larger one becomes the largest.
    is_count.then_some(number as u32)
}

/// The keys and values of a JSON object in their order, those that occur twice too; keys without
/// escapes are borrowed.
pub(super) struct Pairs<'a, V>(pub(super) Vec<(Cow<'a, str>, V)>);

impl<'de: 'a, 'a, V: Deserialize<'de>> Deserialize<'de> for Pairs<'a, V> {
    fn deserialize<D: Deserializer<'de>>(parser: D) -> Result<Self, D::Error> {
        parser.deserialize_map(PairsOf(PhantomData)).map(Self)
    }
}

/// Reads an object of such values.
struct PairsOf<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for PairsOf<V> {
    type Value = Vec<(Cow<'de, str>, V)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        /// A text that is borrowed if it can be.
        #[derive(Deserialize)]
        struct Key<'k>(#[serde(borrow)] Cow<'k, str>);

        let mut pairs = Vec::new();
        while let Some((Key(key), value)) = map.next_entry()? {
            pairs.push((key, value));
        }
        Ok(pairs)
    }
}
