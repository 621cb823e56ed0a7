//! `topic_correlations`: sums over the documents that list two topics, one slot per first topic.

use super::RollUpShared;
use super::slots::Slots;
use crate::dataflow::merge::give_vector;
use crate::dataflow::outbox::Outbox;
use crate::dataflow::project::ProjectPlan;
use crate::dataflow::project::groups::{PAIRS_A_PIECE, Sums};
use crate::dataflow::project::kinds::{PAIR_ROWS, PAIRS, PRESENCE};
use crate::tables::rows::MOST_TOPICS;
use lda::evaluate::correlation::{Presence, Together, in_units};

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CorrelationLine {
    /// The first topic, and the second.
    pub(crate) topics: [u16; 2],
    /// The figures of the row.
    pub(crate) correlation: Option<f64>,
    pub(crate) npmi: Option<f64>,
    pub(crate) documents: i64,
}

/// The pairs of a topic with later ones: a place for each topic after it, up to the last one paired.
#[derive(Debug, Default)]
pub(crate) struct Row(Vec<Together>);

impl Row {
    fn at(&mut self, place: usize) -> &mut Together {
        if self.0.len() <= place {
            self.0.resize(place + 1, Together::default());
        }
        &mut self.0[place]
    }
}

impl Sums for Row {
    fn take(&mut self, mut send: impl FnMut(&[u64])) {
        let pairs = std::mem::take(&mut self.0);
        let there = pairs.iter().enumerate().filter(|(_, pair)| pair.documents > 0);
        let words: Vec<[u64; 3]> = there
            .map(|(place, pair)| [place as u64, pair.documents as u64, pair.products as u64])
            .collect();
        let pieces = words.chunks(PAIRS_A_PIECE);
        pieces.for_each(|piece| send(piece.as_flattened()));
    }

    fn add_piece(&mut self, piece: &[u64]) {
        for three in piece.chunks_exact(3) {
            let pair = self.at(three[0] as usize);
            pair.documents += three[1] as i64;
            pair.products += three[2] as i64;
        }
    }
}

/// A worker's sums.
pub(crate) struct Correlations {
    pub(crate) pairs: Slots<Row, 5>,
    /// Over its own documents.
    topics: Vec<Presence>,
    documents: i64,
    /// Over all documents: their number, and three numbers per topic.
    pub(crate) all: Vec<i64>,
    /// The listed topics of a document, ascending.
    listed: Vec<(u16, f32)>,
}

impl Correlations {
    /// Creates sums for the plan's topics; `None` above [`MOST_TOPICS`].
    pub(crate) fn new(plan: &ProjectPlan, shared: &RollUpShared, worker: usize) -> Option<Self> {
        let (topics, kinds) = (plan.topic_count(), [PAIRS, PAIR_ROWS]);
        (topics <= MOST_TOPICS).then(|| Self {
            pairs: Slots::new(&shared.pairs, topics, kinds, (plan, worker)),
            topics: vec![Presence::default(); topics],
            documents: 0,
            all: Vec::new(),
            listed: Vec::new(),
        })
    }

    /// Adds a document with terms that lists these topics.
    pub(crate) fn add(&mut self, topics: &[(f32, u16)]) {
        self.documents += 1;
        self.listed.clear();
        (self.listed).extend(topics.iter().map(|&(weight, topic)| (topic, weight)));
        self.listed.sort_unstable_by_key(|entry| entry.0);
        for (place, &(topic, weight)) in self.listed.iter().enumerate() {
            self.topics[usize::from(topic)].add(weight);
            let mut row = self.pairs.lock(usize::from(topic));
            for &(other, its_weight) in &self.listed[place + 1..] {
                let pair = row.at(usize::from(other - topic - 1));
                pair.documents += 1;
                pair.products += in_units(f64::from(weight) * f64::from(its_weight));
            }
        }
    }

    /// Sends the sums that others need.
    pub(crate) fn send(&self, outbox: &mut Outbox) {
        let mut values = vec![self.documents];
        let fields = |topic: &Presence| [topic.documents, topic.sum, topic.squares];
        values.extend(self.topics.iter().flat_map(fields));
        give_vector(&values, PRESENCE, &mut |tag, words| outbox.send_all(tag, words));
        self.pairs.send(outbox);
    }

    /// Sends the pairs of this worker's slots to the first worker.
    pub(crate) fn send_rows(&self, outbox: &mut Outbox) {
        let (documents, topics) = (self.all[0], self.all[1..].as_chunks().0);
        let presence = |[documents, sum, squares]: [i64; 3]| Presence { documents, sum, squares };
        self.pairs.send_rows(outbox, |first, row, send| {
            let one = presence(topics[first]);
            for (second, pair) in (first + 1..).zip(&row.0) {
                if pair.documents > 0 {
                    let other = presence(topics[second]);
                    let figures = [
                        pair.correlation(&one, &other, documents),
                        pair.npmi(&one, &other, documents),
                    ];
                    let [r, npmi] = figures.map(|it| it.unwrap_or(f64::NAN).to_bits());
                    send([first as u64, second as u64, r, npmi, pair.documents as u64]);
                }
            }
        });
    }

    /// Returns the pairs of all documents, sorted, on the first worker.
    pub(crate) fn lines(&mut self) -> Vec<CorrelationLine> {
        let figure = |bits| Some(f64::from_bits(bits)).filter(|value| !value.is_nan());
        let line = |[first, second, correlation, npmi, documents]: [u64; 5]| CorrelationLine {
            topics: [first as u16, second as u16],
            correlation: figure(correlation),
            npmi: figure(npmi),
            documents: documents as i64,
        };
        let mut lines: Vec<CorrelationLine> = self.pairs.take_rows().map(line).collect();
        lines.sort_unstable_by_key(|line| line.topics);
        lines
    }
}
