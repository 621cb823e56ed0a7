//! SparseLDA as published (Yao, Mimno & McCallum 2009, §3.4), on one thread, and the plain sampler that it is
//! compared with there. They are for measurements; [`lda::train::train`] is the trainer.
//!
//! Both draw one token after another from Eq. 5, given all others and without its own count anywhere:
//!
//! ```text
//! p(z = t | w) ∝ (α_t + n_td) (β + n_wt) / (βV + n_t)                                        (Eq. 5)
//!      = α_t β / (βV + n_t)  +  n_td β / (βV + n_t)  +  (α_t + n_td) n_wt / (βV + n_t)       (Eq. 6)
//! ```
//!
//! [`SparseLda`] caches s, the sum over all topics (Eq. 7), r, the sum over those of the document (Eq. 8), and, for
//! q (Eqs. 9 and 10), the coefficients (α_t + n_td) / (βV + n_t). The paper's n_{t|d} in these denominators and in
//! its step through s are misprints of n_t. The paper keeps s until α changes; here s follows n_t, which changes
//! with every token.

mod dense;
mod sparse;

pub use dense::DenseLda;
use lda::bags::Bags;
use lda::math::random::{Stage, Stream};
use lda::model::Priors;
pub use sparse::SparseLda;

/// A Markov chain over the topics of all tokens.
pub trait Chain {
    /// Redraws each token's topic, in the order of documents and terms.
    fn sweep(&mut self);

    /// Returns z_di of all tokens, document by document, the tokens of a term together.
    fn assignments(&self) -> &[u16];

    /// Returns the bytes of the counts of topics and terms.
    fn count_bytes(&self) -> usize;
}

/// The state of documents and topics that both samplers share.
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
    /// Assigns topics at random, for `vocabulary_size` terms; calls `count` with the term and the topic of each token.
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

    /// Counts the topics of a document whose tokens begin at `start`; returns the topics of its tokens.
    fn enter(&mut self, index: usize, start: usize) -> &[u16] {
        let end = start + self.bags.bag(index).token_count() as usize;
        self.document.fill(0);
        for &topic in &self.assignments[start..end] {
            self.document[usize::from(topic)] += 1;
        }
        &self.assignments[start..end]
    }

    /// Returns βV + n_t.
    fn denominator(&self, topic: usize) -> f64 {
        self.smoothing + f64::from(self.totals[topic])
    }
}
