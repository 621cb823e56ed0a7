//! Counts the terms of the drafts, at the workers that own them.
//!
//! If the collection has more than about `vocabulary.max_distinct` distinct terms, the owners first find the terms that
//! can be in `vocabulary.min_documents` documents, and count only these. Each of the others takes a byte or two of its
//! owner's filter: most distinct words of scanned print are errors that occur once.

use std::cell::RefCell;
use std::rc::Rc;

use differential_dataflow::Hashable;
use timely::worker::Worker;

use super::hash_filter::HashFilter;
use super::joiner::Joiner;
use super::journal::{DraftFolder, count, visit_folders};
use super::vocabulary::{Listed, is_known, stop_list, vocabulary_before};
use crate::dataflow::frequencies::{GrowingSums, Keep, TermKey, TermTotals, send_counts, unsigned};
use crate::dataflow::process::Process;
use crate::failure::Failure;
use corpus::phrases::Phrase;
use corpus::shard::Columns;
use corpus::terms::{TermCounter, filter_bytes};

/// Counts the terms of all workers' drafts that may be `listed`, with the `phrases` joined. Every worker must call this,
/// and may take counts back from the sums.
pub(super) fn count_terms(
    worker: &mut Worker,
    process: &Process,
    folders: &mut [DraftFolder],
    phrases: Option<&[Phrase]>,
    listed: Listed,
) -> Result<GrowingSums<TermKey, TermTotals>, Failure> {
    let mut keep = None;
    if listed.is_partial() {
        keep = Some(find_rare(worker, process, folders, phrases, listed)?);
    }
    let mut sums = GrowingSums::new(worker, "frequencies", keep);
    visit_counted(worker, process, folders, phrases, |worker, terms| {
        send_counts(worker, &mut sums, terms, 1);
    })?;
    folders.iter_mut().for_each(DraftFolder::forget_counts);
    sums.settle();
    Ok(sums)
}

/// Sends the counts of all workers to the filters of the owners. Returns whether a term that this worker owns may be
/// listed.
fn find_rare(
    worker: &mut Worker,
    process: &Process,
    folders: &mut [DraftFolder],
    phrases: Option<&[Phrase]>,
    Listed { distinct, min_documents }: Listed,
) -> Result<Keep<TermKey, TermTotals>, Failure> {
    let buckets = filter_bytes(distinct.div_ceil(worker.peers() as u64), min_documents);
    let filter = HashFilter::new(buckets, min_documents);
    let filter = Rc::new(RefCell::new(filter));
    let adding = Rc::clone(&filter);
    let add: Keep<TermKey, TermTotals> = Box::new(move |term, &(_, documents)| {
        adding.borrow_mut().add(term.hashed(), unsigned(documents));
        false
    });
    let mut sums = GrowingSums::new(worker, "rare terms", Some(add));
    visit_counted(worker, process, folders, phrases, |worker, terms| {
        send_counts(worker, &mut sums, terms, 1);
    })?;
    sums.settle();
    sums.finish(worker);
    let (stop_list, before) = (stop_list(process)?, vocabulary_before(process)?);
    Ok(Box::new(move |term, _| {
        filter.borrow().passes(term.hashed())
            || is_known(term, &stop_list, before.as_ref().as_ref())
    }))
}

/// Passes the terms of each folder to `visit`, with the counts of its drafts, in which `phrases` are joined.
fn visit_counted(
    worker: &mut Worker,
    process: &Process,
    folders: &mut [DraftFolder],
    phrases: Option<&[Phrase]>,
    mut visit: impl FnMut(&mut Worker, &TermCounter),
) -> Result<(), Failure> {
    visit_folders(folders, |folder, terms| {
        if !folder.has_counts {
            let mut joiner = phrases.map(|phrases| Joiner::new(phrases, terms));
            for draft in &mut folder.drafts {
                let mut tokens = 0;
                draft.read(Columns::Counts, |_, document| {
                    joiner.iter_mut().for_each(|joiner| joiner.bag(document));
                    tokens += count(terms, document);
                    Ok(())
                })?;
                draft.figures.tokens = tokens;
                if phrases.is_some() {
                    process.progress.add(draft.figures.documents);
                }
                worker.step();
            }
            folder.has_counts = true;
        }
        visit(worker, terms);
        Ok(())
    })
}
