//! The share of each topic by the values of metadata columns: sums over the documents with each value, by group of the
//! bootstrap. The values are counted before projection, to determine which of them are named.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::rollup::{ListedDocument, RollUp, RollUpContext, StartRollUp, Sums, check_rows, fixed};
use super::records::table;
use super::trend_columns::{TrendColumn, most_cells};
use super::check::{Known, SHARES_WITHIN, VerifyReport};
use crate::failure::Failure;
use corpus::memo::Memo;
use lda::evaluate::bootstrap::{GROUPS, Replicates, Sum, group, interval};

table! {
    /// The share of each topic by the values of metadata columns. One row per value and topic that a document with
    /// the value lists.
    "topic_trends", sorted_by [name, value, value_count, topic], checked_by check;
    pub(crate) struct TopicTrendRow {
        name: String,          /// The column of `documents`.
        value: Option<String>, /// Its value; null for the documents of other values, and for those without one.
        value_count: i64,       /// How many values the row covers: 1 for a named value, the number of all others in their row, 0 for documents without a value.
        topic: i32,             /// The topic, from 0.
        share: f64,             /// Σ_d θ_dk N_d / Σ_d N_d over the documents d with the value, with θ as listed in `document_topics`.
        low: Option<f64>,       /// The 2.5 % quantile of the share over bootstrap replicates.
        high: Option<f64>,      /// The 97.5 % quantile.
        tokens: i64,            /// Σ_d N_d: tokens in the vocabulary.
        documents: i64,         /// Documents with the value and with such tokens.
    }
}

/// Approximate number of sums of a topic over the documents with a value that are in a bucket.
const SUMS_A_BUCKET: usize = 1 << 12;

/// Starts the roll-up, if there are such columns.
pub(super) fn roll_up(context: &RollUpContext, start: &mut impl StartRollUp) {
    if !context.columns.is_empty() {
        let columns = Arc::clone(&context.columns);
        start.start(TopicTrends::new(columns, context.topic_count, context.seed));
    }
}

/// The shares of topics by value.
struct TopicTrends {
    columns: Arc<[TrendColumn]>,
    /// The column and the place of the value of each cell, by key.
    cells: BTreeMap<u64, [usize; 2]>,
    /// For each column, the keys of a document's cells.
    memos: Vec<Memo<Vec<u64>>>,
    topic_count: usize,
    seed: u64,
    replicates: Replicates,
}

/// The sums of one value of a column.
#[derive(Clone, Debug, Default)]
struct TrendCell {
    documents: i64,
    tokens: Sum,
    /// By topic, in fixed point; as long as necessary.
    topics: Vec<Option<Box<Sum>>>,
}

/// Returns the most bytes of the sums over documents with each value, of all topics, if this many columns are `found`
/// to have that number of values.
pub(crate) fn bytes(topics: usize, columns: usize, found: Option<usize>) -> u64 {
    if columns == 0 {
        return 0;
    }
    (most_cells(topics, columns, found) * topics * size_of::<Sum>()) as u64
}

/// The place of a cell's tokens among those of its topics.
const TOKENS: usize = usize::MAX;

/// A part of a [`TrendCell`]: the place of a sum, documents, the sum.
type TrendPart = (usize, i64, [u64; GROUPS]);

impl Sums for TrendCell {
    type Part = TrendPart;

    fn take(&mut self, send: &mut dyn FnMut(TrendPart)) {
        let Self { documents, tokens, topics } = std::mem::take(self);
        let mut part = |place, documents, sum: &Sum| {
            send((place, documents, sum.0.map(|n| n as u64)));
        };
        if documents > 0 {
            part(TOKENS, documents, &tokens);
        }
        for (topic, sum) in topics.into_iter().enumerate() {
            sum.iter().for_each(|sum| part(topic, 0, sum));
        }
    }

    fn add(&mut self, (place, documents, sum): TrendPart) {
        self.documents += documents;
        let own = if place == TOKENS { &mut self.tokens } else { self.topic(place) };
        own.merge(sum.into_iter().map(|n| n as i64));
    }
}

impl TrendCell {
    fn topic(&mut self, topic: usize) -> &mut Sum {
        if topic >= self.topics.len() {
            self.topics.resize(topic + 1, None);
        }
        self.topics[topic].get_or_insert_default()
    }

    /// Adds a document of a group of the bootstrap.
    fn count(&mut self, tokens: i64, topics: &[(f32, u16)], group: usize) {
        self.documents += 1;
        self.tokens.0[group] += fixed(tokens as f64);
        for &(weight, topic) in topics {
            self.topic(usize::from(topic)).0[group] += fixed(f64::from(weight) * tokens as f64);
        }
    }
}

impl TopicTrends {
    fn new(columns: Arc<[TrendColumn]>, topic_count: usize, seed: u64) -> Self {
        let cells = columns.iter().enumerate().flat_map(|(number, column)| {
            let places = 0..column.values.len() + 2;
            places.map(move |place| (column.key_of(place), [number, place]))
        });
        Self {
            cells: cells.collect(),
            memos: vec![Memo::default(); columns.len()],
            columns,
            topic_count,
            seed,
            replicates: Replicates::new(seed),
        }
    }
}

impl RollUp for TopicTrends {
    type Key = u64;
    type Sums = TrendCell;
    type Whole = ();
    type Line = TopicTrendRow;
    type Row = TopicTrendRow;

    fn buckets(&self, _: u64) -> u64 {
        1 + (self.cells.len() * self.topic_count / SUMS_A_BUCKET) as u64
    }

    fn empty(&self) -> TrendCell {
        TrendCell::default()
    }

    fn whole(&self) {}

    fn add(
        &mut self,
        document: &ListedDocument<'_>,
        (): &mut (),
        each: &mut dyn FnMut(&u64, &mut dyn FnMut(&mut TrendCell)),
    ) {
        let group = group(self.seed, document.number);
        let tokens = document.read.tokens_in_vocabulary() as i64;
        for (column, memo) in self.columns.iter().zip(&mut self.memos) {
            let cell = document.read.metadata[column.place].as_deref().unwrap_or("");
            let keys = |cell: &str| {
                let places = column.places_of(cell).into_iter();
                places.map(|place| column.key_of(place)).collect()
            };
            for key in memo.get(cell, keys) {
                let mut count = |cell: &mut TrendCell| cell.count(tokens, document.topics, group);
                each(key, &mut count);
            }
        }
    }

    fn lines(&self, key: u64, cell: TrendCell, (): &(), lines: &mut Vec<TopicTrendRow>) {
        let [number, place] = self.cells[&key];
        let column = &self.columns[number];
        let value_count = match place.checked_sub(column.values.len()) {
            None => 1,
            Some(0) => 0,
            Some(_) => column.others,
        };
        let replicates = &self.replicates;
        let (tokens, replicated) = (cell.tokens.total(), replicates.of(&cell.tokens));
        let row = |topic: i32, sum: &Sum| {
            let interval = interval(&replicates.of(sum), &replicated);
            let interval = interval.filter(|_| cell.documents > 1);
            TopicTrendRow {
                name: column.name.clone(),
                value: column.values.get(place).cloned(),
                value_count: value_count as i64,
                topic,
                share: sum.total() as f64 / tokens as f64,
                low: interval.map(|(low, _)| low),
                high: interval.map(|(_, high)| high),
                tokens: tokens / fixed(1.0),
                documents: cell.documents,
            }
        };
        let topics = (0..).zip(&cell.topics);
        lines.extend(topics.filter_map(|(topic, sum)| Some(row(topic, sum.as_ref()?))));
    }

    /// Sorts the rows: of each column the named values, no value, then the others.
    fn rows(&self, mut lines: Vec<TopicTrendRow>, (): &()) -> Vec<TopicTrendRow> {
        lines.sort_unstable_by(|a, b| place(a).cmp(&place(b)));
        lines
    }
}

/// Returns what rows are sorted by; a null is last.
fn place(row: &TopicTrendRow) -> (&str, bool, Option<&str>, i64, i32) {
    (&row.name, row.value.is_none(), row.value.as_deref(), row.value_count, row.topic)
}

fn check(known: &Known<'_>, report: &mut VerifyReport) -> Result<(), Failure> {
    let mut sum = 0.0;
    check_rows(known, report, |last: Option<&TopicTrendRow>, row| {
        let last = last.filter(|last| {
            (&last.name, &last.value, last.value_count) == (&row.name, &row.value, row.value_count)
        });
        sum = last.map_or(0.0, |_| sum) + row.share;
        let in_order = match [row.low, row.high] {
            [None, None] => true,
            [Some(low), Some(high)] => 0.0 <= low && low <= high && high <= 1.0 + SHARES_WITHIN,
            _ => false,
        };
        let topics = last.map_or(0, |last| last.topic + 1)..known.topic_count() as i32;
        topics.contains(&row.topic)
            && row.share >= 0.0
            && sum <= 1.0 + SHARES_WITHIN
            && in_order
            && (1..=known.totals.documents).contains(&row.documents)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_travels_in_parts() {
        let [mut one, mut other, mut all] = [(); 3].map(|()| TrendCell::default());
        for document in 0..20_u64 {
            let group = group(1, document);
            let topics = [(0.5, (document % 3) as u16), (0.25, 9)];
            let cell = if document % 2 == 0 { &mut one } else { &mut other };
            cell.count(10, &topics, group);
            all.count(10, &topics, group);
        }
        other.take(&mut |part| one.add(part));
        let column = TrendColumn::new("year", 0);
        let key = column.key_of(1);
        let trends = TopicTrends::new([column].into(), 10, 1);
        let [one, all] = [one, all].map(|cell| {
            let mut lines = Vec::new();
            trends.lines(key, cell, &(), &mut lines);
            lines
        });
        assert_eq!((&one, other.documents), (&all, 0));
        assert_eq!(all.len(), 4);
        assert_eq!((all[3].topic, all[3].share, all[3].tokens), (9, 0.25, 200));
        assert!(all[3].low.is_some() && all[3].value.is_none());
    }
}
