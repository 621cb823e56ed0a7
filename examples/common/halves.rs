//! Documents cut in two, for document completion.

use lda::infer::Bag;
use lda::math::random::Stream;

/// Distinct terms, ascending, and how often each occurs.
type Document = (Vec<u32>, Vec<u32>);

/// Splits a document's tokens into two random halves, the first the larger.
pub fn halves(bag: Bag<'_>, stream: &mut Stream) -> [Document; 2] {
    let pairs = bag.terms.iter().zip(bag.counts);
    let mut tokens: Vec<u32> =
        pairs.flat_map(|(&term, &count)| std::iter::repeat_n(term, count as usize)).collect();
    stream.shuffle(&mut tokens);
    let observed = tokens.len().div_ceil(2);
    let (first, second) = tokens.split_at_mut(observed);
    [first, second].map(|half| {
        half.sort_unstable();
        let runs = || half.chunk_by(|a, b| a == b);
        (runs().map(|run| run[0]).collect(), runs().map(|run| run.len() as u32).collect())
    })
}
