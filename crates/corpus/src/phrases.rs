//! Phrases: tokens that follow each other and count as one.
//!
//! They are listed by the user (`lists`) or found by their counts: two tokens are a phrase if their normalised
//! pointwise mutual information ([`npmi`]) is high. As in gensim's `Phrases`, a second pass over the joined text finds
//! phrases of phrases. Either way the tokenizer joins them by rules, in every text that is tokenized for the same
//! model.

mod lists;

pub use lists::load;

use lda::math::special::ln;
use serde::{Deserialize, Serialize};

use super::tokenizer::Rule;

/// Two tokens that a collection joins. Either may be a phrase of an earlier pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phrase {
    /// The pass that found it, from 1.
    pub pass: u32,
    /// The first token.
    pub first: String,
    /// The token that follows it.
    pub second: String,
    /// How often they follow each other in the text of that pass.
    pub count: u64,
    /// Their [`npmi`] there.
    pub score: f64,
}

impl Phrase {
    /// Returns the token that replaces them.
    pub fn name(&self) -> String {
        joined([&*self.first, &*self.second].into_iter())
    }
}

/// Pairs of tokens that a worker adds up at a time, on average at most, when phrases are looked for. Fewer in debug
/// builds, so that tests reach it.
pub const PAIRS_A_PART: u64 = if cfg!(debug_assertions) { 1 << 16 } else { 4 << 20 };

/// The most bytes of [`pair_buckets`].
const MOST_BUCKETS: u64 = 1 << 26;

/// Returns the buckets, of a byte each, with which a worker finds out which of its pairs can occur `least` times, in a
/// text of this many tokens a worker: in a bucket without such a pair there are `least` / 4 at most, on average, unless
/// there are too many tokens.
pub fn pair_buckets(tokens: u64, least: u64) -> u64 {
    let buckets = (4 * tokens / least.clamp(1, u8::MAX.into())).next_power_of_two();
    buckets.clamp(2, MOST_BUCKETS)
}

/// Joins the words of a phrase into one token.
fn joined<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join("_")
}

/// Returns the rules that join phrases, by pass, in order.
pub fn rules(phrases: &[Phrase]) -> Vec<Vec<Rule>> {
    let mut passes: Vec<Vec<Rule>> = Vec::new();
    for phrase in phrases {
        passes.resize(passes.len().max(phrase.pass as usize), Vec::new());
        passes[phrase.pass as usize - 1].push(Rule {
            words: vec![phrase.first.clone(), phrase.second.clone()],
            target: Some(phrase.name()),
        });
    }
    passes
}

/// Computes the normalised pointwise mutual information, ln(p(a, b) / (p(a) p(b))) / −ln p(a, b), from −1 to 1 (Bouma
/// 2009, Eq. 8), of tokens a and b that occur `first` and `second` times among `tokens`, and `count` times one after
/// the other: p is each count's share of the tokens, as in gensim.
///
/// ```
/// use corpus::phrases::npmi;
///
/// assert!((npmi(10, [10, 10], 1000) - 1.0).abs() < 1e-12);
/// assert_eq!(npmi(1, [10, 100], 1000), 0.0);
/// ```
pub fn npmi(count: u64, [first, second]: [u64; 2], tokens: u64) -> f64 {
    let share = |count: u64| count as f64 / tokens as f64;
    let both = share(count);
    ln(both / (share(first) * share(second))) / -ln(both)
}
