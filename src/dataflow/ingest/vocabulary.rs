//! Turns all workers' totals into one vocabulary. The owner of a term, which has its totals, decides its status; together
//! they find the ranks that the most frequent terms precede. Worker 0 numbers the terms of a range of the vocabulary at
//! a time, as it writes them; then each worker asks the owners of its own terms for their places.

use std::cell::RefCell;
use std::iter::zip;
use std::rc::Rc;
use std::sync::Arc;

use hashbrown::HashTable;
use timely::worker::Worker;

use super::drafts::Remarks;
use crate::dataflow::block::{Block, MAX_BLOCK_WORDS};
use crate::dataflow::exchange::route;
use crate::dataflow::frequencies::{KeyTotals, TermKey, TermTotals, owner_of, unsigned};
use crate::dataflow::gather::{Delivery, deliver, gather_values, sum};
use crate::dataflow::outbox::Outbox;
use crate::dataflow::process::Process;
use crate::failure::Failure;
use crate::wire::{packed, unpacked};
use corpus::CorpusError;
use corpus::stop_words::StopList;
use corpus::terms::{TermCounter, hash};
use corpus::vocabulary::{
    Fingerprint, Rank, TERMS_LIMIT, TermMap, TermStatus, Vocabulary, VocabularyTerm, destination,
    keep_those_of, names_among, prune, stop_names,
};
use corpus::vocabulary_file::{self, VOCABULARY_FILE, VocabularyWriter};

/// The vocabulary, as `collection.json` describes it.
#[derive(Debug, Default)]
pub(super) struct Agreed {
    /// Listed terms of the collection, kept or not.
    pub(super) terms_total: u64,
    /// About the others.
    pub(super) terms_unlisted: u64,
    /// Kept terms.
    pub(super) terms_kept: u64,
    /// The fingerprint of the kept ones; empty except on worker 0.
    pub(super) fingerprint: String,
}

/// Which terms are listed: they have rows, and numbers in the shards.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listed {
    /// About the distinct terms of the collection.
    pub(super) distinct: u64,
    /// The fewest documents that a term is in, unless it is a stop word or one of an earlier vocabulary.
    pub(super) min_documents: u64,
}

impl Listed {
    /// Returns those of a collection of about this many distinct terms.
    pub(super) fn of(distinct: u64, process: &Process) -> Self {
        let settings = &process.job.vocabulary;
        // With the terms of another vocabulary, the frequency of the others is not limited.
        let least = if process.job.vocabulary_from.is_some() { 2 } else { settings.min_documents };
        let lists_all = distinct <= settings.max_distinct;
        Self { distinct, min_documents: if lists_all { 1 } else { least } }
    }

    /// Returns whether some terms may have no row.
    pub(super) fn is_partial(self) -> bool {
        self.min_documents > 1
    }

    /// Returns about the terms that are not among this many listed ones.
    pub(super) fn others(self, listed: u64) -> u64 {
        if self.is_partial() { self.distinct.saturating_sub(listed) } else { 0 }
    }
}

/// Terms that worker 0 numbers at a time, over all workers: about 40 MiB.
const TERMS_A_RANGE: usize = 1 << 18;

/// Prunes the totals of all workers to one vocabulary, and writes it. Returns the terms that this worker owns, and a
/// summary of the vocabulary.
///
/// `documents` are the numbers of documents with at least one token, of all documents, and of those that are not counted
/// because they repeat others.
pub(super) fn agree(
    worker: &mut Worker,
    process: &Process,
    totals: KeyTotals<TermKey, TermTotals>,
    listed: Listed,
    documents: [u64; 3],
    remarks: &Remarks,
) -> Result<(OwnedTerms, Agreed), Failure> {
    let job = &process.job;
    let mut stop_list = StopList::clone(&*stop_list(process)?);
    let before = vocabulary_before(process)?;
    let mut owned = owned_terms(totals);
    // Which rare terms were counted, too, depends on the number of workers.
    owned.retain(|VocabularyTerm { term, documents, .. }| {
        *documents >= listed.min_documents || is_known(term, &stop_list, before.as_ref().as_ref())
    });
    if stop_list.has_names() {
        add_names(worker, &owned, &mut stop_list);
    }
    if let Some(before) = &*before {
        let present = if process.adds { before.terms() } else { before.kept_terms() };
        add_absent(worker, present, &mut owned);
        keep_those_of(before, &mut owned, &stop_list);
    } else {
        let [with_tokens, _, repeated] = documents;
        prune(&mut owned, with_tokens - repeated, &job.vocabulary, &stop_list, |ranks, n| {
            nth(worker, ranks, n)
        });
    }
    let counts = Counts::new(worker, &owned);
    process.forget("vocabulary.from");
    if counts.kept_and_found == 0 && worker.index() == 0 {
        return Err(Failure::data(nothing_kept(process, &counts, listed, documents, remarks)));
    }
    let order = |term: &VocabularyTerm| match &*before {
        // Shards have the numbers of all terms, kept or not.
        Some(before) if process.adds => [before.place(&term.term).map_or(u64::MAX, u64::from), 0],
        before => term.order(before.as_ref()),
    };
    let (total, unlisted) = (counts.total(), listed.others(counts.total()));
    if total >= u64::from(TERMS_LIMIT) {
        return Err(Failure::data(format!(
            "{total} distinct terms are more than can be numbered: lower vocabulary.max_distinct, raise \
             vocabulary.min_documents or tokens.min_length, or set tokens.numbers = false"
        )));
    }
    if unlisted > 0 && worker.index() == 0 {
        process.warn(format!(
            "about {} distinct terms are more than vocabulary.max_distinct = {}: those in fewer than {} documents are not \
             listed",
            listed.distinct, job.vocabulary.max_distinct, listed.min_documents
        ));
    }
    // The stable sort is the fast one: the terms are sorted by their bytes already.
    owned.sort_by_key(order);
    let temporary = process.output.temporary_path("vocabulary.tsv");
    let mut file =
        if worker.index() == 0 { Some(VocabularyWriter::create(&temporary)?) } else { None };
    let mut fingerprint = Fingerprint::default();
    let places = number(worker, TERMS_A_RANGE, &owned, order, |term, counts, status| {
        if status == TermStatus::Kept {
            fingerprint.add(term);
        }
        file.as_mut().map_or(Ok(()), |file| file.write(term, counts, status))
    })?;
    if let Some(file) = file {
        file.finish()?;
        process.output.publish(&temporary, VOCABULARY_FILE)?;
    }
    let agreed = Agreed {
        terms_total: total,
        terms_unlisted: unlisted,
        terms_kept: counts.of(TermStatus::Kept),
        fingerprint: fingerprint.finish(),
    };
    Ok((OwnedTerms::new(owned, places, agreed.terms_kept as usize), agreed))
}

/// Returns whether a term is listed however rare it is.
pub(super) fn is_known(term: &str, stop_list: &StopList, before: Option<&Vocabulary>) -> bool {
    stop_list.has_word(term) || before.is_some_and(|before| before.place(term).is_some())
}

/// Returns the vocabulary whose terms the job keeps, if there is one; the workers of a process share it.
pub(super) fn vocabulary_before(process: &Process) -> Result<Arc<Option<Vocabulary>>, Failure> {
    process.shared("vocabulary.from", || {
        let Some(result) = &process.job.vocabulary_from else {
            return Ok(None);
        };
        let before = vocabulary_file::read(&result.join(VOCABULARY_FILE))?;
        process.job.check_result("vocabulary.from")?;
        Ok(Some(before))
    })
}

/// Returns the stop list, which the workers of a process share.
pub(super) fn stop_list(process: &Process) -> Result<Arc<StopList>, Failure> {
    let job = &process.job;
    process.shared("stop list", || Ok(StopList::load(&job.vocabulary, &job.tokens)?))
}

/// Adds to the stop list those of this worker's terms that are names in most of their tokens, of which the owners of
/// the terms for names know.
fn add_names(worker: &mut Worker, owned: &[VocabularyTerm], stop_list: &mut StopList) {
    let mut outbox = Outbox::new([worker.index(), worker.peers()]);
    for (word, tokens) in names_among(owned) {
        outbox.send(0, owner_of(word, worker.peers()), packed([(word, tokens)]));
    }
    let blocks = deliver(worker, "names", route(), outbox.all());
    let named = blocks.iter().flat_map(|block| unpacked::<(&str, u64)>(block.words())).collect();
    stop_names(owned, &named, stop_list);
}

/// Returns the terms of a worker's totals, sorted by their bytes.
pub(super) fn owned_terms(totals: KeyTotals<TermKey, TermTotals>) -> Vec<VocabularyTerm> {
    let mut terms = Vec::new();
    totals.visit(&mut |term, (tokens, documents)| {
        // Where all its documents repeat others, no trace of a term is left, or one of zeros.
        if documents == 0 {
            return;
        }
        terms.push(VocabularyTerm {
            term: String::from(&**term),
            tokens: unsigned(tokens),
            documents: unsigned(documents),
            status: TermStatus::Unknown,
        });
    });
    terms
}

/// Adds those `terms` of another vocabulary which this worker owns and the collection lacks.
fn add_absent(worker: &Worker, terms: &[VocabularyTerm], owned: &mut Vec<VocabularyTerm>) {
    let is_mine = |term: &&VocabularyTerm| owner_of(&term.term, worker.peers()) == worker.index();
    let is_absent =
        |term: &&VocabularyTerm| owned.binary_search_by(|own| own.term.cmp(&term.term)).is_err();
    let absent = terms.iter().filter(is_mine).filter(is_absent);
    let absent: Vec<_> =
        absent.map(|term| VocabularyTerm { tokens: 0, documents: 0, ..term.clone() }).collect();
    owned.extend(absent);
    owned.sort_by(|a, b| a.term.cmp(&b.term));
}

/// The numbers of terms, over all workers.
struct Counts {
    by_status: [u64; TermStatus::ALL.len()],
    /// Terms that occur, and those of them that are kept.
    found: u64,
    kept_and_found: u64,
}

impl Counts {
    fn new(worker: &mut Worker, owned: &[VocabularyTerm]) -> Self {
        let mut counts = [0; TermStatus::ALL.len() + 2];
        for term in owned {
            counts[term.status as usize] += 1;
            if term.documents > 0 {
                counts[TermStatus::ALL.len()] += 1;
                counts[TermStatus::ALL.len() + 1] += i64::from(term.status == TermStatus::Kept);
            }
        }
        let counts = sum(worker, &counts);
        let count = |place: usize| counts[place] as u64;
        let [found, kept_and_found] = [0, 1].map(|place| count(TermStatus::ALL.len() + place));
        Self { by_status: std::array::from_fn(count), found, kept_and_found }
    }

    fn of(&self, status: TermStatus) -> u64 {
        self.by_status[status as usize]
    }

    fn total(&self) -> u64 {
        self.by_status.iter().sum()
    }
}

/// A term as worker 0 receives it: its order, its text, its tokens and documents, its status.
type Numbered<'w> = ([u64; 2], &'w str, [u64; 2], usize);

/// Numbers all workers' terms by their `order` and their bytes, in which the `owned` ones are sorted, and passes them to
/// `write` on worker 0. Returns the numbers of the owned ones. Worker 0's terms divide the order into ranges:
/// the hash that determines owners makes them a fair sample.
fn number(
    worker: &mut Worker,
    terms_a_range: usize,
    owned: &[VocabularyTerm],
    order: impl Fn(&VocabularyTerm) -> [u64; 2],
    mut write: impl FnMut(&str, [u64; 2], TermStatus) -> Result<(), CorpusError>,
) -> Result<Vec<u32>, Failure> {
    let rank = |term: &VocabularyTerm| (order(term), term.term.clone());
    let step = terms_a_range.div_ceil(worker.peers());
    let bounds = owned.iter().step_by(step).skip(1).map(rank);
    let bounds: Vec<_> = bounds.take_while(|_| worker.index() == 0).collect();
    let bounds: Vec<([u64; 2], String)> = gather_values(worker, bounds);
    let bounds = bounds.into_iter().map(Some).chain([None]);
    let (mut places, mut next) = (Vec::with_capacity(owned.len()), 0_u64);
    for bound in bounds {
        let rest = &owned[places.len()..];
        let length = bound.map_or(rest.len(), |(numbers, bound)| {
            rest.partition_point(|term| (order(term), &term.term) < (numbers, &bound))
        });
        let mut outbox = Outbox::new([worker.index(), worker.peers()]);
        for term in &rest[..length] {
            let VocabularyTerm { term: text, tokens, documents, status } = term;
            let message: Numbered<'_> =
                (order(term), text, [*tokens, *documents], *status as usize);
            outbox.send(0, 0, packed([message]));
        }
        let received = deliver(worker, "terms", route(), outbox.all());
        let mut terms: Vec<(Numbered<'_>, usize)> = (received.iter())
            .flat_map(|block| {
                unpacked::<Numbered<'_>>(block.words()).map(|term| (term, block.source()))
            })
            .collect();
        terms.sort_by_key(|((order, text, ..), _)| (*order, *text));
        let mut answers = vec![Vec::new(); worker.peers()];
        for ((_, text, counts, status), source) in terms {
            write(text, counts, TermStatus::ALL[status])?;
            answers[source].push(next);
            next += 1;
        }
        drop(received);
        let answer = |(target, places): (usize, &Vec<u64>)| {
            let piece = |(tag, piece): (u64, &[u64])| {
                Block::to_worker(worker.index(), target, tag, piece.to_vec())
            };
            zip(0.., places.chunks(MAX_BLOCK_WORDS)).map(piece).collect::<Vec<_>>()
        };
        let answers: Vec<Block> = answers.iter().enumerate().flat_map(answer).collect();
        for block in deliver(worker, "places", route(), answers) {
            places.extend(block.words().iter().map(|&place| place as u32));
        }
    }
    Ok(places)
}

/// The terms that a worker owns, and their places in the vocabulary.
pub(super) struct OwnedTerms {
    terms: Vec<VocabularyTerm>,
    places: Vec<u32>,
    /// Indices in `terms`, by term.
    by_term: HashTable<u32>,
    /// The kept terms of all workers.
    kept: usize,
}

impl OwnedTerms {
    fn new(terms: Vec<VocabularyTerm>, places: Vec<u32>, kept: usize) -> Self {
        let hash_at = |&at: &u32| hash(&terms[at as usize].term);
        let mut by_term = HashTable::with_capacity(terms.len());
        for at in 0..terms.len() as u32 {
            by_term.insert_unique(hash_at(&at), at, hash_at);
        }
        Self { terms, places, by_term, kept }
    }

    fn destination(&self, term: &str) -> Option<u32> {
        let is_asked = |&at: &u32| self.terms[at as usize].term == term;
        let at = *self.by_term.find(hash(term), is_asked)? as usize;
        Some(destination(self.places[at], self.terms[at].status))
    }
}

/// Returns the map of a worker's terms, which their owners know. Every worker must call this.
pub(super) fn ask_owners(
    worker: &mut Worker,
    terms: &TermCounter,
    owned: &Rc<OwnedTerms>,
) -> TermMap {
    let (index, peers) = (worker.index(), worker.peers());
    let answers = Rc::new(RefCell::new(Outbox::new([index, peers])));
    let (answering, own) = (Rc::clone(&answers), Rc::clone(owned));
    let answer = move |block: Block| {
        for (local, term) in unpacked::<(u64, &str)>(block.words()) {
            if let Some(destination) = own.destination(term) {
                let answer = [local << 32 | u64::from(destination)];
                answering.borrow_mut().send(0, block.source(), answer);
            }
        }
    };
    let mut delivery = Delivery::new(worker, "own terms", route(), answer);
    let mut questions = Outbox::new([index, peers]);
    for local in 0..terms.len() as u32 {
        let term = terms.term(local);
        questions.send(0, owner_of(term, peers), packed([(u64::from(local), term)]));
        let full = questions.full();
        if !full.is_empty() {
            delivery.send(full);
            worker.step();
        }
    }
    delivery.send(questions.all());
    delivery.finish(worker);
    let mut map = TermMap::new(terms.len(), owned.kept);
    let answers = answers.borrow_mut().all();
    for block in deliver(worker, "destinations", route(), answers) {
        for &answer in block.words() {
            map.set((answer >> 32) as u32, answer as u32);
        }
    }
    map
}

/// Ranks that a worker proposes at a time.
const PROPOSALS: usize = 64;

/// Returns that rank, of those of all workers, which exactly `n` precede; `None` if there are no more than `n`. Ranks are
/// distinct. Each step leaves a worker a [`PROPOSALS`]th of its ranks, or one.
fn nth(worker: &mut Worker, mut ranks: Vec<Rank<'_>>, n: usize) -> Option<([u64; 2], String)> {
    ranks.sort_unstable();
    let (mut left, mut n) = (&ranks[..], i64::try_from(n).unwrap_or(i64::MAX));
    loop {
        let step = left.len().div_ceil(PROPOSALS).max(1);
        let mine = left.iter().step_by(step).map(|&(numbers, term)| (numbers, term.to_owned()));
        let mut proposed: Vec<([u64; 2], String)> = gather_values(worker, mine.collect());
        proposed.sort_unstable();
        let before = |(numbers, term): &([u64; 2], String)| {
            left.partition_point(|rank| *rank < (*numbers, term)) as i64
        };
        let before: Vec<i64> = proposed.iter().map(before).chain([left.len() as i64]).collect();
        let before_all = sum(worker, &before);
        if before_all[proposed.len()] <= n {
            return None;
        }
        // Nothing precedes the first proposal.
        let next = before_all.partition_point(|&count| count <= n);
        if before_all[next - 1] == n {
            return Some(proposed.swap_remove(next - 1));
        }
        left = &left[before[next - 1] as usize..before[next] as usize];
        n -= before_all[next - 1];
    }
}

/// Explains why no term is left, and what to do: first about documents without tokens, if they are most of them.
fn nothing_kept(
    process: &Process,
    counts: &Counts,
    listed: Listed,
    [with_tokens, documents, repeated]: [u64; 3],
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
    let unlisted = listed.others(counts.total());
    let (count, total) = (|status| counts.of(status), counts.total() + unlisted);
    if counts.found + unlisted == 0 {
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
    if 2 * repeated > with_tokens {
        return format!(
            "{repeated} of {with_tokens} texts nearly repeat an earlier one, and the others have no term for the \
             vocabulary: check corpus.text (is it the right column?), or set corpus.duplicates = \"keep\""
        );
    }
    if let Some(result) = &process.job.vocabulary_from {
        return format!(
            "none of {} terms in {with_tokens} documents is a term of {}: are the documents in another language, or \
             their texts under another key (corpus.text)?",
            count(TermStatus::Unknown) + unlisted,
            result.display(),
        );
    }
    let (with_tokens, repeat) = match repeated {
        0 => (with_tokens, String::new()),
        _ => (
            with_tokens - repeated,
            format!(
                " ({repeated} others nearly repeat them, and are not counted: corpus.duplicates)"
            ),
        ),
    };
    format!(
        "the vocabulary is empty: of {} terms in {with_tokens} documents{repeat}, {} are in fewer than \
         vocabulary.min_documents = {}, {} in more than vocabulary.max_share = {} of them, {} are \
         stop words and {} beyond vocabulary.max_terms = {}; lower min_documents, raise max_share, \
         or shorten vocabulary.stop_words",
        total,
        count(TermStatus::Rare) + unlisted,
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
    use corpus::settings::{Names, VocabularySettings};
    use mesh::{ClusterSettings, Placement, execute};

    /// Returns terms with many ties, sorted by their bytes.
    fn terms(count: usize) -> Vec<VocabularyTerm> {
        let term = |n: usize| {
            let documents = 1 + n as u64 * 7 % 5;
            let tokens = documents + n as u64 % 3;
            VocabularyTerm { term: format!("t{n}"), tokens, documents, status: TermStatus::Unknown }
        };
        let mut terms: Vec<_> = (0..count).map(term).collect();
        terms.sort_by(|a, b| a.term.cmp(&b.term));
        terms
    }

    /// Returns the vocabulary of all terms, with the kept ones of `before`, as one worker makes it.
    fn plain(
        mut terms: Vec<VocabularyTerm>,
        settings: &VocabularySettings,
        before: Option<&Vocabulary>,
    ) -> Vocabulary {
        if let Some(before) = before {
            let is_absent = |term: &&VocabularyTerm| terms.iter().all(|own| own.term != term.term);
            let absent: Vec<_> = before.kept_terms().iter().filter(is_absent).cloned().collect();
            let absent =
                absent.into_iter().map(|term| VocabularyTerm { tokens: 0, documents: 0, ..term });
            terms.extend(absent);
            keep_those_of(before, &mut terms, &StopList::default());
        } else {
            prune(&mut terms, 6, settings, &StopList::of(["t3"]), |mut ranks, n| {
                ranks.sort_unstable();
                ranks.get(n).map(|&(numbers, term)| (numbers, term.to_owned()))
            });
        }
        terms.sort_by(|a, b| (a.order(before), &a.term).cmp(&(b.order(before), &b.term)));
        Vocabulary::from_terms(terms).unwrap()
    }

    /// Makes the same vocabulary by several workers; each checks the map of some terms.
    fn check(
        workers: usize,
        count: usize,
        settings: &VocabularySettings,
        before: Option<&Vocabulary>,
    ) {
        let expected = plain(terms(count), settings, before);
        let (all, wanted, before) = (expected.clone(), settings.clone(), before.cloned());
        let written =
            execute(&Placement::single(workers), &ClusterSettings::default(), move |worker| {
                let (index, before) = (worker.index(), before.as_ref());
                let is_mine = |term: &VocabularyTerm| owner_of(&term.term, workers) == index;
                let mut owned: Vec<_> = terms(count).into_iter().filter(is_mine).collect();
                if let Some(before) = before {
                    add_absent(worker, before.kept_terms(), &mut owned);
                    keep_those_of(before, &mut owned, &StopList::default());
                } else {
                    let stop_list = StopList::of(["t3"]);
                    prune(&mut owned, 6, &wanted, &stop_list, |ranks, n| nth(worker, ranks, n));
                }
                owned.sort_by_key(|term| term.order(before));
                let mut written = Vec::new();
                let write = |term: &str, [tokens, documents]: [u64; 2], status| {
                    written.push(VocabularyTerm {
                        term: term.to_owned(),
                        tokens,
                        documents,
                        status,
                    });
                    Ok(())
                };
                let places = number(worker, 16, &owned, |term| term.order(before), write)?;
                let mut own_terms = TermCounter::new();
                for n in (index..count).step_by(3).chain([count]) {
                    own_terms.intern(&format!("t{n}"));
                }
                let owned = Rc::new(OwnedTerms::new(owned, places, all.kept()));
                let map = ask_owners(worker, &own_terms, &owned);
                let mut expected = TermMap::new(0, all.kept());
                expected.extend(&own_terms, &all);
                assert_eq!(map, expected);
                Ok::<_, Failure>(written)
            });
        let written = written.unwrap();
        assert_eq!(written[0], expected.terms(), "{workers} workers, {count} terms, {settings:?}");
        assert!(written[1..].iter().all(Vec::is_empty));
    }

    #[test]
    fn owners_prune_and_number_terms_as_one_worker_does() {
        let settings = VocabularySettings {
            stop_words: Vec::new(),
            names: Names::Keep,
            stop_top: 0,
            min_documents: 2,
            max_share: 0.7,
            max_terms: usize::MAX,
            max_distinct: u64::MAX,
        };
        for (workers, count) in [(1, 700), (3, 700), (5, 2), (3, 0)] {
            for (stop_top, max_terms) in [(0, usize::MAX), (7, 40), (150, 1), (1000, 5), (1, 0)] {
                check(
                    workers,
                    count,
                    &VocabularySettings { stop_top, max_terms, ..settings.clone() },
                    None,
                );
            }
        }
        let before =
            plain(terms(300), &VocabularySettings { max_terms: 50, ..settings.clone() }, None);
        [200, 900].iter().for_each(|&count| check(3, count, &settings, Some(&before)));
    }

    #[test]
    fn the_nth_rank_is_that_of_all_workers() {
        for (workers, most) in [(1, 10), (3, 20_000), (6, 4)] {
            let found =
                execute(&Placement::single(workers), &ClusterSettings::default(), move |worker| {
                    let mine = (0..most).filter(|n| n % (workers + 1) == worker.index());
                    let mine: Vec<_> = mine.map(|n| (n, format!("{n:09}"))).collect();
                    let ranks =
                        || mine.iter().map(|(n, term)| ([*n as u64 / 7, 0], &**term)).collect();
                    let ns = [0, 1, most / 3, most];
                    Ok::<_, Failure>(ns.map(|n| nth(worker, ranks(), n)))
                });
            let mut all: Vec<_> = (0..most).filter(|n| n % (workers + 1) < workers).collect();
            all.sort_unstable();
            let expected = [0, 1, most / 3, most].map(|n| {
                let n = all.get(n)?;
                Some(([*n as u64 / 7, 0], format!("{n:09}")))
            });
            assert!(found.unwrap().iter().all(|found| *found == expected));
        }
    }
}
