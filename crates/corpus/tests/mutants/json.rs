//! JSON Lines and JSON: values that are lost, repeated, nested or replaced, and the marks between them.

use super::random::Random;
use std::ops::Range;

/// What takes the place of a value.
const VALUES: [&[u8]; 16] = [
    b"null",
    b"NaN",
    b"-Infinity",
    b"1e400",
    b"-0.0e-400",
    b"123456789012345678901234567890",
    b"\"\"",
    b"\"\\ud83d\"",
    b"\"\\ude00\\ud83d\"",
    b"\"\\u12\"",
    b"\"\xff\xc3\"",
    b"\"a\0b\"",
    b"{}",
    b"[[], {\"\": [null]}]",
    b"{\"id\": 1, \"id\": {\"id\": 2}}",
    b"\"\xef\xbb\xbf\\\\\\\"\"",
];

/// Separators and brackets, which come between values.
const MARKS: [&[u8]; 14] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"\\",
    b"\n",
    b"\r",
    b"\r\n\n",
    b"\xef\xbb\xbf",
    b"}{",
    b" ",
];

const RECORD: &str = r#"{"id": "a1", "text": "Call me \"Ishmael\" é \ud83d\ude00", "year": 1851, "x": {"y": [1, {"z": null}]}, "tags": ["a", "b"]}"#;

/// One object on each line.
pub fn lines() -> Vec<Vec<u8>> {
    let one = format!("{RECORD}\n");
    let other = "{\"text\":[\"one\",\"two\"],\"id\":7}\n\n{\"id\":-1.5e3,\"text\":true}\r\n";
    vec![format!("{one}{other}").into_bytes(), format!("\u{feff}{}", one.repeat(20)).into_bytes()]
}

/// Objects in an array, one after the other, and over several lines.
pub fn objects() -> Vec<Vec<u8>> {
    let spread = RECORD.replace(", ", ",\n  ").replacen('{', "{\n", 1);
    vec![
        format!("[{RECORD},\n{RECORD}]\n").into_bytes(),
        format!("{spread}\n{spread}").into_bytes(),
        format!("{{\n\"docs\": [{RECORD}, {RECORD}]}}").into_bytes(),
    ]
}

/// Changes values and marks.
pub fn mutate(random: &mut Random, seed: &[u8]) -> Vec<u8> {
    let mut json = seed.to_vec();
    for _ in 0..=random.below(3) {
        let values = values(&json);
        if values.is_empty() {
            return json;
        }
        let place = random.pick(&values).clone();
        let value = json[place.clone()].to_vec();
        let put: Vec<u8> = match random.below(9) {
            0 => Vec::new(),
            1 => random.pick(&VALUES).to_vec(),
            2 => json[random.pick(&values).clone()].to_vec(),
            3 => [&value, *random.pick(&MARKS), &value].concat(),
            4 => nested(b"[", &value, b"]", random),
            5 => nested(b"{\"text\":", &value, b"}", random),
            6 => random.pick(&MARKS).repeat(1 + random.below(200)),
            7 => [b"\"", &b"word \\n "[..random.below(8)].repeat(random.below(5000))[..], b"\""]
                .concat(),
            _ => [*random.pick(&MARKS), &value].concat(),
        };
        json.splice(place, put);
    }
    json
}

/// Returns a value within many others, which may not all be closed.
fn nested(open: &[u8], value: &[u8], close: &[u8], random: &mut Random) -> Vec<u8> {
    let depth = *random.pick(&[1, 2, 127, 128, 129, 3000]);
    let closed = if random.below(4) == 0 { random.below(depth + 1) } else { depth };
    [&open.repeat(depth), value, &close.repeat(closed)].concat()
}

/// Finds the values and keys of a text that is JSON, more or less.
fn values(json: &[u8]) -> Vec<Range<usize>> {
    let (mut found, mut open) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(&byte) = json.get(at) {
        let begin = at;
        at += 1;
        match byte {
            b'{' | b'[' => open.push(begin),
            b'}' | b']' => found.extend(open.pop().map(|begin| begin..at)),
            b'"' => {
                while let Some(&byte) = json.get(at) {
                    at += 1 + usize::from(byte == b'\\');
                    if byte == b'"' {
                        break;
                    }
                }
                at = at.min(json.len());
                found.push(begin..at);
            }
            byte if byte.is_ascii_alphanumeric() || byte == b'-' => {
                let rest = json[at..].iter();
                at += rest
                    .take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
                    .count();
                found.push(begin..at);
            }
            _ => {}
        }
    }
    found
}
