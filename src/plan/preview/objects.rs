//! JSON objects as records.

use std::collections::BTreeMap;

use corpus::formats::json::mended;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::tables::MOST_RECORDS;

/// A record: the names and texts of its values. Leaves out values that are not a text, number, boolean or list of
/// texts.
pub(super) type Record = Vec<(String, String)>;

/// Parses the first objects among parts of JSON; fails if the first part is not an object and no other one is.
pub(super) fn parsed<'p>(parts: impl Iterator<Item = &'p str>) -> serde_json::Result<Vec<Record>> {
    let filled = parts.filter(|part| !part.trim().is_empty());
    let (mut objects, mut error) = (Vec::new(), None);
    for (place, part) in filled.take(MOST_RECORDS).enumerate() {
        match object(part) {
            Ok(object) => objects.push(record(object)),
            Err(found) if place == 0 => error = Some(found),
            Err(_) => {}
        }
    }
    match error {
        Some(error) if objects.is_empty() => Err(error),
        _ => Ok(objects),
    }
}

/// Parses the values of an object that a run can hold: not those that are too deep or too large.
fn object(part: &str) -> serde_json::Result<Map<String, Value>> {
    let (mended, _) = mended(part);
    let fields: BTreeMap<String, &RawValue> = serde_json::from_str(&mended)?;
    let held =
        |(name, value): (String, &RawValue)| Some((name, serde_json::from_str(value.get()).ok()?));
    Ok(fields.into_iter().filter_map(held).collect())
}

fn record(object: Map<String, Value>) -> Record {
    let mut record = Record::new();
    take(&mut record, "", object);
    record
}

/// Adds the values of an object; those of an object under `a`, or of objects in an array there, are named `a.b`.
fn take(record: &mut Record, prefix: &str, object: Map<String, Value>) {
    for (name, value) in object {
        let name = format!("{prefix}{name}");
        match value {
            Value::String(text) => record.push((name, text)),
            Value::Number(_) | Value::Bool(_) => record.push((name, value.to_string())),
            Value::Array(items) if items.iter().all(Value::is_string) => {
                let items: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
                record.push((name, items.join("\n")));
            }
            Value::Object(inner) => take(record, &format!("{name}."), inner),
            Value::Array(items) => {
                let mut inner = Record::new();
                for item in items {
                    if let Value::Object(item) = item {
                        take(&mut inner, &format!("{name}."), item);
                    }
                }
                join(record, inner);
            }
            Value::Null => {}
        }
    }
}

/// Adds values to a record; those of one name become lines.
fn join(record: &mut Record, values: Record) {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (name, value) in values {
        match places.get(&name) {
            Some(&place) => {
                let joined: &mut String = &mut record[place].1;
                joined.push('\n');
                joined.push_str(&value);
            }
            None => {
                places.insert(name.clone(), record.len());
                record.push((name, value));
            }
        }
    }
}
