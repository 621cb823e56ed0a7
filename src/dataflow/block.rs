//! Blocks: plain 64-bit words that are sent in their memory layout.
//!
//! A block is the unit of every exchange that matters for speed: it is routed whole by its header,
//! written with one copy, and read in the receive buffer. Callers pack their records into words
//! with `bytemuck` (two `u32` per word). On the wire a block is a header of three words followed by
//! its words, in the byte order of the machine, so all processes must run on the same architecture.
//! With the feature `abomonation` the words have a different layout on the wire (`abomonated`).

use std::io::Write;
use std::sync::Arc;

use timely::Accountable;
use timely::bytes::arc::Bytes;
#[cfg(not(feature = "abomonation"))]
use timely::dataflow::channels::ContainerBytes;

/// The most words in a block. Two blocks of this size, with all headers, fit into the 1 MiB buffers
/// with which timely sends and receives; a longer message would enlarge them permanently.
pub const MAX_BLOCK_WORDS: usize = 64 * 1024 - 64;

/// Bytes of a block's header on the wire: source and target, tag, number of words.
pub(super) const HEADER_BYTES: usize = 24;

/// The target of a block for all workers, on the wire.
const EVERYONE: u32 = u32::MAX;

/// Words for one worker or for all of them.
///
/// Cloning shares the words. Progress tracking counts blocks, so a block without words is
/// delivered like any other; only `Block::default()` counts as empty.
#[derive(Clone, Debug, Default)]
pub struct Block {
    source: u32,
    target: u32,
    tag: u64,
    /// Deliveries that progress tracking must expect of this value: the number of workers before
    /// a broadcast, else 1.
    deliveries: u32,
    words: Words,
}

/// The storage of the words.
#[derive(Clone)]
enum Words {
    /// Our own memory, shared by the workers of a process.
    Owned(Arc<Vec<u64>>),
    /// The buffer in which they were received; 8-aligned, a multiple of 8 bytes.
    Received(Bytes),
}

impl Default for Words {
    fn default() -> Words {
        Words::Owned(Arc::default())
    }
}

impl std::fmt::Debug for Words {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Words::Owned(words) => write!(formatter, "{} words", words.len()),
            Words::Received(bytes) => write!(formatter, "{} words received", bytes.len() / 8),
        }
    }
}

impl Block {
    /// Makes a block from worker `source` for worker `target`, to be sent by [`super::exchange::route`].
    /// The caller defines the meaning of the tag, for example a number in a sequence.
    ///
    /// # Panics
    /// Panics if there are more than [`MAX_BLOCK_WORDS`] words.
    pub fn to_worker(source: usize, target: usize, tag: u64, words: Vec<u64>) -> Block {
        Block::new(source, index(target), 1, tag, words)
    }

    /// Makes a block from worker `source` for each of `peers` workers, itself included, to be sent by
    /// [`super::exchange::Broadcast`].
    ///
    /// # Panics
    /// Panics if there are more than [`MAX_BLOCK_WORDS`] words.
    pub fn to_everyone(source: usize, peers: usize, tag: u64, words: Vec<u64>) -> Block {
        Block::new(source, EVERYONE, index(peers), tag, words)
    }

    fn new(source: usize, target: u32, deliveries: u32, tag: u64, words: Vec<u64>) -> Block {
        assert!(
            words.len() <= MAX_BLOCK_WORDS,
            "a block of {} words is longer than {MAX_BLOCK_WORDS}",
            words.len()
        );
        Block {
            source: index(source),
            target,
            tag,
            deliveries,
            words: Words::Owned(Arc::new(words)),
        }
    }

    /// Returns the worker that made the block.
    pub(crate) fn source(&self) -> usize {
        self.source as usize
    }

    /// Returns the worker that the block is for; `None` if it is for all.
    pub(crate) fn target(&self) -> Option<usize> {
        (self.target != EVERYONE).then_some(self.target as usize)
    }

    /// Returns the tag that its maker gave it.
    pub(crate) fn tag(&self) -> u64 {
        self.tag
    }

    /// Returns the words.
    pub fn words(&self) -> &[u64] {
        match &self.words {
            Words::Owned(words) => words,
            Words::Received(bytes) => bytemuck::cast_slice(bytes),
        }
    }

    /// Returns the deliveries that progress tracking expects of this value.
    pub(super) fn deliveries(&self) -> usize {
        self.deliveries as usize
    }

    /// Turns the block into one of those that a broadcast delivers.
    pub(super) fn count_once(&mut self) {
        self.deliveries = 1;
    }
}

/// Converts a worker's number to its form in a header.
fn index(worker: usize) -> u32 {
    u32::try_from(worker).expect("fewer than 2^32 workers")
}

impl Accountable for Block {
    fn record_count(&self) -> i64 {
        i64::from(self.deliveries)
    }
}

#[cfg(not(feature = "abomonation"))]
impl ContainerBytes for Block {
    fn from_bytes(bytes: Bytes) -> Block {
        Block::from_plain(bytes)
    }

    fn length_in_bytes(&self) -> usize {
        HEADER_BYTES + self.words().len() * 8
    }

    fn into_bytes<W: Write>(&self, writer: &mut W) {
        self.write_plain(writer);
    }
}

/// The codec: a header, then the words in their memory layout.
impl Block {
    #[doc(hidden)]
    pub fn from_plain(mut bytes: Bytes) -> Block {
        let header = Block::take_header(&mut bytes);
        assert!(
            bytes.len().is_multiple_of(8) && bytes.len() as u64 / 8 == header[2],
            "a block of another length than it says"
        );
        // Everything timely sends is a multiple of 8 bytes, and every allocator we know aligns its
        // buffers; the copy is for allocators that do not.
        let words = if bytemuck::try_cast_slice::<u8, u64>(&bytes).is_ok() {
            Words::Received(bytes)
        } else {
            let mut words = vec![0; bytes.len() / 8];
            bytemuck::cast_slice_mut(&mut words).copy_from_slice(&bytes);
            Words::Owned(Arc::new(words))
        };
        Block::behind(header, words)
    }

    #[doc(hidden)]
    pub fn write_plain<W: Write>(&self, writer: &mut W) {
        for part in [&self.header(), self.words()] {
            writer
                .write_all(bytemuck::cast_slice(part))
                .expect("timely lends as many bytes as the block asked for");
        }
    }

    /// Returns source and target, tag and number of words.
    pub(super) fn header(&self) -> [u64; 3] {
        let ends = u64::from(self.source) | u64::from(self.target) << 32;
        [ends, self.tag, self.words().len() as u64]
    }

    /// Takes the header off the bytes of a block, which must be long enough.
    pub(super) fn take_header(bytes: &mut Bytes) -> [u64; 3] {
        let mut header = [0; 3];
        bytemuck::bytes_of_mut(&mut header).copy_from_slice(&bytes.extract_to(HEADER_BYTES));
        header
    }

    /// Returns the words, if they are in a vector.
    #[cfg(feature = "abomonation")]
    pub(super) fn owned(&self) -> Option<&Vec<u64>> {
        match &self.words {
            Words::Owned(words) => Some(words),
            Words::Received(_) => None,
        }
    }

    /// Makes a block of a header and our own words.
    #[cfg(feature = "abomonation")]
    pub(super) fn with_header(header: [u64; 3], words: Vec<u64>) -> Block {
        Block::behind(header, Words::Owned(Arc::new(words)))
    }

    fn behind([ends, tag, _]: [u64; 3], words: Words) -> Block {
        Block {
            source: (ends & u64::from(u32::MAX)) as u32,
            target: (ends >> 32) as u32,
            tag,
            deliveries: 1,
            words,
        }
    }
}

#[cfg(test)]
mod tests {
    use timely::bytes::arc::BytesMut;
    use timely::dataflow::channels::ContainerBytes;

    use super::*;

    fn over_the_wire(block: &Block, offset: usize) -> Block {
        let mut bytes = vec![0; offset];
        block.into_bytes(&mut bytes);
        assert_eq!(bytes.len() - offset, block.length_in_bytes());
        let mut bytes = BytesMut::from(bytes).freeze();
        let _ = bytes.extract_to(offset);
        Block::from_bytes(bytes)
    }

    #[test]
    fn a_block_survives_the_wire_at_every_alignment() {
        let words: Vec<u64> = (0..100).map(|n| n * 0x0123_4567_89ab_cdef).collect();
        let block = Block::to_worker(3, 70_000, 99, words.clone());
        for offset in 0..9 {
            let read = over_the_wire(&block, offset);
            assert_eq!((read.source(), read.target()), (3, Some(70_000)));
            assert_eq!((read.tag(), read.record_count()), (99, 1));
            assert_eq!(read.words(), words);
        }
    }

    #[test]
    fn a_broadcast_counts_for_all_before_and_for_one_behind() {
        let block = Block::to_everyone(1, 5, 0, vec![]);
        assert_eq!((block.record_count(), block.target()), (5, None));
        let read = over_the_wire(&block, 0);
        assert_eq!((read.record_count(), read.target()), (1, None));
        assert!(Block::default().is_empty() && !read.is_empty());
    }

    #[test]
    fn clones_share_the_words() {
        let block = Block::to_everyone(0, 2, 0, vec![1, 2, 3]);
        let clone = block.clone();
        assert_eq!(clone.words().as_ptr(), block.words().as_ptr());
    }

    #[test]
    #[should_panic(expected = "longer than")]
    fn a_block_that_would_enlarge_the_buffers_is_a_bug() {
        Block::to_worker(0, 0, 0, vec![0; MAX_BLOCK_WORDS + 1]);
    }
}
