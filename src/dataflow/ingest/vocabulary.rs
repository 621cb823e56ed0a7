//! From each worker's totals to one vocabulary: gathered at worker 0, pruned and written there, and
//! what the others need of it broadcast.

use std::cell::RefCell;
use std::rc::Rc;

use timely::dataflow::ProbeHandle;
use timely::dataflow::operators::{Input, Operator, Probe};
use timely::worker::Worker;

use super::words::{self, Terms};
use crate::corpus::stop_words::StopList;
use crate::corpus::vocabulary::{TermCount, TermStatus, Vocabulary};
use crate::corpus::vocabulary_file::{self, VOCABULARY_FILE};
use crate::dataflow::block::{Block, MAX_BLOCK_WORDS};
use crate::dataflow::error::RunError;
use crate::dataflow::exchange::{BlockBuilder, BlockInput, route};
use crate::dataflow::frequencies::Totals;
use crate::dataflow::gather::{PARK, all_gather_blocks};
use crate::dataflow::process::{Once, Process};

/// Blocks that are sent before the worker works off what has come in (4 MiB).
const BLOCKS_A_STEP: usize = 8;

/// What every process knows of the vocabulary: the terms that are kept, and those that are stop
/// words. What is neither was dropped.
#[derive(Debug)]
pub(super) struct Agreed {
    /// Kept terms and stop words.
    pub(super) vocabulary: Vocabulary,
    /// The fingerprint of the kept ones.
    pub(super) fingerprint: String,
    /// Distinct terms of the collection, kept or not.
    pub(super) terms_total: u64,
}

/// Prunes the totals of all workers to one vocabulary, writes it, and tells everybody.
///
/// `document_count` is the number of documents with at least one token.
pub(super) fn agree<'a>(
    worker: &mut Worker,
    process: &Process,
    totals: Totals,
    document_count: u64,
    agreed: &'a Once<Agreed>,
) -> Result<&'a Agreed, RunError> {
    let counts = gather_at_leader(worker, totals);
    let message = match counts {
        Some(counts) => prune(process, counts, document_count)?,
        None => Vec::new(),
    };
    let pieces = message
        .chunks(MAX_BLOCK_WORDS)
        .map(<[u64]>::to_vec)
        .collect();
    drop(message);
    let gathered = all_gather_blocks(worker, pieces);
    agreed.get(|| read(&gathered[0]))
}

/// Prunes and writes the vocabulary; the message for everybody, which begins with the number of
/// distinct terms.
fn prune(
    process: &Process,
    counts: Vec<TermCount>,
    document_count: u64,
) -> Result<Vec<u64>, RunError> {
    let job = &process.job;
    let stop_list = StopList::load(&job.vocabulary.stop_words, &job.tokens)?;
    let terms_total = counts.len() as u64;
    let vocabulary = Vocabulary::prune(counts, document_count, &job.vocabulary, &stop_list);
    if vocabulary.kept() == 0 {
        return Err(RunError::Data(nothing_kept(
            process,
            &vocabulary,
            document_count,
        )));
    }
    let temporary = process.output.temporary_path("vocabulary.tsv");
    vocabulary_file::write(&temporary, &vocabulary)?;
    process.output.publish(&temporary, VOCABULARY_FILE)?;
    let mut message = vec![terms_total];
    for term in vocabulary.terms() {
        if matches!(term.status, TermStatus::Kept | TermStatus::Stop) {
            words::push(
                &mut message,
                &term.term,
                term.tokens,
                term.documents,
                term.status as u8,
            );
        }
    }
    Ok(message)
}

fn read(blocks: &[Block]) -> Result<Agreed, RunError> {
    let terms_total = blocks.first().map_or(0, |block| block.words()[0]);
    let mut received = Vec::new();
    let mut terms = Terms::default();
    for (number, block) in blocks.iter().enumerate() {
        let words = &block.words()[usize::from(number == 0)..];
        terms.take(words, &mut |term| received.push(term));
    }
    let vocabulary = Vocabulary::from_terms(received)?;
    Ok(Agreed {
        fingerprint: vocabulary.fingerprint(),
        vocabulary,
        terms_total,
    })
}

/// Sends every worker's totals to worker 0: none on the others.
fn gather_at_leader(worker: &mut Worker, totals: Totals) -> Option<Vec<TermCount>> {
    let (index, peers) = (worker.index(), worker.peers());
    let gathered: Rc<RefCell<Vec<TermCount>>> = Rc::default();
    let filled = Rc::clone(&gathered);
    let probe = ProbeHandle::new();
    let mut input: BlockInput<u64> = worker.dataflow_named("vocabulary", |scope| {
        let (input, stream) = scope.new_input_with_builder::<BlockBuilder>();
        let mut parts: Vec<Terms> = (0..peers).map(|_| Terms::default()).collect();
        stream
            .unary::<BlockBuilder, _, _, _>(route(), "collect", |_, _| {
                let mut collect = move |block: &Block| {
                    let mut filled = filled.borrow_mut();
                    parts[block.source()].take(block.words(), &mut |term| {
                        let (tokens, documents) = (term.tokens, term.documents);
                        filled.push(TermCount {
                            term: term.term,
                            tokens,
                            documents,
                        });
                    });
                };
                move |input, _output| input.for_each(|_, block| collect(block))
            })
            .probe_with(&probe);
        input
    });
    let mut waiting: Vec<u64> = Vec::new();
    let mut sent = 0;
    totals.visit(&mut |term, tokens, documents| {
        words::push(&mut waiting, term, tokens, documents, 0);
        while waiting.len() >= MAX_BLOCK_WORDS {
            let rest = waiting.split_off(MAX_BLOCK_WORDS);
            let full = std::mem::replace(&mut waiting, rest);
            input.send_batch(&mut Block::to_worker(index, 0, sent, full));
            sent += 1;
            if sent.is_multiple_of(BLOCKS_A_STEP as u64) {
                worker.step();
            }
        }
    });
    input.send_batch(&mut Block::to_worker(index, 0, sent, waiting));
    input.close();
    while !probe.done() {
        worker.step_or_park(Some(PARK));
    }
    (index == 0).then(|| gathered.take())
}

/// Why no term is left, and what to do.
fn nothing_kept(process: &Process, vocabulary: &Vocabulary, document_count: u64) -> String {
    let settings = &process.job.vocabulary;
    let count = |status| {
        vocabulary
            .terms()
            .iter()
            .filter(|term| term.status == status)
            .count()
    };
    if vocabulary.terms().is_empty() {
        return "no document holds a single token: look at corpus.text (is it the right column?), \
                tokens.rule, tokens.min_length and tokens.numbers"
            .to_owned();
    }
    format!(
        "the vocabulary is empty: of {} terms in {document_count} documents, {} are in fewer than \
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
