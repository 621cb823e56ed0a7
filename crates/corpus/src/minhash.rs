//! Signatures of documents, from which the resemblance of two is estimated: the Jaccard similarity of their shingles,
//! which are three consecutive tokens of a text.
//!
//! One-permutation MinHash (Li, Owen & Zhang 2012): each shingle is hashed once, into one of [`BINS`] bins, and each bin
//! keeps its smallest hash. An empty bin takes that of another bin, drawn by a hash of its own number (optimal
//! densification, Shrivastava 2017). A signature has the lowest 8 bits of each bin (b-bit minwise hashing, Li & König
//! 2010). Two documents are compared if they agree in a [`band`] of four bins: with [`BANDS`] bands those of resemblance
//! s are with probability 1 − (1 − s⁴)³², which is 0.999 for 0.7 and 0.05 for 0.2 (Leskovec, Rajaraman & Ullman,
//! Mining of Massive Datasets, 3.4).
//!
//! The hashes have fixed constants, and those of tokens depend on nothing but their texts: a document has the same
//! signature in every process.

use crate::terms::{PI, fold, hash, hash_short};
use crate::tokenizer::{ShortToken, TokenSink};

/// Bins of a signature, and its bytes.
pub const BINS: usize = 128;
/// Bands of a signature.
pub const BANDS: usize = 32;
/// Keys of bands that a worker compares at a time.
pub const KEYS_A_PART: u64 = 1 << 21;
/// Tokens of a shingle.
const SHINGLE: usize = 3;
/// Fewest tokens of a text that has a signature, and distinct terms of a document of counts: shorter ones agree by
/// chance, or as formulas do.
const FEWEST: usize = 20;
/// Bits of a bin in a signature.
const BITS: u32 = 8;

/// A signature.
pub type Signature = [u8; BINS];

/// The bins of a document, as its tokens come.
#[derive(Clone, Debug)]
pub(crate) struct MinHash {
    bins: [u64; BINS],
    /// The hashes of the last tokens, the latest first.
    last: [u64; SHINGLE - 1],
    /// Tokens, or terms, so far.
    count: usize,
}

impl Default for MinHash {
    fn default() -> Self {
        Self { bins: [u64::MAX; BINS], last: [0; SHINGLE - 1], count: 0 }
    }
}

impl MinHash {
    /// Adds the next token of a text, by the hash of its text.
    #[inline]
    pub(crate) fn token(&mut self, token: u64) {
        let [one, two] = self.last;
        self.last = [token, one];
        self.count += 1;
        if self.count >= SHINGLE {
            self.add(fold(token ^ one.rotate_left(21) ^ two.rotate_left(42), PI[0]));
        }
    }

    /// Adds a term of a document of counts, once for each power of two up to its count.
    pub(crate) fn term(&mut self, term: &str, count: u32) {
        let term = hash(term);
        self.count += 1;
        (0..=count.max(1).ilog2()).for_each(|level| self.add(term ^ u64::from(level)));
    }

    #[inline]
    fn add(&mut self, shingle: u64) {
        let hash = fold(shingle ^ PI[1], PI[0]);
        let bin = &mut self.bins[(hash >> (u64::BITS - BINS.ilog2())) as usize];
        *bin = hash.min(*bin);
    }

    /// Ends the document: writes its signature over `out`, or nothing if it is too short.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        let Self { bins, count, .. } = std::mem::take(self);
        out.clear();
        if count >= FEWEST {
            out.extend((0..BINS).map(|bin| bins[filled(&bins, bin)] as u8));
        }
    }
}

/// Returns the bin whose hash an empty one takes: that of its own, if it is not empty.
fn filled(bins: &[u64; BINS], bin: usize) -> usize {
    let mut draws = (1..).map(|draw: u64| {
        let drawn = fold(PI[1] ^ (bin as u64) << 32 ^ draw, PI[0]);
        (drawn >> (u64::BITS - BINS.ilog2())) as usize
    });
    let is_filled = |bin: &usize| bins[*bin] != u64::MAX;
    let drawn = || draws.find(is_filled).expect("a document with shingles fills a bin");
    Some(bin).filter(is_filled).unwrap_or_else(drawn)
}

/// Returns about the bytes of the keys that a worker compares at a time, if it has its share of this many documents,
/// twice while they arrive.
pub fn key_bytes(documents: u64) -> u64 {
    2 * 24 * documents.saturating_mul(BANDS as u64).min(KEYS_A_PART)
}

/// Returns the key of a band: documents of the same key may be near-duplicates.
pub fn band(signature: &Signature, band: usize) -> u64 {
    let (bins, _) = signature.as_chunks::<{ BINS / BANDS }>();
    fold(PI[1] ^ (band as u64) << 32 ^ u64::from(u32::from_le_bytes(bins[band])), PI[0])
}

/// Estimates the resemblance of two documents, in which chance collisions of bins are allowed for: with the share p of
/// bins that agree, (p − 2⁻⁸) / (1 − 2⁻⁸) (Li & König 2010, Eq. 5, for few shingles of many).
///
/// ```
/// # use corpus::minhash::{BINS, resemblance};
/// assert_eq!(resemblance(&[7; BINS], &[7; BINS]), 1.0);
/// assert!(resemblance(&[7; BINS], &[8; BINS]) < 0.0);
/// ```
pub fn resemblance(one: &Signature, other: &Signature) -> f64 {
    let equal = one.iter().zip(other).filter(|(one, other)| one == other).count();
    let chance = 1.0 / f64::from(1_u32 << BITS);
    (equal as f64 / BINS as f64 - chance) / (1.0 - chance)
}

/// A sink of tokens whose shingles are hashed before it takes them.
pub(crate) struct Hashed<'a, S> {
    pub(crate) hashes: &'a mut MinHash,
    pub(crate) sink: &'a mut S,
}

impl<S: TokenSink> TokenSink for Hashed<'_, S> {
    #[inline]
    fn token(&mut self, token: &str) {
        self.hashes.token(hash(token));
        self.sink.token(token);
    }

    #[inline]
    fn short(&mut self, token: ShortToken) {
        self.hashes.token(hash_short(token));
        self.sink.short(token);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use lda::math::random::{Stage, hash_unit};

    const DOCUMENTS: usize = 300;
    const WORDS: usize = 300;

    /// Returns the signature of a text.
    fn signature(text: &[u32]) -> Option<Signature> {
        let (mut hashes, mut out) = (MinHash::default(), Vec::new());
        text.iter().for_each(|word| hashes.token(hash(&format!("w{word}"))));
        hashes.finish(&mut out);
        out.try_into().ok()
    }

    /// Returns the exact resemblance.
    fn jaccard(one: &[u32], other: &[u32]) -> f64 {
        let [one, other] = [one, other].map(|text| text.windows(SHINGLE).collect::<BTreeSet<_>>());
        let both = one.intersection(&other).count();
        both as f64 / (one.len() + other.len() - both) as f64
    }

    /// Returns texts, and copies of them in which this share of the words is drawn again.
    fn texts(changed: f64) -> [Vec<Vec<u32>>; 2] {
        let draw =
            |[what, place]: [usize; 2]| hash_unit(7, Stage::Synth, what as u64, place as u64);
        let word = |what, place| (2000.0 * draw([what, place])) as u32;
        let places = |document| WORDS * document..WORDS * (document + 1);
        let is_changed = |place| draw([1, place]) < changed;
        let copied = |place| if is_changed(place) { word(2, place) } else { word(0, place) };
        let all = 0..DOCUMENTS;
        let texts = all.clone().map(|number| places(number).map(|place| word(0, place)).collect());
        [texts.collect(), all.map(|number| places(number).map(copied).collect()).collect()]
    }

    #[test]
    fn estimates_are_near_the_exact_resemblance() {
        for changed in [0.0, 0.05, 0.2, 0.5] {
            let [texts, copies] = texts(changed);
            let (mut bias, mut square) = (0.0, 0.0);
            for (text, copy) in texts.iter().zip(&copies) {
                let exact = jaccard(text, copy);
                let [one, other] = [text, copy].map(|text| signature(text).expect("it is long"));
                let error = resemblance(&one, &other) - exact;
                bias += error / DOCUMENTS as f64;
                square += error * error / DOCUMENTS as f64;
            }
            // The standard error of 128 draws is 0.044 at most, that of the mean of 300 documents 0.0026.
            assert!(bias.abs() < 0.009 && square < 0.05_f64.powi(2), "{changed}: {bias}, {square}");
        }
    }

    #[test]
    fn bands_are_shared_as_often_as_resemblance_says() {
        for (changed, expected) in [(0.0, 1.0), (0.05, 0.999), (0.2, 0.35), (0.5, 0.002)] {
            let [texts, copies] = texts(changed);
            let keys = |text: &Vec<u32>| {
                let signature = signature(text).expect("it is long");
                (0..BANDS).map(|place| band(&signature, place)).collect::<BTreeSet<_>>()
            };
            let [ours, theirs] =
                [texts, copies].map(|all| all.iter().map(keys).collect::<Vec<_>>());
            let meets = |(one, other): (&BTreeSet<u64>, &BTreeSet<u64>)| !one.is_disjoint(other);
            let found = ours.iter().zip(&theirs).filter(|pair| meets(*pair)).count();
            let share = found as f64 / DOCUMENTS as f64;
            assert!((share - expected).abs() < 0.1, "{changed}: {share}");
            let others = ours.iter().zip(theirs.iter().skip(1)).filter(|pair| meets(*pair));
            assert_eq!(others.count(), 0, "texts without a shingle in common share no band");
        }
    }

    #[test]
    fn short_texts_have_no_signature() {
        let text: Vec<u32> = (0..FEWEST as u32).collect();
        assert!(signature(&text).is_some());
        assert_eq!(signature(&text[1..]), None);
    }

    #[test]
    fn a_signature_is_the_same_in_every_build() {
        let text: Vec<u32> = (0..30).collect();
        assert_eq!(signature(&text).expect("it is long")[..8], PINNED);
    }

    const PINNED: [u8; 8] = [154, 101, 10, 33, 161, 154, 79, 254];

    #[test]
    fn a_text_is_hashed_alike_by_tokens_and_by_short_ones() {
        let [mut one, mut other] = [0, 1].map(|_| MinHash::default());
        let mut ignore = |_: &str| {};
        let text = ["a", "longer-than-short", "word"];
        let mut sink = Hashed { hashes: &mut one, sink: &mut ignore };
        text.iter().for_each(|token| sink.token(token));
        let mut sink = Hashed { hashes: &mut other, sink: &mut ignore };
        for token in text {
            match ShortToken::new(token) {
                Some(token) => sink.short(token),
                None => sink.token(token),
            }
        }
        assert_eq!(one.bins, other.bins);
        assert!(one.bins.iter().any(|&bin| bin != u64::MAX));
    }

    #[test]
    fn counts_resemble_each_other_by_their_magnitude() {
        let signature = |scale: u32| {
            let (mut hashes, mut out) = (MinHash::default(), Vec::new());
            (0..200).for_each(|term| hashes.term(&format!("t{term}"), scale * (1 + term % 3)));
            hashes.finish(&mut out);
            Signature::try_from(out).expect("it has many terms")
        };
        let one = signature(4);
        assert_eq!(resemblance(&one, &signature(4)), 1.0);
        let [near, far] = [5, 64].map(|scale| resemblance(&one, &signature(scale)));
        assert!(near > 0.7 && far < 0.7, "{near} {far}");
    }
}
