//! The lines between the messages of an mbox file, by which it is recognised and cut (`block::cutter`).

use memchr::memchr;

/// The longest line that is examined.
pub(crate) const LINE_BYTES: usize = 256;

const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Returns whether a file that starts like this is an mbox: an envelope line, and a header.
pub(crate) fn is_mbox(start: &[u8]) -> bool {
    memchr(b'\n', start).is_some_and(|end| {
        let (line, next) = start.split_at(end + 1);
        Date::of(line).is_some() && begins_header(next, false) == Some(true)
    })
}

/// The date in an envelope line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Date {
    /// With weekday and month, as C writes it.
    Whole,
    /// A time and a year.
    Short,
}

impl Date {
    /// Returns the date; `None` if the line is no envelope.
    pub(crate) fn of(line: &[u8]) -> Option<Self> {
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
pub(crate) fn begins_header(bytes: &[u8], is_all: bool) -> Option<bool> {
    let is_name = |byte: &u8| byte.is_ascii_graphic() && *byte != b':';
    match bytes.iter().position(|byte| !is_name(byte)) {
        Some(end) => Some(end > 0 && bytes[end] == b':'),
        None if is_all => Some(bytes.is_empty()),
        None => (bytes.len() > LINE_BYTES).then_some(false),
    }
}
