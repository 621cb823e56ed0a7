//! Turns all workers' totals into one vocabulary: they are gathered at worker 0, pruned and written
//! there, and broadcast, so that each worker knows the status of its own terms.

use crate::dataflow::block::MAX_BLOCK_WORDS;
use crate::wire::Wire;
use std::cell::RefCell;
use std::rc::Rc;

use timely::worker::Worker;

use super::IngestShared;
use crate::dataflow::block::Block;
use crate::dataflow::exchange::route;
use crate::dataflow::frequencies::{Counts, Term, Totals, unsigned};
use crate::dataflow::gather::{BLOCKS_A_STEP, Delivery, all_gather_blocks};
use crate::dataflow::process::Process;
use crate::failure::Failure;
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
    shared: &IngestShared,
    terms: TermCounter,
    totals: Totals<Term, Counts>,
    documents: [u64; 2],
) -> Result<(TermMap, Agreed), Failure> {
    let terms = terms.without_counts();
    let counts = gather_at_leader(worker, totals);
    let (message, agreed) = match counts {
        Some(counts) => prune(process, shared, counts, documents)?,
        None => Default::default(),
    };
    let vocabulary = broadcast(worker, message);
    Ok((TermMap::new(&terms, vocabulary), agreed))
}

/// Broadcasts worker 0's terms, [packed](pack); returns them.
pub(super) fn broadcast(
    worker: &mut Worker,
    message: Vec<Vec<u64>>,
) -> impl Iterator<Item = VocabularyTerm> {
    let blocks = all_gather_blocks(worker, message).into_iter().next();
    let mut parts = ArrivingTerms::default();
    blocks.into_iter().flatten().flat_map(move |block| {
        let mut complete = Vec::new();
        parts.take(block.words(), &mut |term| complete.push(term));
        complete
    })
}

/// Packs terms into blocks.
pub(super) fn pack<'t>(terms: impl Iterator<Item = (&'t str, u64, u64, u8)>) -> Vec<Vec<u64>> {
    let (mut blocks, mut waiting) = (Vec::new(), Vec::new());
    for (term, tokens, documents, status) in terms {
        push_term(&mut waiting, term, tokens, documents, status);
        blocks.extend(std::iter::from_fn(|| full_block(&mut waiting)));
    }
    blocks.push(waiting);
    blocks
}

/// Prunes and writes the vocabulary; returns all its terms, in order, as a message for all workers.
fn prune(
    process: &Process,
    shared: &IngestShared,
    counts: Vec<TermCount>,
    documents: [u64; 2],
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
        return Err(Failure::data(nothing_kept(process, shared, &vocabulary, documents)));
    }
    let temporary = process.output.temporary_path("vocabulary.tsv");
    vocabulary_file::write(&temporary, &vocabulary)?;
    process.output.publish(&temporary, VOCABULARY_FILE)?;
    let terms = vocabulary.terms().iter();
    let message =
        pack(terms.map(|term| (&*term.term, term.tokens, term.documents, term.status as u8)));
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
    totals: Totals<Term, Counts>,
) -> Option<Vec<TermCount>> {
    let (index, peers) = (worker.index(), worker.peers());
    let gathered = Rc::new(RefCell::new(vec![Vec::new(); peers]));
    let filled = Rc::clone(&gathered);
    let mut parts: Vec<ArrivingTerms> = (0..peers).map(|_| ArrivingTerms::default()).collect();
    let keep = move |block: Block| {
        let filled = &mut filled.borrow_mut()[block.source()];
        parts[block.source()].take(block.words(), &mut |term| {
            let (tokens, documents) = (term.tokens, term.documents);
            filled.push(TermCount { term: term.term, tokens, documents });
        });
    };
    let mut delivery = Delivery::new(worker, "vocabulary", route(), keep);
    let mut waiting: Vec<u64> = Vec::new();
    let mut sent = 0;
    totals.visit(&mut |term, (tokens, documents)| {
        push_term(&mut waiting, term, unsigned(tokens), unsigned(documents), 0);
        while let Some(full) = full_block(&mut waiting) {
            delivery.send([Block::to_worker(index, 0, sent, full)]);
            sent += 1;
            if sent.is_multiple_of(BLOCKS_A_STEP as u64) {
                worker.step();
            }
        }
    });
    delivery.send([Block::to_worker(index, 0, sent, waiting)]);
    delivery.finish(worker);
    if index > 0 {
        return None;
    }
    let gathered = gathered.take();
    let mut all = Vec::with_capacity(gathered.iter().map(Vec::len).sum());
    gathered.into_iter().for_each(|mut of_worker| all.append(&mut of_worker));
    Some(all)
}

/// Explains why no term is left, and what to do: first about documents without tokens, if they are most of them.
fn nothing_kept(
    process: &Process,
    shared: &IngestShared,
    vocabulary: &Vocabulary,
    [with_tokens, documents]: [u64; 2],
) -> String {
    let settings = &process.job.vocabulary;
    let without = documents - with_tokens;
    let example = shared.remarks().into_iter().next();
    if let (None, Some(filtered)) =
        (&example, shared.remarks.filtered().filter(|_| with_tokens == 0))
    {
        return format!(
            "all documents are filtered out: correct corpus.languages, or the filters in [htrc]; for example, {filtered}"
        );
    }
    let first = example.map_or_else(String::new, |remark| format!("; for example, {remark}"));
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

/// A term: its tokens, its documents, its status, and its name.
type TermWords<'w> = ([u64; 3], &'w str);

/// Appends a term.
pub(super) fn push_term(words: &mut Vec<u64>, term: &str, tokens: u64, documents: u64, status: u8) {
    ([tokens, documents, status.into()], term).pack(words);
}

/// Takes a block's worth of words, if there are as many.
pub(super) fn full_block(waiting: &mut Vec<u64>) -> Option<Vec<u64>> {
    (waiting.len() >= MAX_BLOCK_WORDS).then(|| {
        let rest = waiting.split_off(MAX_BLOCK_WORDS);
        std::mem::replace(waiting, rest)
    })
}

/// ArrivingTerms reassembled from words that arrive in pieces, in order.
#[derive(Debug, Default)]
pub(super) struct ArrivingTerms {
    rest: Vec<u64>,
}

impl ArrivingTerms {
    /// Visits the terms that are complete now. The status of a term is one of
    /// [`TermStatus::ALL`].
    pub(super) fn take(&mut self, words: &[u64], visit: &mut impl FnMut(VocabularyTerm)) {
        self.rest.extend_from_slice(words);
        let mut complete = 0;
        let mut rest = &self.rest[..];
        while let Some(([tokens, documents, status], term)) = TermWords::unpack(&mut rest) {
            complete = self.rest.len() - rest.len();
            let status = TermStatus::ALL[status as usize];
            visit(VocabularyTerm { term: term.to_owned(), tokens, documents, status });
        }
        self.rest.drain(..complete);
    }
}

#[cfg(test)]
mod words_tests {
    use super::*;

    #[test]
    fn terms_survive_cuts_at_every_word() {
        let mut sent = Vec::new();
        let mut words = Vec::new();
        for (number, term) in ["", "a", "sieben…", "zwölf-zeichen", "x"].iter().enumerate() {
            let status = TermStatus::ALL[number % 5];
            let (tokens, documents) = (u64::MAX - number as u64, number as u64);
            push_term(&mut words, term, tokens, documents, status as u8);
            sent.push(VocabularyTerm { term: (*term).to_owned(), tokens, documents, status });
        }
        for length in 1..=words.len() {
            let mut received = Vec::new();
            let mut terms = ArrivingTerms::default();
            for piece in words.chunks(length) {
                terms.take(piece, &mut |term| received.push(term));
            }
            assert_eq!(received, sent);
            assert!(terms.rest.is_empty());
        }
    }
}
