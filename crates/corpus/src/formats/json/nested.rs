//! JSON whose records are in an array under a key, as in `{"response": {"docs": [{…}, {…}]}}`: finds these arrays.

use super::mended;
use serde_json::Value;
use std::collections::BTreeMap;

/// Finds the arrays of objects within a single JSON object, given its start: the path of each and the number of its
/// objects. Leaves out arrays within arrays. Returns nothing if more than one value begins here.
pub fn arrays(start: &[u8]) -> BTreeMap<String, u64> {
    let (json, _) = mended(&String::from_utf8_lossy(start));
    let mut found = BTreeMap::new();
    if let Ok(whole @ Value::Object(_)) = serde_json::from_str(&closed(&json)) {
        add(&whole, "", &mut found);
    }
    found
}

/// Closes JSON that continues beyond what was read, after the last bracket or brace.
fn closed(json: &str) -> String {
    let (mut is_in_string, mut is_escaped) = (false, false);
    let (mut open, mut complete) = (Vec::new(), (0, Vec::new()));
    for (at, byte) in json.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_in_string,
            b'"' => is_in_string = !is_in_string,
            b'{' if !is_in_string => open.push('}'),
            b'[' if !is_in_string => open.push(']'),
            b'}' | b']' if !is_in_string => drop(open.pop()),
            _ => continue,
        }
        if matches!(byte, b'{' | b'[' | b'}' | b']') && !is_in_string {
            complete = (at + 1, open.clone());
        }
    }
    if open.is_empty() {
        return json.to_owned();
    }
    let (end, open) = complete;
    json[..end].chars().chain(open.into_iter().rev()).collect()
}

/// Counts the objects of the arrays within a value at this path.
fn add(value: &Value, path: &str, found: &mut BTreeMap<String, u64>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                add(value, &format!("{path}{dot}{key}"), found);
            }
        }
        Value::Array(items) => {
            let objects = items.iter().filter(|item| item.is_object()).count();
            if objects > 0 {
                *found.entry(path.to_owned()).or_default() += objects as u64;
            }
        }
        _ => {}
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
