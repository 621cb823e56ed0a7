//! Random streams keyed by their purpose, and stateless random choices.
//!
//! A document's draws depend only on (seed, stage, round, document), never on which worker makes them or when, so
//! the same job yields the same bytes on any number of workers. The key is mixed by `SplitMix64` (Steele, Lea & Flood,
//! OOPSLA 2014) into the state of a xoshiro256++ generator (Blackman & Vigna, ACM TOMS 2021), as its authors
//! recommend.
//!
//! The values are a **format**: a change here changes every result of every job. The tests pin them.

use std::convert::Infallible;

use rand::seq::SliceRandom;
use rand::{Rng, RngExt, SeedableRng, TryRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The purpose of a random choice. The numbers are part of the format and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u64)]
pub enum Stage {
    /// Whether a document is in the sample.
    Sample = 1,
    /// Whether a sampled document is held out.
    HeldOut = 2,
    /// Which minibatch of a pass a document belongs to.
    Minibatch = 3,
    /// Draws of a round's local step.
    Train = 4,
    /// Draws of projection.
    Project = 6,
    /// How a held-out document's tokens are halved, and the draws that score it.
    Completion = 7,
    /// Making a corpus with planted topics.
    Synth = 8,
    /// The order of a document's tokens, and the draws that score it from left to right.
    LeftToRight = 16,
    /// Which documents of a split are used in an evaluation.
    Evaluate = 17,
    /// The proportions that MaxEnt's classifier learns.
    MaxEnt = 20,
    /// Draws of documents that are sampled together.
    Joint = 22,
    /// Which round of a pass such a document belongs to.
    JointRound = 23,
    /// The topics of single tokens in an export.
    Export = 24,
    /// Which documents a round draws.
    Draw = 25,
    /// The parameters that variational Bayes starts from.
    Start = 26,
    /// The groups of documents of a bootstrap, and those that its replicates draw.
    Bootstrap = 27,
    /// The worker, the part of a table or the pass that a name belongs to.
    Name = 28,
    /// The tokens of a long document that are trained on.
    Thin = 29,
}

/// 2⁶⁴ divided by the golden ratio: the increment of `SplitMix64`.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Applies the finalizer of `SplitMix64` (variant 13 of Stafford's mixers), a bijection of 64-bit words.
#[inline]
fn finalize(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// Returns a uniform 64-bit value that depends only on the four arguments, for choices that need one number and no
/// stream, such as "is document `b` in the sample?".
#[inline]
pub fn hash(seed: u64, stage: Stage, a: u64, b: u64) -> u64 {
    let mixed = finalize(seed.wrapping_add(GOLDEN));
    let mixed = finalize((mixed ^ stage as u64).wrapping_add(GOLDEN));
    let mixed = finalize((mixed ^ a).wrapping_add(GOLDEN));
    finalize((mixed ^ b).wrapping_add(GOLDEN))
}

/// Returns [`hash`] as a number in [0, 1): its top 53 bits.
#[inline]
pub fn hash_unit(seed: u64, stage: Stage, a: u64, b: u64) -> f64 {
    unit(hash(seed, stage, a, b))
}

/// Returns the top 53 bits of a word as a multiple of 2⁻⁵³ in [0, 1).
#[inline]
fn unit(word: u64) -> f64 {
    (word >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// A stream of random words for one (seed, stage, round, document): a generator of the crate `rand`, so that its ranges,
/// shuffles and distributions draw from it.
///
/// ```
/// use lda::math::random::{Stage, Stream};
/// use rand::Rng;
/// let mut one = Stream::keyed(1, Stage::Train, 7, 42);
/// let mut same = Stream::keyed(1, Stage::Train, 7, 42);
/// let mut next_round = Stream::keyed(1, Stage::Train, 8, 42);
/// assert_eq!(one.next_u64(), same.next_u64());
/// assert_ne!(one.next_u64(), next_round.next_u64());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    generator: Xoshiro256PlusPlus,
}

impl Stream {
    /// Creates the stream of this key. This costs some 7 ns, because the compiler hoists the part for seed, stage
    /// and round out of a loop over documents.
    #[inline]
    pub fn keyed(seed: u64, stage: Stage, round: u64, document: u64) -> Self {
        let key = hash(seed, stage, round, document);
        let mut bytes = [0_u8; 32];
        for (i, word) in bytes.chunks_exact_mut(8).enumerate() {
            let step = GOLDEN.wrapping_mul(i as u64 + 1);
            word.copy_from_slice(&finalize(key.wrapping_add(step)).to_le_bytes());
        }
        Self { generator: Xoshiro256PlusPlus::from_seed(bytes) }
    }

    /// Draws a number in [0, 1), a multiple of 2⁻⁵³.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        self.random()
    }

    /// Draws a number in [0, 1), a multiple of 2⁻²⁴. Takes one word, like [`uniform`](Self::uniform).
    #[inline]
    pub(crate) fn uniform_f32(&mut self) -> f32 {
        self.random()
    }

    /// Draws a number in (0, 1], whose logarithm is finite.
    #[inline]
    pub(crate) fn uniform_positive(&mut self) -> f64 {
        1.0 - self.uniform()
    }

    /// Draws an integer in 0 .. `bound`, each equally likely.
    ///
    /// # Panics
    ///
    /// Panics if `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        self.random_range(0..bound)
    }

    /// Puts `items` in a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        items.shuffle(self);
    }
}

impl TryRng for Stream {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.generator.next_u32())
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.generator.next_u64())
    }

    #[inline]
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.generator.fill_bytes(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_is_the_published_one() {
        // The first outputs of Vigna's splitmix64.c from state 1234567.
        let outputs: Vec<u64> = (1..=3_u64)
            .map(|i| finalize(1_234_567_u64.wrapping_add(GOLDEN.wrapping_mul(i))))
            .collect();
        assert_eq!(
            outputs,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn streams_are_a_format() {
        let mut stream = Stream::keyed(1, Stage::Train, 2, 3);
        let words: Vec<u64> = (0..4).map(|_| stream.next_u64()).collect();
        assert_eq!(
            words,
            [
                16_570_903_616_218_007_619,
                17_076_789_106_525_080_737,
                649_596_261_458_978_803,
                5_044_896_140_483_810_222
            ]
        );
        assert_eq!(stream.uniform(), 0.359_860_919_858_404_2);
        assert_eq!(stream.uniform_f32(), 0.225_122_39);
        assert_eq!(stream.below(1000), 213);
        let mut order = [0, 1, 2, 3, 4, 5, 6, 7];
        stream.shuffle(&mut order);
        assert_eq!(order, [5, 7, 0, 6, 4, 3, 1, 2]);
        assert_eq!(hash(1, Stage::Sample, 2, 3), 7_725_364_555_548_041_738);
        assert_eq!(hash_unit(1, Stage::HeldOut, 2, 3), 0.751_424_204_485_591);
    }

    #[test]
    fn every_part_of_the_key_counts() {
        let stages = [
            Stage::Sample,
            Stage::HeldOut,
            Stage::Minibatch,
            Stage::Train,
            Stage::Project,
            Stage::Completion,
            Stage::Synth,
        ];
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..8 {
            for (stage, round, document) in stages
                .iter()
                .flat_map(|&s| (0..8).flat_map(move |r| (0..8).map(move |d| (s, r, d))))
            {
                let mut stream = Stream::keyed(seed, stage, round, document);
                assert!(seen.insert(stream.next_u64()), "two keys, one stream");
                assert!(seen.insert(hash(seed, stage, round, document)));
            }
        }
    }

    #[test]
    fn first_draws_of_neighbouring_documents_are_uniform_and_independent() {
        // 64 cells of (first draw of d, first draw of d + 1): χ² with 63 degrees of freedom.
        let mut cells = [0_u32; 64];
        let draws = 64_000;
        let first = |d| Stream::keyed(5, Stage::Train, 1, d).uniform();
        for d in 0..draws {
            let cell = (first(2 * d) * 8.0) as usize * 8 + (first(2 * d + 1) * 8.0) as usize;
            cells[cell] += 1;
        }
        let expected = draws as f64 / 64.0;
        let chi: f64 = cells.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
        assert!(chi < 116.0, "χ² = {chi}, beyond the 99.995 % quantile");
    }

    #[test]
    fn uniform_numbers_stay_below_one() {
        assert_eq!(unit(u64::MAX), 1.0 - f64::EPSILON / 2.0);
        assert_eq!(unit(0), 0.0);
        let mut stream = Stream::keyed(1, Stage::Train, 0, 0);
        for _ in 0..10_000 {
            assert!((0.0..1.0).contains(&stream.uniform_f32()));
            let positive = stream.uniform_positive();
            assert!(positive > 0.0 && positive <= 1.0);
        }
    }

    #[test]
    fn below_is_fair() {
        let mut stream = Stream::keyed(9, Stage::Synth, 0, 0);
        let mut counts = [0_u32; 6];
        for _ in 0..60_000 {
            counts[stream.below(6) as usize] += 1;
        }
        let chi: f64 = counts.iter().map(|&n| (f64::from(n) - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi < 25.7, "χ² = {chi} with 5 degrees of freedom");
        // A bound that rejects half of all words still terminates, and stays in its range.
        assert!(stream.below((1 << 63) + 1) <= 1 << 63);
    }
}
