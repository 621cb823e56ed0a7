use super::*;
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

fn cutter(bytes: &[u8], breaks: bool, boundary: Boundary) -> RecordCutter<Trickle<'_>> {
    RecordCutter::new(Trickle { bytes, breaks }, 0, boundary, 10)
}

fn records(offset: u64, bytes: &str) -> Piece {
    let bytes = bytes.as_bytes().to_vec();
    Piece::Records { offset, bytes }
}

#[test]
fn a_run_owns_the_records_that_begin_before_its_end() {
    let mut cutter = cutter(b"ab\ncd\n\nefg", false, Boundary::Line);
    assert_eq!(cutter.next_pieces(3), [records(0, "ab\n")]);
    assert_eq!(cutter.next_pieces(4), [records(3, "cd\n")]);
    assert_eq!(cutter.next_pieces(5), []);
    assert_eq!(cutter.next_pieces(99), [records(6, "\nefg")]);
    assert_eq!(cutter.next_pieces(99), []);
}

#[test]
fn a_long_record_is_skipped_and_reported() {
    let text = b"ab\n0123456789\ncd\n012345678901234567890";
    let mut cutter = cutter(text, false, Boundary::Line);
    let too_large = |offset, bytes| Piece::TooLarge { offset, bytes };
    assert_eq!(cutter.next_pieces(4), [records(0, "ab\n"), too_large(3, 11)]);
    assert_eq!(cutter.next_pieces(99), [records(14, "cd\n"), too_large(17, 21)]);
}

#[test]
fn a_broken_stream_keeps_what_is_complete() {
    let truncated = |offset| Piece::Truncated { offset, reason: "torn".into() };
    let mut short = cutter(b"ab\ncd\nef", true, Boundary::Line);
    assert_eq!(short.next_pieces(1), [records(0, "ab\n")]);
    assert_eq!(short.next_pieces(4), [records(3, "cd\n")]);
    assert_eq!(short.next_pieces(99), [truncated(6)]);
    let mut whole = cutter(b"ab\ncd\nef", true, Boundary::Line);
    assert_eq!(whole.next_pieces(99), [records(0, "ab\ncd\n"), truncated(6)]);
    assert_eq!(whole.next_pieces(99), []);
    let mut long = cutter(b"ab\n0123456789012345", true, Boundary::Line);
    assert_eq!(long.next_pieces(99), [records(0, "ab\n"), truncated(3)]);
}

#[test]
fn line_breaks_within_quotes_end_no_record() {
    let text = b"a,\"b\n\"\n5\" x\n\"\"\"\n\"\nz";
    let mut quoted = cutter(text, false, Boundary::Quoted(Dialect::of(b"")));
    assert_eq!(quoted.next_pieces(1), [records(0, "a,\"b\n\"\n")]);
    assert_eq!(quoted.next_pieces(8), [records(7, "5\" x\n")]);
    let text = b"\"b\\\"\nc\"\n\"\\\\\"\nd";
    let escapes = Dialect { delimiter: b',', has_escapes: true };
    let mut escaped = cutter(text, false, Boundary::Quoted(escapes));
    assert_eq!(escaped.next_pieces(1), [records(0, "\"b\\\"\nc\"\n")]);
    assert_eq!(escaped.next_pieces(9), [records(8, "\"\\\\\"\n")]);
}

#[test]
fn objects_end_with_the_brace_that_closes_them() {
    let text = b"[{},\n{\"}\":{}}]\n";
    let mut cutter = cutter(text, false, Boundary::Object);
    assert_eq!(cutter.next_pieces(1), [records(0, "[{}")]);
    assert_eq!(cutter.next_pieces(4), [records(3, ",\n{\"}\":{}}")]);
    assert_eq!(cutter.next_pieces(99), [records(13, "]\n")]);
    let seen: Vec<_> = objects(5, text).collect();
    assert_eq!(seen, [(6, &b"{}"[..]), (10, b"{\"}\":{}}")]);
    assert_eq!(objects(0, b" ] ,\n").count(), 0);
}

#[test]
fn a_byte_order_mark_and_a_begun_line_are_skipped() {
    let mut marked = cutter(b"\xef\xbb\xbfab\n", false, Boundary::Line);
    marked.skip_byte_order_mark();
    assert_eq!(marked.next_pieces(99), [records(3, "ab\n")]);
    let mut begun = cutter(b"ab\ncd", false, Boundary::Line);
    begun.skip_line(2);
    assert_eq!(begun.offset(), 3);
}
