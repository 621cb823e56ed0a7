//! SparseLDA as published (Yao, Mimno & McCallum 2009, §3.4), on one thread, and the plain sampler that it
//! is compared with there: to measure against ([`train`](super::train) is the trainer).
//!
//! Both draw each token in turn from Eq. 5, given all others, which leave out its own count everywhere:
//!
//! ```text
//! p(z = t | w) ∝ (α_t + n_td) (β + n_wt) / (βV + n_t)                                        (Eq. 5)
//!      = α_t β / (βV + n_t)  +  n_td β / (βV + n_t)  +  (α_t + n_td) n_wt / (βV + n_t)       (Eq. 6)
//! ```
//!
//! and [`SparseLda`] keeps what the three add up to: s over all topics (Eq. 7), r over those of the document
//! (Eq. 8), and of q (Eqs. 9 and 10) the coefficients (α_t + n_td) / (βV + n_t). The paper's n_{t|d} in the
//! denominators of these and in its step through s are misprints of n_t. It keeps s until α changes; here s
//! follows n_t, which changes with every token.

mod dense;
mod sparse;

use crate::bags::Bags;
use crate::math::random::{Stage, Stream};
use crate::model::Priors;
pub use dense::DenseLda;
pub use sparse::SparseLda;

/// Something that draws every token of documents again.
pub trait Chain {
    /// Draws each token's topic again, in the order of documents and terms.
    fn sweep(&mut self);

    /// z_di of all tokens, document by document, the tokens of a term together.
    fn assignments(&self) -> &[u16];

    /// Bytes that the counts of topics and terms take.
    fn count_bytes(&self) -> usize;
}

/// The state of documents and topics that both samplers have.
#[derive(Clone, Debug)]
struct State<'a> {
    bags: &'a Bags,
    alpha: Vec<f64>,
    /// β, and βV.
    beta: f64,
    smoothing: f64,
    assignments: Vec<u16>,
    /// n_t.
    totals: Vec<u32>,
    /// n_td of the current document.
    document: Vec<u32>,
    stream: Stream,
}

impl<'a> State<'a> {
    /// Topics at random, of `vocabulary_size` terms; `count` is called with the term and the topic of each token.
    fn new(
        bags: &'a Bags,
        vocabulary_size: usize,
        priors: &Priors,
        seed: u64,
        mut count: impl FnMut(u32, usize),
    ) -> Self {
        let topics = priors.topic_count();
        let mut stream = Stream::keyed(seed, Stage::Train, 0, 0);
        let (mut assignments, mut totals) = (Vec::new(), vec![0; topics]);
        for bag in (0..bags.len()).map(|index| bags.bag(index)) {
            for (&term, &n) in bag.terms.iter().zip(bag.counts) {
                for _ in 0..n {
                    let topic = stream.below(topics as u64) as usize;
                    assignments.push(topic as u16);
                    totals[topic] += 1;
                    count(term, topic);
                }
            }
        }
        Self {
            bags,
            alpha: priors.alpha.clone(),
            beta: priors.eta,
            smoothing: priors.eta * vocabulary_size as f64,
            assignments,
            totals,
            document: vec![0; topics],
            stream,
        }
    }

    /// Counts the topics of a document whose tokens begin at `start`; gives the topics of all of them.
    fn enter(&mut self, index: usize, start: usize) -> &[u16] {
        let end = start + self.bags.bag(index).token_count() as usize;
        self.document.fill(0);
        for &topic in &self.assignments[start..end] {
            self.document[usize::from(topic)] += 1;
        }
        &self.assignments[start..end]
    }

    /// βV + n_t.
    fn denominator(&self, topic: usize) -> f64 {
        self.smoothing + f64::from(self.totals[topic])
    }
}
