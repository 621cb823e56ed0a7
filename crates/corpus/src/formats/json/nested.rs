//! JSON whose records are in an array under a key, as in `{"response": {"docs": [{…}, {…}]}}`: finds these arrays.

use super::mended;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Finds the arrays of objects within a single JSON object, given its start: the path of each and the number of its
/// objects. Leaves out arrays within arrays. Returns nothing if more than one value begins here.
pub fn arrays(start: &[u8]) -> BTreeMap<String, u64> {
    let (json, _) = mended(&String::from_utf8_lossy(start));
    let mut parser = serde_json::Deserializer::from_str(&json);
    let mut found = BTreeMap::new();
    let whole = Value { path: String::new(), is_item: false, found: &mut found };
    let is_one = match parser.deserialize_map(whole) {
        Ok(()) => parser.end().is_ok(),
        // The object continues beyond what was read.
        Err(error) => error.is_eof(),
    };
    if is_one { found } else { BTreeMap::new() }
}

/// A value under a path, or one in the array there.
struct Value<'f> {
    path: String,
    is_item: bool,
    found: &'f mut BTreeMap<String, u64>,
}

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<(), D::Error> {
        parser.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        if self.is_item {
            *self.found.entry(self.path).or_insert(0) += 1;
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            let dot = if self.path.is_empty() { "" } else { "." };
            let path = format!("{}{dot}{key}", self.path);
            map.next_value_seed(Value { path, is_item: false, found: self.found })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        if self.is_item {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        loop {
            let path = self.path.clone();
            let item = Value { path, is_item: true, found: &mut *self.found };
            if seq.next_element_seed(item)?.is_none() {
                return Ok(());
            }
        }
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_of_objects_are_found_from_the_start() {
        let start = r#"{"n": 1, "list": ["x"], "meta": {"tags": [{"a": 1}]}, "r": {"docs": [{"by": [{}, {}]}, {"#;
        let expected = BTreeMap::from([("meta.tags".into(), 1), ("r.docs".into(), 2)]);
        assert_eq!(arrays(start.as_bytes()), expected);
        let page = r#"{"n": [{"a": 1}], "r\u00e9p": {"d": "x{[", "docs": [{"t": "]}\"é"}, {"docs": [{}]}], "e": {"docs": 1}}}"#;
        let expected = BTreeMap::from([("n".into(), 1), ("rép.docs".into(), 2)]);
        assert_eq!(arrays(page.as_bytes()), expected);
        for other in ["{\"r\": [{}]}\n{\"r\": [{}]}", "[{}, {}]", "[[{}]]", ""] {
            assert!(arrays(other.as_bytes()).is_empty(), "{other}");
        }
        let deep = format!("{}{}", "[".repeat(100_000), "{\"a\":".repeat(100_000));
        assert!(arrays(deep.as_bytes()).is_empty());
    }
}
