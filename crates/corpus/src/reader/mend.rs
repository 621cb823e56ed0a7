//! JSON as Python and others write it, made valid: `NaN` and the infinities, and halves of surrogate pairs.

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

#[cfg(test)]
mod tests {
    use super::*;

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
