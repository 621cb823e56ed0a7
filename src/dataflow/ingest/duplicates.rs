//! Finds documents that nearly repeat an earlier one, by their signatures ([`minhash`](corpus::minhash)), and takes their
//! counts back.
//!
//! The key of a band determines which worker compares the documents that have it: each is paired with the first of them
//! only, so that any number of copies makes as many pairs. The worker of the later document gets the signature of the
//! earlier one and keeps the pair if they resemble each other; a document's original is the first of these or, if that
//! repeats another in turn, the original of it. Documents are ordered by their numbers, so that nothing depends on where
//! they were read. Keys come in parts, by hash, and signatures are read from the drafts for each: only what repeats is in
//! memory.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use timely::worker::Worker;

use super::joiner::Joiner;
use super::journal::{DraftFolder, OwnDraft, count, visit_folders};
use crate::dataflow::block::Block;
use crate::dataflow::exchange::route;
use crate::dataflow::frequencies::{GrowingSums, TermKey, TermTotals, send_counts};
use crate::dataflow::gather::{Delivery, deliver, gather_records};
use crate::dataflow::outbox::Outbox;
use crate::dataflow::process::Process;
use crate::failure::Failure;
use corpus::minhash::{BANDS, KEYS_A_PART, Signature, band, resemblance};
use corpus::phrases::Phrase;
use corpus::settings::Repetitions;
use corpus::shard::Columns;
use corpus::{DocumentStatus, ShardDocument};

/// Whether the job looks for documents that repeat others: not among those that are projected onto another result.
pub(super) fn are_looked_for(process: &Process) -> bool {
    let job = &process.job;
    job.corpus.duplicates != Repetitions::Keep && job.model_from.is_none() && !process.adds
}

impl OwnDraft {
    /// Passes each signature, with the number of its document, to `visit`.
    fn signatures(&self, mut visit: impl FnMut(u64, &Signature)) -> Result<(), Failure> {
        self.read(Columns::Signatures, |number, document| {
            if let Ok(signature) = document.signature[..].try_into() {
                visit(number, signature);
            }
            Ok(())
        })
    }

    /// Returns those of the `sorted` records that begin with the number of one of its documents.
    fn of<'r, T: AsRef<[u64]>>(&self, sorted: &'r [T]) -> &'r [T] {
        let end = self.first_document + self.figures.documents;
        let [start, end] = [self.first_document, end]
            .map(|bound| sorted.partition_point(|record| record.as_ref()[0] < bound));
        &sorted[start..end]
    }
}

/// The documents of a collection that nearly repeat an earlier one.
#[derive(Debug, Default)]
pub(super) struct Duplicates {
    /// The number of each, ascending, and that of its original, which repeats none.
    originals: Vec<[u64; 2]>,
    drops: bool,
}

impl Duplicates {
    /// Follows the pairs of a later and an earlier document to the first ones.
    fn new(mut pairs: Vec<[u64; 2]>, drops: bool) -> Self {
        pairs.sort_unstable();
        for place in 0..pairs.len() {
            let earlier = pairs[..place].binary_search_by_key(&pairs[place][1], |pair| pair[0]);
            if let Ok(earlier) = earlier {
                pairs[place][1] = pairs[earlier][1];
            }
        }
        Self { originals: pairs, drops }
    }

    /// Returns their number.
    pub(super) fn count(&self) -> u64 {
        self.originals.len() as u64
    }

    fn original(&self, number: u64) -> Option<u64> {
        let place = self.originals.binary_search_by_key(&number, |pair| pair[0]);
        Some(self.originals[place.ok()?][1])
    }

    /// Marks a document if it is one of them, as the job wants.
    pub(super) fn mark(&self, number: u64, document: &mut ShardDocument) {
        document.duplicate_of = self.original(number);
        if self.drops && document.duplicate_of.is_some() {
            document.status = DocumentStatus::Duplicate;
            (document.tokens_total, document.tokens_stopped) = (0, 0);
            document.lists_mut().as_flattened_mut().iter_mut().for_each(|list| list.clear());
        }
    }

    /// Takes their counts back; `phrases` are joined in drafts that keep the order of tokens. Every worker must call this.
    pub(super) fn retract(
        &self,
        worker: &mut Worker,
        folders: &mut [DraftFolder],
        phrases: Option<&[Phrase]>,
        sums: &mut GrowingSums<TermKey, TermTotals>,
    ) -> Result<(), Failure> {
        visit_folders(folders, |folder, terms| {
            let mut joiner = phrases.map(|phrases| Joiner::new(phrases, terms));
            let drafts = folder.drafts.iter();
            for draft in drafts.filter(|draft| !draft.of(&self.originals).is_empty()) {
                draft.read(Columns::Counts, |number, document| {
                    if self.original(number).is_some() {
                        joiner.iter_mut().for_each(|joiner| joiner.bag(document));
                        count(terms, document);
                    }
                    Ok(())
                })?;
                worker.step();
            }
            send_counts(worker, sums, terms, -1);
            terms.forget_counts();
            Ok(())
        })
    }
}

/// Finds the documents that nearly repeat an earlier one among `documents` of all workers; all get the same. Every worker
/// must call this.
pub(super) fn find(
    worker: &mut Worker,
    process: &Process,
    folders: &[DraftFolder],
    documents: u64,
) -> Result<Arc<Duplicates>, Failure> {
    if !are_looked_for(process) {
        return Ok(Arc::default());
    }
    let drafts: Vec<&OwnDraft> = folders.iter().flat_map(|folder| &folder.drafts).collect();
    let drafts = &drafts[..];
    let parts = (documents * BANDS as u64).div_ceil(KEYS_A_PART * worker.peers() as u64).max(1);
    super::begin(worker, process, ["duplicates", "parts"], parts);
    // The candidates of this worker: later document, earlier one; and its documents whose signatures others need:
    // document, worker.
    let mut pairs = [Vec::new(), Vec::new()];
    for part in 0..parts {
        let compared = compare(worker, drafts, [part, parts])?;
        for (all, some) in pairs.iter_mut().zip(compared) {
            all.extend(some);
            all.sort_unstable();
            all.dedup();
        }
        if worker.index().is_multiple_of(process.placement.threads) {
            process.progress.add(1);
        }
    }
    let [candidates, wanted] = pairs;
    let earlier = send_signatures(worker, drafts, &wanted)?;
    let least = process.job.corpus.duplicate_similarity;
    let mut found: Vec<[u64; 2]> = Vec::new();
    for draft in drafts.iter().filter(|draft| !draft.of(&candidates).is_empty()) {
        let mut candidates = draft.of(&candidates);
        draft.signatures(|number, signature| {
            let these = candidates.partition_point(|pair| pair[0] <= number);
            let (these, later) = candidates.split_at(these);
            candidates = later;
            let is_original = |pair: &&[u64; 2]| {
                earlier.get(&pair[1]).is_some_and(|other| resemblance(signature, other) >= least)
            };
            found.extend(these.iter().find(is_original));
        })?;
    }
    let found = gather_records(worker, &found);
    let drops = process.job.corpus.duplicates == Repetitions::Drop;
    process.shared("duplicates", || Ok(Duplicates::new(found, drops)))
}

/// Compares the documents that have a key in this part of all: returns pairs of a document of this worker and an earlier
/// one of the same key, and pairs of a document of this worker and the worker that needs its signature.
fn compare(
    worker: &mut Worker,
    drafts: &[&OwnDraft],
    [part, parts]: [u64; 2],
) -> Result<[Vec<[u64; 2]>; 2], Failure> {
    let places = [worker.index(), worker.peers()];
    let received = Rc::new(RefCell::new(Vec::new()));
    let keeping = Rc::clone(&received);
    let keep = move |block: Block| {
        let source = block.source() as u64;
        let (messages, _) = block.words().as_chunks::<2>();
        keeping.borrow_mut().extend(messages.iter().map(|&[key, number]| [key, number, source]));
    };
    let mut delivery = Delivery::new(worker, "bands", route(), keep);
    let mut outbox = Outbox::new(places);
    for draft in drafts {
        draft.signatures(|number, signature| {
            let keys = (0..BANDS).map(|place| band(signature, place));
            for key in keys.filter(|key| key % parts == part) {
                let target = outbox.target(key / parts);
                outbox.send(0, target, [key, number]);
            }
            delivery.send(outbox.full());
        })?;
        worker.step();
    }
    delivery.send(outbox.all());
    delivery.finish(worker);
    let mut keys = received.take();
    keys.sort_unstable();
    let mut outbox = Outbox::new(places);
    for bucket in keys.chunk_by(|one, other| one[0] == other[0]) {
        let [_, first, holder] = bucket[0];
        for &[_, number, source] in &bucket[1..] {
            outbox.send(0, source as usize, [number, first]);
            outbox.send(1, holder as usize, [first, source]);
        }
    }
    drop(keys);
    let mut pairs = [Vec::new(), Vec::new()];
    for block in deliver(worker, "pairs", route(), outbox.all()) {
        let (messages, _) = block.words().as_chunks::<2>();
        pairs[block.tag() as usize].extend_from_slice(messages);
    }
    Ok(pairs)
}

/// Sends the signatures of documents of this worker to the workers that need them: `wanted` has document and worker,
/// ascending. Returns those that this worker needs, by document.
fn send_signatures(
    worker: &mut Worker,
    drafts: &[&OwnDraft],
    wanted: &[[u64; 2]],
) -> Result<BTreeMap<u64, Signature>, Failure> {
    const WORDS: usize = size_of::<Signature>() / size_of::<u64>();
    let received = Rc::new(RefCell::new(BTreeMap::new()));
    let keeping = Rc::clone(&received);
    let keep = move |block: Block| {
        for [number, signature @ ..] in block.words().as_chunks::<{ 1 + WORDS }>().0 {
            let signature: &[u64; WORDS] = signature;
            keeping.borrow_mut().insert(*number, bytemuck::cast::<_, Signature>(*signature));
        }
    };
    let mut delivery = Delivery::new(worker, "signatures", route(), keep);
    let mut outbox = Outbox::new([worker.index(), worker.peers()]);
    for draft in drafts.iter().filter(|draft| !draft.of(wanted).is_empty()) {
        let mut wanted = draft.of(wanted);
        draft.signatures(|number, signature| {
            let these = wanted.partition_point(|pair| pair[0] <= number);
            let (these, later) = wanted.split_at(these);
            wanted = later;
            let words: [u64; WORDS] = bytemuck::cast(*signature);
            for &[_, target] in these {
                outbox.send(0, target as usize, [number].into_iter().chain(words));
            }
            delivery.send(outbox.full());
        })?;
        worker.step();
    }
    delivery.send(outbox.all());
    delivery.finish(worker);
    Ok(received.take())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_followed_to_a_document_that_repeats_none() {
        let found = Duplicates::new(vec![[9, 7], [3, 1], [7, 3], [8, 2]], false);
        assert_eq!(found.originals, [[3, 1], [7, 1], [8, 2], [9, 1]]);
        assert_eq!([1, 7, 8].map(|number| found.original(number)), [None, Some(1), Some(2)]);
    }
}
