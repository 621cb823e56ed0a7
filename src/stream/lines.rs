//! Cuts a stream into lines as they come, holding no more than one of them.
//!
//! The same rules as for a file (`corpus::block`): a byte order mark at the start is passed over, a
//! last line needs no line break, and a line that outgrows the limit is read over without being held.

use std::io::{self, BufRead, BufReader, Read};

use crate::corpus::block::cutter::find_line_end;

/// Bytes asked of the stream at a time.
const BUFFER_BYTES: usize = 256 * 1024;

/// The UTF-8 byte order mark that some programs put first.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A line of the stream.
#[derive(Debug)]
pub struct Line {
    /// Its number, from 1; blank ones count.
    pub number: u64,
    /// Where it begins, in bytes of the stream.
    pub offset: u64,
    /// What it holds.
    pub content: Content,
}

/// What a line holds.
#[derive(Debug)]
pub enum Content {
    /// Its bytes, the line break included.
    Bytes(Vec<u8>),
    /// So many bytes, more than the limit; none is held.
    TooLarge(u64),
    /// Nothing: the stream broke here, and ends.
    Broken(io::Error),
}

impl Line {
    /// The memory that it takes, in bytes, about.
    pub fn bytes(&self) -> u64 {
        match &self.content {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::TooLarge(_) | Content::Broken(_) => 0,
        }
    }
}

/// Takes lines off a stream.
#[derive(Debug)]
pub struct LineCutter<R> {
    stream: BufReader<R>,
    max_bytes: u64,
    /// Lines so far.
    lines: u64,
    /// Bytes so far.
    offset: u64,
    ended: bool,
}

impl<R: Read> LineCutter<R> {
    /// Of a stream from its start; lines of more than `max_bytes`, with their line breaks, are
    /// passed over.
    pub fn new(stream: R, max_bytes: u64) -> Self {
        Self {
            stream: BufReader::with_capacity(BUFFER_BYTES, stream),
            max_bytes,
            lines: 0,
            offset: 0,
            ended: false,
        }
    }

    /// Whether a whole line has come already: [`next_line`](Self::next_line) will not wait.
    pub fn is_at_hand(&self) -> bool {
        !self.ended && find_line_end(self.stream.buffer()).is_some()
    }

    /// The next line, for which it waits; `None` at the end.
    pub fn next_line(&mut self) -> Option<Line> {
        if self.ended {
            return None;
        }
        let (mut held, mut length) = (Vec::new(), 0);
        let end = loop {
            let bytes = match self.stream.fill_buf() {
                Ok([]) => break Ok(()),
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => break Err(error),
            };
            let line_end = find_line_end(bytes);
            let taken = line_end.unwrap_or(bytes.len());
            length += taken as u64;
            if length <= self.max_bytes.saturating_add(BYTE_ORDER_MARK.len() as u64) {
                held.extend_from_slice(&bytes[..taken]);
            } else {
                held = Vec::new();
            }
            self.stream.consume(taken);
            if line_end.is_some() {
                return Some(self.line(held, length));
            }
        };
        self.ended = true;
        match end {
            // What stands before the break is no whole line.
            Err(error) => {
                let (number, offset) = (self.lines + 1, self.offset);
                let content = Content::Broken(error);
                Some(Line {
                    number,
                    offset,
                    content,
                })
            }
            Ok(()) => (length > 0).then(|| self.line(held, length)),
        }
    }

    /// A line of `length` bytes that ends here, of which `held` are all, unless they are too many.
    fn line(&mut self, mut held: Vec<u8>, mut length: u64) -> Line {
        let mut offset = self.offset;
        self.offset += length;
        self.lines += 1;
        if self.lines == 1 && held.starts_with(BYTE_ORDER_MARK) {
            held.drain(..BYTE_ORDER_MARK.len());
            length -= BYTE_ORDER_MARK.len() as u64;
            offset += BYTE_ORDER_MARK.len() as u64;
        }
        let content = match length > self.max_bytes {
            true => Content::TooLarge(length),
            false => Content::Bytes(held),
        };
        let number = self.lines;
        Line {
            number,
            offset,
            content,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its chunks one a call, then breaks or ends.
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
        let whole = [
            (1, 3, "one\n"),
            (2, 7, "\r\n"),
            (3, 9, "two\r\n"),
            (4, 14, "x"),
        ];
        let text = "\u{feff}one\n\r\ntwo\r\nx".as_bytes();
        assert_eq!(cut(vec![Ok(text)], 100), expect(&whole));
        for at in 1..text.len() {
            let (a, b) = text.split_at(at);
            assert_eq!(cut(vec![Ok(a), Ok(b)], 100), expect(&whole), "{at}");
        }
        assert_eq!(cut(vec![], 100), []);
        assert_eq!(
            cut(vec![Ok("\u{feff}".as_bytes())], 9),
            expect(&[(1, 3, "")])
        );
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
        let chunks = vec![
            Ok(&b"a\nb"[..]),
            interrupted(),
            Err(io::Error::other("torn")),
        ];
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
}
