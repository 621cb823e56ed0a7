//! The lines between the messages of an mbox file: `From user@example.org Mon Jan  3 10:00:00 2022`.
//!
//! After a blank line, such a line begins a message. Without one it does if a header follows, and so does, after a
//! blank line, a line that has no more than a time and a year: `From 10:00 on, in 2022` is text.

use crate::formats::cutter::{Scan, find_line_end};
use memchr::memchr;

/// The longest line that is examined.
const LINE_BYTES: usize = 256;

const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Returns whether a file that starts like this is an mbox: an envelope line, and a header.
pub(in crate::formats) fn is_mbox(start: &[u8]) -> bool {
    memchr(b'\n', start).is_some_and(|end| {
        let (line, next) = start.split_at(end + 1);
        EnvelopeDate::of(line).is_some() && begins_header(next, false) == Some(true)
    })
}

/// The date in an envelope line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EnvelopeDate {
    /// With weekday and month, as C writes it.
    Whole,
    /// A time and a year.
    Short,
}

impl EnvelopeDate {
    /// Returns the date; `None` if the line is no envelope.
    fn of(line: &[u8]) -> Option<Self> {
        let has_year = || line.windows(4).any(|four| four.iter().all(u8::is_ascii_digit));
        let is_dated = line.starts_with(b"From ")
            && line.len() <= LINE_BYTES
            && line.contains(&b':')
            && has_year();
        if !is_dated {
            return None;
        }
        let is_space = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',';
        let mut words = line.split(is_space);
        let has = |names: &[&str]| {
            let mut words = line.split(is_space);
            words.any(|word| names.iter().any(|name| name.as_bytes() == word))
        };
        let is_time = |word: &[u8]| {
            let mut parts = word.split(|&byte| byte == b':');
            let mut is_number = || {
                let part = parts.next().unwrap_or_default();
                (1..=2).contains(&part.len()) && part.iter().all(u8::is_ascii_digit)
            };
            is_number() && is_number()
        };
        let is_whole = has(&WEEKDAYS) && has(&MONTHS) && words.any(is_time);
        Some(if is_whole { Self::Whole } else { Self::Short })
    }
}

/// Returns whether `bytes` begin with a header's name and its colon; `None` if more of them are needed. The end of
/// all bytes counts as one: the message that the line begins comes later.
fn begins_header(bytes: &[u8], is_all: bool) -> Option<bool> {
    let is_name = |byte: &u8| byte.is_ascii_graphic() && *byte != b':';
    match bytes.iter().position(|byte| !is_name(byte)) {
        Some(end) => Some(end > 0 && bytes[end] == b':'),
        None if is_all => Some(bytes.is_empty()),
        None => (bytes.len() > LINE_BYTES).then_some(false),
    }
}

/// The scanner's position within one message.
pub struct EnvelopeScan {
    is_after_blank: bool,
    /// Whether the bytes before were the start of a long line.
    is_within_line: bool,
}

impl Default for EnvelopeScan {
    fn default() -> Self {
        Self { is_after_blank: true, is_within_line: false }
    }
}

impl Scan for EnvelopeScan {
    /// Returns the length of `bytes` through the next envelope line.
    fn find_end(&mut self, bytes: &[u8], is_all: bool) -> Result<usize, usize> {
        let mut begin = 0;
        loop {
            let rest = &bytes[begin..];
            let Some(length) = find_line_end(rest) else {
                self.is_within_line |= rest.len() > LINE_BYTES;
                return Err(if self.is_within_line { bytes.len() } else { begin });
            };
            let (line, next) = rest.split_at(length);
            let is_part = std::mem::take(&mut self.is_within_line);
            match self.separates(line, next, is_all) {
                _ if is_part => {}
                None => return Err(begin),
                Some(true) => {
                    self.is_after_blank = true;
                    return Ok(begin + length);
                }
                Some(false) => {}
            }
            self.is_after_blank = !is_part && line.trim_ascii().is_empty();
            begin += length;
        }
    }
}

impl EnvelopeScan {
    /// Returns whether a line is an envelope; `None` if that depends on what follows `next`.
    fn separates(&self, line: &[u8], next: &[u8], is_all: bool) -> Option<bool> {
        match EnvelopeDate::of(line) {
            Some(EnvelopeDate::Whole) if self.is_after_blank => Some(true),
            Some(date) if date == EnvelopeDate::Whole || self.is_after_blank => {
                begins_header(next, is_all)
            }
            _ => Some(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns where the envelopes of an mbox end, if it arrives in pieces of this size.
    fn ends(mbox: &[u8], piece: usize) -> Vec<usize> {
        let (mut found, mut begin, mut read) = (Vec::new(), 0, 0);
        let mut scan = EnvelopeScan::default();
        while read < mbox.len() {
            read = (read + piece).min(mbox.len());
            loop {
                match scan.find_end(&mbox[begin..read], false) {
                    Ok(length) => {
                        begin += length;
                        found.push(begin);
                    }
                    Err(length) => {
                        begin += length;
                        break;
                    }
                }
            }
        }
        found
    }

    #[test]
    fn a_message_ends_with_the_next_envelope() {
        let mbox = b"From a@b Mon Jan  3 10:00:00 2022\nSubject: x\n\nFrom here on: nothing\n\nFrom c Mon Jan  3 10:00:01 2022\r\nz";
        for piece in 1..mbox.len() {
            assert_eq!(ends(mbox, piece), [34, mbox.len() - 1], "{piece}");
        }
    }

    #[test]
    fn without_a_blank_line_a_header_must_follow() {
        const ENVELOPE: &str = "From a@b Mon Jan  3 10:00:00 2022\n";
        let long = "x".repeat(2 * LINE_BYTES) + "\n";
        for (before, line, after, is_end) in [
            ("text\n", ENVELOPE, "Subject: x\n", true),
            (&long[..], ENVELOPE, "Subject: x\n", true),
            ("text\r\n", "From a at b  Mon, 3 Jan 2022 10:00 +0100\r\n", "X-a:\r\n", true),
            ("text\n", ENVELOPE, "more text: no\n", false),
            ("text\n", ENVELOPE, ": no\n", false),
            ("text\n", "From a 2022-01-03 10:00:00\n", "To: x\n", false),
            ("text\n\n", "From a 2022-01-03 10:00:00\n", "To: x\n", true),
            ("\n", "From 10:00 on, in 2022\n", "we are open\n", false),
            ("\n", ENVELOPE, "no header\n", true),
            ("\n", "From a Mon Jan  3 10:00:00 22\n", "To: x\n", false),
        ] {
            let mbox = [before, line, after].concat();
            let end = before.len() + line.len();
            let expected = if is_end { vec![end] } else { Vec::new() };
            for piece in [1, 2, 7, mbox.len()] {
                assert_eq!(ends(mbox.as_bytes(), piece), expected, "{mbox}");
            }
        }
        assert!(is_mbox(b"From - Mon Jan 03 10:00:00 2022\r\nX-Mozilla-Status: 0001\r\n"));
        assert!(!is_mbox(b"From 10:00 on, in 2022\nwe are open\n"));
    }
}
