//! `topic_trends`: sums over the documents with each value of a metadata column, by group of the bootstrap. The values
//! are counted before projection, to determine which of them are named.

mod cell;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use timely::worker::Worker;

use super::RollUpShared;
use super::slots::Slots;
use crate::dataflow::gather::all_gather;
use crate::dataflow::outbox::Outbox;
use crate::dataflow::process::{Process, Tickets};
use crate::dataflow::project::kinds::{CELL_ROWS, CELLS};
use crate::dataflow::project::{Listed, ProjectPlan};
use crate::dataflow::sample::for_each_document;
use crate::failure::Failure;
use crate::tables::documents::metadata_columns;
use crate::tables::rows::{LEAST_VALUES, MOST_PAIRS, MOST_VALUES};
pub(crate) use cell::Cell;
use corpus::ShardDocument;
use corpus::collection::Collection;
use corpus::dates::{DateUnit, Scale, day_of};
use corpus::labels::split;
use corpus::memo::Memo;
use corpus::shard::Columns;
use lda::evaluate::bootstrap::{Replicates, group};

/// The most distinct values of a column, and bytes of them: a column with more is an error.
const MOST_DISTINCT: usize = 100_000;
const MOST_VALUE_BYTES: usize = 16 << 20;
/// A column whose trends are requested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TrendColumn {
    /// Its name in `documents`.
    pub(crate) name: String,
    /// Its place among the metadata columns.
    place: usize,
    /// The values that are named, ascending.
    pub(crate) values: Vec<String>,
    /// The number of other values.
    pub(crate) others: usize,
    /// How values are grouped, if they are dates.
    scale: Option<Scale>,
    /// Whether a document has several values.
    has_lists: bool,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TrendLine {
    /// The place of the column, and that of the value: after the named ones, first no value, then the others.
    pub(crate) place: [usize; 2],
    /// The topic.
    pub(crate) topic: i32,
    /// The figures of the row.
    pub(crate) share: f64,
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) tokens: i64,
    pub(crate) documents: i64,
}

/// Counts the values of the columns that the job names, and chooses those that are named: the most frequent
/// ones. All workers must call this.
///
/// # Errors
/// A shard cannot be read, or a column has too many values.
pub(crate) fn count_values(
    worker: &mut Worker,
    process: &Process,
    collection: &Collection,
    shared: &RollUpShared,
) -> Result<(), Failure> {
    let (trends, metadata) = (&process.job.project.trends, &collection.metadata);
    if trends.is_empty() {
        return Ok(());
    }
    let place = |name: &String| metadata.iter().position(|other| other == name);
    let mut places: Vec<usize> = trends.iter().filter_map(place).collect();
    let names = metadata_columns(metadata);
    places.sort_unstable_by_key(|&place| &names[place]);
    let column =
        |place: usize| TrendColumn { name: names[place].clone(), place, ..TrendColumn::default() };
    let mut columns: Vec<TrendColumn> = places.into_iter().map(column).collect();
    let unit = process.job.project.date_unit;
    let [first, second] = &shared.shards;
    process.begin_documents("values", collection);
    let counts = count(worker, process, collection, first, &columns)?;
    if let Some(at) = counts.iter().position(Counts::are_too_many) {
        return Err(Failure::data(format!(
            "column {:?} has more than {MOST_DISTINCT} different values, or {} MiB of them: leave it out of \
             project.trends",
            metadata[columns[at].place],
            MOST_VALUE_BYTES >> 20
        )));
    }
    let most = shares_of_named(&counts, process.topic_count(collection));
    choose(&mut columns, counts, &most, unit);
    // A document with several dates in a group has been counted for each of them.
    if columns.iter().any(TrendColumn::may_repeat) {
        process.begin_documents("dates", collection);
        let counts = count(worker, process, collection, second, &columns)?;
        choose(&mut columns, counts, &most, unit);
    }
    shared.columns.make(|| columns.into());
    Ok(())
}

/// Counts the documents of all workers by the values of each column; dates are grouped once their scale is chosen.
fn count(
    worker: &mut Worker,
    process: &Process,
    collection: &Collection,
    tickets: &Tickets,
    columns: &[TrendColumn],
) -> Result<Vec<Counts>, Failure> {
    let mut mine = vec![Counts::default(); columns.len()];
    let mut memos = vec![Memo::default(); columns.len()];
    let visit = |_, document: &ShardDocument| {
        process.progress.add(1);
        if document.status.has_terms() {
            for ((counts, column), memo) in mine.iter_mut().zip(columns).zip(&mut memos) {
                let cell = document.metadata[column.place].as_deref().unwrap_or("");
                let values = memo.get(cell, |cell| column.values_of(cell));
                counts.has_lists |= values.len() > 1;
                values.iter().for_each(|value| counts.add(value, 1));
            }
        }
        Ok(())
    };
    let metadata = Columns::Metadata;
    for_each_document(worker, process, tickets, collection, metadata, visit)?;
    let bytes = serde_json::to_vec(&mine).expect("texts and numbers are JSON");
    let mut all = vec![Counts::default(); columns.len()];
    for bytes in all_gather(worker, &bytes) {
        let counted: Vec<Counts> = serde_json::from_slice(&bytes).expect("written by a peer");
        for (all, counted) in all.iter_mut().zip(counted) {
            all.has_lists |= counted.has_lists;
            let values = counted.documents.iter();
            values.for_each(|(value, &n)| all.add(value, n));
        }
    }
    Ok(all)
}

/// Chooses the scale of each column, unless it has one, and its named values.
fn choose(
    columns: &mut [TrendColumn],
    counts: Vec<Counts>,
    most: &[usize],
    unit: Option<DateUnit>,
) {
    for ((column, counts), &most) in columns.iter_mut().zip(counts).zip(most) {
        column.choose(counts, most, unit);
    }
}

impl TrendColumn {
    /// Returns the distinct values of a cell, grouped: the elements of a JSON list, or the cell itself, without spaces
    /// around it.
    fn values_of(&self, cell: &str) -> BTreeSet<String> {
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
    fn may_repeat(&self) -> bool {
        self.has_lists && self.scale.is_some() && self.others > 0
    }

    fn choose(&mut self, counts: Counts, most: usize, unit: Option<DateUnit>) {
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
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Counts {
    documents: BTreeMap<String, u64>,
    /// Bytes of the values.
    bytes: usize,
    /// Whether a document has several values.
    has_lists: bool,
}

impl Counts {
    fn add(&mut self, value: &str, documents: u64) {
        if let Some(count) = self.documents.get_mut(value) {
            *count += documents;
        } else if !self.are_too_many() {
            self.bytes += value.len();
            self.documents.insert(value.to_owned(), documents);
        }
    }

    fn are_too_many(&self) -> bool {
        self.documents.len() > MOST_DISTINCT || self.bytes > MOST_VALUE_BYTES
    }
}

/// Returns the value under which a day, or another value, is counted.
fn grouped_as(value: String, scale: Option<Scale>) -> String {
    scale.and_then(|scale| scale.label(&value)).unwrap_or(value)
}

/// Returns how many values each column may name: those with few name them all, and leave the rest to the others.
fn shares_of_named(counts: &[Counts], topics: usize) -> Vec<usize> {
    let mut left = MOST_PAIRS / topics.max(1);
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by_key(|&column| counts[column].documents.len());
    let mut most = vec![0; counts.len()];
    for (done, &column) in order.iter().enumerate() {
        let share = left / (counts.len() - done);
        most[column] = share.clamp(LEAST_VALUES, MOST_VALUES);
        left = left.saturating_sub(most[column].min(counts[column].documents.len()));
    }
    most
}

/// A worker's sums.
pub(crate) struct Trends {
    pub(crate) columns: Arc<[TrendColumn]>,
    /// The first cell of each column.
    first: Vec<usize>,
    /// For each column, the places of cells' values.
    memos: Vec<Memo<Vec<usize>>>,
    pub(crate) cells: Slots<Cell, 7>,
    seed: u64,
}

impl Trends {
    /// Creates sums for the columns that were counted; `None` if there are none.
    pub(crate) fn new(plan: &ProjectPlan, shared: &RollUpShared, worker: usize) -> Option<Self> {
        let columns = Arc::clone(shared.columns.made()?);
        let mut count = 0;
        let first = columns.iter().map(|column| {
            count += column.values.len() + 2;
            count - column.values.len() - 2
        });
        let first = first.collect();
        Some(Self {
            memos: vec![Memo::default(); columns.len()],
            columns,
            first,
            cells: Slots::new(&shared.cells, count, [CELLS, CELL_ROWS], (plan, worker)),
            seed: plan.process.job.model.seed,
        })
    }

    /// Adds a document with terms.
    pub(crate) fn add(&mut self, number: u64, document: &ShardDocument, listed: Listed<'_>) {
        let group = group(self.seed, number);
        let tokens = document.tokens_in_vocabulary();
        let columns = self.columns.iter().zip(&self.first).zip(&mut self.memos);
        for ((column, first), memo) in columns {
            let cell = document.metadata[column.place].as_deref().unwrap_or("");
            for place in memo.get(cell, |cell| column.places_of(cell)) {
                let mut cell = self.cells.lock(first + place);
                cell.add(tokens as i64, listed.topics, group);
            }
        }
    }

    /// Sends the cells that other processes own.
    pub(crate) fn send(&self, outbox: &mut Outbox) {
        self.cells.send(outbox);
    }

    /// Sends the rows of this worker's cells to the first worker.
    pub(crate) fn send_rows(&self, outbox: &mut Outbox) {
        let replicates = Replicates::new(self.seed);
        (self.cells).send_rows(outbox, |number, cell, send| {
            cell.rows(number, &replicates).into_iter().for_each(send);
        });
    }

    /// Returns the shares in all documents, sorted, on the first worker.
    pub(crate) fn lines(&mut self) -> Vec<TrendLine> {
        let place = |cell: usize| {
            let column = self.first.partition_point(|&first| first <= cell) - 1;
            [column, cell - self.first[column]]
        };
        let mut lines: Vec<TrendLine> = (self.cells.take_rows())
            .map(|[cell, topic, share, low, high, tokens, documents]| {
                let [share, low, high] = [share, low, high].map(f64::from_bits);
                TrendLine {
                    place: place(cell as usize),
                    topic: topic as i32,
                    share,
                    interval: (!low.is_nan()).then_some((low, high)),
                    tokens: tokens as i64,
                    documents: documents as i64,
                }
            })
            .collect();
        lines.sort_unstable_by_key(|line| (line.place, line.topic));
        lines
    }
}

#[cfg(test)]
mod tests;
