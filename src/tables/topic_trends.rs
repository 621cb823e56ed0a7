//! The share of each topic by the values of metadata columns: sums over the documents with each value, by group of the
//! bootstrap. The values are counted before projection, to determine which of them are named.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::records::records;
use super::rollup::{ListedDocument, RollUp, RollUpContext, StartRollUp, Sums, fixed};
use super::schema::table;
use super::verify::{Known, SHARES_WITHIN, VerifyReport};
use crate::failure::Failure;
use serde::{Deserialize, Serialize};

use corpus::dates::{DateUnit, Scale, day_of};
use corpus::labels::split;
use corpus::memo::Memo;
use lda::evaluate::bootstrap::{GROUPS, Replicates, Sum, group, interval};

/// Maximum number of values of a column that are named.
pub(crate) const MOST_VALUES: usize = 1_000;
/// The least that this maximum can be, with any number of topics.
pub(crate) const LEAST_VALUES: usize = 12;
/// Maximum number of named values of all columns times topics.
pub(crate) const MOST_PAIRS: usize = 1 << 19;
/// The most distinct values of a column, and bytes of them: a column with more is an error.
pub(crate) const MOST_DISTINCT: usize = 100_000;
pub(crate) const MOST_VALUE_BYTES: usize = 16 << 20;

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

/// Starts the roll-up, if the job names columns.
pub(super) fn roll_up(context: &RollUpContext, start: &mut impl StartRollUp) {
    if !context.columns.is_empty() {
        start.start(TopicTrends::new(Arc::clone(&context.columns), context.seed));
    }
}

/// A column whose trends are requested.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TrendColumn {
    /// Its name in `documents`.
    pub(crate) name: String,
    /// Its place among the metadata columns.
    pub(crate) place: usize,
    /// The values that are named, ascending.
    pub(crate) values: Vec<String>,
    /// The number of other values.
    pub(crate) others: usize,
    /// How values are grouped, if they are dates.
    scale: Option<Scale>,
    /// Whether a document has several values.
    has_lists: bool,
}

impl TrendColumn {
    /// Creates a column whose values are not counted yet.
    pub(crate) fn new(name: &str, place: usize) -> Self {
        Self { name: name.to_owned(), place, ..Self::default() }
    }

    /// Returns the distinct values of a cell, grouped: the elements of a JSON list, or the cell itself, without spaces
    /// around it.
    pub(crate) fn values_of(&self, cell: &str) -> BTreeSet<String> {
        let values = split(cell, "").into_iter();
        let grouped = values.map(|value| grouped_as(day_of(&value).into_owned(), self.scale));
        grouped.collect()
    }

    /// Returns the places of a cell's values: after the named ones, first no value, then the others.
    fn places_of(&self, cell: &str) -> Vec<usize> {
        let named = self.values.len();
        let place = |value| self.values.binary_search(&value).unwrap_or(named + 1);
        let found: BTreeSet<usize> = self.values_of(cell).into_iter().map(place).collect();
        match found.is_empty() {
            true => vec![named],
            false => found.into_iter().collect(),
        }
    }

    /// Whether a document may have been counted more than once in a group that is not named.
    pub(crate) fn may_repeat(&self) -> bool {
        self.has_lists && self.scale.is_some() && self.others > 0
    }

    pub(crate) fn choose(&mut self, counts: ValueCounts, most: usize, unit: Option<DateUnit>) {
        let values = || (counts.documents.iter()).map(|(value, &n)| (&value[..], n));
        self.has_lists = counts.has_lists;
        self.scale = self.scale.or_else(|| Scale::of(values(), most, unit));
        let mut grouped: BTreeMap<String, u64> = BTreeMap::new();
        for (value, documents) in counts.documents {
            *grouped.entry(grouped_as(value, self.scale)).or_default() += documents;
        }
        let mut counted: Vec<(String, u64)> = grouped.into_iter().collect();
        // The sort is stable: of equally frequent values, the first are named.
        counted.sort_by_key(|value| std::cmp::Reverse(value.1));
        self.others = counted.len().saturating_sub(most);
        counted.truncate(most);
        self.values = counted.into_iter().map(|value| value.0).collect();
        self.values.sort_unstable();
    }
}

/// Documents by the values of a column.
#[derive(Clone, Debug, Default)]
pub(crate) struct ValueCounts {
    pub(crate) documents: BTreeMap<String, u64>,
    /// Bytes of the values.
    bytes: usize,
    /// Whether a document has several values.
    pub(crate) has_lists: bool,
}

impl ValueCounts {
    pub(crate) fn add(&mut self, value: &str, documents: u64) {
        if let Some(count) = self.documents.get_mut(value) {
            *count += documents;
        } else if !self.are_too_many() {
            self.bytes += value.len();
            self.documents.insert(value.to_owned(), documents);
        }
    }

    pub(crate) fn are_too_many(&self) -> bool {
        self.documents.len() > MOST_DISTINCT || self.bytes > MOST_VALUE_BYTES
    }
}

/// Returns the value under which a day, or another value, is counted.
fn grouped_as(value: String, scale: Option<Scale>) -> String {
    scale.and_then(|scale| scale.label(&value)).unwrap_or(value)
}

/// Returns how many values each column may name, given how many it has: those with few name them all, and leave the rest to the others.
pub(crate) fn shares_of_named(sizes: &[usize], topics: usize) -> Vec<usize> {
    let mut left = MOST_PAIRS / topics.max(1);
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&column| sizes[column]);
    let mut most = vec![0; sizes.len()];
    for (done, &column) in order.iter().enumerate() {
        let share = left / (sizes.len() - done);
        most[column] = share.clamp(LEAST_VALUES, MOST_VALUES);
        left = left.saturating_sub(most[column].min(sizes[column]));
    }
    most
}

/// The shares of topics by value.
struct TopicTrends {
    columns: Arc<[TrendColumn]>,
    /// The first cell of each column.
    first: Vec<usize>,
    /// For each column, the places of cells' values.
    memos: Vec<Memo<Vec<usize>>>,
    seed: u64,
    replicates: Replicates,
}

/// The sums of one value of a column.
#[derive(Clone, Debug, Default)]
struct Cell {
    documents: i64,
    tokens: Sum,
    /// By topic, in fixed point; as long as necessary.
    topics: Vec<Option<Box<Sum>>>,
}

/// The place of a cell's tokens among those of its topics.
const TOKENS: usize = usize::MAX;

/// A part of a [`Cell`]: the place of a sum, documents, the sum.
type CellPart = (usize, i64, [u64; GROUPS]);

impl Sums for Cell {
    type Part = CellPart;

    fn take(&mut self, send: &mut dyn FnMut(CellPart)) {
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

    fn add(&mut self, (place, documents, sum): CellPart) {
        self.documents += documents;
        let own = if place == TOKENS { &mut self.tokens } else { self.topic(place) };
        own.merge(sum.into_iter().map(|n| n as i64));
    }
}

/// The place of a column, and that of the value: after the named ones, first no value, then the others; the topic; its
/// share, and the bounds of its interval, or NaN; tokens and documents.
type TrendLine = ([u64; 2], i32, [f64; 3], [i64; 2]);

impl Cell {
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

    fn lines(&self, place: [u64; 2], replicates: &Replicates) -> Vec<TrendLine> {
        let (tokens, replicated) = (self.tokens.total(), replicates.of(&self.tokens));
        let line = |topic: i32, sum: &Sum| {
            let interval = interval(&replicates.of(sum), &replicated);
            let interval = interval.filter(|_| self.documents > 1);
            let (low, high) = interval.unwrap_or((f64::NAN, f64::NAN));
            let share = sum.total() as f64 / tokens as f64;
            (place, topic, [share, low, high], [tokens / fixed(1.0), self.documents])
        };
        let topics = (0..).zip(&self.topics);
        topics.filter_map(|(topic, sum)| Some(line(topic, sum.as_ref()?))).collect()
    }
}

impl TopicTrends {
    fn new(columns: Arc<[TrendColumn]>, seed: u64) -> Self {
        let mut count = 0;
        let first = columns.iter().map(|column| {
            count += column.values.len() + 2;
            count - column.values.len() - 2
        });
        Self {
            first: first.collect(),
            memos: vec![Memo::default(); columns.len()],
            columns,
            seed,
            replicates: Replicates::new(seed),
        }
    }
}

impl RollUp for TopicTrends {
    type Key = u64;
    type Sums = Cell;
    type Whole = ();
    type Line = TrendLine;
    type Row = TopicTrendRow;

    fn empty(&self) -> Cell {
        Cell::default()
    }

    fn whole(&self) {}

    fn add(
        &mut self,
        document: &ListedDocument<'_>,
        (): &mut (),
        each: &mut dyn FnMut(&u64, &mut dyn FnMut(&mut Cell)),
    ) {
        let group = group(self.seed, document.number);
        let tokens = document.read.tokens_in_vocabulary() as i64;
        let columns = self.columns.iter().zip(&self.first).zip(&mut self.memos);
        for ((column, first), memo) in columns {
            let cell = document.read.metadata[column.place].as_deref().unwrap_or("");
            for place in memo.get(cell, |cell| column.places_of(cell)) {
                let mut count = |cell: &mut Cell| cell.count(tokens, document.topics, group);
                each(&((first + place) as u64), &mut count);
            }
        }
    }

    fn lines(&self, key: u64, cell: Cell, (): &(), lines: &mut Vec<TrendLine>) {
        let column = self.first.partition_point(|&first| first as u64 <= key) - 1;
        let place = [column as u64, key - self.first[column] as u64];
        lines.append(&mut cell.lines(place, &self.replicates));
    }

    fn rows(&self, mut lines: Vec<TrendLine>, (): &()) -> Vec<TopicTrendRow> {
        lines.sort_unstable_by_key(|&(place, topic, ..)| (place, topic));
        let row = |([column, place], topic, [share, low, high], [tokens, documents]): TrendLine| {
            let (column, place) = (&self.columns[column as usize], place as usize);
            let value_count = match place.checked_sub(column.values.len()) {
                None => 1,
                Some(0) => 0,
                Some(_) => column.others,
            };
            let bound = |value: f64| (!low.is_nan()).then_some(value);
            TopicTrendRow {
                name: column.name.clone(),
                value: column.values.get(place).cloned(),
                value_count: value_count as i64,
                topic,
                share,
                low: bound(low),
                high: bound(high),
                tokens,
                documents,
            }
        };
        lines.into_iter().map(row).collect()
    }
}

fn check(known: &Known<'_>, report: &mut VerifyReport) -> Result<(), Failure> {
    const TABLE: &str = "topic_trends";
    let (mut cell, mut last, mut sum) = (None, -1, 0.0);
    for row in records::<TopicTrendRow>(known.root, TABLE)? {
        let row = row?;
        let (topic, share, bounds) = (row.topic, row.share, [row.low, row.high]);
        let next = Some((row.name, row.value, row.value_count));
        if next != cell {
            (cell, last, sum) = (next, -1, 0.0);
        }
        sum += share;
        let in_order = match bounds {
            [None, None] => true,
            [Some(low), Some(high)] => 0.0 <= low && low <= high && high <= 1.0 + SHARES_WITHIN,
            _ => false,
        };
        let sound = (last + 1..known.topic_count() as i32).contains(&topic)
            && share >= 0.0
            && sum <= 1.0 + SHARES_WITHIN
            && (1..=known.totals.documents).contains(&row.documents);
        report.expect(sound && in_order, || {
            format!("{TABLE}: {cell:?}, topic {topic} after {last}: share {share} in {bounds:?}; {sum} in all")
        });
        last = topic;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(values: usize) -> ValueCounts {
        let mut counts = ValueCounts::default();
        (0..values).for_each(|value| counts.add(&format!("{value:06}"), 1));
        counts
    }

    fn column(counts: ValueCounts, most: usize) -> TrendColumn {
        let mut column = TrendColumn::default();
        column.choose(counts, most, None);
        column
    }

    #[test]
    fn the_most_frequent_values_are_named() {
        let mut found = counts(4);
        found.add("000002", 5);
        found.add("000003", 2);
        let named = column(found, 3);
        assert_eq!(named.values, ["000000", "000002", "000003"]);
        assert_eq!(named.others, 1);
        let named = column(counts(3), 3);
        assert_eq!((named.values.len(), named.others), (3, 0));
    }

    #[test]
    fn dates_are_grouped_until_they_are_few() {
        let mut found = ValueCounts::default();
        (1..=28).for_each(|day| found.add(&format!("1998-07-{day:02}"), 1));
        found.add("1998-08-01", 2);
        let named = column(found.clone(), 12);
        assert_eq!(named.values, ["1998-07", "1998-08"]);
        assert_eq!((named.others, column(found, 29).values.len()), (0, 29));
    }

    #[test]
    fn dates_are_grouped_by_the_unit_that_the_job_names() {
        let mut found = counts(0);
        for value in ["1998-07-01", "1998-07-02", "1999", "1999-02"] {
            found.add(value, 2);
        }
        let named = |unit, most| {
            let mut column = TrendColumn::default();
            column.choose(found.clone(), most, Some(unit));
            (column.values.join(" "), column.others)
        };
        // Those that are less precise keep their form; the number of values changes nothing.
        assert_eq!(named(DateUnit::Month, 9), ("1998-07 1999 1999-02".into(), 0));
        assert_eq!(named(DateUnit::Month, 1), ("1998-07".into(), 2));
        assert_eq!(named(DateUnit::Year, 9), ("1998 1999".into(), 0));
    }

    #[test]
    fn only_lists_of_dates_that_are_not_all_named_are_counted_again() {
        let mut found = ValueCounts::default();
        for day in ["1998-07-01", "1998-07-02", "2011-08-01"] {
            found.add(day, 1);
        }
        assert!(!column(found.clone(), 1).may_repeat());
        found.has_lists = true;
        assert!(column(found.clone(), 1).may_repeat());
        assert!(!column(found, 2).may_repeat());
    }

    #[test]
    fn columns_with_few_values_leave_room_to_the_others() {
        assert_eq!(shares_of_named(&[5, 2000], 100), [1000, 1000]);
        assert_eq!(shares_of_named(&[300, 40], 2000), [222, 131]);
        assert_eq!(shares_of_named(&[300, 40, 90], 65_535), [12, 12, 12]);
    }

    #[test]
    fn too_many_values_are_too_many() {
        assert!(!counts(MOST_DISTINCT).are_too_many());
        let mut found = counts(MOST_DISTINCT + 1);
        assert!(found.are_too_many());
        found.add("one more", 1);
        assert_eq!(found.documents.len(), MOST_DISTINCT + 1);
        let mut found = ValueCounts::default();
        (0..=16).for_each(|n| found.add(&format!("{n}{}", " long".repeat(1 << 18)), 1));
        assert!(found.are_too_many());
    }

    #[test]
    fn a_cell_travels_in_parts() {
        let [mut one, mut other, mut all] = [(); 3].map(|()| Cell::default());
        for document in 0..20_u64 {
            let group = group(1, document);
            let topics = [(0.5, (document % 3) as u16), (0.25, 9)];
            let cell = if document % 2 == 0 { &mut one } else { &mut other };
            cell.count(10, &topics, group);
            all.count(10, &topics, group);
        }
        other.take(&mut |part| one.add(part));
        let replicates = Replicates::new(1);
        let [one, all] = [one, all].map(|cell| cell.lines([0, 3], &replicates));
        assert_eq!((&one, other.documents), (&all, 0));
        assert_eq!(all.len(), 4);
        assert_eq!((all[3].1, all[3].2[0]), (9, 0.25));
    }
}
