//! A set of topics in bits.

/// A set of topics that are inserted without a branch and drained in order: a bit for each topic, and a bit for
/// each word of those.
#[derive(Debug, Default)]
pub(super) struct TopicSet {
    bits: Vec<u64>,
    words: Vec<u64>,
}

impl TopicSet {
    /// Creates a set for topics below `size`.
    pub(super) fn new(size: usize) -> Self {
        let words = size.div_ceil(64);
        Self { bits: vec![0; words], words: vec![0; words.div_ceil(64)] }
    }

    #[inline]
    pub(super) fn insert(&mut self, topic: u16) {
        let word = usize::from(topic) / 64;
        self.bits[word] |= 1 << (topic % 64);
        self.words[word / 64] |= 1 << (word % 64);
    }

    /// Passes all topics to `visit`, ascending, and forgets them.
    #[inline]
    pub(super) fn drain(&mut self, mut visit: impl FnMut(u16)) {
        for (block, words) in self.words.iter_mut().enumerate() {
            for_each_bit(std::mem::take(words), |word| {
                let word = block * 64 + word;
                for_each_bit(std::mem::take(&mut self.bits[word]), |bit| {
                    visit((word * 64 + bit) as u16);
                });
            });
        }
    }
}

#[inline]
fn for_each_bit(mut bits: u64, mut visit: impl FnMut(usize)) {
    while bits != 0 {
        visit(bits.trailing_zeros() as usize);
        bits &= bits - 1;
    }
}
