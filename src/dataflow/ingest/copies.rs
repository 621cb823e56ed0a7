//! Finds volumes that are copies: compares the metadata of all volumes before any of them is counted.
//!
//! Each worker reads the metadata of some files. The edition that copies share determines which worker compares
//! them: it keeps the one with the smallest id, in whichever order they arrive.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use timely::worker::Worker;

use super::begin;
use crate::dataflow::block::Block;
use crate::dataflow::exchange::route;
use crate::dataflow::gather::{Delivery, gather_records, sum};
use crate::dataflow::outbox::Outbox;
use crate::dataflow::process::{Process, Tickets};
use crate::failure::Failure;
use crate::wire::{MOST_NAME_BYTES, packed, unpacked};
use corpus::formats::htrc::{Candidate, candidate, metadata_keys};
use corpus::input::{Input, InputError, InputFile};

/// For each edition, which copies share, the volume that is read.
#[derive(Default)]
struct Editions {
    kept: BTreeMap<[u64; 2], (String, u64)>,
    /// The files of the other volumes.
    copies: Vec<[u64; 1]>,
}

impl Editions {
    /// Takes messages: a volume's edition, its id, its file.
    fn receive(&mut self, words: &[u64]) {
        for (edition, mut other) in unpacked::<([u64; 2], (String, u64))>(words) {
            let kept = self.kept.entry(edition);
            let kept = kept.or_insert_with(|| other.clone());
            if *kept == other {
                continue;
            }
            if other < *kept {
                std::mem::swap(kept, &mut other);
            }
            self.copies.push([other.1]);
        }
    }
}

/// Returns the places of the files that are copies, the same for every worker. Every worker must call this.
///
/// # Errors
/// There are volumes, and none has the first key.
pub(super) fn find(
    worker: &mut Worker,
    process: &Process,
    input: &Input,
) -> Result<BTreeSet<usize>, Failure> {
    let settings = &process.job.corpus;
    let filters = &settings.htrc;
    if filters.unique_by.is_empty() {
        return Ok(BTreeSet::new());
    }
    let (first, step) = (process.placement.process, process.placement.processes());
    let total = input.files.len().div_ceil(step) as u64;
    begin(worker, process, ["ingest", "volumes"], total);
    let editions = Rc::new(RefCell::new(Editions::default()));
    let received = Rc::clone(&editions);
    let receive = move |block: Block| received.borrow_mut().receive(block.words());
    let mut delivery = Delivery::new(worker, "copies", route(), receive);
    let mut outbox = Outbox::new([worker.index(), worker.peers()]);
    let volumes = process.shared_default::<Tickets>("volumes");
    // The volumes with each key, then all volumes.
    let mut counts = vec![0; filters.unique_by.len() + 1];
    loop {
        let place = first + volumes.take() * step;
        let Some(file) = input.files.get(place) else {
            break;
        };
        let volume = file.format.is_volume().then(|| candidate(file, settings));
        let fits = |volume: &Candidate| volume.htid.len() <= MOST_NAME_BYTES;
        let volume = volume.flatten().filter(fits);
        if let Some(Candidate { has, .. }) = &volume {
            let has = has.iter().chain(&[true]);
            (counts.iter_mut().zip(has)).for_each(|(count, &has)| *count += i64::from(has));
        }
        if let Some(Candidate { htid, edition: Some([one, two]), .. }) = volume {
            let target = outbox.target(one);
            outbox.send(0, target, packed([([one, two], (htid, place as u64))]));
            delivery.send(outbox.full());
        }
        process.progress.add(1);
        worker.step();
    }
    delivery.send(outbox.all());
    delivery.finish(worker);
    let counts = sum(worker, &counts);
    check_keys(worker, process, input, &counts)?;
    let copies = editions.take().copies;
    let copies = gather_records(worker, &copies).into_iter();
    Ok(copies.map(|[place]| place as usize).collect())
}

/// Fails if no volume has the first key, and warns of each other key that no volume has. `counts` are the volumes with
/// each key, then all volumes.
fn check_keys(
    worker: &Worker,
    process: &Process,
    input: &Input,
    counts: &[i64],
) -> Result<(), Failure> {
    let settings = &process.job.corpus;
    let keys = &settings.htrc.unique_by;
    let (volumes, counts) = counts.split_last().expect("the last is of all volumes");
    let without = keys.iter().zip(counts).filter(|(_, count)| **count == 0);
    for (key, _) in without.filter(|_| *volumes > 0) {
        let is_volume = |file: &&InputFile| file.format.is_volume();
        if *key == keys[0]
            && let Some(file) = input.files.iter().find(is_volume)
        {
            return Err(
                InputError::missing_key(&file.path, key, &metadata_keys(file, settings)).into()
            );
        }
        if worker.index() == 0 {
            process.warn(format!(
                "htrc.unique_by: no volume has `{key}`, so it distinguishes no volumes"
            ));
        }
    }
    Ok(())
}
