//! Cuts a stream into lines as they arrive, holding at most one of them.
//!
//! The rules are those for a file (`corpus::formats::cutter`): a byte order mark at the start is skipped, the
//! last line needs no line break, and a line above the limit is skipped without being held.

use std::io::{self, BufRead, BufReader, Read};

use corpus::formats::BYTE_ORDER_MARK;
use corpus::formats::cutter::find_line_end;

/// Bytes requested from the stream at a time.
const BUFFER_BYTES: usize = 256 * 1024;

/// A line of the stream.
#[derive(Debug)]
pub(crate) struct Line {
    /// Its number, from 1; blank ones count.
    pub(crate) number: u64,
    /// Where it begins, in bytes of the stream.
    pub(crate) offset: u64,
    /// Its content.
    pub(crate) content: Content,
}

/// The content of a line.
#[derive(Debug)]
pub(crate) enum Content {
    /// Its bytes, the line break included.
    Bytes(Vec<u8>),
    /// The number of bytes, more than the limit; none are held.
    TooLarge(u64),
    /// None: the stream broke here, and ends.
    Broken(io::Error),
}

impl Line {
    /// Returns about how many bytes of memory it takes.
    pub(crate) fn bytes(&self) -> u64 {
        match &self.content {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::TooLarge(_) | Content::Broken(_) => 0,
        }
    }
}

/// Cuts a stream into lines.
#[derive(Debug)]
pub(crate) struct LineCutter<R> {
    stream: BufReader<R>,
    max_bytes: u64,
    /// Lines so far.
    lines: u64,
    /// Bytes so far.
    offset: u64,
    ended: bool,
}

impl<R: Read> LineCutter<R> {
    /// Creates one at the start of a stream; lines of more than `max_bytes`, with their line breaks,
    /// are skipped.
    pub(crate) fn new(stream: R, max_bytes: u64) -> Self {
        Self {
            stream: BufReader::with_capacity(BUFFER_BYTES, stream),
            max_bytes,
            lines: 0,
            offset: 0,
            ended: false,
        }
    }

    /// Whether a whole line has already arrived: [`next_line`](Self::next_line) will not wait.
    pub(crate) fn is_at_hand(&self) -> bool {
        !self.ended && find_line_end(self.stream.buffer()).is_some()
    }

    /// Returns the next line, waiting for it; `None` at the end.
    pub(crate) fn next_line(&mut self) -> Option<Line> {
        if self.ended {
            return None;
        }
        // The bytes before an error are not a whole line.
        self.read_line().unwrap_or_else(|error| {
            self.ended = true;
            Some(Line {
                number: self.lines + 1,
                offset: self.offset,
                content: Content::Broken(error),
            })
        })
    }

    fn read_line(&mut self) -> io::Result<Option<Line>> {
        let start = match self.lines {
            0 => self.pass_mark()?,
            _ => &[],
        };
        let (mut held, mut length) = (start.to_vec(), start.len() as u64);
        loop {
            let bytes = fill(&mut self.stream)?;
            let line_end = find_line_end(bytes);
            let taken = line_end.unwrap_or(bytes.len());
            self.ended = bytes.is_empty();
            length += taken as u64;
            if length <= self.max_bytes {
                held.extend_from_slice(&bytes[..taken]);
            } else {
                held = Vec::new();
            }
            self.stream.consume(taken);
            if line_end.is_some() || self.ended {
                return Ok((length > 0).then(|| self.line(held, length)));
            }
        }
    }

    /// Skips a byte order mark; returns the bytes that began like one but belong to the line.
    fn pass_mark(&mut self) -> io::Result<&'static [u8]> {
        for (matched, byte) in BYTE_ORDER_MARK.iter().enumerate() {
            if fill(&mut self.stream)?.first() != Some(byte) {
                return Ok(&BYTE_ORDER_MARK[..matched]);
            }
            self.stream.consume(1);
        }
        self.offset = BYTE_ORDER_MARK.len() as u64;
        Ok(&[])
    }

    /// Returns the line of `length` bytes that ends here: `held`, unless it is too long.
    fn line(&mut self, held: Vec<u8>, length: u64) -> Line {
        let offset = self.offset;
        self.offset += length;
        self.lines += 1;
        let content =
            if length > self.max_bytes { Content::TooLarge(length) } else { Content::Bytes(held) };
        let number = self.lines;
        Line { number, offset, content }
    }
}

/// Returns the available bytes of a stream, waiting for some; empty at the end.
fn fill(stream: &mut BufReader<impl Read>) -> io::Result<&[u8]> {
    while let Err(error) = stream.fill_buf() {
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(stream.buffer())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use corpus::formats::cutter::{LineScan, Piece, RecordCutter};

    /// Yields its chunks one per call, then fails or ends.
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

    /// Number, offset and text or length of each line.
    fn cut(chunks: Vec<io::Result<&'static [u8]>>, limit: u64) -> Vec<(u64, u64, String)> {
        let mut cutter = LineCutter::new(Chunks(chunks), limit);
        let mut lines = Vec::new();
        while let Some(line) = cutter.next_line() {
            let text = match line.content {
                Content::Bytes(bytes) => String::from_utf8(bytes).unwrap(),
                Content::TooLarge(bytes) => format!("{bytes} bytes"),
                Content::Broken(error) => format!("broken: {error}"),
            };
            lines.push((line.number, line.offset, text));
        }
        assert!(cutter.next_line().is_none());
        lines
    }

    fn expect(lines: &[(u64, u64, &str)]) -> Vec<(u64, u64, String)> {
        let owned = |&(number, offset, text): &(u64, u64, &str)| (number, offset, text.to_owned());
        lines.iter().map(owned).collect()
    }

    #[test]
    fn lines_are_cut_wherever_the_chunks_end() {
        let whole = [(1, 3, "one\n"), (2, 7, "\r\n"), (3, 9, "two\r\n"), (4, 14, "x")];
        let text = "\u{feff}one\n\r\ntwo\r\nx".as_bytes();
        assert_eq!(cut(vec![Ok(text)], 100), expect(&whole));
        for at in 1..text.len() {
            let (a, b) = text.split_at(at);
            assert_eq!(cut(vec![Ok(a), Ok(b)], 100), expect(&whole), "{at}");
        }
        assert_eq!(cut(vec![], 100), []);
        assert_eq!(cut(vec![Ok("\u{feff}".as_bytes())], 9), []);
        let mark = "\u{feff}".as_bytes();
        let begun = [Ok(&mark[..1]), Ok(&mark[1..2]), Ok(b"x")];
        let line = LineCutter::new(Chunks(begun.into()), 9).next_line();
        let line = line.unwrap();
        assert_eq!(line.offset, 0);
        assert!(matches!(line.content, Content::Bytes(bytes) if bytes == b"\xef\xbbx"));
    }

    #[test]
    fn lines_over_the_limit_are_told_by_their_length() {
        let long = [(1, 0, "6 bytes"), (2, 6, "1234\n"), (3, 11, "7 bytes")];
        let chunks = || vec![Ok(&b"12345\n1234"[..]), Ok(b"\n12"), Ok(b"34567")];
        assert_eq!(cut(chunks(), 5), expect(&long));
        let mark = "\u{feff}1234\n12345\n".as_bytes();
        let marked = [(1, 3, "1234\n"), (2, 8, "6 bytes")];
        assert_eq!(cut(vec![Ok(mark)], 5), expect(&marked));
    }

    #[test]
    fn a_break_is_told_once_and_where() {
        let interrupted = || Err(io::ErrorKind::Interrupted.into());
        let chunks = vec![Ok(&b"a\nb"[..]), interrupted(), Err(io::Error::other("torn"))];
        let broken = [(1, 0, "a\n"), (2, 2, "broken: torn")];
        assert_eq!(cut(chunks, 5), expect(&broken));
    }

    #[test]
    fn a_line_is_at_hand_when_its_end_has_come() {
        let mut cutter = LineCutter::new(Chunks(vec![Ok(b"a\nb\nc"), Ok(b"\n")]), 9);
        let mut at_hand = vec![cutter.is_at_hand()];
        while cutter.next_line().is_some() {
            at_hand.push(cutter.is_at_hand());
        }
        assert_eq!(at_hand, [false, true, false, false]);
    }

    /// Yields its bytes in pieces of these lengths, sometimes interrupted, then fails or ends.
    struct Pieces<'a> {
        bytes: &'a [u8],
        lengths: std::iter::Cycle<std::slice::Iter<'a, usize>>,
        breaks: bool,
    }

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let length = *self.lengths.next().unwrap();
            if length == 0 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if self.bytes.is_empty() && self.breaks {
                return Err(io::Error::other("torn"));
            }
            let length = length.min(self.bytes.len()).min(buffer.len());
            let (piece, rest) = self.bytes.split_at(length);
            buffer[..piece.len()].copy_from_slice(piece);
            self.bytes = rest;
            Ok(piece.len())
        }
    }

    /// Offset and content of a line, as text that distinguishes bytes, lengths and breaks.
    type Told = (u64, String);

    /// Returns the lines of a file of these bytes, as ingest cuts it.
    fn lines_of_a_file(stream: Pieces<'_>, limit: u64) -> Vec<Told> {
        let mut cutter = RecordCutter::new(stream, 0, Box::new(LineScan), limit);
        cutter.skip_byte_order_mark();
        let mut lines = Vec::new();
        for piece in cutter.next_pieces(u64::MAX) {
            match piece {
                Piece::Records { mut offset, bytes } => {
                    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
                        lines.push((offset, format!("{line:?}")));
                        offset += line.len() as u64;
                    }
                }
                Piece::TooLarge { offset, bytes } => lines.push((offset, format!("over: {bytes}"))),
                Piece::Truncated { offset, reason } => lines.push((offset, reason)),
            }
        }
        lines
    }

    /// Returns the lines of such a stream.
    fn lines_of_a_stream(stream: Pieces<'_>, limit: u64) -> Vec<Told> {
        let mut cutter = LineCutter::new(stream, limit);
        let (mut lines, mut number) = (Vec::new(), 0);
        while let Some(line) = cutter.next_line() {
            number += 1;
            assert_eq!(line.number, number);
            let told = match line.content {
                Content::Bytes(bytes) => format!("{bytes:?}"),
                Content::TooLarge(bytes) => format!("over: {bytes}"),
                Content::Broken(error) => error.to_string(),
            };
            lines.push((line.offset, told));
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
        fn lines_are_those_of_a_file(
            bytes in bytes(),
            lengths in prop::collection::vec(0..12_usize, 1..8),
            limit in 1..12_u64,
            breaks: bool,
        ) {
            prop_assume!(lengths.iter().any(|&length| length > 0));
            let whole = Pieces { bytes: &bytes, lengths: [usize::MAX].iter().cycle(), breaks };
            let cut = Pieces { bytes: &bytes, lengths: lengths.iter().cycle(), breaks };
            prop_assert_eq!(lines_of_a_stream(cut, limit), lines_of_a_file(whole, limit));
        }
    }
}
