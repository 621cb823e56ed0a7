//! JSON whose records are in an array under a key, as in `{"response": {"docs": [{…}, {…}]}}`: finds these arrays, and
//! reduces a stream to the records of one array.

use crate::settings::{CorpusSettings, Format};
use std::collections::BTreeMap;
use std::io::{self, Read};

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

/// Returns the content of a file of this format; for JSON, only the records at the path that the job names.
pub fn only_records(
    content: Box<dyn Read + Send>,
    format: Format,
    settings: &CorpusSettings,
) -> Box<dyn Read + Send> {
    match &settings.records {
        Some(path) if format == Format::Json => Box::new(NestedRecords::new(content, path)),
        _ => content,
    }
}

/// A stream of JSON with spaces for everything outside the records at a path, so that these keep their positions. A
/// value without the path ends with a lone brace, which is no record.
struct NestedRecords<R> {
    stream: R,
    /// Keys, joined by dots.
    path: Vec<u8>,
    walk: Walk,
    /// The depth within the array of the records, while that is open.
    within: Option<usize>,
    /// Whether a value has begun that has had nothing at the path so far.
    is_unmatched: bool,
}

impl<R: Read> NestedRecords<R> {
    fn new(stream: R, path: &str) -> Self {
        Self {
            stream,
            path: path.as_bytes().to_vec(),
            walk: Walk::default(),
            within: None,
            is_unmatched: false,
        }
    }

    /// Replaces the next byte of the stream, unless it belongs to the records.
    fn replace(&mut self, byte: &mut u8) {
        let (depth, was_within) = (self.walk.depth(), self.within.is_some());
        // Keys within records are not compared.
        self.walk.expects_key &= !was_within;
        self.is_unmatched |= depth == 0 && !byte.is_ascii_whitespace() && *byte != b',';
        match self.walk.step(*byte) {
            Step::Opens if !was_within && self.walk.path == self.path => {
                self.within = Some(self.walk.depth());
                self.is_unmatched = false;
            }
            Step::Closes if self.within == Some(depth) => self.within = None,
            Step::Closes if depth == 1 && std::mem::take(&mut self.is_unmatched) => {
                *byte = b'}';
                return;
            }
            _ => {}
        }
        if !was_within && self.within.is_none() {
            *byte = b' ';
        }
    }
}

impl<R: Read> Read for NestedRecords<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        for byte in &mut buffer[..read] {
            self.replace(byte);
        }
        match buffer.first_mut() {
            Some(first) if read == 0 && std::mem::take(&mut self.is_unmatched) => {
                *first = b'}';
                Ok(1)
            }
            _ => Ok(read),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::cutter::objects;

    /// Reads the records at a path, in pieces of this many bytes; returns each with its offset.
    fn records(json: &str, path: &str, piece: usize) -> Vec<(u64, String)> {
        let mut stream = NestedRecords::new(json.as_bytes(), path);
        let (mut left, mut buffer) = (Vec::new(), vec![0; piece]);
        loop {
            match stream.read(&mut buffer).unwrap() {
                0 => break,
                read => left.extend(&buffer[..read]),
            }
        }
        let owned = |(begins, object)| (begins, String::from_utf8_lossy(object).into_owned());
        objects(0, &left).map(owned).collect()
    }

    #[test]
    fn records_stay_where_they_are_and_nothing_else_is_left() {
        let page = r#"{"n": [{"a": 1}], "r\u00e9p": {"d": "x{[", "docs": [{"t": "]}\"é"}, {"docs": [{}]}], "e": {"docs": 1}}}"#;
        for piece in [1, 3, 1000] {
            let found = records(page, "rép.docs", piece);
            let texts: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
            assert_eq!(texts, [r#"{"t": "]}\"é"}"#, r#"{"docs": [{}]}"#]);
            for (begins, text) in &found {
                assert!(page[*begins as usize..].starts_with(text));
            }
        }
    }

    #[test]
    fn pages_one_after_the_other_and_in_an_array_are_read() {
        let pages = r#"{"r": [{"a": 1}, {"a": 2}]} {"r": []} {"r": {"a": 3}}"#;
        assert_eq!(records(pages, "r", 5).len(), 3);
        let array = r#"[{"r": [{"a": 1}]}, {"x": [{"a": 0}], "r": [{"a": 2}]}]"#;
        assert_eq!(records(array, "r", 5).len(), 2);
        let within = r#"{"p": [{"r": [{"a": 1}]}, {"r": [{"a": 2}]}]}"#;
        assert_eq!(records(within, "p.r", 5).len(), 2);
    }

    #[test]
    fn a_value_without_the_path_leaves_a_brace() {
        for (json, expected) in [
            (r#"{"error": "too many"} {"r": [{"a": 1}]}"#, vec!["}", "{\"a\": 1}"]),
            (r#"{"r": "none"}"#, vec!["}"]),
            (r#"[{"s": [{"a": 1}]}]"#, vec!["}"]),
            (r#"{"s": [{"a": 1}, "#, vec!["}"]),
            ("no JSON", vec!["}"]),
            (r#"{"r": [{"a": 1}, {"a":"#, vec!["{\"a\": 1}", "{\"a\":"]),
            (" \n", vec![]),
        ] {
            let found = records(json, "r", 4);
            let texts: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
            assert_eq!(texts, expected, "{json}");
        }
    }

    #[test]
    fn arrays_of_objects_are_found_from_the_start() {
        let start = r#"{"n": 1, "list": ["x"], "meta": {"tags": [{"a": 1}]}, "r": {"docs": [{"by": [{}, {}]}, {"#;
        let expected = BTreeMap::from([("meta.tags".into(), 1), ("r.docs".into(), 2)]);
        assert_eq!(arrays(start.as_bytes()), expected);
        for other in ["{\"r\": [{}]}\n{\"r\": [{}]}", "[{}, {}]", "[[{}]]", ""] {
            assert!(arrays(other.as_bytes()).is_empty(), "{other}");
        }
        let deep = format!("{}{}", "[".repeat(100_000), "{\"a\":".repeat(100_000));
        assert!(arrays(deep.as_bytes()).is_empty());
    }
}
