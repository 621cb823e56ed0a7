//! Values as words: records that workers send each other, in blocks of `u64`.
//!
//! A value knows its length, so values follow each other without separators. Vectors of plain numbers share words, and
//! are read where they lie.

use bytemuck::{NoUninit, pod_collect_to_vec};
use lda::math::random::{Stage, hash};

/// A value that is sent as words; `'w` is how long those that it was read from live.
pub(crate) trait Wire<'w>: Sized {
    /// Appends the value.
    fn pack(&self, words: &mut Vec<u64>);

    /// Takes the value at the start of `words`; `None` if words are missing, which then may have been taken in part.
    fn unpack(words: &mut &'w [u64]) -> Option<Self>;
}

/// A value that keeps nothing of the words that it was read from.
pub(crate) trait OwnedWire: for<'w> Wire<'w> {}

impl<T: for<'w> Wire<'w>> OwnedWire for T {}

/// The most bytes in a name of a group, volume or document that is sent; a longer one is left out.
pub(crate) const MOST_NAME_BYTES: usize = 1 << 16;

/// Returns values as words.
pub(crate) fn packed<'w, T: Wire<'w>>(values: impl IntoIterator<Item = T>) -> Vec<u64> {
    let mut words = Vec::new();
    values.into_iter().for_each(|value| value.pack(&mut words));
    words
}

/// Returns the values in `words`, up to the first that is not complete.
pub(crate) fn unpacked<'w, T: Wire<'w>>(words: &'w [u64]) -> impl Iterator<Item = T> {
    let mut rest = words;
    std::iter::from_fn(move || if rest.is_empty() { None } else { T::unpack(&mut rest) })
}

/// Hashes a name, alike on every worker and system.
pub(crate) fn name_hash(name: &str) -> u64 {
    let chunks = name.as_bytes().chunks(8);
    let word = |chunk: &[u8]| chunk.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
    let start = hash(0, Stage::Name, name.len() as u64, 0);
    chunks.fold(start, |state, chunk| hash(state, Stage::Name, word(chunk), 0))
}

/// Takes the first words.
fn take<'w>(words: &mut &'w [u64], count: usize) -> Option<&'w [u64]> {
    let (taken, rest) = words.split_at_checked(count)?;
    *words = rest;
    Some(taken)
}

macro_rules! numbers {
    ($($type:ty, |$value:ident| $word:expr, |$from:ident| $back:expr;)*) => {$(
        impl Wire<'_> for $type {
            fn pack(&self, words: &mut Vec<u64>) {
                let $value = *self;
                words.push($word);
            }

            fn unpack(words: &mut &[u64]) -> Option<Self> {
                let $from = *words.split_off_first()?;
                Some($back)
            }
        }
    )*};
}

numbers! {
    u64, |n| n, |word| word;
    i64, |n| n as u64, |word| word as i64;
    i32, |n| n as u64, |word| word as i32;
    usize, |n| n as u64, |word| word as usize;
    f64, |n| n.to_bits(), |word| f64::from_bits(word);
    f32, |n| n.to_bits().into(), |word| f32::from_bits(word as u32);
    bool, |b| b.into(), |word| word != 0;
}

impl<'w, T: Wire<'w>> Wire<'w> for Option<T> {
    fn pack(&self, words: &mut Vec<u64>) {
        words.push(self.is_some().into());
        self.iter().for_each(|value| value.pack(words));
    }

    fn unpack(words: &mut &'w [u64]) -> Option<Self> {
        if bool::unpack(words)? { T::unpack(words).map(Some) } else { Some(None) }
    }
}

impl<'w, T: Wire<'w>> Wire<'w> for Vec<T> {
    fn pack(&self, words: &mut Vec<u64>) {
        words.push(self.len() as u64);
        self.iter().for_each(|value| value.pack(words));
    }

    fn unpack(words: &mut &'w [u64]) -> Option<Self> {
        let count = usize::unpack(words)?;
        (0..count).map(|_| T::unpack(words)).collect()
    }
}

impl<'w, T: Wire<'w> + Copy + Default, const N: usize> Wire<'w> for [T; N] {
    fn pack(&self, words: &mut Vec<u64>) {
        self.iter().for_each(|value| value.pack(words));
    }

    fn unpack(words: &mut &'w [u64]) -> Option<Self> {
        let mut values = [T::default(); N];
        for value in &mut values {
            *value = T::unpack(words)?;
        }
        Some(values)
    }
}

/// Declares the plain numbers of which slices are read where they lie.
macro_rules! slices {
    ($($type:ty),*) => {$(
        impl<'w> Wire<'w> for &'w [$type] {
            fn pack(&self, words: &mut Vec<u64>) {
                push_bytes(self, words);
            }

            fn unpack(words: &mut &'w [u64]) -> Option<Self> {
                let length = usize::unpack(words)?;
                let taken = take(words, (length * size_of::<$type>()).div_ceil(8))?;
                bytemuck::cast_slice(taken).get(..length)
            }
        }
    )*};
}

slices!(u8, u16, u32, f32);

/// Appends the length of a slice and its bytes, padded with zeros.
fn push_bytes<T: NoUninit>(slice: &[T], words: &mut Vec<u64>) {
    words.push(slice.len() as u64);
    words.extend(pod_collect_to_vec::<_, u64>(slice));
}

impl<'w> Wire<'w> for &'w str {
    fn pack(&self, words: &mut Vec<u64>) {
        push_bytes(self.as_bytes(), words);
    }

    fn unpack(words: &mut &'w [u64]) -> Option<Self> {
        <&[u8]>::unpack(words).and_then(|bytes| std::str::from_utf8(bytes).ok())
    }
}

impl Wire<'_> for String {
    fn pack(&self, words: &mut Vec<u64>) {
        self.as_str().pack(words);
    }

    fn unpack(words: &mut &[u64]) -> Option<Self> {
        <&str>::unpack(words).map(str::to_owned)
    }
}

macro_rules! tuples {
    ($(($($type:ident $place:tt),*))*) => {$(
        impl<'w, $($type: Wire<'w>),*> Wire<'w> for ($($type,)*) {
            fn pack(&self, words: &mut Vec<u64>) {
                $( self.$place.pack(words); )*
            }

            fn unpack(words: &mut &'w [u64]) -> Option<Self> {
                Some(($( $type::unpack(words)?, )*))
            }
        }
    )*};
}

tuples! { (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3) }

#[cfg(test)]
mod tests {
    use super::*;

    type Record<'w> = (&'w str, Option<f64>, (i32, bool, Vec<[u64; 2]>), (&'w [u32], &'w [f32]));

    #[test]
    fn values_come_out_as_they_were_packed_and_not_before_their_last_word() {
        let sent: [Record<'_>; 2] = [
            ("größe", None, (-7, true, vec![[1, 2], [3, u64::MAX]]), (&[2, 7, u32::MAX], &[0.5])),
            ("", Some(-0.5), (i32::MAX, false, vec![]), (&[], &[1.0, 2.0])),
        ];
        let words = packed(sent.clone());
        assert_eq!(unpacked::<Record<'_>>(&words).collect::<Vec<_>>(), sent);
        for length in 0..words.len() {
            let complete = unpacked::<Record<'_>>(&words[..length]).count();
            assert!(complete < 2 && packed(sent[..complete].to_vec()).len() <= length);
        }
    }
}
