//! The header of a `.npy`: magic, version, and a Python dictionary in text.
//!
//! ```text
//! {'descr': '<f4', 'fortran_order': False, 'shape': (100, 65536), }
//! ```
//!
//! Everything is bounded, because the file may come from anywhere: NumPy itself refuses a header of
//! more than 10,000 bytes, and nothing is nested deeper than a shape.

use std::io::{self, Read};

/// The most bytes in a header, as in NumPy.
const MOST_BYTES: usize = 10_000;

/// The content of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The type of the values, such as `<f4`; for structured arrays, the beginning of their list.
    pub(super) kind: String,
    /// Whether values are stored column by column, not row by row.
    pub(super) is_fortran: bool,
    /// The dimensions.
    pub(super) shape: Vec<u64>,
}

impl Header {
    /// Reads a header, up to the first value.
    ///
    /// # Errors
    /// Errors of `file`; `UnexpectedEof` if it is cut short; `InvalidData`, with a reason, if it is not
    /// a header.
    pub(super) fn read(file: &mut impl Read) -> io::Result<Self> {
        let mut start = [0; 8];
        file.read_exact(&mut start)?;
        if !start.starts_with(b"\x93NUMPY") {
            return Err(invalid("it does not begin with the magic number of .npy"));
        }
        let length = match start[6] {
            1 => {
                let mut length = [0; 2];
                file.read_exact(&mut length)?;
                usize::from(u16::from_le_bytes(length))
            }
            2 | 3 => {
                let mut length = [0; 4];
                file.read_exact(&mut length)?;
                u32::from_le_bytes(length) as usize
            }
            version => return Err(invalid(&format!("version {version} is not known"))),
        };
        if length > MOST_BYTES {
            let problem = format!("its header has {length} bytes, more than {MOST_BYTES}");
            return Err(invalid(&problem));
        }
        let mut text = vec![0; length];
        file.read_exact(&mut text)?;
        let text = std::str::from_utf8(&text).ok();
        text.and_then(Self::parse).ok_or_else(|| {
            invalid("its header is not {'descr': …, 'fortran_order': …, 'shape': (…)}")
        })
    }

    /// Parses the dictionary, its keys in any order.
    fn parse(text: &str) -> Option<Self> {
        let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?;
        let (mut kind, mut is_fortran, mut shape) = (None, None, None);
        loop {
            rest = rest.trim_start();
            if rest.is_empty() {
                break;
            }
            let (key, after) = quoted(rest)?;
            let value = after.trim_start().strip_prefix(':')?.trim_start();
            rest = match key {
                "descr" if value.starts_with('[') => {
                    // A list of fields is not a matrix of numbers, so the rest does not matter.
                    let kind = value.chars().take(40).collect();
                    let (is_fortran, shape) = (false, vec![0, 0]);
                    return Some(Self { kind, is_fortran, shape });
                }
                "descr" => {
                    let (value, after) = quoted(value)?;
                    kind = Some(value.to_owned());
                    after
                }
                "fortran_order" => {
                    let (value, after) = match value.strip_prefix("True") {
                        Some(after) => (true, after),
                        None => (false, value.strip_prefix("False")?),
                    };
                    is_fortran = Some(value);
                    after
                }
                "shape" => {
                    let (inner, after) = value.strip_prefix('(')?.split_once(')')?;
                    shape = Some(dimensions(inner)?);
                    after
                }
                _ => return None,
            };
            rest = rest.trim_start();
            rest = match rest.strip_prefix(',') {
                Some(after) => after,
                None if rest.is_empty() => rest,
                None => return None,
            };
        }
        Some(Self { kind: kind?, is_fortran: is_fortran?, shape: shape? })
    }
}

/// Returns a text in quotes of either kind, and the rest after it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}

/// Parses whole numbers separated by commas, perhaps with one at the end.
fn dimensions(text: &str) -> Option<Vec<u64>> {
    let text = text.trim();
    let text = text.strip_suffix(',').unwrap_or(text);
    if text.is_empty() {
        return Some(Vec::new());
    }
    text.split(',').map(|one| one.trim().parse().ok()).collect()
}

fn invalid(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// How a number is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    /// Its size in bytes, at most 8.
    pub(super) bytes: usize,
    /// `f`, `i` or `u`.
    form: u8,
    is_big_endian: bool,
}

impl Number {
    /// Parses NumPy's name for a number type, such as `>f8`; `None` for those not supported.
    pub(super) fn of(kind: &str) -> Option<Self> {
        let &[order, form, bytes] = kind.as_bytes() else {
            return None;
        };
        let bytes = usize::from(bytes.checked_sub(b'0')?);
        let known = match form {
            b'f' => matches!(bytes, 4 | 8),
            b'i' | b'u' => matches!(bytes, 1 | 2 | 4 | 8),
            _ => false,
        };
        let is_big_endian = match order {
            b'<' => false,
            b'>' => true,
            b'|' if bytes == 1 => false,
            b'=' => cfg!(target_endian = "big"),
            _ => return None,
        };
        known.then_some(Self { bytes, form, is_big_endian })
    }

    /// Decodes a number from `bytes`, of which there must be `self.bytes`.
    pub(super) fn value(self, bytes: &[u8]) -> f64 {
        let mut low = [0; 8];
        low[..bytes.len()].copy_from_slice(bytes);
        if self.is_big_endian {
            low[..bytes.len()].reverse();
        }
        let unsigned = u64::from_le_bytes(low);
        match (self.form, self.bytes) {
            (b'f', 4) => f64::from(f32::from_bits(unsigned as u32)),
            (b'f', _) => f64::from_bits(unsigned),
            (b'i', bytes) => {
                // Shift the sign bit to the top, and extend it on the way back.
                let shift = 64 - 8 * bytes;
                ((unsigned << shift) as i64 >> shift) as f64
            }
            _ => unsigned as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(version: u8, text: &str) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY".to_vec();
        bytes.extend([version, 0]);
        match version {
            1 => bytes.extend((text.len() as u16).to_le_bytes()),
            _ => bytes.extend((text.len() as u32).to_le_bytes()),
        }
        bytes.extend(text.as_bytes());
        bytes
    }

    fn parsed(text: &str) -> Option<Header> {
        Header::read(&mut &header(1, text)[..]).ok()
    }

    #[test]
    fn keys_stand_in_any_order_and_form() {
        let expected = Header { kind: "<f4".to_owned(), is_fortran: true, shape: vec![3, 65536] };
        for text in [
            "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 65536), }   \n",
            "{\"shape\":(3,65536,),\"descr\":\"<f4\",\"fortran_order\":True}",
        ] {
            assert_eq!(parsed(text), Some(expected.clone()), "{text}");
            let long = Header::read(&mut &header(2, text)[..]).unwrap();
            assert_eq!(long, expected);
        }
        let none = parsed("{'descr': '<f4', 'fortran_order': False, 'shape': ()}").unwrap();
        assert_eq!((none.is_fortran, none.shape), (false, vec![]));
        let records = parsed("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (5,)}");
        assert!(records.unwrap().kind.starts_with("[('a'"));
        for wrong in [
            "",
            "{}",
            "{'descr': '<f4', 'fortran_order': 0, 'shape': (1, 2)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 2)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 2)}",
            "{'descr': '<f4' 'fortran_order': False, 'shape': (1, 2)}",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), 'more': 1}",
            "{'é",
        ] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
        let deep = Header::read(&mut &header(2, &"(".repeat(1 << 20))[..]).unwrap_err();
        assert!(deep.to_string().contains("more than 10000"), "{deep}");
    }

    #[test]
    fn numbers_of_every_size_and_end() {
        let value = |kind: &str, bytes: &[u8]| Number::of(kind).unwrap().value(bytes);
        assert_eq!(value("<f4", &1.5f32.to_le_bytes()), 1.5);
        assert_eq!(value(">f4", &(-1.5f32).to_be_bytes()), -1.5);
        assert_eq!(value(">f8", &0.1f64.to_be_bytes()), 0.1);
        assert_eq!(value("<i2", &(-300i16).to_le_bytes()), -300.0);
        assert_eq!(value(">i4", &(-70_000i32).to_be_bytes()), -70_000.0);
        assert_eq!(value("<i8", &i64::MIN.to_le_bytes()), i64::MIN as f64);
        assert_eq!(value("|i1", &[0xff]), -1.0);
        assert_eq!(value("|u1", &[0xff]), 255.0);
        assert_eq!(value("<u8", &u64::MAX.to_le_bytes()), u64::MAX as f64);
        for other in ["<f2", "<f16", "|O", "<c8", "|S8", "|b1", "|f4", "f4", ""] {
            assert_eq!(Number::of(other), None, "{other}");
        }
    }
}
