//! Counts the values of the metadata columns whose trends are requested, before documents are projected: each column at
//! a worker of its own, which chooses the values that are named.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use timely::worker::Worker;

use super::stored::{StoredSums, WrittenParts, read_words, write_words};
use crate::dataflow::block::{Block, MAX_BLOCK_WORDS};
use crate::dataflow::exchange::route;
use crate::dataflow::gather::{Delivery, all_gather, gather_records};
use crate::dataflow::process::{Process, Tickets};
use crate::dataflow::sample::{next_shard, read_shard};
use crate::failure::Failure;
use crate::tables::documents::metadata_columns;
use crate::tables::trend_columns::{
    MOST_DISTINCT, MOST_VALUE_BYTES, TrendColumn, ValueCounts, shares_of_named,
};
use crate::wire::{packed, unpacked};
use corpus::ShardDocument;
use corpus::collection::Collection;
use corpus::memo::Memo;
use corpus::shard::Columns;

/// The metadata columns whose trends are requested.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trends {
    /// The columns, by name.
    pub(crate) columns: Arc<[TrendColumn]>,
    /// The files that keep the counts of their values, where documents have been added.
    pub(super) files: WrittenParts,
}

/// Counts the values of the columns that the job names, and of the language, and chooses those that are named: the most
/// frequent ones. All workers must call this; `shards` number the process's shards for up to two readings.
///
/// # Errors
/// A shard cannot be read, or a column has too many values.
pub(crate) fn trend_columns(
    worker: &mut Worker,
    process: &Process,
    collection: &Collection,
    shards: &[Tickets; 2],
    stored: Option<&StoredSums>,
) -> Result<Trends, Failure> {
    let (trends, metadata) = (process.job.trends(), &collection.metadata);
    let columns = metadata_columns(metadata).into_iter().enumerate();
    let columns = columns.filter(|(place, _)| trends.contains(&metadata[*place]));
    let mut columns: Vec<TrendColumn> =
        columns.map(|(place, name)| TrendColumn::new(&name, place)).collect();
    columns.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    if columns.is_empty() {
        return Ok(Trends::default());
    }
    process.begin_documents("values", collection);
    let first = stored.map_or(0, |stored| stored.documents);
    let mut counts = count(worker, process, collection, (&shards[0], first), &columns)?;
    if let Some(stored) = stored {
        for (&column, counts) in &mut counts {
            for file in stored.files(&values_of(stored.documents, column)) {
                let words = read_words(process, file)?;
                unpacked::<ValueWords>(&words).for_each(|some| counts.merge(some));
            }
        }
    }
    let files = store(process, collection, &counts)?;
    let own = counts.iter().map(|(&column, counts)| {
        [column, counts.documents.len(), counts.are_too_many().into()].map(|n| n as u64)
    });
    let mut sizes = gather_records(worker, &own.collect::<Vec<_>>());
    sizes.sort_unstable();
    if let Some([column, ..]) = sizes.iter().find(|[.., are_too_many]| *are_too_many > 0) {
        return Err(Failure::data(format!(
            "column {:?} has more than {MOST_DISTINCT} different values, or {} MiB of them: leave it out of \
             project.trends; of corpus.metadata if it is `language`",
            metadata[columns[*column as usize].place],
            MOST_VALUE_BYTES >> 20
        )));
    }
    let sizes: Vec<usize> = sizes.iter().map(|[_, size, _]| *size as usize).collect();
    let most = shares_of_named(&sizes, process.topic_count(collection));
    let files = choose(worker, process, &mut columns, (counts, files), &most);
    // A document with several dates in a group has been counted for each of them.
    if columns.iter().any(TrendColumn::may_repeat) {
        process.begin_documents("dates", collection);
        let counts = count(worker, process, collection, (&shards[1], 0), &columns)?;
        choose(worker, process, &mut columns, (counts, WrittenParts::new()), &most);
    }
    Ok(Trends { columns: columns.into(), files })
}

/// The counts of a column as words: whether documents have several values, and the documents of each value.
type ValueWords<'w> = (bool, Vec<(&'w str, u64)>);

fn to_words(counts: &ValueCounts) -> Vec<u64> {
    let counted = counts.documents.iter().map(|(value, &documents)| (&value[..], documents));
    packed([(counts.has_lists, counted.collect::<Vec<_>>())])
}

/// Returns what the file of a column's counts is named by: how many documents have had numbers, and the column's.
fn values_of(documents: u64, column: usize) -> String {
    format!("values-{documents}-{column}")
}

/// Keeps the counts of the columns that this worker owns, if documents have been added before. Those of fewer documents
/// stay until all sums are replaced.
fn store(
    process: &Process,
    collection: &Collection,
    counts: &BTreeMap<usize, ValueCounts>,
) -> Result<WrittenParts, Failure> {
    if collection.generations.is_empty() {
        return Ok(WrittenParts::new());
    }
    let write = |(&column, counts): (&usize, &ValueCounts)| {
        write_words(process, &values_of(collection.numbers(), column), 0, &to_words(counts))
    };
    counts.iter().map(write).collect()
}

/// Counts the documents of all workers, from the `first` number on, by the values of each column; dates are grouped once
/// their scale is chosen. Returns the counts of the columns that this worker owns.
fn count(
    worker: &mut Worker,
    process: &Process,
    collection: &Collection,
    (tickets, first): (&Tickets, u64),
    columns: &[TrendColumn],
) -> Result<BTreeMap<usize, ValueCounts>, Failure> {
    let mut mine = vec![ValueCounts::default(); columns.len()];
    let mut memos = vec![Memo::default(); columns.len()];
    let mut visit = |number, document: &ShardDocument| {
        process.progress.add(1);
        if document.status.has_terms() && number >= first {
            for ((counts, column), memo) in mine.iter_mut().zip(columns).zip(&mut memos) {
                let cell = document.metadata[column.place].as_deref().unwrap_or("");
                let values = memo.get(cell, |cell| column.values_of(cell));
                counts.has_lists |= values.len() > 1;
                values.iter().for_each(|value| counts.add(value, 1));
            }
        }
        Ok(())
    };
    while let Some(number) = next_shard(process, tickets, collection) {
        let shard = &collection.shards[number];
        if shard.first_document + shard.documents > first {
            read_shard(process, collection, number, Columns::Metadata, &mut visit)?;
        } else {
            process.progress.add(shard.documents);
        }
        worker.step();
    }
    let (index, peers, all) = (worker.index(), worker.peers(), columns.len());
    let received: Rc<RefCell<BTreeMap<_, Vec<Block>>>> = Rc::default();
    let filled = Rc::clone(&received);
    let keep = move |block: Block| {
        let key = (block.tag() as usize % all, block.source());
        filled.borrow_mut().entry(key).or_default().push(block);
    };
    let mut delivery = Delivery::new(worker, "values", route(), keep);
    for (column, counts) in mine.into_iter().enumerate() {
        let words = to_words(&counts);
        for (piece, words) in words.chunks(MAX_BLOCK_WORDS).enumerate() {
            let tag = (column + all * piece) as u64;
            delivery.send([Block::to_worker(index, column % peers, tag, words.to_vec())]);
        }
        worker.step();
    }
    delivery.finish(worker);
    let mut owned: BTreeMap<usize, ValueCounts> = BTreeMap::new();
    for ((column, _), mut blocks) in received.take() {
        blocks.sort_by_key(Block::tag);
        let words = blocks.iter().map(Block::words).collect::<Vec<_>>().concat();
        let counts = owned.entry(column).or_default();
        unpacked::<ValueWords>(&words).for_each(|some| counts.merge(some));
    }
    Ok(owned)
}

/// Chooses the scale of each column, unless it has one, and its named values: each at its owner, for all workers. Returns
/// all workers' `files`.
fn choose(
    worker: &mut Worker,
    process: &Process,
    columns: &mut [TrendColumn],
    (counts, files): (BTreeMap<usize, ValueCounts>, WrittenParts),
    most: &[usize],
) -> WrittenParts {
    let own = counts.into_iter().map(|(place, counts)| {
        let mut column = columns[place].clone();
        column.choose(counts, most[place], process.job.project.date_unit);
        (place, column)
    });
    let own = (own.collect::<Vec<_>>(), files);
    let json = serde_json::to_vec(&own).expect("texts and numbers are JSON");
    let mut all = WrittenParts::new();
    for json in all_gather(worker, &json) {
        let (chosen, files): (Vec<(usize, TrendColumn)>, WrittenParts) =
            serde_json::from_slice(&json).expect("written by a worker");
        chosen.into_iter().for_each(|(place, column)| columns[place] = column);
        all.extend(files);
    }
    all
}
