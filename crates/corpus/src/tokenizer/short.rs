//! Short tokens as two numbers, so that most tokens are found, folded to lower case, compared and hashed without
//! touching a string.

/// Bytes of the longest one.
const MOST_BYTES: usize = 11;
/// The bit that distinguishes upper from lower case, in each byte.
const LOWER: u64 = 0x2020_2020_2020_2020;

/// A token of at most eleven bytes: equal tokens have equal numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShortToken {
    /// The first eight bytes, the first one lowest, padded with zeros.
    pub(crate) first: u64,
    /// The other three, above its length.
    pub(crate) rest: u32,
}

impl ShortToken {
    /// Returns the token, unless it is longer.
    ///
    /// ```
    /// # use corpus::tokenizer::ShortToken;
    /// assert!(ShortToken::new("eleven-byte").is_some_and(|token| token.visit(str::len) == 11));
    /// assert_eq!(ShortToken::new("twelve bytes"), None);
    /// ```
    #[inline]
    pub fn new(token: &str) -> Option<Self> {
        let bytes = token.as_bytes();
        let length = bytes.len();
        let number = |four: &[u8; 4]| u64::from(u32::from_le_bytes(*four));
        // The last four bytes may overlap those before, with which they agree.
        let (first, rest) = match (bytes.first_chunk::<8>(), bytes.first_chunk::<4>()) {
            _ if length > MOST_BYTES => return None,
            (Some(first), _) => {
                let last = bytes.last_chunk::<4>().map_or(0, number);
                (u64::from_le_bytes(*first), last >> (8 * (12 - length)))
            }
            (None, Some(first)) => {
                let last = bytes.last_chunk::<4>().map_or(0, number);
                (number(first) | last << (8 * (length - 4)), 0)
            }
            _ => (bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte)), 0),
        };
        Some(Self { first, rest: (rest as u32) << 8 | length as u32 })
    }

    /// Returns the ASCII letters at the start of these bytes in lower case, and whether they were so already; `None`
    /// without any, or with more than eleven. Tests eight bytes at a time.
    #[inline]
    pub(super) fn of_letters(sixteen: &[u8; 16]) -> Option<(Self, bool)> {
        let eight = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| sixteen[at + byte]));
        let [first, second] = [eight(0), eight(8)];
        let [others, later] = [first, second].map(|eight| !letter_bits(eight) & HIGH_BITS);
        let is_long = others == 0;
        let end =
            if is_long { 8 + later.trailing_zeros() / 8 } else { others.trailing_zeros() / 8 };
        if end == 0 || end > MOST_BYTES as u32 {
            return None;
        }
        // The bytes before the first that is no letter.
        let before = |others: u64| (others >> 7).wrapping_sub(1) & !(others >> 7);
        let masks = [before(others), if is_long { before(later) } else { 0 }];
        let lower = [(first | LOWER) & masks[0], (second | LOWER) & masks[1]];
        let is_lower = lower == [first & masks[0], second & masks[1]];
        Some((Self { first: lower[0], rest: (lower[1] as u32) << 8 | end }, is_lower))
    }

    /// Returns its length in bytes.
    #[inline]
    pub(crate) fn len(self) -> usize {
        (self.rest & 0xff) as usize
    }

    /// Calls `visit` with its text.
    #[inline]
    pub fn visit<T>(self, visit: impl FnOnce(&str) -> T) -> T {
        let mut bytes = [0; 12];
        bytes[..8].copy_from_slice(&self.first.to_le_bytes());
        bytes[8..11].copy_from_slice(&self.rest.to_le_bytes()[1..]);
        visit(std::str::from_utf8(&bytes[..self.len()]).expect("a short token is made of text"))
    }
}

/// The highest bit of each byte.
pub(super) const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Returns the high bit of each byte that is an ASCII letter.
#[inline]
pub(super) fn letter_bits(eight: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    // At most 0x7F per byte, so that no sum below carries into the next.
    let lower = (eight | (0x20 * EACH)) & !HIGH_BITS;
    let from_a = lower + u64::from(0x80 - b'a') * EACH;
    let beyond_z = lower + u64::from(0x7F - b'z') * EACH;
    from_a & !beyond_z & !eight & HIGH_BITS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Looks at one byte at a time.
    fn plain(sixteen: &[u8; 16]) -> Option<(ShortToken, bool)> {
        let letters = sixteen.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
        let word = std::str::from_utf8(&sixteen[..letters]).unwrap();
        let token = ShortToken::new(&word.to_ascii_lowercase());
        let is_lower = word.bytes().all(|byte| byte.is_ascii_lowercase());
        token.filter(|_| letters > 0).map(|token| (token, is_lower))
    }

    proptest! {
        #[test]
        fn letters_are_what_one_byte_at_a_time_finds(
            word in "[a-zA-Z]{0,16}",
            rest in any::<[u8; 16]>(),
        ) {
            let mut sixteen = rest;
            sixteen[..word.len()].copy_from_slice(word.as_bytes());
            prop_assert_eq!(ShortToken::of_letters(&sixteen), plain(&sixteen));
        }

        #[test]
        fn equal_numbers_are_equal_texts(texts in prop::collection::vec("[a-b\\x00é]{0,12}", 2)) {
            let tokens: Vec<_> = texts.iter().map(|text| ShortToken::new(text)).collect();
            for (text, token) in texts.iter().zip(&tokens) {
                prop_assert_eq!(token.is_some(), text.len() <= MOST_BYTES);
                prop_assert!(token.is_none_or(|token| token.visit(|same| same == text)));
            }
            prop_assert_eq!(tokens[0].is_some() && tokens[0] == tokens[1], texts[0].len() <= MOST_BYTES && texts[0] == texts[1]);
        }
    }
}
