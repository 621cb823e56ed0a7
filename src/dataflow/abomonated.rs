//! A block's words in abomonation's layout, for comparison: with the feature `abomonation`, never by
//! default.
//!
//! abomonation writes a vector as its own 24 bytes, in the order that the compiler chose, followed
//! by its elements; to read it, it makes the vector's pointer point there. The message therefore
//! contains an address of the sender, and only processes of the same build understand each other:
//! the greeting refuses others. RUSTSEC-2021-0120 is open against the crate: it reads misaligned
//! data and trusts any length. Bytes are therefore copied to an aligned buffer, and capacity,
//! length and pointer are checked first.

use std::io::Write;

use timely::bytes::arc::Bytes;
use timely::dataflow::channels::ContainerBytes;

use super::block::{Block, HEADER_BYTES};

/// A vector's own words: pointer, capacity, length, in an order that only the compiler knows.
const VECTOR_WORDS: usize = 3;
const _: () = assert!(size_of::<Vec<u64>>() == 8 * VECTOR_WORDS);

impl ContainerBytes for Block {
    fn from_bytes(mut bytes: Bytes) -> Block {
        let header = Block::take_header(&mut bytes);
        let words = decode(&bytes).filter(|words| words.len() as u64 == header[2]);
        Block::with_header(header, words.expect("a block is as long as it says"))
    }

    fn length_in_bytes(&self) -> usize {
        HEADER_BYTES + 8 * (VECTOR_WORDS + self.words().len())
    }

    fn into_bytes<W: Write>(&self, writer: &mut W) {
        let enough = "timely lends as many bytes as the block asked for";
        let header = self.header();
        writer.write_all(bytemuck::bytes_of(&header)).expect(enough);
        match self.owned() {
            Some(words) => encode(words, writer).expect(enough),
            None => encode(&self.words().to_vec(), writer).expect(enough),
        }
    }
}

/// Writes a vector in abomonation's layout.
///
/// # Errors
/// Errors of the writer.
#[allow(
    unsafe_code,
    reason = "abomonation has no safe interface; the feature is never on by default"
)]
pub(crate) fn encode(words: &Vec<u64>, writer: &mut impl Write) -> std::io::Result<()> {
    // SAFETY: the bytes of a `Vec<u64>` that are read are all initialised: it is three words, and
    // has no room for padding (asserted above). Its elements are plain numbers.
    unsafe { abomonation::encode(words, writer) }
}

/// Reads a vector in abomonation's layout, at any alignment; `None` if these are not the bytes of
/// exactly one.
#[allow(
    unsafe_code,
    reason = "abomonation has no safe interface; the feature is never on by default"
)]
pub(crate) fn decode(bytes: &[u8]) -> Option<Vec<u64>> {
    let count = bytes.len().checked_sub(8 * VECTOR_WORDS)? / 8;
    if !bytes.len().is_multiple_of(8) {
        return None;
    }
    let mut aligned = vec![0_u64; VECTOR_WORDS + count];
    bytemuck::cast_slice_mut(&mut aligned).copy_from_slice(bytes);
    if !is_vector(aligned.first_chunk()?, count) {
        return None;
    }
    // SAFETY: the buffer is 8-aligned, as words and vectors require. `is_vector` has checked that
    // length times eight is the number of bytes that follow, so that nothing wraps and nothing beyond
    // the buffer is accessed, and that capacity and pointer are values that a vector may have. The
    // result borrows the buffer, is never dropped as a vector, and is copied immediately.
    // Not guaranteed: that a vector's fields can be found by inspection (the language leaves their
    // order open, but both ends are of one build), and that a vector may be accessed before its
    // pointer is valid, which is the advisory's objection. Bytes come from processes of the same
    // build; these have proved the run's secret if it has one, which processes on one machine need
    // not: then any program on it that greets as this build does can send them.
    let decoded =
        unsafe { abomonation::decode::<Vec<u64>>(bytemuck::cast_slice_mut(&mut aligned)) };
    let (words, rest) = decoded?;
    rest.is_empty().then(|| words.clone())
}

/// Whether these three words can be those of a vector of `count` elements.
fn is_vector(own: &[u64; VECTOR_WORDS], count: usize) -> bool {
    let Some((capacity, length)) = places() else {
        return false;
    };
    let pointer = VECTOR_WORDS - capacity - length;
    let fits = own[length] == count as u64 && own[capacity] >= own[length];
    fits && own[capacity] <= isize::MAX as u64 && own[pointer] != 0
}

/// Returns the places of capacity and length among a vector's words, in this build.
fn places() -> Option<(usize, usize)> {
    let mut vector = Vec::with_capacity(2);
    vector.push(0_u64);
    let mut bytes = Vec::with_capacity(8 * (VECTOR_WORDS + 1));
    encode(&vector, &mut bytes).ok()?;
    let mut own = [0_u64; VECTOR_WORDS];
    bytemuck::bytes_of_mut(&mut own).copy_from_slice(bytes.get(..8 * VECTOR_WORDS)?);
    // No address is as low as these.
    let place = |number: usize| own.iter().position(|&word| word == number as u64);
    Some((place(vector.capacity())?, place(vector.len())?))
}

#[cfg(test)]
mod tests {
    use timely::bytes::arc::BytesMut;

    use super::*;

    /// Passes a block through the plain or the other codec, `offset` bytes into a buffer.
    fn over(block: &Block, offset: usize, plain: bool) -> Block {
        let mut bytes = vec![0; offset];
        if plain {
            block.write_plain(&mut bytes)
        } else {
            block.into_bytes(&mut bytes)
        }
        let mut bytes = BytesMut::from(bytes).freeze();
        let _ = bytes.extract_to(offset);
        if plain { Block::from_plain(bytes) } else { Block::from_bytes(bytes) }
    }

    proptest::proptest! {
        #[test]
        fn both_codecs_give_the_same_block(words: Vec<u64>, spare in 0_usize..9, tag: u64, source in 0_usize..99, offset in 0_usize..9) {
            let mut roomy = Vec::with_capacity(words.len() + spare);
            roomy.extend_from_slice(&words);
            let block = Block::to_worker(source, 7, tag, roomy);
            for plain in [false, true] {
                let read = over(&block, offset, plain);
                assert_eq!((read.header(), read.words()), (block.header(), block.words()));
                // A received block can be sent again.
                let again = over(&read, offset, false);
                assert_eq!((again.header(), again.words()), (block.header(), block.words()));
            }
        }

        #[test]
        fn no_bytes_make_a_vector_but_those_of_one(bytes: Vec<u8>, words: Vec<u64>, at: usize, bit in 0..8) {
            let mut own = Vec::new();
            encode(&words, &mut own).unwrap();
            assert_eq!(decode(&own), Some(words.clone()));
            assert_eq!(decode(&own[..own.len() - 1]), None);
            let (capacity, length) = places().unwrap();
            let at = at % (8 * VECTOR_WORDS);
            own[at] ^= 1_u8 << bit;
            let read = decode(&own);
            // Capacity and address may be anything; a wrong length is detected.
            assert!(read.as_ref().is_none_or(|read| *read == words));
            assert!(at / 8 != length || read.is_none());
            assert!(at / 8 != capacity || at % 8 != 7 || bit != 7 || read.is_none());
            decode(&bytes);
        }
    }

    #[test]
    fn a_length_that_wraps_is_refused() {
        let (capacity, length) = places().unwrap();
        let mut own = [8_u64; VECTOR_WORDS];
        own[capacity] = u64::MAX;
        own[length] = 1 << 61;
        assert_eq!(decode(bytemuck::bytes_of(&own)), None);
        own = [8; VECTOR_WORDS];
        (own[capacity], own[length]) = (0, 0);
        assert_eq!(decode(bytemuck::bytes_of(&own)), Some(Vec::new()));
    }
}
