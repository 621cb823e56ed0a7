//! `topic_correlations`: sums over the documents that list two topics, a slot for each first one.

use timely::worker::Worker;

use super::RollUpShared;
use super::slots::{Slots, Sums};
use super::to_first;
use crate::dataflow::process::Process;
use crate::dataflow::sum::sum;
use crate::tables::topic_correlations::MOST_TOPICS;
use lda::evaluate::correlation::{Presence, Together, in_units};

/// Pairs in a piece.
const PAIRS_A_PIECE: usize = 4096;

/// A row of the table, in words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CorrelationLine {
    /// The first topic, and the second.
    pub topics: [u16; 2],
    /// What goes into the table.
    pub correlation: Option<f64>,
    /// Likewise.
    pub npmi: Option<f64>,
    /// Likewise.
    pub documents: i64,
}

/// The pairs of a topic with later ones: a place for each topic after it, once there is any.
#[derive(Debug, Default)]
pub(super) struct Row(Vec<Together>);

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
        let there = pairs
            .iter()
            .enumerate()
            .filter(|(_, pair)| pair.documents > 0);
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

/// What a worker adds to.
pub(super) struct Correlations<'a> {
    rows: &'a Slots<Row>,
    /// Of its own documents.
    topics: Vec<Presence>,
    documents: i64,
    /// The listed topics of a document, ascending.
    listed: Vec<(u16, f32)>,
}

impl<'a> Correlations<'a> {
    /// For `topics` topics; `None` above [`MOST_TOPICS`].
    pub(super) fn new(topics: usize, shared: &'a RollUpShared) -> Option<Self> {
        (topics <= MOST_TOPICS).then(|| Self {
            rows: shared.pairs.make(|| Slots::new(topics)),
            topics: vec![Presence::default(); topics],
            documents: 0,
            listed: Vec::new(),
        })
    }

    /// Adds a document with terms that lists these topics.
    pub(super) fn add(&mut self, topics: &[(f32, u16)]) {
        self.documents += 1;
        self.listed.clear();
        (self.listed).extend(topics.iter().map(|&(weight, topic)| (topic, weight)));
        self.listed.sort_unstable_by_key(|entry| entry.0);
        for (place, &(topic, weight)) in self.listed.iter().enumerate() {
            self.topics[usize::from(topic)].add(weight);
            let mut row = self.rows.lock(usize::from(topic));
            for &(other, its_weight) in &self.listed[place + 1..] {
                let pair = row.at(usize::from(other - topic - 1));
                pair.documents += 1;
                pair.products += in_units(f64::from(weight) * f64::from(its_weight));
            }
        }
    }

    /// The pairs of all documents, sorted, on the first worker; none on the others.
    pub(super) fn finish(self, worker: &mut Worker, process: &Process) -> Vec<CorrelationLine> {
        let mut values = vec![self.documents];
        let fields = |topic: &Presence| [topic.documents, topic.sum, topic.squares];
        values.extend(self.topics.iter().flat_map(fields));
        let all = sum(worker, &values);
        let topics: Vec<Presence> = all[1..]
            .chunks_exact(3)
            .map(|three| Presence {
                documents: three[0],
                sum: three[1],
                squares: three[2],
            })
            .collect();
        self.rows.add_up(worker, process, "topic pairs");
        let mut words = Vec::new();
        for first in self.rows.owned(worker, &process.placement) {
            let row = std::mem::take(&mut *self.rows.lock(first));
            let pairs = (first + 1..)
                .zip(&row.0)
                .filter(|(_, pair)| pair.documents > 0);
            for (second, pair) in pairs {
                let (one, other) = (&topics[first], &topics[second]);
                let figures = [
                    pair.correlation(one, other, all[0]),
                    pair.npmi(one, other, all[0]),
                ];
                let figures = figures.map(|figure| figure.unwrap_or(f64::NAN).to_bits());
                words.push([
                    first as u64,
                    second as u64,
                    figures[0],
                    figures[1],
                    pair.documents as u64,
                ]);
            }
        }
        let mut lines: Vec<CorrelationLine> = to_first(worker, "correlations", &words)
            .into_iter()
            .map(
                |[first, second, correlation, npmi, documents]| CorrelationLine {
                    topics: [first as u16, second as u16],
                    correlation: Some(f64::from_bits(correlation)).filter(|value| !value.is_nan()),
                    npmi: Some(f64::from_bits(npmi)).filter(|value| !value.is_nan()),
                    documents: documents as i64,
                },
            )
            .collect();
        lines.sort_unstable_by_key(|line| line.topics);
        lines
    }
}
