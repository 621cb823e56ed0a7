//! The protocol of a link between processes: frames with timely's bytes, and a few control messages.
//!
//! A frame is a header of four bytes, little-endian, followed by its content: the kind in the upper
//! byte, the length in the lower three. Lengths are bounded before anything is allocated.

use crate::Exit;

/// The bytes of a frame's header.
pub const HEADER_BYTES: usize = 4;
/// Maximum number of timely's bytes in one frame; zstd at worst adds less than as many again.
pub(crate) const MOST_PAYLOAD: usize = 1 << 18;
/// Maximum number of bytes after a header.
pub(crate) const MOST_LENGTH: usize = 2 * MOST_PAYLOAD;
/// Maximum number of bytes of a farewell.
pub const MOST_FAREWELL: usize = 4096;

/// The content of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Timely's bytes.
    Payload = 1,
    /// Timely's bytes, compressed.
    Compressed = 2,
    /// Empty: the process is alive.
    Heartbeat = 3,
    /// Why the process ends early: a [`Farewell`].
    Farewell = 4,
    /// Empty: the process has done its work, and sends no more.
    End = 5,
}

/// A frame's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The kind of the content.
    pub kind: Kind,
    /// The number of its bytes.
    pub length: usize,
}

impl Header {
    /// Returns the header as bytes; the length must be at most `MOST_LENGTH`.
    pub fn encode(self) -> [u8; HEADER_BYTES] {
        debug_assert!(self.length <= MOST_LENGTH);
        (((self.kind as u32) << 24) | self.length as u32).to_le_bytes()
    }

    /// Parses a header; `None` if no process would send it.
    pub fn decode(bytes: [u8; HEADER_BYTES]) -> Option<Header> {
        let number = u32::from_le_bytes(bytes);
        let length = (number & 0x00ff_ffff) as usize;
        let (kind, allowed) = match number >> 24 {
            1 => (Kind::Payload, 1..=MOST_PAYLOAD),
            2 => (Kind::Compressed, 1..=MOST_LENGTH),
            3 => (Kind::Heartbeat, 0..=0),
            4 => (Kind::Farewell, 5..=MOST_FAREWELL),
            5 => (Kind::End, 0..=0),
            _ => return None,
        };
        allowed.contains(&length).then_some(Header { kind, length })
    }
}

/// Why the run ends: the message of the process that noticed it to the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Farewell {
    /// How the processes that receive it end.
    pub exit: Exit,
    /// The process that failed or was lost.
    pub culprit: usize,
    /// The event, as reported by the receiving processes: one line.
    pub text: String,
}

impl Farewell {
    /// Returns the farewell as bytes: code, culprit, and the text's first line, truncated if too long.
    pub fn encode(&self) -> Vec<u8> {
        let culprit = u32::try_from(self.culprit).unwrap_or(u32::MAX);
        let mut bytes = vec![self.exit as u8];
        bytes.extend_from_slice(&culprit.to_le_bytes());
        let line = self.text.lines().next().unwrap_or_default();
        let mut end = line.len().min(MOST_FAREWELL - bytes.len());
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        bytes.extend_from_slice(&line.as_bytes()[..end]);
        bytes
    }

    /// Parses a farewell; `None` if the bytes are not one. Replaces control characters, which could
    /// manipulate a terminal.
    pub fn decode(bytes: &[u8]) -> Option<Farewell> {
        let (&code, rest) = bytes.split_first()?;
        let (culprit, text) = rest.split_first_chunk()?;
        let plain = |c: char| if c.is_control() { ' ' } else { c };
        let text = String::from_utf8_lossy(text).chars().map(plain).collect();
        (bytes.len() <= MOST_FAREWELL).then(|| Farewell {
            exit: Exit::of(code),
            culprit: u32::from_le_bytes(*culprit) as usize,
            text,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_the_wire_and_others_are_refused() {
        let sound = [
            (Kind::Payload, 1),
            (Kind::Payload, MOST_PAYLOAD),
            (Kind::Compressed, MOST_LENGTH),
            (Kind::Heartbeat, 0),
            (Kind::Farewell, MOST_FAREWELL),
            (Kind::End, 0),
        ];
        for (kind, length) in sound {
            let header = Header { kind, length };
            assert_eq!(Header::decode(header.encode()), Some(header));
        }
        let wrong = [
            0,
            1 << 24,
            (1 << 24) | (MOST_PAYLOAD as u32 + 1),
            (2 << 24) | 0x00ff_ffff,
            (3 << 24) | 1,
            (4 << 24) | 4,
            (5 << 24) | 9,
            6 << 24,
            u32::from_le_bytes(*b"GET "),
        ];
        for number in wrong {
            assert_eq!(Header::decode(number.to_le_bytes()), None, "{number:x}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_upset_a_reader(bytes: Vec<u8>, header: [u8; HEADER_BYTES]) {
            if let Some(header) = Header::decode(header) {
                assert_eq!(Header::decode(header.encode()), Some(header));
            }
            if let Some(farewell) = Farewell::decode(&bytes) {
                assert!(!farewell.text.contains(char::is_control));
            }
        }
    }

    #[test]
    fn a_farewell_is_one_line_of_bounded_length() {
        let farewell = Farewell {
            exit: Exit::Unavailable,
            culprit: 3,
            text: "lost process 3 (there:1): nothing received for 30 s".to_owned(),
        };
        assert_eq!(Farewell::decode(&farewell.encode()), Some(farewell.clone()));
        let long = Farewell {
            text: format!("{}\nsecond line", "ä".repeat(MOST_FAREWELL)),
            ..farewell.clone()
        };
        let bytes = long.encode();
        assert!(bytes.len() <= MOST_FAREWELL);
        let read = Farewell::decode(&bytes).unwrap();
        assert!(read.text.chars().all(|c| c == 'ä'));
        let escape = Farewell { text: "\u{1b}[31mred\u{7}".to_owned(), ..farewell };
        let read = Farewell::decode(&escape.encode()).unwrap();
        assert_eq!(read.text, " [31mred ");
        for length in 0..5 {
            assert_eq!(Farewell::decode(&vec![0; length]), None);
        }
        assert_eq!(Farewell::decode(&vec![0; MOST_FAREWELL + 1]), None);
    }
}
