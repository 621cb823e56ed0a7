//! Counts the values of the metadata columns whose trends are requested, before documents are projected: each column at
//! a worker of its own, which chooses the values that are named.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use timely::worker::Worker;

use crate::dataflow::block::{Block, MAX_BLOCK_WORDS};
use crate::dataflow::exchange::route;
use crate::dataflow::gather::{Delivery, all_gather, gather_records};
use crate::dataflow::process::{Process, Tickets};
use crate::dataflow::sample::for_each_document;
use crate::failure::Failure;
use crate::tables::documents::metadata_columns;
use crate::tables::trend_columns::{
    MOST_DISTINCT, MOST_VALUE_BYTES, TrendColumn, ValueCounts, shares_of_named,
};
use crate::wire::{Wire, packed};
use corpus::ShardDocument;
use corpus::collection::Collection;
use corpus::memo::Memo;
use corpus::shard::Columns;

/// Counts the values of the columns that the job names, and chooses those that are named: the most frequent
/// ones. All workers must call this; `shards` number the process's shards for up to two readings.
///
/// # Errors
/// A shard cannot be read, or a column has too many values.
pub(crate) fn trend_columns(
    worker: &mut Worker,
    process: &Process,
    collection: &Collection,
    shards: &[Tickets; 2],
) -> Result<Arc<[TrendColumn]>, Failure> {
    let (trends, metadata) = (&process.job.project.trends, &collection.metadata);
    let place = |name: &String| metadata.iter().position(|other| other == name);
    let mut places: Vec<usize> = trends.iter().filter_map(place).collect();
    let names = metadata_columns(metadata);
    places.sort_unstable_by_key(|&place| &names[place]);
    let columns = places.into_iter().map(|place| TrendColumn::new(&names[place], place));
    let mut columns: Vec<TrendColumn> = columns.collect();
    if columns.is_empty() {
        return Ok(columns.into());
    }
    process.begin_documents("values", collection);
    let counts = count(worker, process, collection, &shards[0], &columns)?;
    let own = counts.iter().map(|(&column, counts)| {
        [column, counts.documents.len(), counts.are_too_many().into()].map(|n| n as u64)
    });
    let mut sizes = gather_records(worker, &own.collect::<Vec<_>>());
    sizes.sort_unstable();
    if let Some([column, ..]) = sizes.iter().find(|[.., are_too_many]| *are_too_many > 0) {
        return Err(Failure::data(format!(
            "column {:?} has more than {MOST_DISTINCT} different values, or {} MiB of them: leave it out of \
             project.trends",
            metadata[columns[*column as usize].place],
            MOST_VALUE_BYTES >> 20
        )));
    }
    let sizes: Vec<usize> = sizes.iter().map(|[_, size, _]| *size as usize).collect();
    let most = shares_of_named(&sizes, process.topic_count(collection));
    choose(worker, process, &mut columns, counts, &most);
    // A document with several dates in a group has been counted for each of them.
    if columns.iter().any(TrendColumn::may_repeat) {
        process.begin_documents("dates", collection);
        let counts = count(worker, process, collection, &shards[1], &columns)?;
        choose(worker, process, &mut columns, counts, &most);
    }
    Ok(columns.into())
}

/// Counts the documents of all workers by the values of each column; dates are grouped once their scale is chosen.
/// Returns the counts of the columns that this worker owns.
fn count(
    worker: &mut Worker,
    process: &Process,
    collection: &Collection,
    tickets: &Tickets,
    columns: &[TrendColumn],
) -> Result<BTreeMap<usize, ValueCounts>, Failure> {
    let mut mine = vec![ValueCounts::default(); columns.len()];
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
    for_each_document(worker, process, tickets, collection, Columns::Metadata, visit)?;
    let (index, peers, all) = (worker.index(), worker.peers(), columns.len());
    let received: Rc<RefCell<BTreeMap<_, Vec<Block>>>> = Rc::default();
    let filled = Rc::clone(&received);
    let keep = move |block: Block| {
        let key = (block.tag() as usize % all, block.source());
        filled.borrow_mut().entry(key).or_default().push(block);
    };
    let mut delivery = Delivery::new(worker, "values", route(), keep);
    for (column, counts) in mine.into_iter().enumerate() {
        let counted: Vec<(String, u64)> = counts.documents.into_iter().collect();
        let words = packed([(counts.has_lists, counted)]);
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
        let counted = <(bool, Vec<(&str, u64)>)>::unpack(&mut &words[..]);
        let (has_lists, counted) = counted.expect("packed by a worker");
        let counts = owned.entry(column).or_default();
        counts.has_lists |= has_lists;
        counted.into_iter().for_each(|(value, documents)| counts.add(value, documents));
    }
    Ok(owned)
}

/// Chooses the scale of each column, unless it has one, and its named values: each at its owner, for all workers.
fn choose(
    worker: &mut Worker,
    process: &Process,
    columns: &mut [TrendColumn],
    counts: BTreeMap<usize, ValueCounts>,
    most: &[usize],
) {
    let own = counts.into_iter().map(|(place, counts)| {
        let mut column = columns[place].clone();
        column.choose(counts, most[place], process.job.project.date_unit);
        (place, column)
    });
    let json = serde_json::to_vec(&own.collect::<Vec<_>>()).expect("texts and numbers are JSON");
    for json in all_gather(worker, &json) {
        let chosen: Vec<(usize, TrendColumn)> =
            serde_json::from_slice(&json).expect("written by a worker");
        chosen.into_iter().for_each(|(place, column)| columns[place] = column);
    }
}
