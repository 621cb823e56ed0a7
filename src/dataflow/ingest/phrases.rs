//! Phrases: found in drafts that keep the order of their tokens, and joined in them.
//!
//! Each pass counts, over all workers, the pairs of tokens that follow each other. Stop words and words
//! that are too rare to be part of a phrase separate pairs. If there are more tokens than a worker should
//! count pairs, a pass over the drafts first finds out which pairs can be frequent, and only these are
//! counted; if they are still more than `PAIRS_A_PART` a worker, in parts, by hash, for each of which
//! drafts are read again.

use std::cell::RefCell;
use std::rc::Rc;

use timely::worker::Worker;

use super::counts::count_terms;
use super::hash_filter::HashFilter;
use super::joiner::Joiner;
use super::journal::{DraftFolder, visit_folders};
use super::pairs::{NONE, PairCounter, Units, split};
use super::vocabulary::{Listed, owned_terms, stop_list};
use crate::dataflow::frequencies::{
    GrowingSums, Keep, KeyTotals, TermKey, TermTotals, signed, unsigned,
};
use crate::dataflow::gather::{gather_records, gather_values, sum};
use crate::dataflow::process::Process;
use crate::failure::Failure;
use corpus::phrases::{PAIRS_A_PART, Phrase, npmi, pair_buckets};
use corpus::settings::DetectionSettings;
use corpus::shard::Columns;

/// Distinct pairs that a worker counts before it sends them: 16 MiB.
const PAIRS_A_FLUSH: usize = 1 << 20;

/// Finds the phrases of the collection. All its terms are counted for that, however rare they are.
pub(super) fn find(
    worker: &mut Worker,
    process: &Process,
    settings: &DetectionSettings,
    folders: &mut [DraftFolder],
) -> Result<Vec<Phrase>, Failure> {
    let all = Listed { distinct: 0, min_documents: 1 };
    let totals = count_terms(worker, process, folders, None, all)?.finish(worker);
    let (words, tokens) = frequent_words(worker, process, settings, totals)?;
    let passes = if settings.max_words > 2 { 2 } else { 1 };
    let documents = super::documents_here(worker, process, folders);
    super::begin(worker, process, ["phrases", "documents"], documents);
    let mut phrases: Vec<Phrase> = Vec::new();
    for pass in 1..=passes {
        let units = Units::new(&words, &phrases);
        let mut search = Search {
            pass: pass as u32,
            process,
            settings,
            folders,
            phrases: &phrases,
            units: &units,
            documents,
        };
        let counted = search.count(worker, tokens)?;
        let mut found = search.score(worker, counted, tokens);
        found.sort_unstable_by_key(|phrase| (phrase.name(), phrase.first.clone()));
        phrases.append(&mut found);
    }
    Ok(phrases)
}

/// Returns the words that are not stop words and occur often enough, and the tokens of all that are not
/// stop words; the same on every worker.
fn frequent_words(
    worker: &mut Worker,
    process: &Process,
    settings: &DetectionSettings,
    totals: KeyTotals<TermKey, TermTotals>,
) -> Result<(Vec<String>, u64), Failure> {
    let stop_list = stop_list(process)?;
    let mut owned = owned_terms(totals);
    owned.retain(|count| !stop_list.contains(&count.term));
    let tokens: u64 = owned.iter().map(|count| count.tokens).sum();
    owned.retain(|count| count.tokens >= settings.min_count);
    let words = owned.into_iter().map(|count| count.term).collect();
    let mut words: Vec<String> = gather_values(worker, words);
    words.sort_unstable();
    Ok((words, sum(worker, &[tokens as i64])[0] as u64))
}

/// The counts of a pass: this worker's share.
#[derive(Default)]
struct CountedPairs {
    /// Units and how often they occur.
    units: Vec<[u64; 2]>,
    /// Pairs that occur often enough, and how often they occur.
    pairs: Vec<[u64; 2]>,
    /// Tokens removed by joining, over all workers.
    joined: u64,
}

/// A pass over the drafts of a worker.
struct Search<'a> {
    /// Its number, from 1.
    pass: u32,
    process: &'a Process,
    settings: &'a DetectionSettings,
    folders: &'a mut [DraftFolder],
    /// Those of earlier passes.
    phrases: &'a [Phrase],
    units: &'a Units,
    /// The documents of the process.
    documents: u64,
}

impl Search<'_> {
    /// Counts units and pairs of a text of this many tokens, over all workers.
    fn count(&mut self, worker: &mut Worker, tokens: u64) -> Result<CountedPairs, Failure> {
        let room = PAIRS_A_PART * worker.peers() as u64;
        let (mut filter, mut parts) = (None, 1);
        if tokens > room {
            let (made, passing) = self.filter(worker, tokens)?;
            (filter, parts) = (Some(made), passing.div_ceil(room).max(1));
        }
        let mut counted = CountedPairs::default();
        let mut joined = 0;
        for part in 0..parts {
            let keep = filter.clone().map(|filter| -> Keep<u64, isize> {
                Box::new(move |&key, _| split(key)[1] == NONE || filter.borrow().passes(key))
            });
            let mut sums = GrowingSums::new(worker, "phrases", keep);
            joined = self.count_part(worker, [part, parts], &mut sums)?;
            sums.finish(worker).visit(&mut |&key, count| {
                let (count, [first, second]) = (unsigned(count), split(key));
                if second == NONE {
                    counted.units.push([first.into(), count]);
                } else if count >= self.settings.min_count {
                    counted.pairs.push([key, count]);
                }
            });
        }
        counted.joined = sum(worker, &[joined as i64])[0] as u64;
        Ok(counted)
    }

    /// Returns a filter for this worker's share of the pairs, and about how many pairs pass on all workers.
    fn filter(
        &mut self,
        worker: &mut Worker,
        tokens: u64,
    ) -> Result<(Rc<RefCell<HashFilter>>, u64), Failure> {
        let share = tokens.div_ceil(worker.peers() as u64);
        let least = self.settings.min_count;
        let filter = HashFilter::new(pair_buckets(share, least), least);
        let filter = Rc::new(RefCell::new(filter));
        let adding = Rc::clone(&filter);
        let keep: Keep<u64, isize> = Box::new(move |&key, &count| {
            if split(key)[1] != NONE {
                adding.borrow_mut().add(key, unsigned(count));
            }
            false
        });
        let mut sums = GrowingSums::new(worker, "frequent pairs", Some(keep));
        self.count_part(worker, [0, 1], &mut sums)?;
        sums.finish(worker);
        let passing = filter.borrow().passing() as i64;
        Ok((filter, sum(worker, &[passing])[0] as u64))
    }

    /// Counts a part of the units and pairs of this worker's drafts; returns how many tokens joining
    /// removed.
    fn count_part(
        &mut self,
        worker: &mut Worker,
        part: [u64; 2],
        sums: &mut GrowingSums<u64, isize>,
    ) -> Result<u64, Failure> {
        if worker.index().is_multiple_of(self.process.placement.threads) {
            self.process.progress.extend(self.documents);
        }
        let Self { process, phrases, units, settings, .. } = *self;
        let mut joined = 0;
        visit_folders(self.folders, |folder, terms| {
            let mut joiner = Joiner::new(phrases, terms);
            let mut counter = PairCounter::new(units, terms, settings.max_words, part);
            for draft in &folder.drafts {
                draft.read(Columns::Counts, |_, document| {
                    joined += joiner.join(&mut document.terms);
                    counter.add(&document.terms);
                    if counter.len() >= PAIRS_A_FLUSH {
                        send(worker, sums, &mut counter);
                    }
                    process.progress.add(1);
                    Ok(())
                })?;
                worker.step();
            }
            send(worker, sums, &mut counter);
            Ok(())
        })?;
        Ok(joined)
    }

    /// Returns the phrases among all workers' pairs, in any order. `tokens`: those of the text before joining.
    fn score(&self, worker: &mut Worker, counted: CountedPairs, tokens: u64) -> Vec<Phrase> {
        let mut counts = vec![0; self.units.names.len()];
        for [unit, count] in gather_records(worker, &counted.units) {
            counts[unit as usize] = count;
        }
        let tokens = tokens - counted.joined;
        let score = |[key, count]: [u64; 2]| {
            let of_units = split(key).map(|unit| counts[unit as usize]);
            npmi(count, of_units, tokens)
        };
        let mut pairs = counted.pairs;
        pairs.retain(|&pair| score(pair) > self.settings.threshold);
        let phrase = |[key, count]: [u64; 2]| {
            let [first, second] = split(key).map(|unit| self.units.names[unit as usize].clone());
            Phrase { pass: self.pass, first, second, count, score: score([key, count]) }
        };
        let pairs = gather_records(worker, &pairs);
        pairs.into_iter().map(phrase).collect()
    }
}

/// Sends a worker's counts to the workers that sum them.
fn send(worker: &mut Worker, sums: &mut GrowingSums<u64, isize>, counter: &mut PairCounter<'_>) {
    sums.flush(worker, |give| {
        counter.drain(&mut |key, count| give(key, signed(count)));
    });
}
