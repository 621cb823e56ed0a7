//! Which topics occur together: sums over the documents that list two topics, by the first of them.

use super::rollup::{ListedDocument, RollUp, RollUpContext, StartRollUp, Sums, check_rows};
use super::records::table;
use super::check::{Known, SHARES_WITHIN, VerifyReport};
use crate::failure::Failure;
use lda::evaluate::correlation::{Presence, Together, in_units};

/// Maximum number of topics of a model for which there is this table.
const MOST_TOPICS: usize = 4096;
/// Most pairs of topics whose sums are together in a bucket, if topics are alike.
const PAIRS_A_BUCKET: u64 = 1 << 18;
/// Bytes per row on disk.
pub(crate) const ROW_BYTES: f64 = 15.0;

table! {
    /// Which topics occur together in documents. One row per pair of topics that a document lists.
    "topic_correlations", sorted_by [topic, other], checked_by check;
    pub(crate) struct TopicCorrelationRow {
        topic: i32,               /// A topic, from 0.
        other: i32,               /// A later one.
        correlation: Option<f64>, /// Pearson's correlation of their listed proportions over the documents with terms.
        npmi: Option<f64>,        /// Normalised pointwise mutual information of being listed.
        documents: i64,           /// Documents that list both.
    }
}

/// Returns the number of pairs of topics that may have a row; none with more than [`MOST_TOPICS`].
pub(crate) fn most_rows(topics: usize) -> u64 {
    if topics > MOST_TOPICS { 0 } else { (topics * topics / 2) as u64 }
}

/// Returns about the bytes of memory for these pairs: sums, in vectors that double when they grow, and rows.
pub(crate) fn bytes(topics: usize) -> u64 {
    let pair = 2 * size_of::<Together>() + size_of::<TopicCorrelationRow>();
    most_rows(topics) * pair as u64
}

/// Starts the roll-up, unless there are more than [`MOST_TOPICS`].
pub(super) fn roll_up(context: &RollUpContext, start: &mut impl StartRollUp) {
    if context.topic_count <= MOST_TOPICS {
        start.start(TopicCorrelations { topic_count: context.topic_count, listed: Vec::new() });
    }
}

/// The pairs of each topic with later ones.
struct TopicCorrelations {
    topic_count: usize,
    /// The listed topics of a document, ascending.
    listed: Vec<(u16, f32)>,
}

/// The pairs of a topic: a place for each topic after it, up to the last one paired.
#[derive(Clone, Debug, Default)]
struct Pairs(Vec<Together>);

impl Pairs {
    fn at(&mut self, place: usize) -> &mut Together {
        if self.0.len() <= place {
            self.0.resize(place + 1, Together::default());
        }
        &mut self.0[place]
    }
}

impl Sums for Pairs {
    type Part = (usize, i64, i64);

    fn take(&mut self, send: &mut dyn FnMut((usize, i64, i64))) {
        let pairs = std::mem::take(&mut self.0).into_iter().enumerate();
        let pairs = pairs.filter(|(_, pair)| pair.documents > 0);
        pairs.for_each(|(place, pair)| send((place, pair.documents, pair.products)));
    }

    fn add(&mut self, (place, documents, products): (usize, i64, i64)) {
        let pair = self.at(place);
        pair.documents += documents;
        pair.products += products;
    }
}

/// Sums over all documents: their number, and those of each topic.
#[derive(Clone, Debug)]
struct Presences {
    documents: i64,
    topics: Vec<Presence>,
}

impl Sums for Presences {
    /// The number of documents, and a topic's place and sums.
    type Part = (i64, usize, [u64; 3]);

    fn take(&mut self, send: &mut dyn FnMut((i64, usize, [u64; 3]))) {
        let mut documents = std::mem::take(&mut self.documents);
        for (place, topic) in self.topics.iter_mut().enumerate() {
            let Presence { documents: own, sum, squares } = std::mem::take(topic);
            send((std::mem::take(&mut documents), place, [own, sum, squares].map(|n| n as u64)));
        }
    }

    fn add(&mut self, (documents, place, sums): (i64, usize, [u64; 3])) {
        let [own, sum, squares] = sums.map(|n| n as i64);
        let topic = &mut self.topics[place];
        self.documents += documents;
        topic.documents += own;
        topic.sum += sum;
        topic.squares += squares;
    }
}

impl RollUp for TopicCorrelations {
    type Key = u64;
    type Sums = Pairs;
    type Whole = Presences;
    type Line = TopicCorrelationRow;
    type Row = TopicCorrelationRow;

    fn buckets(&self, _: u64) -> u64 {
        1 + most_rows(self.topic_count) / PAIRS_A_BUCKET
    }

    fn empty(&self) -> Pairs {
        Pairs::default()
    }

    fn whole(&self) -> Presences {
        Presences { documents: 0, topics: vec![Presence::default(); self.topic_count] }
    }

    fn add(
        &mut self,
        document: &ListedDocument<'_>,
        whole: &mut Presences,
        each: &mut dyn FnMut(&u64, &mut dyn FnMut(&mut Pairs)),
    ) {
        whole.documents += 1;
        self.listed.clear();
        self.listed.extend(document.topics.iter().map(|&(weight, topic)| (topic, weight)));
        self.listed.sort_unstable_by_key(|entry| entry.0);
        for (place, &(topic, weight)) in self.listed.iter().enumerate() {
            whole.topics[usize::from(topic)].add(weight);
            each(&topic.into(), &mut |pairs| {
                for &(other, its_weight) in &self.listed[place + 1..] {
                    let pair = pairs.at(usize::from(other - topic - 1));
                    pair.documents += 1;
                    pair.products += in_units(f64::from(weight) * f64::from(its_weight));
                }
            });
        }
    }

    fn lines(
        &self,
        topic: u64,
        pairs: Pairs,
        whole: &Presences,
        lines: &mut Vec<TopicCorrelationRow>,
    ) {
        let (documents, topics) = (whole.documents, &whole.topics);
        let one = &topics[topic as usize];
        let others = (topic as usize + 1..).zip(&pairs.0).filter(|(_, pair)| pair.documents > 0);
        lines.extend(others.map(|(other, pair)| TopicCorrelationRow {
            topic: topic as i32,
            other: other as i32,
            correlation: pair.correlation(one, &topics[other], documents),
            npmi: pair.npmi(one, &topics[other], documents),
            documents: pair.documents,
        }));
    }

    fn rows(&self, mut lines: Vec<TopicCorrelationRow>, _: &Presences) -> Vec<TopicCorrelationRow> {
        lines.sort_unstable_by_key(|row| (row.topic, row.other));
        lines
    }
}

fn check(known: &Known<'_>, report: &mut VerifyReport) -> Result<(), Failure> {
    let within = |figure: Option<f64>| figure.is_none_or(|it| it.abs() <= 1.0 + SHARES_WITHIN);
    check_rows(known, report, |last: Option<&TopicCorrelationRow>, row| {
        last.is_none_or(|last| (last.topic, last.other) < (row.topic, row.other))
            && (0..row.other).contains(&row.topic)
            && row.other < known.topic_count() as i32
            && [row.correlation, row.npmi].into_iter().all(within)
            && (1..=known.totals.documents).contains(&row.documents)
    })
}
