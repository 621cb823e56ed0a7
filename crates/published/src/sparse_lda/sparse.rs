//! SparseLDA: three masses, and their cached parts (Yao, Mimno & McCallum 2009, §3.4).

use super::{Chain, State};
use lda::bags::Bags;
use lda::model::Priors;

/// SparseLDA: O(topics of the term + topics of the document) per token.
#[derive(Clone, Debug)]
pub struct SparseLda<'a> {
    state: State<'a>,
    /// (n_wt, t) of each term's topics, n_wt in the high bits of a word, descending.
    by_term: Vec<Vec<u32>>,
    /// m: the smallest number of bits that can represent every topic.
    topic_bits: u32,
    /// (α_t + n_td) / (βV + n_t).
    coefficients: Vec<f64>,
    /// Topics with n_td > 0, in no meaningful order.
    present: Vec<u16>,
    /// s (Eq. 7) and r (Eq. 8), each divided by β.
    smoothing_mass: f64,
    document_mass: f64,
    /// Draws from each bucket: s, r, q.
    buckets: [u64; 3],
}

impl<'a> SparseLda<'a> {
    /// Starts with random topics, for documents of `vocabulary_size` terms; β is `priors.eta`.
    ///
    /// # Panics
    /// Panics if a term has so many tokens that count and topic do not fit in 32 bits.
    pub fn new(bags: &'a Bags, vocabulary_size: usize, priors: &Priors, seed: u64) -> Self {
        let topics = priors.topic_count();
        let topic_bits = topics.next_power_of_two().trailing_zeros();
        let mut tokens = vec![0u64; vocabulary_size];
        let mut drawn = vec![Vec::new(); vocabulary_size];
        let state = State::new(bags, vocabulary_size, priors, seed, |term, topic| {
            tokens[term as usize] += 1;
            drawn[term as usize].push(topic as u32);
        });
        let most = tokens.iter().max().copied().unwrap_or(0);
        assert!(most >> (u32::BITS - topic_bits) == 0, "count and topic fit in 32 bits");
        let count = |mut topics: Vec<u32>| {
            topics.sort_unstable();
            let runs = topics.chunk_by(|a, b| a == b);
            let mut row: Vec<u32> =
                runs.map(|run| (run.len() as u32) << topic_bits | run[0]).collect();
            row.sort_unstable_by(|a, b| b.cmp(a));
            row
        };
        Self {
            by_term: drawn.into_iter().map(count).collect(),
            topic_bits,
            coefficients: vec![0.0; topics],
            present: Vec::new(),
            smoothing_mass: 0.0,
            document_mass: 0.0,
            buckets: [0; 3],
            state,
        }
    }

    /// Returns how many draws so far have hit s, r and q.
    pub fn buckets(&self) -> [u64; 3] {
        self.buckets
    }

    /// Recomputes the masses and coefficients of topics without a document, so that rounding does not build up over
    /// sweeps.
    fn start_sweep(&mut self) {
        let state = &self.state;
        self.smoothing_mass = 0.0;
        for t in 0..self.coefficients.len() {
            self.coefficients[t] = state.alpha[t] / state.denominator(t);
            self.smoothing_mass += self.coefficients[t];
        }
    }

    /// Caches the mass and the coefficients of the document's topics.
    fn enter(&mut self, index: usize, start: usize) {
        self.present.extend_from_slice(self.state.enter(index, start));
        self.present.sort_unstable();
        self.present.dedup();
        self.document_mass = 0.0;
        for &topic in &self.present {
            let t = usize::from(topic);
            let count = f64::from(self.state.document[t]);
            self.coefficients[t] = (self.state.alpha[t] + count) / self.state.denominator(t);
            self.document_mass += count / self.state.denominator(t);
        }
    }

    /// Resets the coefficients of the document's topics to those without it.
    fn leave(&mut self) {
        for topic in self.present.drain(..) {
            let t = usize::from(topic);
            self.coefficients[t] = self.state.alpha[t] / self.state.denominator(t);
        }
    }

    /// Changes n_td and n_t of a topic by one, and the values cached of them.
    fn change(&mut self, topic: usize, change: i32) {
        let state = &mut self.state;
        let [before, was] = [state.denominator(topic), f64::from(state.document[topic])];
        state.document[topic] = state.document[topic].wrapping_add_signed(change);
        state.totals[topic] = state.totals[topic].wrapping_add_signed(change);
        let [after, is] = [state.denominator(topic), f64::from(state.document[topic])];
        let alpha = state.alpha[topic];
        self.smoothing_mass += alpha / after - alpha / before;
        self.document_mass += is / after - was / before;
        self.coefficients[topic] = (alpha + is) / after;
        if is == 0.0 {
            self.present.retain(|&t| usize::from(t) != topic);
        } else if was == 0.0 {
            self.present.push(topic as u16);
        }
    }

    /// Removes a token of a topic from a term's row; the topic's word bubbles down, and is removed with its last
    /// token.
    fn take(row: &mut Vec<u32>, topic: u32, topic_bits: u32) {
        let mask = (1 << topic_bits) - 1;
        let found = row.iter().position(|&word| word & mask == topic);
        let mut place = found.expect("the token is counted");
        row[place] -= 1 << topic_bits;
        while place + 1 < row.len() && row[place] < row[place + 1] {
            row.swap(place, place + 1);
            place += 1;
        }
        if row[place] >> topic_bits == 0 {
            row.pop();
        }
    }

    /// Adds a token to the word at `place`, which bubbles up.
    fn give(row: &mut [u32], mut place: usize, topic_bits: u32) {
        row[place] += 1 << topic_bits;
        while place > 0 && row[place - 1] < row[place] {
            row.swap(place - 1, place);
            place -= 1;
        }
    }

    fn draw(&mut self, term: u32, old: usize) -> usize {
        let bits = self.topic_bits;
        let mask = (1 << bits) - 1;
        let mut row = std::mem::take(&mut self.by_term[term as usize]);
        Self::take(&mut row, old as u32, bits);
        self.change(old, -1);
        let mass = |word: u32| self.coefficients[(word & mask) as usize] * f64::from(word >> bits);
        let word_mass: f64 = row.iter().map(|&word| mass(word)).sum();
        let beta = self.state.beta;
        let cached = beta * (self.smoothing_mass + self.document_mass);
        let mut target = self.state.stream.uniform() * (cached + word_mass);
        let new = if target < word_mass {
            self.buckets[2] += 1;
            let place = row.iter().position(|&word| {
                target -= mass(word);
                target < 0.0
            });
            let place = place.unwrap_or(row.len() - 1);
            let topic = row[place] & mask;
            Self::give(&mut row, place, bits);
            topic as usize
        } else {
            let topic = self.draw_cached((target - word_mass) / beta);
            match row.iter().position(|&word| (word & mask) as usize == topic) {
                Some(place) => Self::give(&mut row, place, bits),
                None => {
                    row.push(topic as u32);
                    let place = row.len() - 1;
                    Self::give(&mut row, place, bits);
                }
            }
            topic
        };
        self.by_term[term as usize] = row;
        self.change(new, 1);
        new
    }

    /// Returns the topic at `target` in r, then s, both divided by β.
    fn draw_cached(&mut self, mut target: f64) -> usize {
        let state = &self.state;
        if target < self.document_mass && !self.present.is_empty() {
            self.buckets[1] += 1;
            let found = self.present.iter().find(|&&topic| {
                let t = usize::from(topic);
                target -= f64::from(state.document[t]) / state.denominator(t);
                target < 0.0
            });
            return usize::from(*found.unwrap_or(&self.present[0]));
        }
        self.buckets[0] += 1;
        target -= self.document_mass;
        let mut topics = 0..state.alpha.len();
        let found = topics.find(|&t| {
            target -= state.alpha[t] / state.denominator(t);
            target < 0.0
        });
        found.unwrap_or(state.alpha.len() - 1)
    }
}

impl Chain for SparseLda<'_> {
    fn sweep(&mut self) {
        self.start_sweep();
        let (bags, mut place) = (self.state.bags, 0);
        for index in 0..bags.len() {
            self.enter(index, place);
            let bag = bags.bag(index);
            for (&term, &n) in bag.terms.iter().zip(bag.counts) {
                for _ in 0..n {
                    let old = usize::from(self.state.assignments[place]);
                    self.state.assignments[place] = self.draw(term, old) as u16;
                    place += 1;
                }
            }
            self.leave();
        }
    }

    fn assignments(&self) -> &[u16] {
        &self.state.assignments
    }

    fn count_bytes(&self) -> usize {
        let rows = self.by_term.iter().map(|row| size_of_val(&**row));
        rows.sum::<usize>() + size_of_val(&*self.by_term) + size_of_val(&*self.state.totals)
    }
}
