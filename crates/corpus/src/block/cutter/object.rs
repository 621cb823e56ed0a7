//! The ends of JSON objects, in an array or one after the other.

/// The scanner's position within one object.
#[derive(Default)]
pub(super) struct ObjectScan {
    /// Open braces.
    depth: u32,
    is_in_string: bool,
    is_escaped: bool,
}

impl ObjectScan {
    /// Returns the length of `bytes` through the brace that closes the object, if they contain it.
    pub(super) fn find_end(&mut self, bytes: &[u8]) -> Option<usize> {
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
                    return Some(at + 1);
                }
                b'}' => self.depth -= 1,
                _ => {}
            }
        }
        None
    }

    /// Returns whether a brace or quote is not closed so far.
    pub(super) fn is_open(&self) -> bool {
        self.depth > 0 || self.is_in_string
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
            b'{' | b'}' => ObjectScan::default().find_end(&rest[begin..]),
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
