//! Cuts a stream into runs of complete records, holding no more than the requested size and one
//! record.
//!
//! A format's [`Scan`] finds where a record ends: at a line break, unless it says otherwise. A record above
//! `max_record_bytes` is never held: its bytes are skipped, and its position and length are reported. When the stream fails, or ends within quotes or an object, the complete records are kept and the rest
//! becomes one [`Piece::Truncated`].

use super::BYTE_ORDER_MARK;
use std::io::{BufRead, BufReader, ErrorKind, Read};

/// Bytes requested from the stream at a time, and of its start by which a format is told.
const FILL_BYTES: usize = 256 * 1024;

/// A scan for the ends of records, one after the other, over as many buffers as it takes.
pub trait Scan: Send {
    /// Returns the length of `bytes` through the record's end, if they contain it; the same scan then looks for the end
    /// of the next record. An end before bytes that an earlier call examined is impossible. An error is the length
    /// that needs no second look once more bytes follow. `is_all` says that none will; without it some may.
    fn find_end(&mut self, bytes: &[u8], is_all: bool) -> Result<usize, usize>;

    /// Describes what the record has opened and not closed, if the stream ends within it; `None` makes what is left the
    /// last record.
    fn unclosed(&self) -> Option<&'static str> {
        None
    }
}

/// A record is a line.
pub struct LineScan;

impl Scan for LineScan {
    fn find_end(&mut self, bytes: &[u8], _: bool) -> Result<usize, usize> {
        find_line_end(bytes).ok_or(bytes.len())
    }
}

/// Returns a scan that has seen nothing.
pub type NewScan = Box<dyn Fn() -> Box<dyn Scan> + Send>;

/// Returns scans for lines.
pub fn line_scans() -> NewScan {
    Box::new(|| Box::new(LineScan))
}

/// Returns the length of the first line with its line break; `None` without a line break.
pub fn find_line_end(bytes: &[u8]) -> Option<usize> {
    memchr::memchr(b'\n', bytes).map(|at| at + 1)
}

/// Returns where each complete record in `bytes` ends.
pub fn record_ends(bytes: &[u8], mut scan: Box<dyn Scan>) -> impl Iterator<Item = usize> {
    let mut end = 0;
    std::iter::from_fn(move || {
        end += scan.find_end(&bytes[end..], true).ok()?;
        Some(end)
    })
}

/// Returns the lines in `bytes` that are not empty, without their line breaks, each with its offset.
pub(crate) fn lines(offset: u64, bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let mut begin = 0;
    let ends = memchr::memchr_iter(b'\n', bytes).chain([bytes.len()]);
    ends.map(move |end| {
        let begins = std::mem::replace(&mut begin, end + 1);
        let line = &bytes[begins..end];
        (offset + begins as u64, line.strip_suffix(b"\r").unwrap_or(line))
    })
    .filter(|(_, line)| !line.is_empty())
}

/// A stretch of the stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    /// Complete records, one after the other.
    Records {
        /// Where the first begins, in bytes of the decompressed stream.
        offset: u64,
        /// Their bytes, line breaks included.
        bytes: Vec<u8>,
    },
    /// A record that is longer than the limit.
    TooLarge {
        /// Where it begins.
        offset: u64,
        /// Its length.
        bytes: u64,
    },
    /// The stream broke, or the record at `offset` does not end: nothing after it could be read as a complete record.
    Truncated {
        /// Where the first lost record begins.
        offset: u64,
        /// The decoder's error, or what is not closed.
        reason: String,
    },
}

impl Piece {
    /// Returns where it begins.
    pub(crate) fn offset(&self) -> u64 {
        let (Self::Records { offset, .. }
        | Self::TooLarge { offset, .. }
        | Self::Truncated { offset, .. }) = self;
        *offset
    }

    /// Returns the number of bytes of its records.
    pub fn content_bytes(&self) -> u64 {
        match self {
            Self::Records { bytes, .. } => bytes.len() as u64,
            Self::TooLarge { bytes, .. } => *bytes,
            Self::Truncated { .. } => 0,
        }
    }
}

/// A stream from which runs of records are taken one after the other.
pub struct RecordCutter<R> {
    stream: BufReader<R>,
    new_scan: NewScan,
    max_record_bytes: u64,
    /// Read but not handed out; begins with a record.
    held: Vec<u8>,
    /// Where `held` begins in the stream.
    offset: u64,
    ended: bool,
    /// Why the stream broke, or cannot be read to its end.
    damage: Option<String>,
}

impl<R: Read> RecordCutter<R> {
    /// Cuts a stream in which a record begins at `offset`, its current position.
    pub fn new(stream: R, offset: u64, new_scan: NewScan, max_record_bytes: u64) -> Self {
        Self {
            stream: BufReader::with_capacity(FILL_BYTES, stream),
            new_scan,
            max_record_bytes,
            held: Vec::new(),
            offset,
            ended: false,
            damage: None,
        }
    }

    /// Returns where the next record begins.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Skips a byte order mark, at the start of a file.
    pub fn skip_byte_order_mark(&mut self) {
        let may_be =
            |held: &[u8]| held.len() < BYTE_ORDER_MARK.len() && BYTE_ORDER_MARK.starts_with(held);
        while may_be(&self.held) && self.fill() {}
        if self.held.starts_with(BYTE_ORDER_MARK) {
            drop(self.take(BYTE_ORDER_MARK.len()));
        }
    }

    /// Skips blank lines, up to the limit of a record: many of them above a header would take long as records.
    pub(crate) fn skip_blank_lines(&mut self) {
        let is_break = |byte: &u8| matches!(byte, b'\r' | b'\n');
        loop {
            let filled = self.held.iter().position(|byte| !byte.is_ascii_whitespace());
            let blank = &self.held[..filled.unwrap_or(self.held.len())];
            let end = blank.iter().rposition(is_break).map_or(0, |at| at + 1);
            drop(self.take(end));
            if filled.is_some() || self.exceeds(self.held.len()) || !self.fill() {
                return;
            }
        }
    }

    /// Returns the start of what is not taken, as far as a format may depend on it.
    pub(crate) fn start(&mut self) -> &[u8] {
        while self.held.len() < FILL_BYTES && self.fill() {}
        &self.held
    }

    /// Returns whether a complete record has arrived: the next one can be taken without waiting.
    pub fn is_at_hand(&self) -> bool {
        (self.new_scan)().find_end(&self.held, false).is_ok()
    }

    /// Returns the next record, as soon as it has arrived; `None` at the end.
    pub fn next_record(&mut self) -> Option<Piece> {
        self.next_pieces(self.offset + 1).pop()
    }

    /// Ends records by these scans from here on.
    pub(crate) fn end_records_by(&mut self, new_scan: NewScan) {
        self.new_scan = new_scan;
    }

    /// Skips the rest of a line that began before; stops at `end` even within the line.
    pub(crate) fn skip_line(&mut self, end: u64) {
        while self.offset < end && (!self.held.is_empty() || self.fill()) {
            let line_end = find_line_end(&self.held);
            drop(self.take(line_end.unwrap_or(self.held.len())));
            if line_end.is_some() {
                return;
            }
        }
    }

    /// Returns the records that begin before `end`; nothing once the stream has ended.
    ///
    /// A failure of the stream before `end` is reported once, as the last piece.
    pub fn next_pieces(&mut self, end: u64) -> Vec<Piece> {
        let mut pieces = Vec::new();
        while self.offset < end && !(self.ended && self.held.is_empty()) {
            let wanted = usize::try_from(end - self.offset).unwrap_or(usize::MAX);
            let (length, is_too_large) = self.find_cut(wanted);
            if length > 0 {
                let offset = self.offset;
                let bytes = self.take(length);
                pieces.push(Piece::Records { offset, bytes });
            }
            if is_too_large {
                pieces.extend(self.skip_record());
            }
        }
        if self.offset < end
            && self.held.is_empty()
            && let Some(reason) = self.damage.take()
        {
            let offset = self.offset;
            pieces.push(Piece::Truncated { offset, reason });
        }
        pieces
    }

    /// Reads on until complete records of `wanted` bytes are held, or the stream ends. Returns their length, and
    /// whether the record after them is too large.
    fn find_cut(&mut self, wanted: usize) -> (usize, bool) {
        let mut scan = (self.new_scan)();
        let (mut complete, mut scanned) = (0, 0);
        loop {
            let examined = loop {
                match scan.find_end(&self.held[scanned..], false) {
                    Ok(length) => scanned += length,
                    Err(length) => break scanned + length,
                }
                if self.exceeds(scanned - complete) {
                    return (complete, true);
                }
                complete = scanned;
                if complete >= wanted {
                    return (complete, false);
                }
            };
            scanned = examined;
            if self.exceeds(self.held.len() - complete) {
                return (complete, true);
            }
            if self.fill() {
                continue;
            }
            // A last record needs no line break, but must be whole.
            if self.is_broken(&*scan) {
                self.held.truncate(complete);
            }
            return (self.held.len(), false);
        }
    }

    /// Returns whether the stream, which has ended, broke or left the scanned record open.
    fn is_broken(&mut self, scan: &dyn Scan) -> bool {
        let unclosed = || scan.unclosed().map(str::to_owned);
        self.damage = self.damage.take().or_else(unclosed);
        self.damage.is_some()
    }

    fn exceeds(&self, length: usize) -> bool {
        length as u64 > self.max_record_bytes
    }

    /// Skips a record of any length; returns `None` if the stream breaks within it.
    fn skip_record(&mut self) -> Option<Piece> {
        let offset = self.offset;
        let mut scan = (self.new_scan)();
        loop {
            let end = scan.find_end(&self.held, false);
            drop(self.take(end.unwrap_or_else(|examined| examined)));
            if end.is_ok() {
                break;
            }
            if self.fill() {
                continue;
            }
            drop(self.take(self.held.len()));
            if self.is_broken(&*scan) {
                self.offset = offset;
                return None;
            }
            break;
        }
        let bytes = self.offset - offset;
        Some(Piece::TooLarge { offset, bytes })
    }

    /// Takes the first `length` bytes of `held`.
    fn take(&mut self, length: usize) -> Vec<u8> {
        self.offset += length as u64;
        let rest = self.held.split_off(length);
        std::mem::replace(&mut self.held, rest)
    }

    /// Reads what has arrived, waiting for some; returns false if no more bytes came, because the stream ended or broke.
    fn fill(&mut self) -> bool {
        if self.ended {
            return false;
        }
        match self.stream.fill_buf() {
            Ok([]) => self.ended = true,
            Ok(bytes) => {
                let read = bytes.len();
                self.held.extend_from_slice(bytes);
                self.stream.consume(read);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => return self.fill(),
            Err(error) => {
                self.ended = true;
                self.damage = Some(error.to_string());
            }
        }
        !self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::csv::{Dialect, RowScan};
    use crate::formats::json::{ObjectScan, objects};
    use proptest::prelude::*;
    use std::io;

    /// A reader that yields its bytes a few at a time, then fails or ends.
    struct Trickle<'a> {
        bytes: &'a [u8],
        breaks: bool,
    }

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.bytes.is_empty() && self.breaks {
                return Err(io::Error::other("torn"));
            }
            let length = self.bytes.len().min(3).min(buffer.len());
            buffer[..length].copy_from_slice(&self.bytes[..length]);
            self.bytes = &self.bytes[length..];
            Ok(length)
        }
    }

    fn cutter(bytes: &[u8], breaks: bool, new_scan: NewScan) -> RecordCutter<Trickle<'_>> {
        RecordCutter::new(Trickle { bytes, breaks }, 0, new_scan, 10)
    }

    fn row_scans(dialect: Dialect) -> NewScan {
        Box::new(move || Box::new(RowScan::new(dialect)))
    }

    fn records(offset: u64, bytes: &str) -> Piece {
        let bytes = bytes.as_bytes().to_vec();
        Piece::Records { offset, bytes }
    }

    #[test]
    fn a_run_owns_the_records_that_begin_before_its_end() {
        let mut cutter = cutter(b"ab\ncd\n\nefg", false, line_scans());
        assert_eq!(cutter.next_pieces(3), [records(0, "ab\n")]);
        assert_eq!(cutter.next_pieces(4), [records(3, "cd\n")]);
        assert_eq!(cutter.next_pieces(5), []);
        assert_eq!(cutter.next_pieces(99), [records(6, "\nefg")]);
        assert_eq!(cutter.next_pieces(99), []);
    }

    #[test]
    fn a_long_record_is_skipped_and_reported() {
        let text = b"ab\n0123456789\ncd\n012345678901234567890";
        let mut cutter = cutter(text, false, line_scans());
        let too_large = |offset, bytes| Piece::TooLarge { offset, bytes };
        assert_eq!(cutter.next_pieces(4), [records(0, "ab\n"), too_large(3, 11)]);
        assert_eq!(cutter.next_pieces(99), [records(14, "cd\n"), too_large(17, 21)]);
    }

    #[test]
    fn a_broken_stream_keeps_what_is_complete() {
        let truncated = |offset| Piece::Truncated { offset, reason: "torn".into() };
        let mut short = cutter(b"ab\ncd\nef", true, line_scans());
        assert_eq!(short.next_pieces(1), [records(0, "ab\n")]);
        assert_eq!(short.next_pieces(4), [records(3, "cd\n")]);
        assert_eq!(short.next_pieces(99), [truncated(6)]);
        let mut whole = cutter(b"ab\ncd\nef", true, line_scans());
        assert_eq!(whole.next_pieces(99), [records(0, "ab\ncd\n"), truncated(6)]);
        assert_eq!(whole.next_pieces(99), []);
        let mut long = cutter(b"ab\n0123456789012345", true, line_scans());
        assert_eq!(long.next_pieces(99), [records(0, "ab\n"), truncated(3)]);
    }

    #[test]
    fn line_breaks_within_quotes_end_no_record() {
        let text = b"a,\"b\n\"\n5\" x\n\"\"\"\n\"\nz";
        let mut quoted = cutter(text, false, row_scans(Dialect::of(b"")));
        assert_eq!(quoted.next_pieces(1), [records(0, "a,\"b\n\"\n")]);
        assert_eq!(quoted.next_pieces(8), [records(7, "5\" x\n")]);
        let text = b"\"b\\\"\nc\"\n\"\\\\\"\nd";
        let escapes = Dialect { delimiter: b',', has_escapes: true };
        let mut escaped = cutter(text, false, row_scans(escapes));
        assert_eq!(escaped.next_pieces(1), [records(0, "\"b\\\"\nc\"\n")]);
        assert_eq!(escaped.next_pieces(9), [records(8, "\"\\\\\"\n")]);
    }

    #[test]
    fn objects_end_with_the_brace_that_closes_them() {
        let text = b"[{},\n{\"}\":{}}]\n";
        let mut cutter = cutter(text, false, Box::new(|| Box::<ObjectScan>::default()));
        assert_eq!(cutter.next_pieces(1), [records(0, "[{}")]);
        assert_eq!(cutter.next_pieces(4), [records(3, ",\n{\"}\":{}}")]);
        assert_eq!(cutter.next_pieces(99), [records(13, "]\n")]);
        let seen: Vec<_> = objects(5, text).collect();
        assert_eq!(seen, [(6, &b"{}"[..]), (10, b"{\"}\":{}}")]);
        assert_eq!(objects(0, b" ] ,\n").count(), 0);
    }

    #[test]
    fn a_byte_order_mark_and_a_begun_line_are_skipped() {
        let mut marked = cutter(b"\xef\xbb\xbfab\n", false, line_scans());
        marked.skip_byte_order_mark();
        assert_eq!(marked.next_pieces(99), [records(3, "ab\n")]);
        let mut begun = cutter(b"ab\ncd", false, line_scans());
        begun.skip_line(2);
        assert_eq!(begun.offset(), 3);
    }

    /// Yields its chunks one per call, then ends.
    struct Chunks(Vec<io::Result<&'static [u8]>>);

    impl Read for Chunks {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                return Ok(0);
            }
            let chunk = self.0.remove(0)?;
            buffer[..chunk.len()].copy_from_slice(chunk);
            Ok(chunk.len())
        }
    }

    fn lines_of(stream: impl Read, limit: u64) -> (RecordCutter<impl Read>, Vec<Piece>) {
        let mut cutter = RecordCutter::new(stream, 0, line_scans(), limit);
        cutter.skip_byte_order_mark();
        let lines = std::iter::from_fn(|| cutter.next_record()).collect();
        (cutter, lines)
    }

    #[test]
    fn a_record_is_taken_when_it_has_arrived() {
        let chunks = Chunks(vec![Ok(b"a\nb\nc"), Ok(b"\n")]);
        let mut cutter = RecordCutter::new(chunks, 0, line_scans(), 9);
        let mut at_hand = vec![cutter.is_at_hand()];
        while cutter.next_record().is_some() {
            at_hand.push(cutter.is_at_hand());
        }
        assert_eq!(at_hand, [false, true, false, false]);
    }

    #[test]
    fn a_stream_is_cut_into_lines_wherever_its_chunks_end() {
        let text = "\u{feff}one\n\r\ntwo\r\nx".as_bytes();
        let whole =
            [records(3, "one\n"), records(7, "\r\n"), records(9, "two\r\n"), records(14, "x")];
        for at in 0..text.len() {
            let (a, b) = text.split_at(at);
            let chunks = if at == 0 { vec![Ok(b)] } else { vec![Ok(a), Ok(b)] };
            assert_eq!(lines_of(Chunks(chunks), 100).1, whole, "{at}");
        }
        assert_eq!(lines_of(Chunks(vec![]), 100).1, []);
        let mark = "\u{feff}".as_bytes();
        assert_eq!(lines_of(Chunks(vec![Ok(mark)]), 9).1, []);
        let begun = lines_of(Chunks(vec![Ok(&mark[..1]), Ok(&mark[1..2]), Ok(b"x")]), 9).1;
        assert_eq!(begun, [Piece::Records { offset: 0, bytes: b"\xef\xbbx".to_vec() }]);
    }

    #[test]
    fn a_break_is_reported_once_and_where() {
        let interrupted = Err(ErrorKind::Interrupted.into());
        let chunks = vec![Ok(&b"a\nb"[..]), interrupted, Err(io::Error::other("torn"))];
        let (mut cutter, lines) = lines_of(Chunks(chunks), 5);
        let torn = Piece::Truncated { offset: 2, reason: "torn".into() };
        assert_eq!(lines, [records(0, "a\n"), torn]);
        assert_eq!(cutter.next_record(), None);
    }

    /// Yields its bytes in parts of these lengths, sometimes interrupted, then fails or ends.
    struct Parts<'a> {
        bytes: &'a [u8],
        lengths: std::iter::Cycle<std::slice::Iter<'a, usize>>,
        breaks: bool,
    }

    impl Read for Parts<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = *self.lengths.next().unwrap();
            if length == 0 {
                return Err(ErrorKind::Interrupted.into());
            }
            if self.bytes.is_empty() && self.breaks {
                return Err(io::Error::other("torn"));
            }
            let length = length.min(self.bytes.len()).min(buffer.len());
            let (part, rest) = self.bytes.split_at(length);
            buffer[..part.len()].copy_from_slice(part);
            self.bytes = rest;
            Ok(part.len())
        }
    }

    /// Returns the lines of a file of these bytes, as ingest cuts it.
    fn lines_of_a_file(stream: Parts<'_>, limit: u64) -> Vec<Piece> {
        let mut cutter = RecordCutter::new(stream, 0, line_scans(), limit);
        cutter.skip_byte_order_mark();
        let mut lines = Vec::new();
        for piece in cutter.next_pieces(u64::MAX) {
            let Piece::Records { mut offset, bytes } = piece else {
                lines.push(piece);
                continue;
            };
            for line in bytes.split_inclusive(|&byte| byte == b'\n') {
                lines.push(Piece::Records { offset, bytes: line.to_vec() });
                offset += line.len() as u64;
            }
        }
        lines
    }

    /// Bytes that mean something to a cutter, and others.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![
            4 => Just(b'\n'), 1 => Just(b'\r'), 1 => Just(0), 4 => Just(b'x'), 2 => any::<u8>(),
        ];
        let mark = prop_oneof![Just(&b""[..]), (0..=3_usize).prop_map(|n| &BYTE_ORDER_MARK[..n])];
        (mark, prop::collection::vec(byte, 0..60)).prop_map(|(mark, bytes)| [mark, &bytes].concat())
    }

    proptest! {
        /// However the bytes arrive, the lines are those of a file that contains them.
        #[test]
        fn lines_of_a_stream_are_those_of_a_file(
            bytes in bytes(),
            lengths in prop::collection::vec(0..12_usize, 1..8),
            limit in 1..12_u64,
            breaks: bool,
        ) {
            prop_assume!(lengths.iter().any(|&length| length > 0));
            let whole = Parts { bytes: &bytes, lengths: [usize::MAX].iter().cycle(), breaks };
            let cut = Parts { bytes: &bytes, lengths: lengths.iter().cycle(), breaks };
            prop_assert_eq!(lines_of(cut, limit).1, lines_of_a_file(whole, limit));
        }
    }
}
