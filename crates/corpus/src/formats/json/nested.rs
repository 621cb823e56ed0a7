//! JSON whose records are in an array under a key, as in `{"response": {"docs": [{…}, {…}]}}`: finds these arrays.

use std::collections::BTreeMap;

/// Levels of objects and arrays whose paths are followed.
const MAX_DEPTH: usize = 128;
/// Bytes of a key that are compared.
const MAX_KEY_BYTES: usize = 1024;

/// An open object or array.
struct Open {
    is_array: bool,
    /// The length of its own path.
    path_bytes: usize,
}

/// The effect of a byte on the nesting.
#[derive(PartialEq)]
enum Step {
    Opens,
    Closes,
    Stays,
}

/// The position in a JSON text, byte by byte.
#[derive(Default)]
struct Walk {
    open: Vec<Open>,
    /// Open objects and arrays beyond [`MAX_DEPTH`].
    beyond: usize,
    /// The keys down to the current value, joined by dots.
    path: Vec<u8>,
    /// The key being read.
    key: Vec<u8>,
    /// Whether the next string is a key.
    expects_key: bool,
    is_in_string: bool,
    is_escaped: bool,
}

impl Walk {
    fn step(&mut self, byte: u8) -> Step {
        if self.is_in_string {
            self.step_in_string(byte);
            return Step::Stays;
        }
        match byte {
            b'"' => {
                self.is_in_string = true;
                self.key.clear();
            }
            b'{' | b'[' => {
                self.expects_key = byte == b'{';
                if self.open.len() == MAX_DEPTH {
                    self.beyond += 1;
                } else {
                    self.open.push(Open { is_array: byte == b'[', path_bytes: self.path.len() });
                }
                return Step::Opens;
            }
            b'}' | b']' if self.depth() > 0 => {
                self.expects_key = false;
                match self.beyond.checked_sub(1) {
                    Some(fewer) => self.beyond = fewer,
                    None => {
                        let path_bytes = self.open.pop().map_or(0, |open| open.path_bytes);
                        self.path.truncate(path_bytes);
                    }
                }
                return Step::Closes;
            }
            b',' => self.expects_key = self.open.last().is_some_and(|open| !open.is_array),
            _ => {}
        }
        Step::Stays
    }

    fn step_in_string(&mut self, byte: u8) {
        if byte != b'"' || self.is_escaped {
            self.is_escaped = byte == b'\\' && !self.is_escaped;
            if self.expects_key && self.key.len() < MAX_KEY_BYTES {
                self.key.push(byte);
            }
            return;
        }
        self.is_in_string = false;
        if std::mem::take(&mut self.expects_key) && self.beyond == 0 {
            let path_bytes = self.open.last().map_or(0, |open| open.path_bytes);
            self.path.truncate(path_bytes);
            if path_bytes > 0 {
                self.path.push(b'.');
            }
            self.path.extend(unescaped(&self.key));
        }
    }

    fn depth(&self) -> usize {
        self.open.len() + self.beyond
    }

    /// Returns whether the innermost open value is an object in an array that is in no other array.
    fn is_record(&self) -> bool {
        let [outer @ .., array, object] = &self.open[..] else {
            return false;
        };
        array.is_array && !object.is_array && outer.iter().all(|open| !open.is_array)
    }
}

/// Returns a key without its escapes.
fn unescaped(key: &[u8]) -> Vec<u8> {
    if !key.contains(&b'\\') {
        return key.to_vec();
    }
    let quoted = [b"\"", key, b"\""].concat();
    serde_json::from_slice(&quoted).map_or_else(|_| key.to_vec(), String::into_bytes)
}

/// Finds the arrays of objects within a single JSON object, given its start: the path of each and the number of its
/// objects. Leaves out arrays within arrays. Returns nothing if more than one value begins here.
pub fn arrays(start: &[u8]) -> BTreeMap<String, u64> {
    let mut walk = Walk::default();
    let mut arrays = BTreeMap::new();
    let mut has_ended = false;
    for &byte in start {
        if has_ended && !byte.is_ascii_whitespace() {
            return BTreeMap::new();
        }
        match walk.step(byte) {
            Step::Opens if walk.is_record() && !walk.path.is_empty() => {
                let path = String::from_utf8_lossy(&walk.path).into_owned();
                *arrays.entry(path).or_insert(0) += 1;
            }
            Step::Closes => has_ended = walk.depth() == 0,
            _ => {}
        }
    }
    arrays
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
