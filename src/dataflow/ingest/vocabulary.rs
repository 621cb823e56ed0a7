//! Turns all workers' totals into one vocabulary: they are gathered at worker 0, pruned and written
//! there, and broadcast, so that each worker knows the status of its own terms.

use std::cell::RefCell;
use std::rc::Rc;

use timely::worker::Worker;

use super::drafts::Remarks;
use crate::dataflow::block::Block;
use crate::dataflow::exchange::route;
use crate::dataflow::frequencies::{KeyTotals, TermKey, TermTotals, unsigned};
use crate::dataflow::gather::{Delivery, all_gather_blocks};
use crate::dataflow::outbox::Outbox;
use crate::dataflow::process::Process;
use crate::failure::Failure;
use crate::wire::{Wire, packed, unpacked};
use corpus::stop_words;
use corpus::terms::TermCounter;
use corpus::vocabulary::{TermCount, TermMap, TermStatus, Vocabulary, VocabularyTerm};
use corpus::vocabulary_file::{self, VOCABULARY_FILE};

/// The vocabulary, as `collection.json` describes it.
#[derive(Debug, Default)]
pub(super) struct Agreed {
    /// Distinct terms of the collection, kept or not.
    pub(super) terms_total: u64,
    /// Kept terms.
    pub(super) terms_kept: u64,
    /// The fingerprint of the kept ones.
    pub(super) fingerprint: String,
}

/// Prunes the totals of all workers to one vocabulary, and writes it. Returns the map of this
/// worker's `terms`, and a summary of the vocabulary, which is empty except on worker 0.
///
/// `documents` are the numbers of documents with at least one token, and of all documents.
pub(super) fn agree(
    worker: &mut Worker,
    process: &Process,
    (terms, totals): (TermCounter, KeyTotals<TermKey, TermTotals>),
    documents: [u64; 2],
    remarks: &Remarks,
) -> Result<(TermMap, Agreed), Failure> {
    let terms = terms.without_counts();
    let counts = gather_at_leader(worker, totals);
    let (message, agreed) = match counts {
        Some(counts) => prune(process, counts, documents, remarks)?,
        None => Default::default(),
    };
    let vocabulary = broadcast(worker, message);
    Ok((TermMap::new(&terms, vocabulary), agreed))
}

/// Words of terms in a block, before the last one, which has 64 KiB at most.
const TERM_WORDS_A_BLOCK: usize = 32 << 10;

/// Broadcasts worker 0's terms, [packed](pack); returns them.
pub(super) fn broadcast(
    worker: &mut Worker,
    message: Vec<Vec<u64>>,
) -> impl Iterator<Item = VocabularyTerm> {
    let blocks = all_gather_blocks(worker, message).into_iter().next();
    blocks.into_iter().flatten().flat_map(|block| {
        let terms = unpacked::<(String, [u64; 3])>(block.words());
        terms.map(term_of).collect::<Vec<_>>()
    })
}

fn term_of((term, [tokens, documents, status]): (String, [u64; 3])) -> VocabularyTerm {
    VocabularyTerm { term, tokens, documents, status: TermStatus::ALL[status as usize] }
}

/// Packs terms, each with its tokens, its documents and its status, into blocks.
pub(super) fn pack<'t>(terms: impl Iterator<Item = (&'t str, [u64; 3])>) -> Vec<Vec<u64>> {
    let (mut blocks, mut words) = (Vec::new(), Vec::new());
    for term in terms {
        term.pack(&mut words);
        if words.len() > TERM_WORDS_A_BLOCK {
            blocks.push(std::mem::take(&mut words));
        }
    }
    blocks.push(words);
    blocks
}

/// Prunes and writes the vocabulary; returns all its terms, in order, as a message for all workers.
fn prune(
    process: &Process,
    counts: Vec<TermCount>,
    documents: [u64; 2],
    remarks: &Remarks,
) -> Result<(Vec<Vec<u64>>, Agreed), Failure> {
    let job = &process.job;
    let stop_list = stop_words::load(&job.vocabulary.stop_words, &job.tokens)?;
    let vocabulary = match &job.vocabulary_from {
        None => Vocabulary::prune(counts, documents[0], &job.vocabulary, &stop_list),
        Some(result) => {
            let before = vocabulary_file::read(&result.join(VOCABULARY_FILE))?;
            job.check_result("vocabulary.from")?;
            Vocabulary::with_terms_of(&before, counts, &stop_list)
        }
    };
    if vocabulary.kept_terms().iter().all(|term| term.documents == 0) {
        return Err(Failure::data(nothing_kept(process, &vocabulary, documents, remarks)));
    }
    let temporary = process.output.temporary_path("vocabulary.tsv");
    vocabulary_file::write(&temporary, &vocabulary)?;
    process.output.publish(&temporary, VOCABULARY_FILE)?;
    let terms = vocabulary.terms().iter();
    let message =
        pack(terms.map(|term| (&*term.term, [term.tokens, term.documents, term.status as u64])));
    let agreed = Agreed {
        terms_total: vocabulary.terms().len() as u64,
        terms_kept: vocabulary.kept() as u64,
        fingerprint: vocabulary.fingerprint(),
    };
    Ok((message, agreed))
}

/// Sends every worker's totals to worker 0; returns `None` on the others. The terms of each worker are sorted.
pub(super) fn gather_at_leader(
    worker: &mut Worker,
    totals: KeyTotals<TermKey, TermTotals>,
) -> Option<Vec<TermCount>> {
    let (index, peers) = (worker.index(), worker.peers());
    let gathered = Rc::new(RefCell::new(vec![Vec::new(); peers]));
    let filled = Rc::clone(&gathered);
    let keep = move |block: Block| {
        let counts = unpacked::<(String, [u64; 2])>(block.words());
        filled.borrow_mut()[block.source()].extend(
            counts.map(|(term, [tokens, documents])| TermCount { term, tokens, documents }),
        );
    };
    let mut delivery = Delivery::new(worker, "vocabulary", route(), keep);
    let mut outbox = Outbox::new([index, peers]);
    totals.visit(&mut |term, (tokens, documents)| {
        outbox.send(0, 0, packed([(&**term, [unsigned(tokens), unsigned(documents)])]));
        let full = outbox.full();
        if !full.is_empty() {
            delivery.send(full);
            worker.step();
        }
    });
    delivery.send(outbox.all());
    delivery.finish(worker);
    if index > 0 {
        return None;
    }
    let gathered = gathered.take();
    Some(gathered.into_iter().flatten().collect())
}

/// Explains why no term is left, and what to do: first about documents without tokens, if they are most of them.
fn nothing_kept(
    process: &Process,
    vocabulary: &Vocabulary,
    [with_tokens, documents]: [u64; 2],
    remarks: &Remarks,
) -> String {
    let settings = &process.job.vocabulary;
    let without = documents - with_tokens;
    let example = remarks.reasons().next();
    if let (None, Some(filtered)) = (&example, remarks.filtered().filter(|_| with_tokens == 0)) {
        return format!(
            "all documents are filtered out: correct corpus.languages, or the filters in [htrc]; for example, {filtered}"
        );
    }
    let first =
        example.map_or_else(String::new, |remark: &String| format!("; for example, {remark}"));
    let count = |status| vocabulary.terms().iter().filter(|term| term.status == status).count();
    if vocabulary.terms().iter().all(|term| term.documents == 0) {
        return format!(
            "no document contains a token: check corpus.text (is it the right column?), tokens.rule, \
             tokens.min_length and tokens.numbers{first}"
        );
    }
    if 2 * without > documents {
        return format!(
            "{without} of {documents} documents could not be read, or have no tokens, and the others have no term for \
             the vocabulary: correct those first{first}"
        );
    }
    if let Some(result) = &process.job.vocabulary_from {
        return format!(
            "none of {} terms in {with_tokens} documents is a term of {}: are the documents in another language, or \
             their texts under another key (corpus.text)?",
            count(TermStatus::Unknown),
            result.display(),
        );
    }
    format!(
        "the vocabulary is empty: of {} terms in {with_tokens} documents, {} are in fewer than \
         vocabulary.min_documents = {}, {} in more than vocabulary.max_share = {} of them, {} are \
         stop words and {} beyond vocabulary.max_terms = {}; lower min_documents, raise max_share, \
         or shorten vocabulary.stop_words",
        vocabulary.terms().len(),
        count(TermStatus::Rare),
        settings.min_documents,
        count(TermStatus::Frequent),
        settings.max_share,
        count(TermStatus::Stop),
        count(TermStatus::Capped),
        settings.max_terms,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataflow::block::MAX_BLOCK_WORDS;

    #[test]
    fn terms_are_whole_in_each_block() {
        let terms: Vec<(String, [u64; 3])> = (0..20_000)
            .map(|n| ("zwölf…".repeat(n as usize % 9), [u64::MAX - n, n, n % 5]))
            .chain([("x".repeat(1 << 16), [1, 1, 0])])
            .collect();
        let blocks = pack(terms.iter().map(|(term, counts)| (&**term, *counts)));
        assert!(blocks.len() > 2 && blocks.iter().all(|words| words.len() <= MAX_BLOCK_WORDS));
        let arrived = blocks.iter().flat_map(|words| unpacked::<(String, [u64; 3])>(words));
        assert!(arrived.eq(terms.clone()));
        assert_eq!(pack(std::iter::empty()).len(), 1);
    }
}
