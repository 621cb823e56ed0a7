//! The sums of one value of a column.

use crate::dataflow::project::fixed;
use crate::dataflow::project::groups::Sums;
use lda::evaluate::bootstrap::{Replicates, Sum, interval};

/// Sums over the documents with a value.
#[derive(Debug, Default)]
pub(crate) struct Cell {
    pub(super) documents: i64,
    tokens: Sum,
    /// By topic, in fixed point; as long as necessary.
    topics: Vec<Option<Box<Sum>>>,
}

/// The place of a cell's tokens among those of its topics.
const TOKENS: u64 = u64::MAX;

impl Sums for Cell {
    fn take(&mut self, mut send: impl FnMut(&[u64])) {
        let Self { documents, tokens, topics } = std::mem::take(self);
        let mut piece = |place: u64, documents: i64, sum: &Sum| {
            let words = sum.0.iter().map(|&n| n as u64);
            let words: Vec<u64> = [place, documents as u64].into_iter().chain(words).collect();
            send(&words);
        };
        if documents > 0 {
            piece(TOKENS, documents, &tokens);
        }
        for (topic, sum) in (0..).zip(&topics) {
            sum.iter().for_each(|sum| piece(topic, 0, sum));
        }
    }

    fn add_piece(&mut self, piece: &[u64]) {
        self.documents += piece[1] as i64;
        let sum = match piece[0] {
            TOKENS => &mut self.tokens,
            topic => self.topic(topic as usize),
        };
        sum.merge(piece[2..].iter().map(|&n| n as i64));
    }
}

impl Cell {
    fn topic(&mut self, topic: usize) -> &mut Sum {
        if topic >= self.topics.len() {
            self.topics.resize(topic + 1, None);
        }
        self.topics[topic].get_or_insert_default()
    }

    /// Adds a document of a group of the bootstrap.
    pub(super) fn add(&mut self, tokens: i64, topics: &[(f32, u16)], group: usize) {
        self.documents += 1;
        self.tokens.0[group] += fixed(tokens as f64);
        for &(weight, topic) in topics {
            self.topic(usize::from(topic)).0[group] += fixed(f64::from(weight) * tokens as f64);
        }
    }

    /// Returns its rows: cell, topic, share, interval, tokens, documents.
    pub(super) fn rows(&self, number: usize, replicates: &Replicates) -> Vec<[u64; 7]> {
        let (tokens, replicated) = (self.tokens.total(), replicates.of(&self.tokens));
        let row = |topic: usize, sum: &Sum| {
            let interval = interval(&replicates.of(sum), &replicated);
            let interval = interval.filter(|_| self.documents > 1);
            let (low, high) = interval.unwrap_or((f64::NAN, f64::NAN));
            let share = sum.total() as f64 / tokens as f64;
            let [share, low, high] = [share, low, high].map(f64::to_bits);
            let [number, topic] = [number, topic].map(|n| n as u64);
            let [tokens, documents] = [tokens / fixed(1.0), self.documents].map(|n| n as u64);
            [number, topic, share, low, high, tokens, documents]
        };
        let topics = (0..).zip(&self.topics);
        topics.filter_map(|(topic, sum)| Some(row(topic, sum.as_ref()?))).collect()
    }
}
