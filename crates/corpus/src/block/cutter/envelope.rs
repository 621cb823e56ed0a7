//! The lines between the messages of an mbox file: `From user@example.org Mon Jan  3 10:00:00 2022`, after a blank
//! line.

use memchr::memchr_iter;

/// Bytes of a line that are examined.
const LINE_BYTES: usize = 256;

/// The scanner's position within one message.
pub(super) struct EnvelopeScan {
    /// The line so far.
    line: Vec<u8>,
    is_after_blank: bool,
}

impl Default for EnvelopeScan {
    fn default() -> Self {
        Self {
            line: Vec::new(),
            is_after_blank: true,
        }
    }
}

impl EnvelopeScan {
    /// Returns the length of `bytes` through the next envelope line, if they contain it.
    pub(super) fn find_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut begin = 0;
        for end in memchr_iter(b'\n', bytes) {
            self.hold(&bytes[begin..end]);
            begin = end + 1;
            let is_end = self.is_after_blank && is_envelope(&self.line);
            self.is_after_blank = is_end || self.line.trim_ascii().is_empty();
            self.line.clear();
            if is_end {
                return Some(begin);
            }
        }
        self.hold(&bytes[begin..]);
        None
    }

    fn hold(&mut self, part: &[u8]) {
        let room = LINE_BYTES - self.line.len();
        self.line.extend(&part[..part.len().min(room)]);
    }
}

/// Returns whether a line separates messages: it has a time and a year.
fn is_envelope(line: &[u8]) -> bool {
    let has_year = || {
        line.windows(4)
            .any(|four| four.iter().all(u8::is_ascii_digit))
    };
    line.starts_with(b"From ") && line.contains(&b':') && has_year()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_ends_with_the_next_envelope() {
        let mbox = b"From a@b Mon Jan  3 10:00:00 2022\nSubject: x\n\nFrom here on: nothing\n\nFrom c Mon Jan  3 10:00:01 2022\r\nz";
        let ends = [34, mbox.len() - 1];
        for piece in 1..mbox.len() {
            let (mut found, mut at) = (Vec::new(), 0);
            let mut scan = EnvelopeScan::default();
            for part in mbox.chunks(piece) {
                let mut rest = part;
                while let Some(length) = scan.find_end(rest) {
                    found.push(at + length);
                    (at, rest) = (at + length, &rest[length..]);
                    scan = EnvelopeScan::default();
                }
                at += rest.len();
            }
            assert_eq!(found, ends, "{piece}");
        }
    }
}
