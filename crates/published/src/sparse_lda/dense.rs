//! The plain sampler of §3.4: every topic's mass for every token.

use super::{Chain, State};
use lda::bags::Bags;
use lda::model::Priors;

/// Collapsed Gibbs sampling as defined: Eq. 5 for every topic, O(T) per token; n_wt is an array of T counts for
/// each term.
#[derive(Clone, Debug)]
pub struct DenseLda<'a> {
    state: State<'a>,
    /// n_wt, V × T.
    by_term: Vec<u32>,
    /// Running sums of the current draw.
    running: Vec<f64>,
}

impl<'a> DenseLda<'a> {
    /// Starts with random topics, for documents of `vocabulary_size` terms; β is `priors.eta`.
    pub fn new(bags: &'a Bags, vocabulary_size: usize, priors: &Priors, seed: u64) -> Self {
        let topics = priors.topic_count();
        let mut by_term = vec![0; vocabulary_size * topics];
        let state = State::new(bags, vocabulary_size, priors, seed, |term, topic| {
            by_term[term as usize * topics + topic] += 1;
        });
        Self { state, by_term, running: vec![0.0; topics] }
    }

    fn draw(&mut self, term: u32, old: usize) -> usize {
        let (state, topics) = (&mut self.state, self.running.len());
        let row = &mut self.by_term[term as usize * topics..][..topics];
        row[old] -= 1;
        state.document[old] -= 1;
        state.totals[old] -= 1;
        let mut sum = 0.0;
        for (t, running) in self.running.iter_mut().enumerate() {
            let document = state.alpha[t] + f64::from(state.document[t]);
            let word = state.beta + f64::from(row[t]);
            sum += document * word / (state.smoothing + f64::from(state.totals[t]));
            *running = sum;
        }
        let target = state.stream.uniform() * sum;
        let new = self.running.partition_point(|&running| running <= target);
        let new = new.min(topics - 1);
        row[new] += 1;
        state.document[new] += 1;
        state.totals[new] += 1;
        new
    }
}

impl Chain for DenseLda<'_> {
    fn sweep(&mut self) {
        let (bags, mut place) = (self.state.bags, 0);
        for index in 0..bags.len() {
            self.state.enter(index, place);
            let bag = bags.bag(index);
            for (&term, &n) in bag.terms.iter().zip(bag.counts) {
                for _ in 0..n {
                    let old = usize::from(self.state.assignments[place]);
                    self.state.assignments[place] = self.draw(term, old) as u16;
                    place += 1;
                }
            }
        }
    }

    fn assignments(&self) -> &[u16] {
        &self.state.assignments
    }

    fn count_bytes(&self) -> usize {
        size_of_val(&*self.by_term) + size_of_val(&*self.state.totals)
    }
}
